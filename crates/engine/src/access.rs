//! Access over HTTP: tokens of programs, codes and sessions of browsers.
//!
//! A secret is shown once, when it is created. The store has its digest. A secret names its grant, so that
//! one row is read and the digests are compared in constant time.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use punchlist_model::session::Store;
use punchlist_model::store::Error;
use punchlist_model::store::access::{AccessStore, Grant, GrantKind, Role, ServerRecord};
use punchlist_model::{GrantId, Timestamp};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::around::Around;
use crate::fail::{Code, Fail};

/// How long a code may be redeemed, in seconds.
pub const CODE_SECONDS: i64 = 5 * 60;

/// How long a browser stays signed in, in seconds.
pub const BROWSER_SECONDS: i64 = 30 * 24 * 60 * 60;

/// The longest name of a token, in characters.
const LONGEST_NAME: usize = 100;

/// A secret, as its owner sends it. It is not shown by `Debug`, so that no log has it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text to show once, or to send.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The parts of a secret that somebody sent.
struct Presented {
    kind: GrantKind,
    id: GrantId,
    digest: [u8; 32],
}

impl FromStr for Presented {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        // `plt_`, 32 hexadecimal digits of the id, `_`, 64 of the secret.
        let (prefix, rest) = text.split_once('_').ok_or(())?;
        let kind = GrantKind::ALL.into_iter().find(|it| self::prefix(*it) == prefix).ok_or(())?;
        let (id, secret) = rest.split_once('_').ok_or(())?;
        let is_hex = |text: &str, length| {
            text.len() == length && text.bytes().all(|it| it.is_ascii_hexdigit())
        };
        if !is_hex(id, 32) || !is_hex(secret, 64) {
            return Err(());
        }
        Ok(Self { kind, id: id.parse().map_err(drop)?, digest: digest(text) })
    }
}

fn prefix(kind: GrantKind) -> &'static str {
    match kind {
        GrantKind::Token => "plt",
        GrantKind::Code => "plc",
        GrantKind::Browser => "plb",
    }
}

fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|why| Error::Unusable {
        what: format!("the system gave no random numbers: {why}"),
        source: None,
    })?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// For whom a grant is made.
struct For<'a> {
    kind: GrantKind,
    name: &'a str,
    role: Role,
    project: Option<String>,
    /// How long it is in force, in seconds; `None` means until it is revoked.
    seconds: Option<i64>,
}

impl For<'_> {
    /// A new grant and its secret.
    fn make(self, around: &dyn Around) -> Result<(Grant, Secret), Error> {
        let now = around.now();
        // The id is random too: no test's clock or seed may decide it.
        let id = GrantId(punchlist_model::IdSource::new(now, random()?).nth(0));
        let secret = format!("{}_{}_{}", prefix(self.kind), id.0.simple(), hex(&random::<32>()?));
        let grant = Grant {
            id,
            kind: self.kind,
            name: self.name.to_owned(),
            role: self.role,
            project: self.project,
            digest: digest(&secret),
            created_at: now,
            expires_at: self.seconds.and_then(|it| after(now, it)),
            ended_at: None,
        };
        Ok((grant, Secret(secret)))
    }
}

fn after(now: Timestamp, seconds: i64) -> Option<Timestamp> {
    Timestamp::from_millisecond(now.as_millisecond().saturating_add(seconds * 1000)).ok()
}

/// Creates a token. The caller has made sure that a person asks for it.
pub async fn create_token(
    store: &dyn Store,
    around: &dyn Around,
    name: &str,
    role: Role,
    project: Option<String>,
) -> Result<Secret, Fail> {
    let is_bad = name.trim().is_empty() || name.chars().any(char::is_control);
    if is_bad || name.chars().count() > LONGEST_NAME {
        return Err(Fail::usage("the token's name is empty, too long, or has control characters")
            .hint("give a name of at most 100 characters, as in `ci`."));
    }
    let wanted = For { kind: GrantKind::Token, name, role, project, seconds: None };
    let (grant, secret) = wanted.make(around)?;
    if !store.add_grant(grant).await? {
        return Err(Fail::refused(format!("there is a token {name:?} already"))
            .hint("choose another name, or revoke it with `punchlist token revoke`."));
    }
    Ok(secret)
}

/// Creates a code that a browser exchanges, once, for a session of this person. The caller has made sure
/// that the person asks for it.
pub async fn create_code(
    store: &dyn Store,
    around: &dyn Around,
    person: &str,
) -> Result<Secret, Error> {
    let wanted = For {
        kind: GrantKind::Code,
        name: person,
        role: Role::Admin,
        project: None,
        seconds: Some(CODE_SECONDS),
    };
    let (grant, secret) = wanted.make(around)?;
    store.add_grant(grant).await?;
    Ok(secret)
}

/// Exchanges a code for the session of a browser; `None` if the code is wrong, used or too old.
pub async fn redeem(
    store: &dyn Store,
    around: &dyn Around,
    code: &str,
) -> Result<Option<Secret>, Error> {
    let now = around.now();
    let Some(code) = check(store, GrantKind::Code, code, now).await? else { return Ok(None) };
    let wanted = For {
        kind: GrantKind::Browser,
        name: &code.name,
        role: code.role,
        project: code.project.clone(),
        seconds: Some(BROWSER_SECONDS),
    };
    let (session, secret) = wanted.make(around)?;
    Ok(store.redeem(code.id, session, now).await?.then_some(secret))
}

/// The grant that a secret belongs to; `None` if there is none of this kind in force.
pub async fn check(
    store: &dyn AccessStore,
    kind: GrantKind,
    secret: &str,
    now: Timestamp,
) -> Result<Option<Grant>, Error> {
    let Ok(presented) = secret.parse::<Presented>() else { return Ok(None) };
    if presented.kind != kind {
        return Ok(None);
    }
    let found = store.grant(presented.id).await?;
    // Compared even if there is no such grant, so that the time does not tell which ids exist.
    let stored = found.as_ref().map_or([0; 32], |it| it.digest);
    let is_equal = bool::from(stored.ct_eq(&presented.digest));
    Ok(found.filter(|it| is_equal && it.kind == kind && it.is_in_force(now)))
}

/// Revokes the token with this name. Servers close its streams.
pub async fn revoke(store: &dyn Store, name: &str, now: Timestamp) -> Result<Grant, Fail> {
    let tokens = store.grants(GrantKind::Token).await?;
    let found = tokens.into_iter().find(|it| it.name == name && it.ended_at.is_none());
    let Some(token) = found else {
        return Err(Fail::new(Code::NotFound, format!("there is no token {name:?}"))
            .hint("`punchlist token list` shows them."));
    };
    store.end_grant(token.id, now).await?;
    Ok(token)
}

/// The path below which browsers find the pages: random, and the same for all servers of this store.
pub async fn site(store: &dyn Store) -> Result<String, Error> {
    store.site(hex(&random::<16>()?)).await
}

/// The server that runs on this host and listens on this address, if there is one.
pub async fn running(
    store: &dyn Store,
    around: &dyn Around,
    host: &str,
    address: &str,
) -> Result<Option<ServerRecord>, Error> {
    let is_it = |it: &ServerRecord| {
        it.process.host == host && it.address == address && !around.has_ended(&it.process)
    };
    Ok(store.servers().await?.into_iter().find(is_it))
}

#[cfg(test)]
mod tests {
    use pollster::block_on;
    use punchlist_model::store::memory::Memory;
    use punchlist_model::{IdSource, Process};
    use std::sync::Mutex;

    use super::*;

    /// A clock that a test moves.
    struct Clock(Mutex<Timestamp>);

    impl Clock {
        fn new() -> Self {
            Self(Mutex::new(Timestamp::from_second(1_800_000_000).unwrap()))
        }

        fn pass(&self, seconds: i64) {
            let mut now = self.0.lock().unwrap();
            *now = after(*now, seconds).unwrap();
        }
    }

    impl Around for Clock {
        fn now(&self) -> Timestamp {
            *self.0.lock().unwrap()
        }

        fn ids(&self, at: Timestamp) -> Result<IdSource, Error> {
            Ok(IdSource::fixed(at, 1))
        }

        fn has_ended(&self, _: &Process) -> bool {
            false
        }
    }

    fn token(store: &Memory, clock: &Clock, name: &str) -> Secret {
        block_on(create_token(store, clock, name, Role::Worker, None)).unwrap()
    }

    fn is_valid(store: &Memory, clock: &Clock, kind: GrantKind, secret: &str) -> bool {
        block_on(check(store, kind, secret, clock.now())).unwrap().is_some()
    }

    #[test]
    fn a_token_is_known_by_every_letter_until_it_is_revoked() {
        let (store, clock) = (Memory::new(), Clock::new());
        let secret = token(&store, &clock, "ci");
        let text = secret.expose();
        assert!(is_valid(&store, &clock, GrantKind::Token, text));
        for at in 0..text.len() {
            let mut other = text.as_bytes().to_vec();
            other[at] = if other[at] == b'0' { b'1' } else { b'0' };
            let other = String::from_utf8(other).unwrap();
            assert!(!is_valid(&store, &clock, GrantKind::Token, &other), "{at}");
        }
        for kind in [GrantKind::Browser, GrantKind::Code] {
            assert!(!is_valid(&store, &clock, kind, text));
        }
        block_on(revoke(&store, "ci", clock.now())).unwrap();
        assert!(!is_valid(&store, &clock, GrantKind::Token, text));
        let fail = block_on(revoke(&store, "ci", clock.now())).unwrap_err();
        assert_eq!(fail.code, Code::NotFound);
    }

    #[test]
    fn the_store_has_no_secret_and_no_message_shows_one() {
        let (store, clock) = (Memory::new(), Clock::new());
        let secret = token(&store, &clock, "ci");
        let kept = format!("{:?}", block_on(store.grants(GrantKind::Token)).unwrap());
        let secret_part = secret.expose().rsplit('_').next().unwrap();
        assert!(!kept.contains(secret_part), "{kept}");
        assert_eq!(format!("{secret:?}"), "Secret(…)");
    }

    #[test]
    fn a_second_token_of_a_name_is_refused() {
        let (store, clock) = (Memory::new(), Clock::new());
        token(&store, &clock, "ci");
        let again = block_on(create_token(&store, &clock, "ci", Role::Viewer, None));
        assert_eq!(again.unwrap_err().message, "there is a token \"ci\" already");
        for bad in ["", " ", "a\nb", &"x".repeat(101)] {
            let fail = block_on(create_token(&store, &clock, bad, Role::Viewer, None));
            assert_eq!(fail.unwrap_err().code, Code::Usage, "{bad:?}");
        }
    }

    #[test]
    fn a_code_works_once_and_for_five_minutes() {
        let (store, clock) = (Memory::new(), Clock::new());
        let code = || block_on(create_code(&store, &clock, "ann@here")).unwrap();
        let redeemed = |code: &Secret| block_on(redeem(&store, &clock, code.expose())).unwrap();
        let first = code();
        let session = redeemed(&first).unwrap();
        assert_eq!(redeemed(&first), None, "used");
        let late = code();
        clock.pass(CODE_SECONDS);
        assert_eq!(redeemed(&late), None, "late");
        let found = block_on(check(&store, GrantKind::Browser, session.expose(), clock.now()));
        let found = found.unwrap().unwrap();
        assert_eq!((found.name.as_str(), found.role), ("ann@here", Role::Admin));
        clock.pass(BROWSER_SECONDS);
        assert!(!is_valid(&store, &clock, GrantKind::Browser, session.expose()));
    }
}

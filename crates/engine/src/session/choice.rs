//! Finds the session for a verb about sessions, and the session that an agent names in the
//! environment.

use punchlist_formats::view::duration;
use punchlist_model::Timestamp;
use punchlist_model::session::{Session, SessionFilter, SessionKey, SessionStore};

use super::live_sessions;
use crate::fail::Fail;

/// How to find a session.
#[derive(Clone, Copy, Debug)]
pub struct SessionQuery<'a> {
    /// The project that the call was made in.
    pub project: &'a str,
    /// The session's id, the beginning of its id, or the end of its name.
    pub named: Option<&'a str>,
    /// The session that the call was made in. It only counts if none is named.
    pub current: Option<&'a Session>,
    /// The host name of this machine.
    pub host: &'a str,
    /// The time of the call.
    pub now: Timestamp,
}

/// The named session, else the one that the call was made in, else the only live one of the
/// project. `None` if there is none.
pub async fn choose(
    store: &dyn SessionStore,
    query: SessionQuery<'_>,
) -> Result<Option<Session>, Fail> {
    let mut fitting = match (query.named, query.current) {
        (Some(name), _) => named(store, query.project, name).await?,
        (None, Some(session)) => return Ok(Some(session.clone())),
        (None, None) => live_sessions(store, query.project, query.host, query.now).await?,
    };
    if fitting.len() > 1 {
        let line = |it: &Session| {
            let seen = duration::ago(it.seen_at, query.now);
            format!("{}  seen {seen}  {}", it.key.id, it.directory)
        };
        let details = fitting.iter().take(20).map(line).collect();
        return Err(Fail::usage("several sessions could be meant")
            .details(details)
            .hint("choose one with `--session` and its id, or the beginning of it."));
    }
    Ok(fitting.pop())
}

async fn named(store: &dyn SessionStore, project: &str, name: &str) -> Result<Vec<Session>, Fail> {
    let filter = SessionFilter { project: Some(project.to_owned()), ..SessionFilter::default() };
    let mut all = store.sessions(filter).await?;
    let ends = |it: &Session| it.actor_name("").ends_with(name);
    all.retain(|it| it.key.id.starts_with(name) || ends(it));
    if all.is_empty() {
        return Err(Fail::not_found(format!("there is no session {name:?} here"))
            .hint("leave `--session` out if one agent runs here; `punchlist reminders --json` lists every session."));
    }
    // A whole id means that session, even if other ids begin with it.
    if all.iter().any(|it| it.key.id == name) {
        all.retain(|it| it.key.id == name);
    }
    Ok(all)
}

/// The session that an agent names in the environment of the programs that it starts.
pub fn in_environment(variable: impl Fn(&str) -> Option<String>) -> Option<SessionKey> {
    let id = variable("CLAUDE_CODE_SESSION_ID").filter(|id| is_id(id))?;
    Some(SessionKey { agent: "claude".to_owned(), id })
}

/// Whether a text may be the id of a session: not empty, not too long, no control characters.
pub fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= 200 && !text.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use punchlist_model::store::memory::Memory;

    use super::*;

    #[test]
    fn an_agent_names_its_session_in_the_environment() {
        let key = |id: &str| {
            in_environment(|name| (name == "CLAUDE_CODE_SESSION_ID").then(|| id.to_owned()))
        };
        assert_eq!(
            key("12-34").unwrap(),
            SessionKey { agent: "claude".to_owned(), id: "12-34".to_owned() }
        );
        for odd in ["", "a\nb", "\u{1b}[0m", &"x".repeat(201)] {
            assert_eq!(key(odd), None, "{odd:?}");
        }
        assert_eq!(in_environment(|_| None), None);
    }

    #[test]
    fn a_named_session_comes_before_the_current_one_and_that_before_a_live_one() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let session = |id: &str| {
            Session::new(SessionKey { agent: "claude".to_owned(), id: id.to_owned() }, "/p", now)
        };
        let store = Memory::new();
        for id in ["ab", "abc", "xyz"] {
            pollster::block_on(store.keep(session(id))).unwrap();
        }
        let chosen = |named: Option<&str>, current: Option<&str>| {
            let current = current.map(session);
            let query =
                SessionQuery { project: "/p", named, current: current.as_ref(), host: "h", now };
            let found = pollster::block_on(choose(&store, query));
            found.map(|it| it.map(|it| it.key.id)).map_err(|fail| fail.message)
        };
        assert_eq!(chosen(Some("xy"), Some("ab")), Ok(Some("xyz".to_owned())));
        assert_eq!(chosen(Some("ab"), None), Ok(Some("ab".to_owned())), "a whole id");
        assert_eq!(chosen(Some("a"), None), Err("several sessions could be meant".to_owned()));
        assert_eq!(chosen(Some("q"), None), Err("there is no session \"q\" here".to_owned()));
        assert_eq!(chosen(None, Some("ab")), Ok(Some("ab".to_owned())));
        assert_eq!(chosen(None, None), Err("several sessions could be meant".to_owned()));
    }
}

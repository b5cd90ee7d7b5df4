//! The address of a database: `postgres://user@host:port/database?sslmode=…`.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use punchlist_model::store::Error;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

/// Where a database is, and how the server proves who it is.
#[derive(Clone)]
pub struct Address {
    /// The address without a password.
    shown: String,
    pub(crate) config: Config,
    pub(crate) check: Check,
    pub(crate) roots: Option<PathBuf>,
}

/// What is checked of the server's certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Check {
    /// The connection may be without TLS; if it has TLS, nothing is checked.
    Nothing,
    /// The authority, but not the host name.
    Authority,
    /// The authority and the host name.
    Name,
}

impl Address {
    /// Whether a text is the address of a server and not the path of a file.
    pub fn is_address(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// The password in the address, or from elsewhere, if it has none.
    #[must_use]
    pub fn with_password(mut self, password: Option<String>) -> Self {
        if let (None, Some(password)) = (self.config.get_password(), password) {
            self.config.password(password);
        }
        self
    }

    /// The role that the address names, if any.
    pub(crate) fn role(&self) -> Option<&str> {
        self.config.get_user()
    }

    /// Whether the address contains a password.
    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }

    /// The lines of a `.pgpass` file, of which the first that matches has the password.
    pub fn password_in(&self, file: &str) -> Option<String> {
        let database = self.config.get_dbname().or(self.config.get_user()).unwrap_or_default();
        let user = self.config.get_user().unwrap_or_default();
        let hosts = self.config.get_hosts().iter().enumerate().map(|(n, host)| {
            let ports = self.config.get_ports();
            let port = ports.get(n).or(ports.first()).copied().unwrap_or(5432).to_string();
            match host {
                Host::Tcp(name) => (vec![name.clone()], port),
                Host::Unix(path) => {
                    (vec![path.to_string_lossy().into_owned(), "localhost".to_owned()], port)
                }
            }
        });
        let hosts: Vec<(Vec<String>, String)> = hosts.collect();
        file.lines().filter(|it| !it.starts_with('#')).find_map(|line| {
            let [host, port, name, login, password] = fields(line)?;
            let is = |pattern: &str, value: &str| pattern == "*" || pattern == value;
            let is_host = |(names, at): &(Vec<String>, String)| {
                names.iter().any(|it| is(&host, it)) && is(&port, at)
            };
            (hosts.iter().any(is_host) && is(&name, database) && is(&login, user))
                .then_some(password)
        })
    }
}

/// The five fields of a line; `\:` and `\\` are a colon and a backslash.
fn fields(line: &str) -> Option<[String; 5]> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(next) = chars.next() {
        match next {
            ':' if fields.len() < 5 => fields.push(String::new()),
            other => {
                let other = if other == '\\' { chars.next()? } else { other };
                fields.last_mut()?.push(other);
            }
        }
    }
    fields.try_into().ok()
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = |why: &str| {
            let what = format!(
                "{} is no address of a PostgreSQL database: {why}; write \
                 postgres://USER@HOST/DATABASE",
                without_password(text)
            );
            Error::Server { what, source: None }
        };
        let (base, query) = split(text);
        let (mut mode, mut roots, mut rest) = (None, None, Vec::new());
        for pair in query.split('&').filter(|it| !it.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => {
                    let path = decoded(value).ok_or_else(|| bad("sslrootcert cannot be read"))?;
                    roots = Some(PathBuf::from(path));
                }
                Some(_) | None => rest.push(pair),
            }
        }
        let plain = match rest.join("&") {
            rest if rest.is_empty() => base.to_owned(),
            rest => format!("{base}?{rest}"),
        };
        let mut config: Config = plain.parse().map_err(|error: tokio_postgres::Error| {
            // The driver takes another part of such a text for the password, and might show the rest.
            if has_raw_password(base) {
                return bad("in a password, write % / ? # @ and & as %25 %2F %3F %23 %40 and %26");
            }
            let why = std::error::Error::source(&error).map(ToString::to_string);
            bad(&why.unwrap_or_else(|| error.to_string()))
        })?;
        let several = config.get_hosts().len().max(config.get_hostaddrs().len()) > 1;
        if several && !rest.iter().any(|it| it.starts_with("target_session_attrs=")) {
            // Of a primary and its standbys, the one that can be written.
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        if config.get_hosts().is_empty() {
            config.host("localhost");
        }
        let is_local = config.get_hosts().iter().all(is_local);
        let is_socket = config.get_hosts().iter().all(|it| matches!(it, Host::Unix(_)));
        let (ssl, check) = match mode {
            _ if is_socket => (SslMode::Disable, Check::Nothing),
            None if is_local => (SslMode::Disable, Check::Nothing),
            None | Some("verify-full") => (SslMode::Require, Check::Name),
            Some("verify-ca") => (SslMode::Require, Check::Authority),
            Some("require") => (SslMode::Require, Check::Nothing),
            Some("prefer" | "allow") => (SslMode::Prefer, Check::Nothing),
            Some("disable") => (SslMode::Disable, Check::Nothing),
            Some(_) => {
                return Err(bad("sslmode is disable, prefer, require, verify-ca or verify-full"));
            }
        };
        config.ssl_mode(ssl);
        Ok(Self { shown: without_password(text), config, check, roots })
    }
}

/// Whether a connection never leaves this machine.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
        }
    }
}

/// The parameters that an address may have. The value of a parameter with another name may be anything, also
/// a part of a password.
const PARAMETERS: [&str; 20] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "load_balance_hosts",
    "options",
    "password",
    "port",
    "sslmode",
    "sslnegotiation",
    "sslrootcert",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
];

/// The name of a parameter that exists.
fn parameter(pair: &str) -> Option<&'static str> {
    let name = decoded(pair.split_once('=').map_or("", |it| it.0))?;
    PARAMETERS.into_iter().find(|it| *it == name)
}

/// The part of an address before its parameters, and the parameters. A password that somebody has not encoded
/// may contain a question mark, so the parameters begin where only parameters follow.
fn split(text: &str) -> (&str, &str) {
    let is_query =
        |query: &str| query.split('&').all(|it| it.is_empty() || parameter(it).is_some());
    let marks = text.match_indices('?').map(|it| it.0);
    let mut parts = marks.filter_map(|at| Some((text.get(..at)?, text.get(at + 1..)?)));
    if let Some(found) = parts.find(|(_, query)| is_query(query)) {
        return found;
    }
    // A parameter is wrong. It is no part of a password if no host follows.
    match text.split_once('?') {
        Some((base, query)) if !query.contains('@') => (base, query),
        _ => (text, ""),
    }
}

/// Whether characters of a password are not encoded.
fn has_raw_password(base: &str) -> bool {
    let login = base.split_once("://").and_then(|it| it.1.rsplit_once('@'));
    login.is_some_and(|(login, _)| login.contains(['/', '?', '#', '@', '&']))
}

/// The address without its password, whatever characters it has. Parameters that do not exist are left out
/// too.
pub fn without_password(text: &str) -> String {
    let (base, query) = split(text);
    let Some((scheme, rest)) = base.split_once("://") else { return text.to_owned() };
    let rest = match rest.rsplit_once('@') {
        Some((login, host)) => {
            let user = login.split_once(':').map_or(login, |it| it.0);
            format!("{user}@{host}")
        }
        None => rest.to_owned(),
    };
    let is_kept = |it: &&str| parameter(it).is_some_and(|name| name != "password");
    let kept: Vec<&str> = query.split('&').filter(is_kept).collect();
    match kept.as_slice() {
        [] => format!("{scheme}://{rest}"),
        kept => format!("{scheme}://{rest}?{}", kept.join("&")),
    }
}

/// A text with `%20` and the like replaced.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let (hex, after) = after.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()?);
            rest = after;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// Without the password, so that no log has it.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Address").field(&self.shown).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        for (text, shown) in [
            ("postgres://u:secret@h:1/d", "postgres://u@h:1/d"),
            ("postgres://u:se%40cr@et@h/d?sslmode=disable", "postgres://u@h/d?sslmode=disable"),
            ("postgresql://h/d?password=secret&user=u", "postgresql://h/d?user=u"),
            ("postgres:///d?host=/tmp", "postgres:///d?host=/tmp"),
            ("postgres://h", "postgres://h"),
            ("postgres://u:hu/sh@127.0.0.1:55432/plans", "postgres://u@127.0.0.1:55432/plans"),
            ("postgres://u:hu?sh@h/d?sslmode=disable", "postgres://u@h/d?sslmode=disable"),
            ("postgres://u:s@h/d?application_name=a@b", "postgres://u@h/d?application_name=a@b"),
            ("postgres://h/d?p%61ssword=secret", "postgres://h/d"),
            ("postgres://h/d?pasword=secret", "postgres://h/d"),
            ("postgres://u:s@a:1,b:2/d", "postgres://u@a:1,b:2/d"),
        ] {
            assert_eq!(without_password(text), shown);
            if let Ok(address) = text.parse::<Address>() {
                assert_eq!(format!("{address} {address:?}"), format!("{shown} Address({shown:?})"));
            }
        }
        let error = "postgres://u:secret@h/d?sslmode=maybe".parse::<Address>().unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn no_part_of_a_password_is_shown_whatever_characters_it_has(
            parts in proptest::collection::vec("zq[0-9]{1,4}", 1..5),
            between in proptest::collection::vec("[-/?#@:&=%+ ]{1,3}", 5),
            query in "(\\?(sslmode=(disable|maybe)|application_name=a@b|host=c))?",
        ) {
            let password: String = parts.iter().zip(&between).map(|(a, b)| format!("{a}{b}")).collect();
            let text = format!("postgres://u:{password}x@h:1/d{query}");
            let mut shown = without_password(&text);
            match text.parse::<Address>() {
                Ok(address) => shown.push_str(&format!("{address}{address:?}")),
                Err(why) => shown.push_str(&format!("{why}{why:?}")),
            }
            proptest::prop_assert!(!shown.contains("zq"), "{text}: {shown}");
            proptest::prop_assert!(shown.starts_with("postgres://u@h:1/d"), "{text}: {shown}");
        }
    }

    #[test]
    fn the_password_is_what_the_driver_reads_even_if_it_has_a_slash_or_a_question_mark() {
        for text in ["postgres://u:hu/s?h@h:1/d", "postgres://u:hu%2Fs%3Fh@h:1/d?sslmode=disable"] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.config.get_password(), Some(&b"hu/s?h"[..]), "{text}");
        }
    }

    #[test]
    fn of_several_hosts_the_one_that_can_be_written_is_used_unless_the_address_says_otherwise() {
        for (text, expected) in [
            ("postgres://a/d", TargetSessionAttrs::Any),
            ("postgres://a,b/d", TargetSessionAttrs::ReadWrite),
            ("postgres://a,b/d?target_session_attrs=any", TargetSessionAttrs::Any),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.config.get_target_session_attrs(), expected, "{text}");
        }
    }

    #[test]
    fn certificates_and_names_are_checked_unless_the_address_says_otherwise() {
        for (text, ssl, check) in [
            ("postgres://h/d", SslMode::Require, Check::Name),
            ("postgres://10.1.2.3/d", SslMode::Require, Check::Name),
            ("postgres://h/d?sslmode=verify-full", SslMode::Require, Check::Name),
            ("postgres://h/d?sslmode=verify-ca", SslMode::Require, Check::Authority),
            ("postgres://h/d?sslmode=require", SslMode::Require, Check::Nothing),
            ("postgres://h/d?sslmode=prefer", SslMode::Prefer, Check::Nothing),
            ("postgres://h/d?sslmode=disable", SslMode::Disable, Check::Nothing),
            ("postgres://localhost/d", SslMode::Disable, Check::Nothing),
            ("postgres://127.0.0.1/d", SslMode::Disable, Check::Nothing),
            ("postgres://127.0.0.1/d?sslmode=verify-full", SslMode::Require, Check::Name),
            ("postgres:///d?host=/run/postgresql", SslMode::Disable, Check::Nothing),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!((address.config.get_ssl_mode(), address.check), (ssl, check), "{text}");
        }
    }

    #[test]
    fn the_first_line_that_matches_has_the_password() {
        let file = "# a comment\nother:*:*:*:one\nh:5432:d:u:two\\:\\\\words\n*:*:*:*:three\n";
        for (address, password) in [
            ("postgres://u@h/d", Some("two:\\words")),
            ("postgres://u@other:99/x", Some("one")),
            ("postgres://u@h:5433/d", Some("three")),
            ("postgres://u@/d?host=/tmp", Some("three")),
        ] {
            let address: Address = address.parse().unwrap();
            assert_eq!(address.password_in(file).as_deref(), password, "{address}");
        }
        let address: Address = "postgres://u@h/d".parse().unwrap();
        assert_eq!(address.password_in("h:5432:d:u"), None, "a line without a password");
        let given = address.with_password(Some("given".to_owned()));
        assert_eq!(given.config.get_password(), Some(&b"given"[..]));
        let own: Address = "postgres://u:own@h/d".parse().unwrap();
        let own = own.with_password(Some("given".to_owned()));
        assert_eq!(own.config.get_password(), Some(&b"own"[..]));
    }
}

//! PostgreSQL's errors in words that a person can act on, and whether a try may be repeated.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use punchlist_model::Refusal;
use punchlist_model::store::Error;
use punchlist_model::undo::Conflict;
use tokio_postgres::error::SqlState;

use super::address::Address;

/// Why a transaction failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error for the caller.
    Store(Error),
    /// An error of the server, or of the connection to it.
    Postgres(tokio_postgres::Error),
    /// A value in the database that no version of Punchlist writes.
    Strange(String),
    /// The server does not answer.
    Silent,
}

/// How a database is named in messages.
pub(crate) struct Shown {
    /// Without a password.
    address: String,
    /// The role that is used; empty if the address names none.
    role: String,
}

impl Shown {
    pub(crate) fn of(address: &Address) -> Self {
        let role = address.role().unwrap_or_default().to_owned();
        Self { address: address.to_string(), role }
    }

    /// The error for a right that the role lacks.
    pub(crate) fn denied(&self, what: impl Into<String>) -> Error {
        Error::Denied { role: self.role.clone(), what: what.into() }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)
    }
}

/// What may be done after a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Retry {
    /// Nothing: the next try would fail too.
    No,
    /// The server undid the transaction because of others that ran at the same time.
    Conflict,
    /// The connection is gone, or there is none yet.
    Lost,
}

impl Failure {
    /// Whether the next try may succeed.
    pub(crate) fn retry(&self) -> Retry {
        match self {
            Self::Store(_) | Self::Strange(_) => Retry::No,
            Self::Silent => Retry::Lost,
            Self::Postgres(error) => retry(error),
        }
    }

    /// Whether the statement failed only because one before it had failed.
    pub(crate) fn is_aftermath(&self) -> bool {
        match self {
            Self::Postgres(error) => error.code() == Some(&SqlState::IN_FAILED_SQL_TRANSACTION),
            Self::Store(_) | Self::Strange(_) | Self::Silent => false,
        }
    }

    /// The store's error for this database.
    pub(crate) fn explain(self, address: &Shown) -> Error {
        match self {
            Self::Silent => {
                let what = format!("{address} does not answer");
                Error::Server { what, source: None }
            }
            Self::Store(error) => error,
            Self::Strange(what) => {
                let what =
                    format!("{address} holds something that this version cannot read: {what}");
                Error::Server { what, source: None }
            }
            Self::Postgres(error) => explain(address, error),
        }
    }
}

fn retry(error: &tokio_postgres::Error) -> Retry {
    let Some(code) = error.code() else {
        return if is_refused_certificate(error) || !is_connection(error) {
            Retry::No
        } else {
            Retry::Lost
        };
    };
    match code {
        &SqlState::T_R_SERIALIZATION_FAILURE
        | &SqlState::T_R_DEADLOCK_DETECTED
        | &SqlState::UNIQUE_VIOLATION => Retry::Conflict,
        &SqlState::ADMIN_SHUTDOWN
        | &SqlState::CRASH_SHUTDOWN
        | &SqlState::CANNOT_CONNECT_NOW
        | &SqlState::TOO_MANY_CONNECTIONS
        // A standby that is about to be promoted.
        | &SqlState::READ_ONLY_SQL_TRANSACTION => Retry::Lost,
        code if code.code().starts_with("08") => Retry::Lost,
        _ => Retry::No,
    }
}

/// Whether the connection failed, and not a statement.
fn is_connection(error: &tokio_postgres::Error) -> bool {
    error.is_closed() || cause::<io::Error>(error).is_some()
}

fn is_refused_certificate(error: &tokio_postgres::Error) -> bool {
    cause::<io::Error>(error)
        .and_then(io::Error::get_ref)
        .is_some_and(|it| it.is::<rustls::Error>())
}

/// The cause of this type, if there is one.
fn cause<'e, T: StdError + 'static>(error: &'e (dyn StdError + 'static)) -> Option<&'e T> {
    let mut next = error.source();
    while let Some(it) = next {
        if let Some(found) = it.downcast_ref() {
            return Some(found);
        }
        next = it.source();
    }
    None
}

/// Where a password comes from.
const PASSWORD: &str = "it comes from PGPASSWORD, from ~/.pgpass or from store.password_command";

/// An error that makes the server unusable.
pub(crate) fn broken(what: String, why: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
    let why = why.into();
    let what = format!("{what}: {why}");
    Error::Server { what, source: Some(why) }
}

/// What a role may not do, from what the server says about it.
fn may_not(said: &str) -> String {
    // Our triggers say it themselves.
    if let Some((_, what)) = said.split_once("may not ") {
        return what.to_owned();
    }
    let what = match said.strip_prefix("permission denied for ").map(|it| it.split(' ')) {
        Some(mut words) => match (words.next(), words.next()) {
            (Some("database"), _) => "create the tables of Punchlist in this database",
            (Some("schema"), _) => "read the plans of this database",
            // It is the first table that is written.
            (_, Some("recent_write")) => "change anything: it may only read",
            (_, Some("plan" | "item" | "dependency" | "attachment")) => "change plans",
            (_, Some("question")) => "answer questions",
            // Roles that may write at all may add to these.
            (_, Some("journal" | "call" | "run")) => "erase texts",
            (_, Some("conversation" | "turn" | "turn_entry" | "message")) => "change sessions",
            (_, Some("session")) => "record sessions of agents",
            (_, Some("access_grant" | "access_site" | "access_server")) => "manage access",
            _ => return format!("do this: {said}"),
        },
        None => return format!("do this: {said}"),
    };
    what.to_owned()
}

/// The store's error for an error of this database.
pub(crate) fn explain(address: &Shown, error: tokio_postgres::Error) -> Error {
    let Some(found) = error.as_db_error() else {
        let why = cause::<io::Error>(&error).map(ToString::to_string);
        let why = why.unwrap_or_else(|| match error.source() {
            Some(it) => it.to_string(),
            None => error.to_string(),
        });
        let what = if is_refused_certificate(&error) {
            format!(
                "the certificate of {address} is not accepted: {why}; name its authority with \
                 sslrootcert=FILE in the address"
            )
        } else if why.contains("password missing") {
            format!("{address} wants a password; {PASSWORD}")
        } else if is_connection(&error) {
            format!("{address} cannot be reached: {why}")
        } else {
            format!("{address} cannot be used: {why}")
        };
        return Error::Server { what, source: Some(error.into()) };
    };
    let said = found.message().to_owned();
    let what = match found.code() {
        &SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            format!("{address} refuses this user: {said}; {PASSWORD}")
        }
        &SqlState::INVALID_CATALOG_NAME => {
            format!("{address}: {said}; create it with `createdb`, or correct the address")
        }
        &SqlState::INSUFFICIENT_PRIVILEGE => {
            return address.denied(may_not(&said));
        }
        &SqlState::READ_ONLY_SQL_TRANSACTION => {
            format!("{address} is a standby or is set to read only; nothing was changed")
        }
        &SqlState::LOCK_NOT_AVAILABLE | &SqlState::QUERY_CANCELED => {
            format!(
                "another program has been changing this in {address} for too long; nothing was \
                 changed"
            )
        }
        &SqlState::DISK_FULL => format!("the disk of {address} is full; nothing was changed"),
        &SqlState::CHARACTER_NOT_IN_REPERTOIRE | &SqlState::UNTRANSLATABLE_CHARACTER => format!(
            "{address} cannot keep every character; create the database with the encoding UTF8"
        ),
        code => format!("{address} cannot be used: {said} ({})", code.code()),
    };
    Error::Server { what, source: Some(error.into()) }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Store(refusal.into())
    }
}

impl From<Conflict> for Failure {
    fn from(conflict: Conflict) -> Self {
        Self::Store(conflict.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denied_statement_is_told_as_what_a_person_wanted_to_do() {
        for (said, what) in [
            ("permission denied for table question", "answer questions"),
            ("permission denied for table recent_write", "change anything: it may only read"),
            ("permission denied for table journal", "erase texts"),
            ("permission denied for schema punchlist", "read the plans of this database"),
            ("the role bob is a worker and may not write commands", "write commands"),
            ("must be owner of table item", "do this: must be owner of table item"),
        ] {
            assert_eq!(may_not(said), what);
        }
    }
}

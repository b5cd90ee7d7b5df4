//! SQLite's errors in words that a person can act on.
//!
//! Nobody is shown "database is locked" or a bare result code.

use std::path::Path;

use punchlist_model::store::Error;
use rusqlite::ErrorCode;

/// The store's error for an SQLite error of the database at `path`.
pub(crate) fn explain(path: &Path, error: rusqlite::Error) -> Error {
    let path = path.display();
    let what = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => format!("{path} is not a Punchlist database"),
        Some(ErrorCode::DatabaseCorrupt) => {
            format!("{path} is damaged; restore it from a copy, or move it away to start afresh")
        }
        Some(ErrorCode::DiskFull) => {
            let what = format!("the disk of {path} is full; nothing was changed");
            return Error::Unusable { what, source: None };
        }
        Some(ErrorCode::ReadOnly) => {
            return Error::ReadOnly(format!("{path} is on media or in a place that is read-only"));
        }
        Some(ErrorCode::PermissionDenied) => format!("{path} may not be opened by this user"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            let what =
                format!("another program has been using {path} for too long; nothing was changed");
            return Error::Busy(what);
        }
        Some(ErrorCode::SystemIoFailure) => {
            format!("reading or writing {path} failed; nothing was changed")
        }
        Some(ErrorCode::CannotOpen) => format!("{path} cannot be opened"),
        Some(_) => format!("{path} cannot be used: {error}"),
        None => format!("{path} holds something that this version cannot read: {error}"),
    };
    unusable(what, error)
}

/// An error that makes the store unusable.
pub(crate) fn unusable(
    what: String,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Error::Unusable { what, source: Some(source.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_another_program_keeps_to_itself_is_busy_and_not_broken() {
        for code in [rusqlite::ffi::SQLITE_BUSY, rusqlite::ffi::SQLITE_LOCKED] {
            let error = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
            let Error::Busy(what) = explain(Path::new("/a/plans.db"), error) else {
                panic!("{code}")
            };
            assert_eq!(
                what,
                "another program has been using /a/plans.db for too long; nothing was changed"
            );
        }
    }
}

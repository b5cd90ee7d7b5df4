//! Whether the files of an open database are still those that stand at its path.
//!
//! A process that stays keeps its files open when somebody deletes, moves or replaces them. What it then
//! writes is in files that nobody finds. So device and inode of the database and of its WAL are compared
//! before anything is read or written, and again before a change is acknowledged. An inode number is not
//! used again while the file is open, so equal numbers mean the same file.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::open::log_of;

/// A file, by what the system knows it by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn of(path: &Path) -> Option<Self> {
        let it = fs::metadata(path).ok()?;
        Some(Self { device: it.dev(), inode: it.ino() })
    }
}

/// The files that a connection has open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    /// The path that was asked for; it may be a link.
    asked: PathBuf,
    /// The WAL, beside the file that the link leads to.
    log_path: PathBuf,
    database: Option<FileId>,
    /// Nothing if it has no WAL.
    log: Option<FileId>,
}

/// What has become of the files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// They are the same.
    Same,
    /// The database is the same, and its WAL was removed; nobody has written a new one.
    LogRemoved,
    /// The database is the same, and has another WAL, which somebody has written.
    LogReplaced,
    /// Another database stands at the path.
    Replaced,
    /// Nothing stands at the path.
    Gone,
}

impl Identity {
    /// The files at the path now. `path` is the path that was `asked` for with links resolved.
    pub(crate) fn of(asked: &Path, path: &Path) -> Self {
        let log_path = log_of(path);
        Self {
            database: FileId::of(asked),
            log: FileId::of(&log_path),
            asked: asked.to_owned(),
            log_path,
        }
    }

    /// Whether both have the same database open.
    pub(crate) fn has_same_database(&self, other: &Self) -> bool {
        self.database == other.database
    }

    /// What has become of the files since.
    pub(crate) fn fate(&self) -> Fate {
        match FileId::of(&self.asked) {
            None => return Fate::Gone,
            found if found != self.database => return Fate::Replaced,
            Some(_) => {}
        }
        // A database without a WAL may have got one since: whoever writes next opens it.
        if self.log.is_none() || FileId::of(&self.log_path) == self.log {
            return Fate::Same;
        }
        match fs::metadata(&self.log_path) {
            Ok(log) if log.len() > 0 => Fate::LogReplaced,
            Ok(_) | Err(_) => Fate::LogRemoved,
        }
    }
}

impl Fate {
    /// What happened to a database, in words; nothing if nothing did.
    pub(crate) fn words(self, path: &Path) -> Option<String> {
        let path = path.display();
        match self {
            Self::Same => None,
            Self::LogRemoved => Some(format!("the WAL of {path} was removed")),
            Self::LogReplaced => Some(format!(
                "the WAL of {path} was replaced, and changes that were in the old one may be lost"
            )),
            Self::Replaced => Some(format!("{path} was replaced by another file")),
            Self::Gone => Some(format!("{path} was moved or deleted")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_the_files_is_seen_by_device_and_inode() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("plans.db");
        let log = log_of(&path);
        fs::write(&path, "database").unwrap();
        fs::write(&log, "log").unwrap();
        let (_open, _log) = (fs::File::open(&path).unwrap(), fs::File::open(&log).unwrap());
        let identity = Identity::of(&path, &path);
        assert_eq!(identity.fate(), Fate::Same);
        fs::write(&path, "written in place").unwrap();
        assert_eq!(identity.fate(), Fate::Same);
        fs::remove_file(&log).unwrap();
        assert_eq!(identity.fate(), Fate::LogRemoved);
        fs::write(&log, "").unwrap();
        assert_eq!(identity.fate(), Fate::LogRemoved, "nobody has written in it");
        fs::write(&log, "another").unwrap();
        assert_eq!(identity.fate(), Fate::LogReplaced);
        fs::rename(&path, directory.path().join("moved.db")).unwrap();
        assert_eq!(identity.fate(), Fate::Gone);
        fs::write(&path, "database").unwrap();
        assert_eq!(identity.fate(), Fate::Replaced);
    }
}

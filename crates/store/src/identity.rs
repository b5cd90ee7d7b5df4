//! Whether the files of an open database are still those at its path.
//!
//! A long-running process keeps its files open when somebody deletes, moves or replaces them, and
//! would then write to files that nobody finds. So device and inode of the database and of its WAL
//! are compared before every read and write, and again before a change is acknowledged. An inode
//! number is not reused while the file is open, so equal numbers mean the same file.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::open::wal_of;

/// A file, identified by device and inode.
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
    /// The path that the caller gave; it may be a symbolic link.
    asked: PathBuf,
    /// The path of the WAL, beside the file that a link leads to.
    wal_path: PathBuf,
    database: Option<FileId>,
    /// `None` if there is no WAL.
    wal: Option<FileId>,
}

/// What has happened to the files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// Nothing.
    Same,
    /// The database is the same, its WAL was removed, and there is no new one.
    WalRemoved,
    /// The database is the same, but it has another WAL, which another process has written.
    WalReplaced,
    /// Another database is at the path.
    Replaced,
    /// Nothing is at the path.
    Gone,
}

impl Identity {
    /// The files that are now at the path. `path` is `asked` with symbolic links resolved.
    pub(crate) fn of(asked: &Path, path: &Path) -> Self {
        let wal_path = wal_of(path);
        Self {
            database: FileId::of(asked),
            wal: FileId::of(&wal_path),
            asked: asked.to_owned(),
            wal_path,
        }
    }

    /// Whether both have the same database open.
    pub(crate) fn has_same_database(&self, other: &Self) -> bool {
        self.database == other.database
    }

    /// What has happened to the files since they were opened.
    pub(crate) fn fate(&self) -> Fate {
        match FileId::of(&self.asked) {
            None => return Fate::Gone,
            found if found != self.database => return Fate::Replaced,
            Some(_) => {}
        }
        // The database had no WAL when it was opened; another process may have created one since.
        if self.wal.is_none() || FileId::of(&self.wal_path) == self.wal {
            return Fate::Same;
        }
        match fs::metadata(&self.wal_path) {
            Ok(wal) if wal.len() > 0 => Fate::WalReplaced,
            // Whoever deletes a database deletes its WAL next: both may have happened since the first look.
            Ok(_) | Err(_) if FileId::of(&self.asked).is_none() => Fate::Gone,
            Ok(_) | Err(_) => Fate::WalRemoved,
        }
    }
}

impl Fate {
    /// A description for messages; `None` if nothing has happened.
    pub(crate) fn words(self, path: &Path) -> Option<String> {
        let path = path.display();
        match self {
            Self::Same => None,
            Self::WalRemoved => Some(format!("the WAL of {path} was removed")),
            Self::WalReplaced => Some(format!(
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
        let wal = wal_of(&path);
        fs::write(&path, "database").unwrap();
        fs::write(&wal, "wal").unwrap();
        let (_open, _log) = (fs::File::open(&path).unwrap(), fs::File::open(&wal).unwrap());
        let identity = Identity::of(&path, &path);
        assert_eq!(identity.fate(), Fate::Same);
        fs::write(&path, "written in place").unwrap();
        assert_eq!(identity.fate(), Fate::Same);
        fs::remove_file(&wal).unwrap();
        assert_eq!(identity.fate(), Fate::WalRemoved);
        fs::write(&wal, "").unwrap();
        assert_eq!(identity.fate(), Fate::WalRemoved, "nobody has written in it");
        fs::write(&wal, "another").unwrap();
        assert_eq!(identity.fate(), Fate::WalReplaced);
        fs::rename(&path, directory.path().join("moved.db")).unwrap();
        assert_eq!(identity.fate(), Fate::Gone);
        fs::write(&path, "database").unwrap();
        assert_eq!(identity.fate(), Fate::Replaced);
    }
}

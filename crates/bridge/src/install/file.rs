//! Reads a foreign file and replaces it, but only if it has not changed in between.
//!
//! The file is replaced atomically. A symbolic link stays, and its target is replaced. Owner and
//! mode stay too. The content is not interpreted here.

use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::Error;
use crate::replace::{DRAFT, Draft, Stamp};

/// The largest file that is read.
pub(crate) const MOST: u64 = 64 * 1024 * 1024;

/// A file as it was read.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// The path that the caller gave.
    pub(crate) path: PathBuf,
    /// The path with links resolved.
    real: PathBuf,
    /// The content; `None` if the file does not exist.
    pub(crate) bytes: Option<Vec<u8>>,
    /// Owner and mode, if the file exists.
    stamp: Option<Stamp>,
}

/// Who may read new files and directories.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum For {
    /// This user alone.
    User,
    /// Everybody whom the umask allows.
    Anybody,
}

fn unreadable(path: &Path, why: std::io::Error) -> Error {
    Error::Unreadable { path: path.to_owned(), why }
}

fn unwritable(path: &Path, why: std::io::Error) -> Error {
    Error::Unwritable { path: path.to_owned(), why }
}

/// Reads a file.
pub(crate) fn look(path: &Path) -> Result<Seen, Error> {
    let odd = |what: &str| Error::Odd { path: path.to_owned(), what: what.to_owned() };
    let real = match fs::canonicalize(path) {
        Ok(real) => real,
        Err(why) if why.kind() == ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                return Err(odd("a link that leads nowhere"));
            }
            return Ok(Seen {
                path: path.to_owned(),
                real: path.to_owned(),
                bytes: None,
                stamp: None,
            });
        }
        Err(why) => return Err(unreadable(path, why)),
    };
    let meta = fs::metadata(&real).map_err(|why| unreadable(path, why))?;
    if !meta.is_file() {
        return Err(odd("not a plain file"));
    }
    let mut bytes = Vec::new();
    let file = File::open(&real).map_err(|why| unreadable(path, why))?;
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(|why| unreadable(path, why))?;
    if bytes.len() as u64 > MOST {
        return Err(odd("too large for a settings file"));
    }
    Ok(Seen { path: path.to_owned(), real, bytes: Some(bytes), stamp: Some(Stamp::from(&meta)) })
}

/// The path with links resolved, as far as it exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|above| Some((above, fs::canonicalize(above).ok()?)));
    match there {
        Some((above, real)) => match path.strip_prefix(above) {
            Ok(rest) if rest.as_os_str().is_empty() => real,
            Ok(rest) => real.join(rest),
            Err(_) => path.to_owned(),
        },
        None => path.to_owned(),
    }
}

impl Seen {
    /// Whether the file may be replaced. Called before anything is written.
    pub(crate) fn is_writable(&self) -> Result<(), Error> {
        // A rename would work on a read-only file, but somebody made it read-only on purpose.
        if self.stamp.is_some_and(|it| !it.is_writable()) {
            return Err(Error::ReadOnly { path: self.path.clone() });
        }
        Ok(())
    }

    /// Replaces or removes the file. Returns `false` and does nothing if the file has changed since
    /// it was read.
    pub(crate) fn replace(&self, new: Option<&[u8]>, new_for: For) -> Result<bool, Error> {
        let is_same = |now: &Self| now.bytes == self.bytes && now.real == self.real;
        let Some(new) = new else {
            if !is_same(&look(&self.path)?) {
                return Ok(false);
            }
            return match fs::remove_file(&self.real) {
                Err(why) if why.kind() != ErrorKind::NotFound => Err(unwritable(&self.path, why)),
                Ok(()) | Err(_) => Ok(true),
            };
        };
        let failed = |why| unwritable(&self.path, why);
        let draft = match (self.stamp, new_for) {
            (Some(stamp), _) => Draft::like(&self.real, stamp),
            (None, For::User) => Draft::new(&self.real, 0o600),
            (None, For::Anybody) => Draft::new(&self.real, 0o666),
        };
        let mut draft = draft.map_err(failed)?;
        draft.write_all(new).map_err(failed)?;
        if !is_same(&look(&self.path)?) {
            return Ok(false);
        }
        let done = if self.bytes.is_some() { draft.replace() } else { draft.create() };
        match done {
            Err(why) if why.kind() == ErrorKind::AlreadyExists => Ok(false),
            done => done.map(|()| true).map_err(failed),
        }
    }
}

/// Removes drafts of killed processes from a directory. The caller must hold the lock that all
/// writers of drafts hold.
pub(crate) fn sweep(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.')
            && [".json", ".toml"].iter().any(|it| name.contains(&format!("{it}{DRAFT}")))
        {
            fs::remove_file(entry.path()).ok();
        }
    }
}

/// Creates a directory and its parents. Returns those that were created, the outermost first.
pub(crate) fn make_directories(path: &Path, new_for: For) -> Result<Vec<PathBuf>, Error> {
    let mut missing: Vec<&Path> = path.ancestors().take_while(|it| !it.exists()).collect();
    missing.reverse();
    let mode = match new_for {
        For::User => 0o700,
        For::Anybody => 0o777,
    };
    let mut made = Vec::new();
    for directory in missing.into_iter().filter(|it| !it.as_os_str().is_empty()) {
        match DirBuilder::new().mode(mode).create(directory) {
            Ok(()) => made.push(directory.to_owned()),
            Err(why) if why.kind() == ErrorKind::AlreadyExists => {}
            Err(why) => return Err(unwritable(directory, why)),
        }
    }
    Ok(made)
}

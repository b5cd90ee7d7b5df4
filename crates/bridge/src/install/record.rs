//! What an installation did, so that it can be taken back exactly.
//!
//! The record holds the edits, not the files: an agent's settings may contain secrets, and a second
//! copy of those would be one too many. Each layer is one edit of a file, with a stamp of what the
//! file was before and after; as long as a file is what one of our edits left behind, the edits can
//! be taken back to the byte. A record belongs to one place (a user's or a project's settings).

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use punchlist_formats::hook::Agent;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::edit::{Splice, taken_back};
use super::file::{self, For};
use super::{Error, Options};

/// What was done at one place.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Record {
    /// Directories that were made.
    pub(crate) directories: Vec<PathBuf>,
    /// Files that were edited or made.
    pub(crate) files: Vec<Edited>,
}

/// What was done to one file.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Edited {
    pub(crate) path: PathBuf,
    /// Whether it was there before.
    pub(crate) existed: bool,
    pub(crate) layers: Vec<Layer>,
    /// Names of entries and containers that were not there before, as `hooks/Stop`.
    /// `None` if nobody knows.
    pub(crate) made: Option<Vec<String>>,
    /// A server that was there before under our name.
    pub(crate) server_before: Option<Value>,
    /// How Codex's own tool was set before an installation that uses it.
    pub(crate) tool_before: Option<Value>,
}

/// One edit of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Layer {
    pub(crate) before: String,
    pub(crate) after: String,
    pub(crate) splices: Vec<Splice>,
}

/// What a file was before we came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Original {
    /// It was not there.
    Absent,
    /// It had these bytes.
    Bytes(Vec<u8>),
    /// Somebody else has written it since, so nobody knows any more.
    Unknown,
}

impl Record {
    /// What was done to that file.
    pub(crate) fn of(&self, path: &Path) -> Option<&Edited> {
        self.files.iter().find(|it| it.path == path)
    }

    /// Puts what was done to a file in place of what was known of it.
    pub(crate) fn set(&mut self, edited: Edited) {
        self.files.retain(|it| it.path != edited.path);
        self.files.push(edited);
    }
}

impl Edited {
    /// How many of our edits a file has seen that looks so now. `None` if others have written it.
    pub(crate) fn applied(&self, stamp: &str) -> Option<usize> {
        let after = self.layers.iter().rposition(|it| it.after == stamp);
        let untouched = || self.layers.first().filter(|it| it.before == stamp).map(|_| 0);
        after.map(|at| at + 1).or_else(untouched)
    }

    /// The same, with more that was made.
    pub(crate) fn with(mut self, missing: &[String]) -> Self {
        if let Some(made) = &mut self.made {
            made.extend(missing.iter().cloned());
            made.sort();
            made.dedup();
        }
        self
    }

    /// What the file was before us, if these bytes are what one of our edits began with or left.
    pub(crate) fn original(&self, now: Option<&[u8]>) -> Original {
        let (Some(first), Some(count)) = (self.layers.first(), self.applied(&stamp(now))) else {
            return Original::Unknown;
        };
        let mut bytes = now.unwrap_or_default().to_owned();
        for layer in self.layers[..count].iter().rev() {
            match taken_back(&bytes, &layer.splices) {
                Some(before) => bytes = before,
                None => return Original::Unknown,
            }
        }
        if !self.existed {
            return if bytes.is_empty() { Original::Absent } else { Original::Unknown };
        }
        // Two texts with one stamp are as good as impossible, but nothing is cheaper than to look.
        if self::stamp(Some(&bytes)) == first.before {
            Original::Bytes(bytes)
        } else {
            Original::Unknown
        }
    }
}

/// What tells one text from another: its length and a hash (FNV-1a). Not a secret's keeper, only a
/// memory.
pub(crate) fn stamp(bytes: Option<&[u8]>) -> String {
    match bytes {
        None => "absent".to_owned(),
        Some(bytes) => format!("{}-{:016x}", bytes.len(), hash(bytes)),
    }
}

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The drawer that records lie in, held by one process at a time.
pub(crate) struct Drawer {
    agent: Agent,
    directory: PathBuf,
    /// Directories that were made for it just now.
    pub(crate) made: Vec<PathBuf>,
    /// Kept open because the lock goes with it.
    _lock: Option<File>,
}

const FOLDER: &str = "installed";

impl Drawer {
    /// Opens the drawer, makes it if need be, and waits until nobody else has it.
    pub(crate) fn open(options: &Options) -> Result<Self, Error> {
        Self::held(options, true)
    }

    /// Opens the drawer if there is one, and waits likewise. One that another uninstall takes away
    /// meanwhile is not made anew.
    pub(crate) fn open_if_there(options: &Options) -> Result<Self, Error> {
        Self::held(options, false)
    }

    fn held(options: &Options, make: bool) -> Result<Self, Error> {
        let directory = options.data.join(FOLDER);
        let failed = |why| Error::Unwritable { path: directory.clone(), why };
        let mut made = Vec::new();
        loop {
            if make {
                made.extend(file::make_directories(&directory, For::User)?);
            } else if !directory.is_dir() {
                return Ok(Self::unlocked(options));
            }
            let lock = match File::open(&directory) {
                Ok(lock) => lock,
                // An uninstall was quicker.
                Err(why) if why.kind() == ErrorKind::NotFound => continue,
                Err(why) => return Err(failed(why)),
            };
            lock.lock().map_err(failed)?;
            let (held, there) = (lock.metadata().map_err(failed)?, fs::metadata(&directory).ok());
            if there.is_some_and(|it| (it.dev(), it.ino()) == (held.dev(), held.ino())) {
                for part in options.parts() {
                    if let Some(directory) = part.path.parent() {
                        file::sweep(directory);
                    }
                }
                file::sweep(&directory);
                return Ok(Self { agent: options.agent, directory, made, _lock: Some(lock) });
            }
        }
    }

    /// Looks into the drawer without holding it, for those who only show what would happen.
    pub(crate) fn unlocked(options: &Options) -> Self {
        let directory = options.data.join(FOLDER);
        Self { agent: options.agent, directory, made: Vec::new(), _lock: None }
    }

    fn path(&self, place: &Path) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        let hash = hash(place.as_os_str().as_bytes());
        self.directory.join(format!("{}-{hash:016x}.json", self.agent.as_str()))
    }

    /// The record of a place. One that cannot be read is as good as none: then our entries are
    /// known by their form alone.
    pub(crate) fn record(&self, place: &Path) -> Option<Record> {
        serde_json::from_slice(&fs::read(self.path(place)).ok()?).ok()
    }

    /// Writes the record of a place.
    pub(crate) fn keep(&self, place: &Path, record: &Record) -> Result<(), Error> {
        let path = self.path(place);
        let text = serde_json::to_vec(record).unwrap_or_default();
        for _ in 0..super::TRIES {
            if file::look(&path)?.replace(Some(&text), For::User)? {
                return Ok(());
            }
        }
        Err(Error::Busy { path })
    }

    /// Throws the record of a place away, and with it whatever directories were made and are empty
    /// now. Directories that others' records still lie in are left to those.
    pub(crate) fn drop_record(self, place: &Path, directories: &[PathBuf]) {
        fs::remove_file(self.path(place)).ok();
        let heir = fs::read_dir(&self.directory).ok().and_then(|mut it| it.next()?.ok());
        if let Some(heir) = heir
            && let Some(bytes) = fs::read(heir.path()).ok()
            && let Ok(mut record) = serde_json::from_slice::<Record>(&bytes)
        {
            let ours = directories.iter().filter(|it| self.directory.starts_with(it));
            let new: Vec<PathBuf> =
                ours.filter(|it| !record.directories.contains(it)).cloned().collect();
            record.directories.splice(0..0, new);
            if let Ok(seen) = file::look(&heir.path()) {
                let text = serde_json::to_vec(&record).unwrap_or_default();
                // At worst an empty directory stays behind.
                drop(seen.replace(Some(&text), For::User));
            }
        }
        // The innermost first: several processes may have made them, each a part.
        let mut directories: Vec<&PathBuf> = directories.iter().collect();
        directories.sort_by_key(|it| std::cmp::Reverse(it.components().count()));
        for directory in directories {
            // Only what is empty goes.
            fs::remove_dir(directory).ok();
        }
    }
}

//! The record of an installation, which allows reversing it exactly.
//!
//! The record contains the edits and not the files, because settings may contain secrets. Each
//! layer is one edit of a file with a digest of the file before and after. If a file is in a state
//! that one of our edits produced, the edits can be reversed byte for byte. A record belongs to one
//! scope (a user's or a project's settings).

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

/// The record of one scope.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Record {
    /// Directories that were created.
    pub(crate) directories: Vec<PathBuf>,
    /// Files that were edited or created.
    pub(crate) files: Vec<Edited>,
}

/// The record of one file.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Edited {
    pub(crate) path: PathBuf,
    /// Whether the file existed before.
    pub(crate) existed: bool,
    pub(crate) layers: Vec<Layer>,
    /// Names of entries and containers that were created, such as `hooks/Stop`. `None` if unknown.
    pub(crate) made: Option<Vec<String>>,
    /// The entry that was under Punchlist's name before.
    pub(crate) server_before: Option<Value>,
    /// The setting of Codex's own tool before an installation that uses it.
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

/// A file before our edits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Original {
    /// It did not exist.
    Absent,
    /// It had these bytes.
    Bytes(Vec<u8>),
    /// Unknown, because somebody else has changed it since.
    Unknown,
}

impl Record {
    /// The record of a file.
    pub(crate) fn of(&self, path: &Path) -> Option<&Edited> {
        self.files.iter().find(|it| it.path == path)
    }

    /// Replaces the record of a file.
    pub(crate) fn set(&mut self, edited: Edited) {
        self.files.retain(|it| it.path != edited.path);
        self.files.push(edited);
    }
}

impl Edited {
    /// How many of our edits a file with this digest has. `None` if others have changed it.
    pub(crate) fn applied(&self, stamp: &str) -> Option<usize> {
        let after = self.layers.iter().rposition(|it| it.after == stamp);
        let untouched = || self.layers.first().filter(|it| it.before == stamp).map(|_| 0);
        after.map(|at| at + 1).or_else(untouched)
    }

    /// The record with more created names.
    pub(crate) fn with(mut self, missing: &[String]) -> Self {
        if let Some(made) = &mut self.made {
            made.extend(missing.iter().cloned());
            made.sort();
            made.dedup();
        }
        self
    }

    /// The file before our edits, if these bytes are a state before or after one of them.
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
        // Checks the result too, because digests may collide.
        if self::stamp(Some(&bytes)) == first.before {
            Original::Bytes(bytes)
        } else {
            Original::Unknown
        }
    }
}

/// A digest of a text: its length and an FNV-1a hash. It detects changes and is not cryptographic.
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

/// The directory of records, locked by one process at a time.
pub(crate) struct RecordDirectory {
    agent: Agent,
    directory: PathBuf,
    /// Directories that were just created for it.
    pub(crate) made: Vec<PathBuf>,
    /// Held open, because closing it releases the lock.
    _lock: Option<File>,
}

const FOLDER: &str = "installed";

impl RecordDirectory {
    /// Opens the directory, creates it if necessary, and waits for the lock.
    pub(crate) fn open(options: &Options) -> Result<Self, Error> {
        Self::held(options, true)
    }

    /// Opens the directory if it exists, and waits for the lock. If another uninstall removes it
    /// meanwhile, it is not created again.
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
                // Another uninstall removed it first.
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

    /// Reads the directory without a lock, to show what would happen.
    pub(crate) fn unlocked(options: &Options) -> Self {
        let directory = options.data.join(FOLDER);
        Self { agent: options.agent, directory, made: Vec::new(), _lock: None }
    }

    fn path(&self, place: &Path) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        let hash = hash(place.as_os_str().as_bytes());
        self.directory.join(format!("{}-{hash:016x}.json", self.agent.as_str()))
    }

    /// The record of a scope. An unreadable record counts as missing; then our entries are
    /// recognised by their form.
    pub(crate) fn record(&self, place: &Path) -> Option<Record> {
        serde_json::from_slice(&fs::read(self.path(place)).ok()?).ok()
    }

    /// Writes the record of a scope.
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

    /// Deletes the record of a scope, and created directories that are empty now. Directories with
    /// records of other scopes stay.
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
                // If this fails, an empty directory remains.
                drop(seen.replace(Some(&text), For::User));
            }
        }
        // The innermost first, because several processes may have created parts of a path.
        let mut directories: Vec<&PathBuf> = directories.iter().collect();
        directories.sort_by_key(|it| std::cmp::Reverse(it.components().count()));
        for directory in directories {
            // Fails if the directory is not empty.
            fs::remove_dir(directory).ok();
        }
    }
}

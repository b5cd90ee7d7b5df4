//! The spool: keeps hook events that could not be stored in files, until they can be applied.
//!
//! A hook must let its agent continue within two seconds, even if the database cannot be used. So
//! an event that cannot be applied is written to its own file, beside the database or, if that is
//! not writable, in the user's data directory. The next process that opens the store applies the
//! events in the order in which they happened and removes each file. Only one process does this at
//! a time. If it is killed between applying an event and removing its file, the event is applied
//! again; events are recorded such that applying one twice changes nothing.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use punchlist_formats::hook::What;
use punchlist_model::{Process, Timestamp};
use serde::{Deserialize, Serialize};

use crate::replace;

/// Maximum of events that are kept. More mean that something has been broken for a long time.
const MOST_EVENTS: usize = 10_000;
/// Maximum size of a file that is read, in bytes.
const MOST_BYTES: u64 = 40 * 1024 * 1024;
/// The extension of the files.
const ENDING: &str = ".json";

/// An event with what the hook knew besides it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spooled {
    /// When the event happened.
    pub at: Timestamp,
    /// The agent of the hook, such as `claude`.
    pub agent: String,
    /// The event's name, if the hook's arguments gave it.
    pub event: Option<String>,
    /// Whether the agent has the tools of our server.
    pub has_server: bool,
    /// The name of the plan that the session works on instead of its own plan.
    pub plan: Option<String>,
    /// The agent's process.
    pub process: Option<Process>,
    /// Whether the session is interactive, if known.
    pub interactive: Option<bool>,
    /// Whether the agent was started in plan mode.
    pub planning: bool,
    /// The list that holds the agent's tasks, if it is not named after the session.
    pub task_list: Option<String>,
    /// The agent's input to the hook.
    pub input: String,
}

/// Whether an event is kept. Events that report something are; events that only ask for an answer
/// are not, because nobody waits for the answer any more.
pub fn is_kept(what: &What) -> bool {
    match what {
        What::Begins(_)
        | What::Prompt
        | What::Compacted
        | What::Wrote(_)
        | What::Creating(_)
        | What::NotCreated(_)
        | What::Turn(_)
        | What::Planning(_)
        | What::SubBegins
        | What::Ends => true,
        What::Completing(_) | What::Stop(_) | What::SubStop(_) | What::Doctor => false,
    }
}

/// Where the events of a database are kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spool {
    /// The directory beside the database.
    beside: PathBuf,
    /// The directory to use if the first is not writable.
    elsewhere: Option<PathBuf>,
}

impl Spool {
    /// The spool of a database, by its absolute path. `data` is the user's data directory.
    pub fn of(database: &Path, data: Option<&Path>) -> Self {
        let mut name = database.as_os_str().to_owned();
        name.push("-spool");
        // FNV-1a: short and stable across versions.
        let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        let sum = database.as_os_str().as_encoded_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step);
        let elsewhere = data.map(|it| it.join("spool").join(format!("{sum:016x}")));
        Self { beside: PathBuf::from(name), elsewhere }
    }

    fn directories(&self) -> impl Iterator<Item = &Path> {
        [Some(self.beside.as_path()), self.elsewhere.as_deref()].into_iter().flatten()
    }

    /// Keeps an event.
    pub fn add(&self, event: &Spooled) -> io::Result<()> {
        let mut failed = io::Error::other("there is no place for it");
        for directory in self.directories() {
            match add(directory, event) {
                Ok(()) => return Ok(()),
                Err(why) => failed = why,
            }
        }
        Err(failed)
    }

    /// How many events wait, by directory. If there are none, this only tries to list two
    /// directories.
    pub fn waiting(&self) -> Vec<(PathBuf, usize)> {
        let count = |it: &Path| (it.to_owned(), files(it).len());
        self.directories().map(count).filter(|it| it.1 > 0).collect()
    }

    /// Takes the waiting events and locks the spool, unless it is empty or another process has
    /// locked it.
    pub fn take(&self) -> io::Result<Taken> {
        let mut locks = Vec::new();
        for directory in self.directories() {
            let Ok(file) = File::open(directory) else { continue };
            match file.try_lock() {
                Ok(()) => locks.push((directory.to_owned(), file)),
                Err(TryLockError::WouldBlock) => return Ok(Taken::ByAnother),
                Err(TryLockError::Error(why)) => return Err(why),
            }
        }
        let mut found: Vec<PathBuf> = locks.iter().flat_map(|it| files(&it.0)).collect();
        // File names begin with the time.
        found.sort_by(|one, other| one.file_name().cmp(&other.file_name()));
        Ok(if found.is_empty() { Taken::Nothing } else { Taken::Events(Events { locks, found }) })
    }
}

/// The result of taking events from the spool.
pub enum Taken {
    /// No event waits.
    Nothing,
    /// Another process is applying the events.
    ByAnother,
    /// The events.
    Events(Events),
}

/// The waiting events, oldest first. The spool is locked as long as this value lives.
pub struct Events {
    locks: Vec<(PathBuf, File)>,
    found: Vec<PathBuf>,
}

impl Events {
    /// Applies the events one after the other. If `apply` returns `false`, the event cannot be
    /// applied now; it and all later ones stay. Returns whether none is left.
    pub fn apply(self, mut apply: impl FnMut(Option<Spooled>) -> bool) -> bool {
        for path in &self.found {
            // A file that is no event is passed as `None` and removed.
            if !apply(read(path)) {
                return false;
            }
            if let Err(why) = fs::remove_file(path)
                && why.kind() != io::ErrorKind::NotFound
            {
                return false;
            }
        }
        for (directory, _) in &self.locks {
            // Fails if another event was added meanwhile; then the directory stays.
            drop(fs::remove_dir(directory));
        }
        true
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let Ok(found) = fs::read_dir(directory) else { return Vec::new() };
    let is_event = |it: &fs::DirEntry| {
        it.file_name().to_str().is_some_and(|it| it.ends_with(ENDING))
            && it.file_type().is_ok_and(|it| it.is_file())
    };
    found.flatten().filter(is_event).map(|it| it.path()).collect()
}

fn read(path: &Path) -> Option<Spooled> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn add(directory: &Path, event: &Spooled) -> io::Result<()> {
    let bytes = serde_json::to_vec(event)?;
    // The process that applies the last event removes the directory, so it may vanish here.
    for _ in 0..3 {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        if files(directory).len() >= MOST_EVENTS {
            return Err(io::Error::other(format!("{MOST_EVENTS} events wait already")));
        }
        match write(directory, event, &bytes) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            done => return done,
        }
    }
    Err(io::Error::other(format!("{} is removed again and again", directory.display())))
}

/// Writes an event atomically: a reader sees the whole file or none.
fn write(directory: &Path, event: &Spooled, bytes: &[u8]) -> io::Result<()> {
    let (at, pid) = (event.at.as_millisecond().max(0), std::process::id());
    for n in 0..1000_u32 {
        let name = directory.join(format!("{at:015}-{pid:010}-{n:03}{ENDING}"));
        match replace::with(&name, None, bytes, 0o600) {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
            done => return done,
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(ms: i64, input: &str) -> Spooled {
        Spooled {
            at: Timestamp::from_millisecond(ms).unwrap(),
            agent: "claude".to_owned(),
            event: None,
            has_server: true,
            plan: None,
            process: None,
            interactive: Some(true),
            planning: false,
            task_list: None,
            input: input.to_owned(),
        }
    }

    fn spool() -> (tempfile::TempDir, Spool) {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        let spool = Spool::of(&directory.path().join("plans.db"), Some(&data));
        (directory, spool)
    }

    fn events(spool: &Spool) -> Events {
        match spool.take().unwrap() {
            Taken::Events(events) => events,
            Taken::Nothing | Taken::ByAnother => panic!("events wait"),
        }
    }

    #[test]
    fn events_are_applied_in_order_and_once() {
        let (directory, spool) = spool();
        assert!(matches!(spool.take().unwrap(), Taken::Nothing));
        for (ms, input) in [(20, "c"), (1, "a"), (20, "d"), (3, "b")] {
            spool.add(&event(ms, input)).unwrap();
        }
        let mut seen = String::new();
        let mut apply = |it: Option<Spooled>| {
            seen.push_str(&it.unwrap().input);
            true
        };
        let taken = events(&spool);
        assert!(matches!(spool.take().unwrap(), Taken::ByAnother), "one at a time");
        assert!(taken.apply(&mut apply));
        assert_eq!(seen, "abcd");
        assert!(matches!(spool.take().unwrap(), Taken::Nothing), "once");
        assert!(!directory.path().join("plans.db-spool").exists());
    }

    #[test]
    fn what_cannot_be_applied_stays_with_all_that_comes_after_it() {
        let (_directory, spool) = spool();
        (1..=3).for_each(|ms| spool.add(&event(ms, &ms.to_string())).unwrap());
        assert!(!events(&spool).apply(|it| it.unwrap().input == "1"));
        let mut left = Vec::new();
        assert!(events(&spool).apply(|it| {
            left.extend(it.map(|it| it.input));
            true
        }));
        assert_eq!(left, ["2", "3"]);
    }

    #[test]
    fn where_nothing_can_be_written_beside_the_database_the_data_directory_keeps_them() {
        let (directory, spool) = spool();
        // A file has the name of the directory.
        fs::write(directory.path().join("plans.db-spool"), "").unwrap();
        spool.add(&event(1, "a")).unwrap();
        assert_eq!(spool.waiting().len(), 1);
        assert!(spool.waiting()[0].0.starts_with(directory.path().join("data/spool")));
        assert!(events(&spool).apply(|it| it.unwrap().input == "a"));
    }

    #[test]
    fn a_file_that_is_no_event_holds_nobody_up() {
        let (directory, spool) = spool();
        spool.add(&event(2, "b")).unwrap();
        fs::write(directory.path().join("plans.db-spool/000000000000001-x.json"), b"\xff").unwrap();
        let mut seen = Vec::new();
        assert!(events(&spool).apply(|it| {
            seen.push(it.map(|it| it.input));
            true
        }));
        assert_eq!(seen, [None, Some("b".to_owned())]);
    }
}

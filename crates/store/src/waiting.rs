//! How this process waits for others that write: who it is, how long it waits, and whom it tells.
//!
//! Whoever has a writers' lock is recorded beside it (in the queue file), so that those who wait can name
//! the program, also when it was stopped and says nothing itself. The record is information only: a lock
//! is held or not, whatever the record says.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use punchlist_model::Timestamp;
use rustix::process::Pid;

/// How this process waits for its turn to write.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// What this process is called where it keeps others waiting: `punchlist add`.
    pub program: String,
    /// The time, for those who are kept waiting. Without it they are not told since when.
    pub clock: Option<fn() -> Timestamp>,
    /// After how long it is told that somebody else holds the lock.
    pub tell_after: Duration,
    /// Who is told.
    pub tell: Option<fn(&str)>,
    /// After how long waiting ends with an error.
    pub give_up_after: Duration,
}

impl Waiting {
    const DEFAULT: Self = Self {
        program: String::new(),
        clock: None,
        tell_after: Duration::from_secs(3),
        tell: None,
        give_up_after: Duration::from_secs(30),
    };
}

impl Default for Waiting {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// One per process, because it is the process that others wait for.
static OURS: Mutex<Waiting> = Mutex::new(Waiting::DEFAULT);

/// Says how this process waits, from now on.
pub fn set_waiting(waiting: Waiting) {
    *OURS.lock().unwrap_or_else(PoisonError::into_inner) = waiting;
}

/// How this process waits.
pub(crate) fn waiting() -> Waiting {
    OURS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Which of the two locks a record is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lock {
    /// The right to write.
    Bell,
    /// The right to be the next who writes.
    Queue,
}

/// How long a record is in the file.
const RECORD: usize = 128;

impl Lock {
    fn offset(self) -> u64 {
        match self {
            Self::Bell => 0,
            Self::Queue => RECORD as u64,
        }
    }
}

/// Who holds a lock, as it said itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Holder {
    program: String,
    pid: i32,
    since: Option<Timestamp>,
}

/// Records that this process has a lock.
pub(crate) fn record(file: &File, lock: Lock) {
    let ours = OURS.lock().unwrap_or_else(PoisonError::into_inner);
    let since = ours.clock.map_or(-1, |clock| clock().as_millisecond());
    let program: String = ours.program.chars().filter(|it| !it.is_control()).take(60).collect();
    drop(ours);
    let pid = rustix::process::getpid().as_raw_pid();
    let mut line = format!("{pid} {since} {program}").into_bytes();
    line.truncate(RECORD - 1);
    line.resize(RECORD - 1, b' ');
    line.push(b'\n');
    // A record that cannot be written (a full disk) costs those who wait the name, and nothing else.
    drop(file.write_all_at(&line, lock.offset()));
}

/// Who has a lock that is held just now, if that process is still there.
pub(crate) fn holder(file: &File, lock: Lock) -> Option<Holder> {
    let mut line = [0; RECORD];
    file.read_exact_at(&mut line, lock.offset()).ok()?;
    let text = String::from_utf8_lossy(&line);
    let mut words = text.trim_end().splitn(3, ' ');
    let pid: i32 = words.next()?.parse().ok()?;
    let since: i64 = words.next()?.parse().ok()?;
    let program = words.next().unwrap_or_default().trim().to_owned();
    let since = Timestamp::from_millisecond(since).ok().filter(|_| since >= 0);
    let is_there = match rustix::process::test_kill_process(Pid::from_raw(pid)?) {
        Ok(()) => true,
        // It is somebody else's, and there.
        Err(why) => why == rustix::io::Errno::PERM,
    };
    is_there.then_some(Holder { program, pid, since })
}

/// In words, who keeps everybody waiting at a database.
pub(crate) fn describe(holder: Option<&Holder>, database: &Path) -> String {
    let database = database.display();
    let Some(Holder { program, pid, since }) = holder else {
        return format!("another program holds the writers' lock of {database}");
    };
    let program = if program.is_empty() { "a program" } else { program };
    let since = since.map(|it| format!(" since {it:.0}")).unwrap_or_default();
    format!("{program} (process {pid}) holds the writers' lock of {database}{since}")
}

/// Waits for a lock on a file until a time; whether it was had. The wait itself is the system's, in a
/// thread, because it serves those who wait in turn and has no limit of its own.
///
/// After a wait in vain the thread still waits, on this open file: the caller must not lock it again.
pub(crate) fn lock_until(
    file: &File,
    tell_at: Instant,
    until: Instant,
    tell: impl FnOnce(),
) -> io::Result<bool> {
    let own = file.try_clone()?;
    // Nobody is handed a lock that nobody takes: then the thread lets go of it.
    let (done, is_done) = sync_channel::<io::Result<()>>(0);
    let wait = move || {
        let locked = loop {
            match own.lock() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => break done,
            }
        };
        if done.send(locked).is_err() {
            drop(own.unlock());
        }
    };
    thread::Builder::new().name("punchlist-lock".to_owned()).spawn(wait)?;
    let left = |at: Instant| at.saturating_duration_since(Instant::now());
    let mut locked = is_done.recv_timeout(left(tell_at.min(until)));
    if let Err(RecvTimeoutError::Timeout) = locked {
        tell();
        locked = is_done.recv_timeout(left(until));
    }
    match locked {
        Ok(locked) => locked.map(|()| true),
        Err(RecvTimeoutError::Timeout) => Ok(false),
        Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("the thread that waits broke")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_waited_for_until_a_time_and_told_of_once() {
        let directory = tempfile::TempDir::new().unwrap();
        let open = || {
            let mut options = File::options();
            options.read(true).write(true).create(true).truncate(false);
            options.open(directory.path().join("lock")).unwrap()
        };
        let (held, ours) = (open(), open());
        held.lock().unwrap();
        let mut told = 0;
        let now = Instant::now();
        assert!(!lock_until(&ours, now, now, || told += 1).unwrap());
        assert_eq!(told, 1);
        let free = open();
        held.unlock().unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        assert!(lock_until(&free, until, until, || told += 1).unwrap());
        assert_eq!(told, 1, "nobody had to wait");
    }

    #[test]
    fn whoever_holds_a_lock_is_named_as_long_as_it_is_there() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("plans.db-queue");
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(false).open(path).unwrap();
        assert_eq!(holder(&file, Lock::Bell), None);
        record(&file, Lock::Queue);
        record(&file, Lock::Bell);
        let pid = rustix::process::getpid().as_raw_pid();
        for lock in [Lock::Bell, Lock::Queue] {
            assert_eq!(holder(&file, lock).unwrap().pid, pid);
        }
        file.write_all_at(b"2147483646 0 gone", 0).unwrap();
        assert_eq!(holder(&file, Lock::Bell), None, "there is no such process");
        let named = Holder {
            program: "punchlist add".to_owned(),
            pid: 7,
            since: Some(Timestamp::UNIX_EPOCH),
        };
        assert_eq!(
            describe(Some(&named), Path::new("/a/plans.db")),
            "punchlist add (process 7) holds the writers' lock of /a/plans.db since 1970-01-01T00:00:00Z"
        );
    }
}

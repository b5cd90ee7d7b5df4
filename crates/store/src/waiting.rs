//! How this process waits for the write lock: its name, its timeouts, and whom it notifies.
//!
//! The holder of a lock writes its name into the queue file, so that waiting processes can name it
//! even if it is suspended. The record is information only: whether a lock is held does not depend
//! on it.

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

/// How this process waits for the write lock.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The name of this process, for processes that wait for it: `punchlist add`.
    pub program: String,
    /// The clock, so that waiting processes can say since when the lock is held. Optional.
    pub clock: Option<fn() -> Timestamp>,
    /// After this time, `tell` is called with the name of the holder.
    pub tell_after: Duration,
    /// Is called when the wait gets long.
    pub tell: Option<fn(&str)>,
    /// The timeout: after this time the wait fails.
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

/// One per process, because processes wait for each other.
static OURS: Mutex<Waiting> = Mutex::new(Waiting::DEFAULT);

/// Sets how this process waits from now on.
pub fn set_waiting(waiting: Waiting) {
    *OURS.lock().unwrap_or_else(PoisonError::into_inner) = waiting;
}

/// How this process waits.
pub(crate) fn waiting() -> Waiting {
    OURS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The two locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lock {
    /// The write lock.
    Bell,
    /// The lock of the process that gets the write lock next.
    Queue,
}

/// The length of a record in the file.
const RECORD: usize = 128;

impl Lock {
    fn offset(self) -> u64 {
        match self {
            Self::Bell => 0,
            Self::Queue => RECORD as u64,
        }
    }
}

/// The holder of a lock, according to its record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Holder {
    program: String,
    pid: i32,
    since: Option<Timestamp>,
}

/// Records that this process holds a lock.
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
    // If the record cannot be written (full disk), waiting processes lack only the name.
    drop(file.write_all_at(&line, lock.offset()));
}

/// The holder of a lock that is held now, if its process still exists.
pub(crate) fn holder(file: &File, lock: Lock) -> Option<Holder> {
    let mut line = [0; RECORD];
    file.read_exact_at(&mut line, lock.offset()).ok()?;
    let text = String::from_utf8_lossy(&line);
    let mut words = text.trim_end().splitn(3, ' ');
    let pid: i32 = words.next()?.parse().ok()?;
    let since: i64 = words.next()?.parse().ok()?;
    let program = words.next().unwrap_or_default().trim().to_owned();
    let since = Timestamp::from_millisecond(since).ok().filter(|_| since >= 0);
    let exists = match rustix::process::test_kill_process(Pid::from_raw(pid)?) {
        Ok(()) => true,
        // The process exists but belongs to another user.
        Err(why) => why == rustix::io::Errno::PERM,
    };
    exists.then_some(Holder { program, pid, since })
}

/// Describes the process that everybody waits for.
pub(crate) fn describe(holder: Option<&Holder>, database: &Path) -> String {
    let database = database.display();
    let Some(Holder { program, pid, since }) = holder else {
        return format!("another program holds the write lock of {database}");
    };
    let program = if program.is_empty() { "a program" } else { program };
    let since = since.map(|it| format!(" since {it:.0}")).unwrap_or_default();
    format!("{program} (process {pid}) holds the write lock of {database}{since}")
}

/// Waits for a lock on a file until a time. Returns whether it was acquired. The wait itself is a
/// blocking system call in a thread: the system serves waiting processes in order, but has no
/// timeout.
///
/// After a timeout the thread still waits on this open file: the caller must not lock it again.
pub(crate) fn lock_until(
    file: &File,
    tell_at: Instant,
    until: Instant,
    tell: impl FnOnce(),
) -> io::Result<bool> {
    let own = file.try_clone()?;
    // With a capacity of 0, `send` fails if the caller has given up; the thread then releases the
    // lock.
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
    let remaining = |at: Instant| at.saturating_duration_since(Instant::now());
    let mut locked = is_done.recv_timeout(remaining(tell_at.min(until)));
    if let Err(RecvTimeoutError::Timeout) = locked {
        tell();
        locked = is_done.recv_timeout(remaining(until));
    }
    match locked {
        Ok(locked) => locked.map(|()| true),
        Err(RecvTimeoutError::Timeout) => Ok(false),
        Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("the waiting thread panicked")),
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
            "punchlist add (process 7) holds the write lock of /a/plans.db since 1970-01-01T00:00:00Z"
        );
    }
}

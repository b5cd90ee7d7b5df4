//! Whether a process holds the write lock of a database and does not release it.
//!
//! A lock ends with its process, so it stays only if a process hangs or was stopped. Then every
//! hook times out, silently.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::Finding;

/// The suffixes of the lock files beside the database.
const ENDINGS: [&str; 2] = ["-queue", "-bell"];
/// The time between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// Whether the write lock can be acquired within `patience`. Holds it for a moment and changes
/// nothing.
pub fn look(database: &Path, patience: Duration) -> Option<Finding> {
    ENDINGS.iter().find_map(|ending| {
        let mut name = database.as_os_str().to_owned();
        name.push(ending);
        held(&PathBuf::from(name), patience)
    })
}

fn held(path: &Path, patience: Duration) -> Option<Finding> {
    // A lock file that does not exist is not locked.
    let file = File::options().read(true).write(true).open(path).ok()?;
    let until = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => {
                file.unlock().ok();
                return None;
            }
            Err(TryLockError::WouldBlock) if Instant::now() < until => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => break,
            Err(TryLockError::Error(_)) => return None,
        }
    }
    let shown = path.display();
    let seconds = patience.as_millis();
    Some(match holder(&file) {
        Some((pid, name)) => Finding::bad(
            "lock",
            format!(
                "{name} ({pid}) has held {shown} for more than {seconds} ms: nobody else can write"
            ),
            format!("see what process {pid} does; `kill {pid}` ends it, and the lock with it"),
        ),
        None => Finding::bad(
            "lock",
            format!("somebody has held {shown} for more than {seconds} ms: nobody else can write"),
            format!("find the process with `fuser {shown}`, and end it"),
        ),
    })
}

/// The process that holds a lock on a file, if the system reports it.
fn holder(file: &File) -> Option<(u32, String)> {
    let inode = file.metadata().ok()?.ino().to_string();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let pid = locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // `1: FLOCK ADVISORY WRITE 1234 08:01:5678 0 EOF`; a process that only waits has an arrow.
        let is_it = words.get(5)?.rsplit(':').next()? == inode && words.get(1) != Some(&"->");
        is_it.then(|| words.get(4)?.parse().ok())?
    })?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let name = if name.trim().is_empty() { "a process" } else { name.trim() };
    Some((pid, name.to_owned()))
}

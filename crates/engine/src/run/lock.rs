//! A lock that allows one run of a plan file at a time.
//!
//! Both the run and the guardian of its processes hold the lock. So after a kill, no new run begins
//! before all processes of the killed run have ended.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use punchlist_bridge::private;
use rustix::io::Errno;
use tokio::time::{Instant, sleep};

use crate::fail::Fail;

/// How long to wait for the processes of a killed run: their grace period, and some more.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// The lock on a plan's run.
pub(crate) struct Lock(File);

impl Lock {
    /// Takes the lock with the name `of`; the error says who holds it. `waits` is called once if the processes of a
    /// killed run have not ended yet.
    pub(crate) async fn take(
        directory: &Path,
        of: &str,
        name: &str,
        mut waits: impl FnMut() -> Result<(), Fail>,
    ) -> Result<Self, Fail> {
        let fail = |why: &dyn std::fmt::Display| {
            Fail::ours(format!("cannot lock the run of {name} in {}: {why}", directory.display()))
        };
        private::directory(directory).map_err(|why| fail(&why))?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(directory.join(format!("{of}.lock"))).map_err(|why| fail(&why))?;
        let began = Instant::now();
        let mut has_warned = false;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(why)) if why.kind() == ErrorKind::Interrupted => continue,
                Err(TryLockError::Error(why)) => return Err(fail(&why)),
            }
            let pid = holder(&file);
            if pid.is_none_or(is_alive) || began.elapsed() > PATIENCE {
                return Err(already_running(name, pid));
            }
            if !has_warned && began.elapsed() > Duration::from_secs(1) {
                has_warned = true;
                waits()?;
            }
            sleep(PAUSE).await;
        }
        let mut lock = Self(file);
        // The process id is only used in messages, so a failed write does no harm.
        drop(lock.sign());
        Ok(lock)
    }

    fn sign(&mut self) -> std::io::Result<()> {
        self.0.set_len(0)?;
        self.0.rewind()?;
        write!(self.0, "{}", std::process::id())
    }

    /// Another handle for the same lock. The lock is free when all handles are closed.
    pub(crate) fn share(&self) -> std::io::Result<File> {
        self.0.try_clone()
    }
}

/// The error for a plan file that another process runs.
pub(super) fn already_running(name: &str, by: Option<u32>) -> Fail {
    let who = by.map_or_else(String::new, |pid| format!(" by process {pid}"));
    Fail::refused(format!("{name} is being run already{who}")).hint(
        "wait until it is done, or stop it with Ctrl-C where it runs; `punchlist watch` shows it.",
    )
}

fn holder(file: &File) -> Option<u32> {
    let mut text = String::new();
    let mut file = file;
    file.rewind().ok()?;
    file.take(20).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| match rustix::process::test_kill_process(pid) {
        Ok(()) | Err(Errno::PERM) => true,
        Err(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_plan_is_run_once_at_a_time_and_the_second_is_told_by_whom() {
        let dir = tempfile::tempdir().unwrap();
        let take = || Lock::take(dir.path(), "one", "plan.md", || Ok(()));
        let first = take().await.unwrap();
        let Err(second) = take().await else { panic!("taken twice") };
        assert!(second.message.contains(&std::process::id().to_string()), "{}", second.message);
        let shared = first.share().unwrap();
        drop(first);
        assert!(take().await.is_err(), "the guardian still has it");
        drop(shared);
        assert!(take().await.is_ok());
    }
}

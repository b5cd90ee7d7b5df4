//! Runs a check: a shell command under the guardian, of which the end, the digest of the output and
//! its last lines are kept.
//!
//! Whether it may run is decided elsewhere, before anything here is called.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use punchlist_sched::process::{Command, Exit, Processes};

use super::evidence::Sum;
use crate::fail::Fail;

/// How much of the end of the output is kept for a person to read.
const KEPT: usize = 16 * 1024;

/// Runs checks. It needs a tokio runtime with time and I/O.
pub struct Checker {
    processes: Processes,
    environment: Vec<(OsString, OsString)>,
}

/// What came of a check.
#[derive(Debug)]
pub struct Ran {
    /// How it ended; `None` if it took too long and was ended.
    pub exit: Option<Exit>,
    /// SHA-256 of all that it said.
    pub digest: String,
    /// The last lines of that.
    pub said: String,
}

impl Ran {
    /// The exit code, if it ended by itself.
    pub fn code(&self) -> Option<i32> {
        self.exit.and_then(|exit| exit.code)
    }

    /// Whether it ended by itself with exit code 0.
    pub fn passed(&self) -> bool {
        self.code() == Some(0)
    }

    /// How it ended, in words.
    pub fn words(&self) -> String {
        self.exit.map_or_else(|| "it took too long".to_owned(), |exit| exit.to_string())
    }
}

impl Checker {
    /// Checks run below a guardian, a second process of this program, with these variables.
    pub fn new(environment: Vec<(OsString, OsString)>) -> Result<Self, Fail> {
        let processes = Processes::guarded()
            .map_err(|why| Fail::ours(format!("checks cannot be run: {why}")))?;
        Ok(Self { processes, environment })
    }

    /// Runs one to its end.
    pub async fn run(
        &self,
        command: &str,
        directory: &Path,
        seconds: Option<u32>,
        variables: &[(&str, String)],
    ) -> Result<Ran, Fail> {
        let mut started = Command::shell(command, directory).envs(self.environment.iter().cloned());
        for (name, value) in variables {
            started = started.env(name, value);
        }
        let mut sum = Sum::default();
        let mut said = Vec::new();
        let failed = |why| {
            Fail::ours(format!("the check could not be run in {}: {why}", directory.display()))
        };
        let running = self.processes.spawn(started).await.map_err(failed)?;
        let finish = running.finish(|_, bytes| {
            sum.add(bytes);
            said.extend_from_slice(bytes);
            if said.len() > 2 * KEPT {
                said.drain(..said.len() - KEPT);
            }
        });
        let exit = match seconds {
            None => finish.await.map(Some),
            Some(seconds) => {
                let limit = Duration::from_secs(u64::from(seconds));
                // Dropped, it is ended with all that came of it.
                tokio::time::timeout(limit, finish).await.map_or(Ok(None), |exit| exit.map(Some))
            }
        };
        let exit = exit.map_err(failed)?;
        let from = said.len().saturating_sub(KEPT);
        let said = String::from_utf8_lossy(&said[from..]).into_owned();
        Ok(Ran { exit, digest: sum.digits(), said })
    }

    /// Waits until nothing of what was started is left.
    pub async fn close(self) {
        self.processes.close().await;
    }
}

//! Runs a check: a shell command under the guardian. Keeps its exit status, the digest of its
//! output and the last lines of its output.
//!
//! The caller decides first whether the check may run.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use punchlist_sched::process::{Command, Exit, Processes};

use super::evidence::Sum;
use crate::fail::Fail;

/// How many bytes at the end of the output are kept for people to read.
const KEPT: usize = 16 * 1024;

/// Runs checks. Needs a tokio runtime with time and I/O.
pub struct Checker {
    processes: Processes,
    environment: Vec<(OsString, OsString)>,
}

/// The result of a check.
#[derive(Debug)]
pub struct Ran {
    /// The exit status; `None` if the check timed out.
    pub exit: Option<Exit>,
    /// SHA-256 of the whole output.
    pub digest: String,
    /// The last lines of the output.
    pub said: String,
}

impl Ran {
    /// The exit code, if the command ended by itself.
    pub fn code(&self) -> Option<i32> {
        self.exit.and_then(|exit| exit.code)
    }

    /// Whether the command ended by itself with exit code 0.
    pub fn passed(&self) -> bool {
        self.code() == Some(0)
    }

    /// The exit status in words.
    pub fn words(&self) -> String {
        self.exit.map_or_else(|| "timed out".to_owned(), |exit| exit.to_string())
    }
}

impl Checker {
    /// Checks run under a guardian, a second process of this program, with these environment
    /// variables.
    pub fn new(environment: Vec<(OsString, OsString)>) -> Result<Self, Fail> {
        let processes = Processes::guarded()
            .map_err(|why| Fail::ours(format!("checks cannot be run: {why}")))?;
        Ok(Self { processes, environment })
    }

    /// Runs a command until it ends.
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
                // Dropping the future ends the command and all its child processes.
                tokio::time::timeout(limit, finish).await.map_or(Ok(None), |exit| exit.map(Some))
            }
        };
        let exit = exit.map_err(failed)?;
        let from = said.len().saturating_sub(KEPT);
        let said = String::from_utf8_lossy(&said[from..]).into_owned();
        Ok(Ran { exit, digest: sum.digits(), said })
    }

    /// Waits until all processes that were started have ended.
    pub async fn close(self) {
        self.processes.close().await;
    }
}

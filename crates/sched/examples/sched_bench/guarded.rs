//! Processes that do nothing, under a guardian and without.

use std::process::{Command as StdCommand, Stdio};
use std::thread;

use punchlist_sched::process::{Command, Processes};
use tokio::task::JoinSet;

use crate::Outcome;

const PROGRAM: &str = "/bin/true";

/// Starts `count` processes under one guardian, `jobs` at a time.
pub(crate) async fn guarded(processes: &Processes, count: u32, jobs: u32) -> Outcome {
    let mut all = JoinSet::new();
    for _ in 0..jobs {
        let processes = processes.clone();
        all.spawn(async move {
            for _ in 0..count / jobs {
                let running = processes.spawn(Command::new(PROGRAM, "/")).await?;
                running.finish(|_, _| {}).await?;
            }
            Ok::<(), punchlist_sched::process::Error>(())
        });
    }
    all.join_all().await.into_iter().collect::<Result<(), _>>()?;
    Ok(())
}

/// Starts the same number without a guardian, from `jobs` threads.
pub(crate) fn bare(count: u32, jobs: u32) -> Outcome {
    let start = move || {
        for _ in 0..count / jobs {
            StdCommand::new(PROGRAM).env_clear().stdin(Stdio::null()).status()?;
        }
        Ok::<(), std::io::Error>(())
    };
    let all: Vec<_> = (0..jobs).map(|_| thread::spawn(start)).collect();
    for one in all {
        one.join().map_err(|_| "a thread broke")??;
    }
    Ok(())
}

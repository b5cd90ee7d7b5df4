//! Runs an agent's program headless on one item and reads its output as it comes.
//!
//! `bridge` knows how to call each program and how to read its output. The environment does not name
//! the plan, because a Punchlist that is installed for the agent would write to it.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use punchlist_bridge::spawn::{self, Ended, Job, News, WorkerStream, WorkerUsage};
use punchlist_sched::call::Output;
use punchlist_sched::output::Stream;
use punchlist_sched::process::{Command, Error, Exit};
use punchlist_sched::tool::Work;

/// The environment variable that names the plan to a command.
pub const PLAN: &str = "PUNCHLIST_PLAN";
/// How many bytes of standard error are kept, for when the agent fails.
const KEPT: usize = 8 << 10;

/// What is heard of a program while it works.
#[derive(Clone, PartialEq, Debug)]
pub enum Heard {
    /// What it does, or its own list.
    News(News),
    /// Its id of its session. Heard once.
    Session(String),
    /// What it has used so far, in all.
    Used(WorkerUsage),
}

/// A program that ran to its end.
#[derive(Clone, PartialEq, Debug)]
pub struct Ran {
    /// How the process ended, or why that is unknown.
    pub exit: Result<Exit, Error>,
    /// What the stream says about the end.
    pub ended: Ended,
    /// The last part of its standard error.
    pub stderr: String,
    /// What it was doing, line by line, in case it was stopped before it answered.
    pub doing: Output,
    /// Whether it was ended because its time was over.
    pub is_timed_out: bool,
}

/// The command that lets an agent's program do an item.
pub fn command(job: &Job<'_>, directory: &Path, environment: &[(OsString, OsString)]) -> Command {
    let mut words = spawn::command(job).into_iter();
    let mut command = Command::new(words.next().unwrap_or_default(), directory)
        .envs(environment.iter().filter(|(name, _)| name != PLAN).cloned());
    for word in words {
        command = command.arg(word);
    }
    command.apart = true;
    command
}

/// Runs a program to its end, but no longer than `limit`. It is ended, with its descendants, when
/// the call must stop or the future is dropped.
pub async fn run(
    command: Command,
    mut stream: WorkerStream,
    work: &Work,
    limit: Option<Duration>,
    hear: &mut (dyn FnMut(Heard) + Send),
) -> Result<Ran, Error> {
    let running = work.spawn(command).await?;
    let mut stderr: Vec<u8> = Vec::new();
    let (mut has_session, mut used) = (false, WorkerUsage::default());
    let mut doing = work.capture();
    let say = |from, bytes: &[u8]| match from {
        Stream::Err => {
            stderr.extend_from_slice(bytes);
            if stderr.len() > 2 * KEPT {
                stderr.drain(..stderr.len() - KEPT);
            }
        }
        Stream::Out => {
            for news in stream.push(bytes) {
                if let News::Doing(text) = &news {
                    doing.take(text.as_bytes());
                    doing.take(b"\n");
                }
                hear(Heard::News(news));
            }
            if let Some(session) = stream.session().filter(|_| !has_session) {
                has_session = true;
                hear(Heard::Session(session.to_owned()));
            }
            if stream.usage() != used {
                used = stream.usage();
                hear(Heard::Used(used));
            }
        }
    };
    let (exit, is_timed_out) = running.finish_within(limit, say).await;
    let ended = stream.end(exit.as_ref().ok().and_then(|it| it.code));
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    Ok(Ran { exit, ended, stderr, doing: doing.finish(), is_timed_out })
}

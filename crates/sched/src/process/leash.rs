//! Commands that end with the guardian, also when the guardian is killed.
//!
//! The guardian does not start a command itself but a *leash*: our own program, called for that, which asks
//! the system for a signal when its parent dies, and then becomes the command. The request outlives that,
//! but it holds for the command alone: processes that the command starts do not get the signal. And it
//! holds on Linux alone.
//!
//! The system sends the signal when the *thread* that started the leash ends. The guardian has one thread,
//! which lives as long as it does.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Pid;

/// The program that is a leash when it is called with `arguments` and the words of a command.
#[derive(Clone, Debug)]
pub(super) struct Leash {
    /// Ours; nobody looks for it.
    pub(super) program: PathBuf,
    /// What it is called with.
    pub(super) arguments: Vec<OsString>,
}

impl Leash {
    /// The command that starts a program under its name, on this leash.
    pub(super) fn command(&self, program: &Path, name: &OsString) -> Command {
        let mut command = Command::new(&self.program);
        let guardian = rustix::process::getpid().as_raw_pid().to_string();
        command.args(&self.arguments).arg(guardian).arg(program).arg(name);
        command
    }
}

/// Becomes a command that ends with its parent. The words are the parent's number, the command's file, the
/// name that it is called by, and its arguments. Returns only if that fails, and says why.
pub(super) fn main(words: impl IntoIterator<Item = OsString>) -> String {
    let mut words = words.into_iter();
    let parent = words.next().and_then(|it| it.to_str()?.parse().ok()).and_then(Pid::from_raw);
    let (Some(parent), Some(program), Some(name)) = (parent, words.next(), words.next()) else {
        return "this is for punchlist itself: it starts commands with it".to_owned();
    };
    if let Err(why) = tie(parent) {
        return format!("{} was not started: {why}", program.display());
    }
    let why = Command::new(&program).arg0(name).args(words).exec();
    format!("{} cannot be started: {why}", program.display())
}

/// Has the system kill this process when its parent dies.
#[cfg(target_os = "linux")]
fn tie(parent: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // It may have died before that.
    if rustix::process::getppid() != Some(parent) {
        return Err(io::Error::other("the process that wanted it has ended"));
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn tie(_parent: Pid) -> io::Result<()> {
    Ok(())
}

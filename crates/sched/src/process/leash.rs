//! Commands that end with the guardian, even if the guardian is killed.
//!
//! The guardian does not execute a command directly, but starts a *leash*: our own program, which
//! asks the kernel for a signal when its parent dies, and then executes the command in its place.
//! The request survives the `exec`, but it holds only for the command itself: processes that the
//! command starts do not get the signal. It works only on Linux.
//!
//! The kernel sends the signal when the *thread* that started the leash ends. The guardian has only
//! one thread.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Pid;

/// The program that is a leash when called with `arguments` and the words of a command.
#[derive(Clone, Debug)]
pub(super) struct Leash {
    /// A full path to our own program.
    pub(super) program: PathBuf,
    /// The arguments that make it a leash.
    pub(super) arguments: Vec<OsString>,
}

impl Leash {
    /// The command that starts a program under a name, on this leash.
    pub(super) fn command(&self, program: &Path, name: &OsString) -> Command {
        let mut command = Command::new(&self.program);
        let guardian = rustix::process::getpid().as_raw_pid().to_string();
        command.args(&self.arguments).arg(guardian).arg(program).arg(name);
        command
    }
}

/// Executes a command that ends with its parent. The words are the parent's pid, the command's
/// file, its name (`argv[0]`) and its arguments. Returns only if that fails, with the reason.
pub(super) fn main(words: impl IntoIterator<Item = OsString>) -> String {
    let mut words = words.into_iter();
    let parent = words.next().and_then(|it| it.to_str()?.parse().ok()).and_then(Pid::from_raw);
    let (Some(parent), Some(program), Some(name)) = (parent, words.next(), words.next()) else {
        return "this is only for punchlist itself, which starts commands with it".to_owned();
    };
    if let Err(why) = tie(parent) {
        return format!("{} was not started: {why}", program.display());
    }
    let why = Command::new(&program).arg0(name).args(words).exec();
    format!("{} cannot be started: {why}", program.display())
}

/// Asks the kernel to kill this process when its parent dies.
#[cfg(target_os = "linux")]
fn tie(parent: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // The parent may have died before that.
    if rustix::process::getppid() != Some(parent) {
        return Err(io::Error::other("the parent process has ended"));
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn tie(_parent: Pid) -> io::Result<()> {
    Ok(())
}

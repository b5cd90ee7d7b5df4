//! Commands that end with the guardian, even if the guardian is killed.
//!
//! The guardian does not execute a command directly, but starts a *leash*: our own program, which
//! asks the kernel for a signal when its parent dies, and then executes the command in its place.
//! The request survives the `exec`, but it holds only for the command itself: processes that the
//! command starts do not get the signal. It works only on Linux.
//!
//! The kernel sends the signal when the *thread* that started the leash ends. The guardian has only
//! one thread.
//!
//! The leash also puts a command into its sandbox, so that this needs no further program.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Pid;

use super::sandbox;

/// The argument that makes this program a leash.
const LEASH: &str = "__punchlist-leash";
/// The argument that makes this program a leash with a sandbox.
const SANDBOX: &str = "__punchlist-sandbox";

/// Our own program, as a leash.
#[derive(Clone, Debug)]
pub(super) struct Leash {
    /// A full path to our own program.
    program: PathBuf,
}

impl Leash {
    /// The leash for commands: this program, even if its file was replaced meanwhile. `None` if the
    /// system has none.
    pub(super) fn new() -> Option<Self> {
        let program = Path::new("/proc/self/exe");
        program.exists().then(|| Self { program: program.to_owned() })
    }

    /// The command that starts a program under a name, on this leash. With a sandbox, it may write
    /// only these directories.
    pub(super) fn command(
        &self,
        program: &Path,
        name: &OsString,
        sandbox: Option<&[PathBuf]>,
    ) -> Command {
        let mut command = Command::new(&self.program);
        let guardian = rustix::process::getpid().as_raw_pid().to_string();
        match sandbox {
            None => command.arg(LEASH).arg(guardian),
            Some(writable) => {
                let count = writable.len().to_string();
                command.arg(SANDBOX).arg(guardian).arg(count).args(writable)
            }
        };
        command.arg(program).arg(name);
        command
    }
}

/// If the arguments of this program make it a leash, executes the command. Returns only if that
/// fails, with the reason, or if the arguments are others.
pub(super) fn enter_if_called(arguments: impl IntoIterator<Item = OsString>) -> Option<String> {
    let mut words = arguments.into_iter();
    let called = words.next()?;
    if called == LEASH {
        Some(main(words, false))
    } else if called == SANDBOX {
        Some(main(words, true))
    } else {
        None
    }
}

/// Executes a command that ends with its parent. The words are the parent's pid, for a sandbox the
/// number of writable directories and these, the command's file, its name (`argv[0]`) and its
/// arguments. Returns only if that fails, with the reason.
fn main(mut words: impl Iterator<Item = OsString>, is_sandboxed: bool) -> String {
    let number = |it: Option<OsString>| it.and_then(|it| it.to_str()?.parse::<u32>().ok());
    let parent = number(words.next()).and_then(|it| Pid::from_raw(it.try_into().ok()?));
    let count = if is_sandboxed { number(words.next()) } else { Some(0) };
    let writable: Vec<PathBuf> =
        (0..count.unwrap_or(0)).map_while(|_| words.next()).map(PathBuf::from).collect();
    let (Some(parent), Some(_), Some(program), Some(name)) =
        (parent, count, words.next(), words.next())
    else {
        return "this is only for punchlist itself, which starts commands with it".to_owned();
    };
    if let Err(why) = tie(parent) {
        return format!("{} was not started: {why}", program.display());
    }
    if is_sandboxed && let Err(why) = sandbox::enter(&writable) {
        return format!(
            "{} was not started, because its sandbox was not: {why}",
            program.display()
        );
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

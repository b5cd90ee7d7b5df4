//! Processes that end with this program, however it ends.
//!
//! A *guardian* starts them: a second process of the same program, which lives slightly longer. The
//! driver sends it orders over a socket. When the socket closes, also because the driver was
//! killed, the guardian ends everything that it started. Output does not pass through the guardian:
//! it gets the writing ends of the pipes with the order.
//!
//! Every process leads its own process group and has no terminal. It is over when it has ended and
//! no descendant is left: **background processes that it leaves behind are ended too**, after a
//! short time to end by themselves. On Linux this includes descendants that left the group or the
//! session, because the guardian adopts orphans; elsewhere only the group.
//!
//! If the driver and the guardian are killed together, on Linux a command still dies with the
//! guardian (`leash`), but processes that the command has started do not.

pub mod guardian;
mod leash;
mod link;
mod outbox;
mod running;
pub mod sandbox;
mod socket;
mod terminal;
mod wire;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use link::Link;
pub(crate) use running::Watched;
pub use running::{Pipes, Running, Stopper};
use sandbox::SandboxOptions;
pub use terminal::{HeldTerminal, TerminalModes};

/// The options for starting and ending processes.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program that becomes the guardian, because its `main` begins with
    /// [`guardian::enter_if_called`]. A full path: it is not searched for.
    pub guardian: PathBuf,
    /// Its arguments, visible in a list of processes.
    pub arguments: Vec<OsString>,
    /// How long a process may take to end after SIGTERM, before it is killed.
    pub grace: Duration,
    /// How long descendants may live on after their process has ended.
    pub linger: Duration,
    /// A file that the guardian keeps open while it lives, so that a lock on it lasts until every
    /// started process has ended, even if the driver is killed.
    pub held: Option<Arc<File>>,
}

impl Options {
    /// Uses this program as guardian. Its `main` must begin with [`guardian::enter_if_called`].
    pub fn this_program() -> io::Result<Self> {
        Ok(Self::new(std::env::current_exe()?, ["guardian".into()]))
    }

    /// Uses this program as guardian, with a grace of two seconds, and a fifth of a second for
    /// descendants.
    pub fn new(
        guardian: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Self {
        Self {
            guardian: guardian.into(),
            arguments: arguments.into_iter().collect(),
            grace: Duration::from_secs(2),
            linger: Duration::from_millis(200),
            held: None,
        }
    }
}

/// A command to start. Nothing is inherited: the process gets only what is given here.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Command {
    /// The program: a path, or a name that is searched in the `PATH` of `environment`.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The working directory.
    pub directory: PathBuf,
    /// The input; without it, stdin is empty.
    pub stdin: Option<Vec<u8>>,
    /// Whether stdout and stderr are separate. Otherwise they are one stream, in the order of
    /// writing.
    pub apart: bool,
    /// The sandbox that it runs in. If the sandbox cannot be set up, the command does not run.
    pub sandbox: Option<SandboxOptions>,
}

impl Command {
    /// A program in a working directory.
    pub fn new(program: impl Into<OsString>, directory: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), directory: directory.into(), ..Self::default() }
    }

    /// A command line for the system's shell.
    pub fn shell(line: impl Into<OsString>, directory: impl Into<PathBuf>) -> Self {
        Self::new("/bin/sh", directory).arg("-c").arg(line)
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds a variable. A later one of the same name replaces it.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Adds variables.
    #[must_use]
    pub fn envs(mut self, all: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.environment.extend(all);
        self
    }
}

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exit {
    /// The exit code, if the process ended by itself.
    pub code: Option<i32>,
    /// The signal that ended the process, if one did.
    pub signal: Option<i32>,
    /// How many descendants had to be ended.
    pub left_behind: u32,
    /// How many descendants could not be killed, because they hang in the kernel.
    pub undead: u32,
}

impl Exit {
    /// Whether the exit code is 0.
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}")?,
            (None, Some(signal)) => match name_of(signal) {
                Some(name) => write!(f, "ended by signal {signal} ({name})")?,
                None => write!(f, "ended by signal {signal}")?,
            },
            (None, None) => f.write_str("ended in an unknown way")?,
        }
        match self.undead {
            0 => Ok(()),
            1 => f.write_str("; 1 process cannot be ended"),
            count => write!(f, "; {count} processes cannot be ended"),
        }
    }
}

fn name_of(signal: i32) -> Option<&'static str> {
    use rustix::process::Signal;
    let names = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
    ];
    names.into_iter().find(|(it, _)| it.as_raw() == signal).map(|(_, name)| name)
}

/// Why a process could not be started, or why its end is unknown.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// The process could not be started.
    #[error("{0}")]
    NotStarted(String),
    /// The call is being stopped.
    #[error("the call is being stopped")]
    Stopping,
    /// This run may not start processes.
    #[error("this run may not start processes")]
    NotHere,
    /// The guardian could not be started.
    #[error("the guardian did not start: {0}")]
    NoGuardian(String),
    /// The guardian ended. The processes that were known are killed.
    #[error("the guardian ended, so this process was killed")]
    GuardianGone,
}

/// Starts processes. Cheap to clone; all clones share one guardian, which starts with the first
/// process and ends after the last clone and the last process.
///
/// Belongs to the tokio runtime in which its first process is started.
#[derive(Clone)]
pub struct Processes(Arc<Shared>);

struct Shared {
    /// `None` if no process may be started.
    options: Option<Options>,
    link: Mutex<Option<Link>>,
}

impl Processes {
    /// Uses these options. Starts nothing yet.
    pub fn new(options: Options) -> Self {
        Self(Arc::new(Shared { options: Some(options), link: Mutex::new(None) }))
    }

    /// Starts no processes: a tool that tries gets an error.
    pub fn none() -> Self {
        Self(Arc::new(Shared { options: None, link: Mutex::new(None) }))
    }

    /// Uses this program as guardian. Its `main` must begin with [`guardian::enter_if_called`].
    pub fn guarded() -> Result<Self, Error> {
        let options = Options::this_program();
        options.map(Self::new).map_err(|why| Error::NoGuardian(why.to_string()))
    }

    /// Starts a process. The process is ended when the [`Running`] is dropped.
    pub async fn spawn(&self, command: Command) -> Result<Running, Error> {
        self.begin(command)?.started().await
    }

    /// The same without waiting for the guardian's report.
    pub(crate) fn begin(&self, command: Command) -> Result<Running, Error> {
        self.with_link(|link| link.begin(command))?
    }

    /// Has the guardian restore a terminal if this program is killed; with `None`, no longer. Starts a
    /// guardian, if there is none. Must be called within the tokio runtime of the processes.
    pub fn hold_terminal(&self, held: Option<(HeldTerminal, OwnedFd)>) -> Result<(), Error> {
        self.with_link(|link| link.hold_terminal(held))
    }

    fn with_link<T>(&self, then: impl FnOnce(&mut Link) -> T) -> Result<T, Error> {
        let options = self.0.options.as_ref().ok_or(Error::NotHere)?;
        let mut link = self.link();
        let link = match &mut *link {
            Some(link) if link.is_alive() => link,
            other => other.insert(Link::start(options)?),
        };
        Ok(then(link))
    }

    /// Ends all processes and the guardian, and waits for that.
    pub async fn close(&self) {
        let link = self.link().take();
        if let Some(link) = link {
            link.close().await;
        }
    }

    fn link(&self) -> MutexGuard<'_, Option<Link>> {
        self.0.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Processes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Processes").field(&self.0.options).finish()
    }
}

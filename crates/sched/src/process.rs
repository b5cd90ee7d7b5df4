//! Processes that end with us, whatever becomes of us.
//!
//! They are started by a *guardian*: a second process of our own program that outlives us by a moment.
//! It is told over a socket what to start and what to end; when the socket closes, also because we were
//! killed, it ends everything that it started. Output does not pass through it: the writing ends of the
//! pipes are handed to it with the order.
//!
//! Every process leads a group of its own and has no terminal. It is over when it has ended and nothing
//! of it is left: **what it leaves behind in the background is ended too**, after a short while in which
//! it may end by itself. On Linux that includes what left the group or the session, because orphans come
//! to the guardian; elsewhere it is the group and no more.
//!
//! If we and the guardian are killed together, a command that was started dies with the guardian on Linux
//! (`leash`); processes that the command itself has started do not.

pub mod guardian;
mod leash;
mod link;
mod running;
mod socket;
mod wire;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use link::Link;
pub use running::Running;
pub(crate) use running::Watched;

/// How processes are started and ended.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program that becomes a guardian, because its `main` begins with
    /// [`guardian::enter_if_called`]. Ours; nobody looks for it.
    pub guardian: PathBuf,
    /// What it is called with, for people who list processes.
    pub arguments: Vec<OsString>,
    /// How long a process has to end after it was asked to, before it is killed.
    pub grace: Duration,
    /// How long what a process left behind may go on after it ended.
    pub linger: Duration,
    /// A file that the guardian keeps open as long as it lives. A lock on it so lasts until nothing is
    /// left of what was started, whatever became of us.
    pub held: Option<Arc<File>>,
}

impl Options {
    /// With this very program as guardian. Its `main` must begin with [`guardian::enter_if_called`].
    pub fn this_program() -> io::Result<Self> {
        Ok(Self::new(std::env::current_exe()?, ["guardian".into()]))
    }

    /// With this program as guardian, two seconds to end, and a fifth of one for what is left behind.
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

/// What is to be started. Nothing is inherited: what is not here, the process does not have.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Command {
    /// The program: a path, or a name that is looked up in the `PATH` of `environment`.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it works.
    pub directory: PathBuf,
    /// What it reads; nothing at all if there is none.
    pub stdin: Option<Vec<u8>>,
    /// Its two streams are told apart. Otherwise they come as one, in the order in which it wrote.
    pub apart: bool,
}

impl Command {
    /// A program that works in a directory.
    pub fn new(program: impl Into<OsString>, directory: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), directory: directory.into(), ..Self::default() }
    }

    /// A line for the system's shell.
    pub fn shell(line: impl Into<OsString>, directory: impl Into<PathBuf>) -> Self {
        Self::new("/bin/sh", directory).arg("-c").arg(line)
    }

    /// With another argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// With another variable. A later one of the same name counts.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// With these variables.
    #[must_use]
    pub fn envs(mut self, all: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.environment.extend(all);
        self
    }
}

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exit {
    /// With which code, if it ended by itself.
    pub code: Option<i32>,
    /// By which signal, if it did not.
    pub signal: Option<i32>,
    /// How many processes it left behind that had to be ended.
    pub left_behind: u32,
    /// How many of them could not even be killed: they hang in the system.
    pub undead: u32,
}

impl Exit {
    /// Whether it says that all went well.
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

/// Why a process could not be started, or what became of it is not known.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// It could not be started.
    #[error("{0}")]
    NotStarted(String),
    /// The call that wanted it is being stopped.
    #[error("the call is being stopped")]
    Stopping,
    /// It was said that none is started here.
    #[error("processes cannot be started here: this run was given none")]
    NotHere,
    /// The guardian did not start.
    #[error("the guardian of processes did not start: {0}")]
    NoGuardian(String),
    /// The guardian ended; what it guarded was killed as far as it was known.
    #[error("the guardian of processes has gone, so this was killed")]
    GuardianGone,
}

/// Starts processes. Cheap to clone; all clones share one guardian, which is started when the first
/// process is, and which ends when the last clone and the last process are gone.
///
/// Belongs to the tokio runtime in which its first process is started.
#[derive(Clone)]
pub struct Processes(Arc<Shared>);

struct Shared {
    /// Nothing, where no process is started.
    options: Option<Options>,
    link: Mutex<Option<Link>>,
}

impl Processes {
    /// With these options. Starts nothing yet.
    pub fn new(options: Options) -> Self {
        Self(Arc::new(Shared { options: Some(options), link: Mutex::new(None) }))
    }

    /// For those who start nothing: a tool that tries gets an error.
    pub fn none() -> Self {
        Self(Arc::new(Shared { options: None, link: Mutex::new(None) }))
    }

    /// Under a guardian that is this very program. Its `main` must begin with
    /// [`guardian::enter_if_called`].
    pub fn guarded() -> Result<Self, Error> {
        let options = Options::this_program();
        options.map(Self::new).map_err(|why| Error::NoGuardian(why.to_string()))
    }

    /// Starts a process. It is ended when the answer is dropped.
    pub async fn spawn(&self, command: Command) -> Result<Running, Error> {
        self.begin(command)?.started().await
    }

    /// The same without waiting for the guardian's word.
    pub(crate) fn begin(&self, command: Command) -> Result<Running, Error> {
        let options = self.0.options.as_ref().ok_or(Error::NotHere)?;
        let mut link = self.link();
        let link = match &mut *link {
            Some(link) if link.is_alive() => link,
            other => other.insert(Link::start(options)?),
        };
        link.begin(command)
    }

    /// Ends everything and waits until it is gone, the guardian included.
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

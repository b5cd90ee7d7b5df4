//! The guardian: starts and ends processes for a driver, and ends them all when the driver is gone.
//!
//! It is a process with one thread in its own session, so that signals from the driver's terminal
//! reach neither the guardian nor its processes. It reads no clock but the monotonic one, no file
//! but those in `/proc`, and prints nothing. It creates and removes the temporary directories of
//! sandboxed commands.

#[cfg(not(target_os = "linux"))]
mod group;
mod temporary;
#[cfg(target_os = "linux")]
mod tree;
mod ward;

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io::{self, IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::{Access, FileType};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use rustix::process::{Pid, WaitOptions};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until};

#[cfg(not(target_os = "linux"))]
use group::Family;
#[cfg(target_os = "linux")]
use tree::Family;

use super::leash::{self, Leash};
use super::socket::Socket;
use super::terminal::HeldTerminal;
use super::wire::{Frame, Order, Report, Spawn, decode};
use temporary::Temporary;
use ward::{Next, Status, Ward};

/// The environment variable that marks the processes of a call, wherever they are.
const MARK: &str = "PUNCHLIST_CALL";
/// The grace for all processes when the driver is gone.
const LAST_GRACE: Duration = Duration::from_millis(500);
/// How many bytes of orders are read at a time.
const PIECE: usize = 64 * 1024;
/// Maximum of descriptors that come with one order.
const DESCRIPTORS: usize = 3;

/// Set for a process that is started as a guardian. If the program does not become one, this
/// variable keeps it from starting itself again and again.
pub(super) const STARTED_AS_GUARDIAN: &str = "PUNCHLIST_GUARDIAN";
/// The exit code of a leash that could not execute its command, as in shells.
const NOT_STARTED: i32 = 127;

/// Becomes a guardian if the program was started as one, and then never returns. **The first line
/// of `main`** of every program that starts processes with [`super::Processes::guarded`].
///
/// The process must have only one thread. The guardian leaves its session, ignores signals from a
/// terminal, and ends when the driver is gone.
#[expect(clippy::exit, reason = "nothing of the program that it is a copy of is to run")]
pub fn enter_if_called() {
    if let Some(why) = leash::enter_if_called(std::env::args_os().skip(1)) {
        // If stderr is closed, the exit code must do.
        drop(writeln!(io::stderr(), "error: {why}"));
        std::process::exit(NOT_STARTED);
    }
    if std::env::var_os(STARTED_AS_GUARDIAN).is_none() {
        return;
    }
    let stdin = rustix::stdio::stdin();
    let is_socket = rustix::fs::fstat(stdin)
        .is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Socket);
    // The variable was set by hand. Starting a process will report it.
    let Some(socket) = is_socket.then(|| stdin.try_clone_to_owned().ok()).flatten() else { return };
    let code = if main(socket, Leash::new()).is_ok() { 0 } else { 1 };
    std::process::exit(code);
}

/// The error for a program that was started as a guardian and did not become one.
pub(super) fn not_entered() -> String {
    format!(
        "the started program did not become a guardian; \
         `guardian::enter_if_called()` must be the first line of its `main`, and {STARTED_AS_GUARDIAN} must not be \
         set by hand"
    )
}

/// Serves the driver at the other end of `socket` until it closes. With a leash, commands end with
/// the guardian, however it ends.
fn main(socket: OwnedFd, leash: Option<Leash>) -> io::Result<()> {
    // Fails only if the process already leads a group, which does no harm.
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(guard(StdStream::from(socket), leash))
}

async fn guard(socket: StdStream, leash: Option<Leash>) -> io::Result<()> {
    let mut socket = Socket::new(socket)?;
    // A handler instead of "ignore", which the started processes would inherit.
    let mut ignored = Vec::new();
    for kind in [
        SignalKind::interrupt(),
        SignalKind::hangup(),
        SignalKind::terminate(),
        SignalKind::quit(),
        SignalKind::user_defined1(),
        SignalKind::user_defined2(),
    ] {
        ignored.push(signal(kind)?);
    }
    let mut children = signal(SignalKind::child())?;
    let mut guardian = Guardian::new(leash);
    guardian.say(&Report::Ready);
    while guardian.is_wanted {
        let due = guardian.due;
        tokio::select! {
            ready = socket.readable() => ready?,
            ready = socket.has_room() => ready?,
            _ = children.recv() => guardian.reap(),
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
        }
        guardian.receive(&socket);
        guardian.look_after(Instant::now());
        guardian.send(&mut socket);
    }
    // The driver is gone: end everything, the person's terminal first.
    if let Some((held, terminal)) = guardian.terminal.take() {
        held.restore(&terminal);
    }
    let end = Instant::now() + LAST_GRACE;
    guardian.stop_all(end);
    while guardian.look_after(Instant::now()) {
        let due = guardian.due.unwrap_or(end);
        tokio::select! {
            _ = children.recv() => guardian.reap(),
            () = sleep_until(due) => guardian.reap(),
        }
    }
    Ok(())
}

struct Guardian {
    /// The leash that starts commands.
    leash: Option<Leash>,
    wards: BTreeMap<u64, Ward>,
    /// The ward of each leader process.
    leaders: BTreeMap<i32, u64>,
    /// The temporary directories of sandboxed wards.
    temporary: BTreeMap<u64, Temporary>,
    family: Family,
    grace: Duration,
    linger: Duration,
    /// When to look again, even if nothing happens.
    due: Option<Instant>,
    received: Vec<u8>,
    piece: Vec<u8>,
    descriptors: VecDeque<OwnedFd>,
    out: Vec<u8>,
    is_wanted: bool,
    /// The terminal that the driver holds.
    terminal: Option<(HeldTerminal, OwnedFd)>,
}

impl Guardian {
    fn new(leash: Option<Leash>) -> Self {
        Self {
            leash,
            wards: BTreeMap::new(),
            leaders: BTreeMap::new(),
            temporary: BTreeMap::new(),
            family: Family::new(MARK),
            grace: Duration::from_secs(2),
            linger: Duration::ZERO,
            due: None,
            received: Vec::new(),
            piece: vec![0; PIECE],
            descriptors: VecDeque::new(),
            out: Vec::new(),
            is_wanted: true,
            terminal: None,
        }
    }

    fn say(&mut self, report: &Report) {
        self.out.extend(report.encode());
    }

    fn send(&mut self, socket: &mut Socket) {
        while !self.out.is_empty() {
            match socket.write(|mut socket| socket.write(&self.out)) {
                Ok(sent) => drop(self.out.drain(..sent)),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.is_wanted = false;
                    return;
                }
            }
        }
    }

    /// Reads orders until there are none. An invalid order means that the driver is gone.
    fn receive(&mut self, socket: &Socket) {
        loop {
            let piece = &mut self.piece;
            let descriptors = &mut self.descriptors;
            match socket.read(|socket| receive(socket, piece, descriptors)) {
                Ok(0) => return self.is_wanted = false,
                Ok(count) => {
                    self.received.extend_from_slice(self.piece.get(..count).unwrap_or_default());
                }
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => return self.is_wanted = false,
            }
            loop {
                match decode(&mut self.received) {
                    Ok(Some(order)) => self.obey(order),
                    Ok(None) => break,
                    Err(_) => return self.is_wanted = false,
                }
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Begin { grace_ms, linger_ms } => {
                self.grace = Duration::from_millis(grace_ms.into());
                self.linger = Duration::from_millis(linger_ms.into());
            }
            Order::Spawn(spawn) => {
                let id = spawn.id;
                let count = spawn.descriptors().min(self.descriptors.len());
                let descriptors = self.descriptors.drain(..count).collect();
                match start(spawn, descriptors, self.leash.as_ref()) {
                    Ok((pid, temporary)) => {
                        self.temporary.extend(temporary.map(|it| (id, it)));
                        self.leaders.insert(pid.as_raw_pid(), id);
                        self.wards.insert(id, Ward::new(pid));
                        let pid = u32::try_from(pid.as_raw_pid()).unwrap_or_default();
                        self.say(&Report::Started { id, pid });
                    }
                    Err(why) => self.say(&Report::Failed { id, why }),
                }
            }
            Order::Stop { id } => {
                let until = Instant::now() + self.grace;
                if let Some(ward) = self.wards.get_mut(&id) {
                    ward.stop(until);
                }
            }
            Order::HoldTerminal(held) => {
                let terminal = self.descriptors.pop_front();
                self.terminal = terminal.map(|terminal| (held, terminal));
            }
            Order::ReleaseTerminal => self.terminal = None,
        }
    }

    /// Collects all processes that have ended, those that were started here and orphans.
    fn reap(&mut self) {
        // An error means that there are no children.
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            let Some(id) = self.leaders.remove(&pid.as_raw_pid()) else { continue };
            if let Some(ward) = self.wards.get_mut(&id) {
                let (code, signal) = (status.exit_status(), status.terminating_signal());
                ward.leader_ended(Status { code, signal });
            }
        }
    }

    fn stop_all(&mut self, until: Instant) {
        for ward in self.wards.values_mut() {
            ward.stop(until);
        }
    }

    /// Does what is due for each ward that is ending. Returns whether any ward is left.
    fn look_after(&mut self, now: Instant) -> bool {
        self.due = None;
        let ending: Vec<u64> =
            self.wards.iter().filter(|(_, it)| it.is_ending()).map(|(id, _)| *id).collect();
        for id in ending {
            let is_last = self.wards.len() == 1;
            let Some(ward) = self.wards.get_mut(&id) else { continue };
            let members = self.family.members(id, ward, &self.leaders, is_last);
            match ward.next(now, members.len(), self.linger, self.grace) {
                Next::Wait(until) => {
                    let until = Family::LOOK_AGAIN.map_or(until, |it| until.min(now + it));
                    self.due = self.due.into_iter().chain([until]).min();
                }
                Next::Signal(signal, until) => {
                    self.family.signal(ward, &members, signal);
                    self.due = self.due.into_iter().chain([until]).min();
                }
                Next::Over { status, left_behind, undead } => {
                    self.wards.remove(&id);
                    // Removes the directory, now that no process uses it.
                    drop(self.temporary.remove(&id));
                    let (code, signal) = status.map_or((None, None), |it| (it.code, it.signal));
                    self.say(&Report::Ended { id, code, signal, left_behind, undead });
                }
            }
        }
        !self.wards.is_empty()
    }
}

/// Receives bytes, and the descriptors that come with them.
fn receive(
    socket: &StdStream,
    piece: &mut [u8],
    descriptors: &mut VecDeque<OwnedFd>,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    #[cfg(target_os = "linux")]
    let flags = RecvFlags::CMSG_CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let flags = RecvFlags::empty();
    let received =
        rustix::net::recvmsg(socket, &mut [IoSliceMut::new(piece)], &mut control, flags)?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            for descriptor in rights {
                #[cfg(not(target_os = "linux"))]
                rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::CLOEXEC)?;
                descriptors.push_back(descriptor);
            }
        }
    }
    Ok(received.bytes)
}

/// Starts a process, with a temporary directory if it is sandboxed; an error says why not.
fn start(
    mut spawn: Spawn,
    descriptors: Vec<OwnedFd>,
    leash: Option<&Leash>,
) -> Result<(Pid, Option<Temporary>), String> {
    let mut descriptors = descriptors.into_iter();
    let mut next = || descriptors.next().ok_or_else(|| "the order had no pipes".to_owned());
    let stdin = if spawn.has_stdin { Some(next()?) } else { None };
    let stdout = next()?;
    let stderr = if spawn.is_apart {
        next()?
    } else {
        stdout.try_clone().map_err(|why| format!("cannot create a pipe for the output: {why}"))?
    };
    let temporary = match &mut spawn.sandbox {
        Some(_) if leash.is_none() => return Err("there is no sandbox here".to_owned()),
        Some(writable) => {
            let temporary = Temporary::new(&spawn.environment)?;
            writable.push(temporary.path().to_owned());
            Some(temporary)
        }
        None => None,
    };
    // The guardian has one thread, so it can change its own directory instead of the child's. That
    // allows the system to start the child without copying this process.
    rustix::process::chdir(&spawn.directory)
        .map_err(|why| format!("it cannot work in {}: {why}", spawn.directory.display()))?;
    let started = find(&spawn).and_then(|program| {
        let failed = |why: io::Error| format!("{} cannot be started: {why}", program.display());
        let mut command = match leash {
            Some(leash) => {
                // Checked here, because the leash could report it only in its own output.
                can_be_started(&program).map_err(failed)?;
                leash.command(&program, &spawn.program, spawn.sandbox.as_deref())
            }
            None => Command::new(&program),
        };
        if leash.is_none() {
            command.arg0(&spawn.program);
        }
        command.args(&spawn.arguments).env_clear();
        command.envs(spawn.environment.iter().map(|(name, value)| (name, value)));
        command.env(MARK, mark(spawn.id)).process_group(0);
        if let Some(temporary) = &temporary {
            command.envs(Temporary::VARIABLES.map(|name| (name, temporary.path())));
        }
        command.stdin(stdin.map_or_else(Stdio::null, Stdio::from)).stdout(stdout).stderr(stderr);
        command.spawn().map_err(failed)
    });
    // So that no directory stays busy that somebody wants to remove or unmount.
    let _ = rustix::process::chdir("/");
    let pid = i32::try_from(started?.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| "the system returned no pid".to_owned())?;
    Ok((pid, temporary))
}

/// Whether the system would execute a file, as far as that can be seen.
fn can_be_started(program: &Path) -> io::Result<()> {
    if !std::fs::metadata(program)?.is_file() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(rustix::fs::access(program, Access::EXEC_OK)?)
}

/// The mark of the processes of a call.
fn mark(id: u64) -> OsString {
    format!("{}.{id}", rustix::process::getpid().as_raw_pid()).into()
}

/// The file of a program: the path itself, or the first match in the given `PATH`.
fn find(spawn: &Spawn) -> Result<PathBuf, String> {
    let program = &spawn.program;
    if program.as_bytes().contains(&b'/') {
        return Ok(PathBuf::from(program));
    }
    let path = spawn.environment.iter().rfind(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new("/usr/bin:/bin"), |(_, value)| value);
    for directory in path.as_bytes().split(|it| *it == b':') {
        let directory = if directory.is_empty() { b"." } else { directory };
        let file = Path::new(OsStr::from_bytes(directory)).join(program);
        if file.is_file() && rustix::fs::access(&file, Access::EXEC_OK).is_ok() {
            return Ok(file);
        }
    }
    Err(format!("there is no program {} in PATH", program.display()))
}

//! The driver's end of the socket to a guardian: sends orders, receives reports, and notifies
//! whoever waits for them.
//!
//! One task per guardian. It waits only for the socket and for orders.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::pin::Pin;
use std::process::{Child, Command as StdCommand, Stdio};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::net::unix::pipe;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::{oneshot, watch};
use tokio::time::Sleep;

use super::outbox::Outbox;
use super::running::{Running, Watched};
use super::socket::Socket;
use super::terminal::HeldTerminal;
use super::wire::{Frame, Order, Report, Spawn, decode, is_too_long};
use super::{Command, Error, Exit, Options, guardian};

/// How long a guardian may take to start.
const READY: Duration = Duration::from_secs(20);

/// The stage of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// The guardian has not reported anything yet.
    Ordered,
    /// The process runs, with this pid.
    Started(u32),
    /// The process is over.
    Over(Result<Exit, Error>),
}

/// A message to the task.
pub(super) enum TaskMessage {
    /// Start a process, with these descriptors. Its stages go to this sender.
    Start(Spawn, Vec<OwnedFd>, watch::Sender<Stage>),
    /// End a process.
    Stop(u64),
    /// Send what is left in the outbox.
    Send,
    /// End all processes, and notify when they are gone.
    Close(oneshot::Sender<()>),
}

/// The connection to a guardian.
pub(super) struct Link {
    messages: UnboundedSender<TaskMessage>,
    /// Orders that do not wait for the task, and the socket for them.
    out: Outbox,
    socket: StdStream,
    next: u64,
    /// Closed when the task has ended.
    alive: watch::Receiver<()>,
}

impl Link {
    /// Starts a guardian and the task that talks to it.
    pub(super) fn start(options: &Options) -> Result<Self, Error> {
        let failed = |why: io::Error| Error::NoGuardian(why.to_string());
        if std::env::var_os(guardian::STARTED_AS_GUARDIAN).is_some() {
            return Err(Error::NoGuardian(guardian::not_entered()));
        }
        let runtime = tokio::runtime::Handle::try_current()
            .map_err(|_| Error::NoGuardian("there is no tokio runtime here".to_owned()))?;
        let (ours, its) = StdStream::pair().map_err(failed)?;
        // The guardian writes nothing there; the file is passed as its output only to stay open.
        let held = match &options.held {
            Some(file) => Stdio::from(file.try_clone().map_err(failed)?),
            None => Stdio::null(),
        };
        let guardian = StdCommand::new(&options.guardian)
            .args(&options.arguments)
            .env_clear()
            .env(guardian::STARTED_AS_GUARDIAN, "1")
            .stdin(OwnedFd::from(its))
            .stdout(held)
            .stderr(Stdio::null())
            .spawn()
            .map_err(|why| Error::NoGuardian(format!("{}: {why}", options.guardian.display())))?;
        let direct = ours.try_clone().map_err(failed)?;
        let socket = Socket::new(ours).map_err(failed)?;
        let out = Outbox::default();
        let (messages, orders) = mpsc::unbounded_channel();
        let (is_alive, alive) = watch::channel(());
        let task = Task {
            socket,
            guardian: Some(guardian),
            orders,
            out: out.clone(),
            received: Vec::new(),
            processes: BTreeMap::new(),
            is_ready: false,
            is_wanted: true,
            said_goodbye: false,
            closing: None,
            patience: Box::pin(tokio::time::sleep(READY)),
            _is_alive: is_alive,
        };
        let milliseconds =
            |it: std::time::Duration| u32::try_from(it.as_millis()).unwrap_or(u32::MAX);
        let begin = Order::Begin {
            grace_ms: milliseconds(options.grace),
            linger_ms: milliseconds(options.linger),
        };
        out.push(begin.encode(), Vec::new());
        drop(runtime.spawn(task.run()));
        Ok(Self { messages, out, socket: direct, next: 0, alive })
    }

    /// Whether the task still runs.
    pub(super) fn is_alive(&self) -> bool {
        self.alive.has_changed().is_ok()
    }

    /// Orders a process.
    pub(super) fn begin(&mut self, command: Command) -> Result<Running, Error> {
        let Command { program, arguments, environment, directory, stdin, apart, sandbox } = command;
        let failed = |why: io::Error| {
            Error::NotStarted(format!("cannot create a pipe for the output: {why}"))
        };
        let id = self.next;
        self.next += 1;
        let mut descriptors: Vec<OwnedFd> = Vec::with_capacity(3);
        let mut input = None;
        if let Some(bytes) = stdin {
            let (reader, writer) = io::pipe().map_err(failed)?;
            descriptors.push(reader.into());
            let writer = pipe::Sender::from_owned_fd(writer.into()).map_err(failed)?;
            input = Some((writer, bytes));
        }
        let mut stream = || -> Result<pipe::Receiver, Error> {
            let (reader, writer) = io::pipe().map_err(failed)?;
            descriptors.push(writer.into());
            pipe::Receiver::from_owned_fd(reader.into()).map_err(failed)
        };
        let out = stream()?;
        let err = if apart { Some(stream()?) } else { None };
        let spawn = Spawn {
            id,
            has_stdin: input.is_some(),
            is_apart: apart,
            directory,
            program,
            arguments,
            environment,
            sandbox: sandbox.map(|it| it.writable),
        };
        let (say, stage) = watch::channel(Stage::Ordered);
        let start = TaskMessage::Start(spawn, descriptors, say);
        self.messages.send(start).map_err(|_| Error::GuardianGone)?;
        let watched = Watched::new(id, stage, self.messages.clone());
        Ok(Running::new(watched, input, out, err))
    }

    /// Has the guardian restore a terminal if this program is killed; with `None`, no longer. The order
    /// is sent here and not by the task: what the program does next to the terminal is covered by it,
    /// even if the program is killed at once.
    pub(super) fn hold_terminal(&self, held: Option<(HeldTerminal, OwnedFd)>) {
        let (order, terminal) = match held {
            Some((held, terminal)) => (Order::HoldTerminal(held), Some(terminal)),
            None => (Order::ReleaseTerminal, None),
        };
        self.out.push(order.encode(), terminal.into_iter().collect());
        if self.out.send(&self.socket).is_err() {
            // The socket is full, or the guardian is gone, which the task sees.
            self.messages.send(TaskMessage::Send).ok();
        }
    }

    /// Ends all processes and waits until they are gone.
    pub(super) async fn close(self) {
        let (done, hear) = oneshot::channel();
        if self.messages.send(TaskMessage::Close(done)).is_ok() {
            // An error means that the task has ended, which is fine.
            drop(hear.await);
        }
    }
}

struct Process {
    say: watch::Sender<Stage>,
    /// The process group, once the process runs.
    group: Option<Pid>,
}

struct Task {
    socket: Socket,
    guardian: Option<Child>,
    orders: UnboundedReceiver<TaskMessage>,
    out: Outbox,
    received: Vec<u8>,
    processes: BTreeMap<u64, Process>,
    is_ready: bool,
    /// Whether orders may still come.
    is_wanted: bool,
    said_goodbye: bool,
    closing: Option<oneshot::Sender<()>>,
    /// The time limit for the guardian's first report.
    patience: Pin<Box<Sleep>>,
    /// Dropped with the task, which closes the receivers.
    _is_alive: watch::Sender<()>,
}

impl Task {
    async fn run(mut self) {
        let ended = poll_fn(|context| self.turn(context)).await;
        self.finish(ended);
    }

    /// Does everything that is possible now; ready when the guardian is gone.
    fn turn(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Poll::Ready(message) = self.orders.poll_recv(context) {
            let Some(message) = message else {
                self.is_wanted = false;
                break;
            };
            self.take(message);
        }
        if !self.is_ready && self.patience.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::Error::other(guardian::not_entered())));
        }
        if let Poll::Ready(Err(why)) = self.send(context) {
            return Poll::Ready(Err(why));
        }
        if !self.is_wanted && !self.said_goodbye && self.out.is_empty() {
            // The guardian sees this, ends everything and exits.
            self.said_goodbye = true;
            let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Write);
        }
        self.receive(context)
    }

    fn take(&mut self, message: TaskMessage) {
        match message {
            TaskMessage::Start(spawn, descriptors, say) => {
                let id = spawn.id;
                let bytes = Order::Spawn(spawn).encode();
                if is_too_long(&bytes) {
                    let why = Error::NotStarted("arguments and environment are too long".into());
                    say.send_replace(Stage::Over(Err(why)));
                    return;
                }
                self.processes.insert(id, Process { say, group: None });
                self.out.push(bytes, descriptors);
            }
            TaskMessage::Stop(id) => {
                if self.processes.contains_key(&id) {
                    self.out.push(Order::Stop { id }.encode(), Vec::new());
                }
            }
            // It is sent next, whatever the message.
            TaskMessage::Send => {}
            TaskMessage::Close(done) => {
                self.is_wanted = false;
                self.closing = Some(done);
            }
        }
    }

    fn send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.out.is_empty() {
            std::task::ready!(self.socket.poll_writable(context))?;
            match self.socket.write(|socket| self.out.send(socket)) {
                Err(why) if why.kind() != io::ErrorKind::WouldBlock => {
                    return Poll::Ready(Err(why));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Poll::Ready(Ok(()))
    }

    fn receive(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut piece = [0; 4096];
        loop {
            std::task::ready!(self.socket.poll_readable(context))?;
            match self.socket.read(|mut socket| socket.read(&mut piece)) {
                Ok(0) => return Poll::Ready(Ok(())),
                Ok(count) => {
                    self.received.extend_from_slice(piece.get(..count).unwrap_or_default());
                    loop {
                        match decode(&mut self.received) {
                            Ok(Some(report)) => self.hear(report),
                            Ok(None) => break,
                            Err(_) => {
                                let what = "it does not follow the guardian's protocol";
                                return Poll::Ready(Err(io::Error::other(what)));
                            }
                        }
                    }
                }
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
                Err(why) => return Poll::Ready(Err(why)),
            }
        }
    }

    fn hear(&mut self, report: Report) {
        match report {
            Report::Ready => self.is_ready = true,
            Report::Started { id, pid } => {
                if let Some(process) = self.processes.get_mut(&id) {
                    process.group = i32::try_from(pid).ok().and_then(Pid::from_raw);
                    process.say.send_replace(Stage::Started(pid));
                }
            }
            Report::Failed { id, why } => self.over(id, Err(Error::NotStarted(why))),
            Report::Ended { id, code, signal, left_behind, undead } => {
                self.over(id, Ok(Exit { code, signal, left_behind, undead }));
            }
        }
    }

    fn over(&mut self, id: u64, how: Result<Exit, Error>) {
        if let Some(process) = self.processes.remove(&id) {
            process.say.send_replace(Stage::Over(how));
        }
    }

    /// Handles the end of the guardian, expected or not.
    fn finish(mut self, ended: io::Result<()>) {
        let mut lost = Error::GuardianGone;
        if !self.is_ready {
            let why = match &ended {
                Ok(()) => guardian::not_entered(),
                // The guardian ended without reading its orders.
                Err(why)
                    if matches!(
                        why.kind(),
                        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
                    ) =>
                {
                    guardian::not_entered()
                }
                Err(why) => why.to_string(),
            };
            lost = Error::NoGuardian(why);
        }
        for (_, process) in std::mem::take(&mut self.processes) {
            if let Some(group) = process.group {
                // Processes that left the group cannot be found: only a guardian can see them.
                let _ = kill_process_group(group, Signal::KILL);
            }
            process.say.send_replace(Stage::Over(Err(lost.clone())));
        }
        if let Some(mut guardian) = self.guardian.take() {
            // The guardian has closed its socket, so it has ended or is about to. If it only broke
            // the protocol, it is of no use any more.
            if ended.is_err() {
                drop(guardian.kill());
            }
            drop(guardian.wait());
        }
        if let Some(done) = self.closing.take() {
            let _ = done.send(());
        }
    }
}

impl Drop for Task {
    /// If the runtime ends first, the guardian sees the socket close, and ends everything.
    fn drop(&mut self) {
        if let Some(mut guardian) = self.guardian.take() {
            drop(guardian.try_wait());
        }
    }
}

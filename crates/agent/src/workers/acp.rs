//! Workers that are agents with the Agent Client Protocol: JSON-RPC over standard input and output.
//!
//! `client` is the protocol and pure; this file starts the program, carries the messages and ends
//! it. The agent gets no access to files and terminals through us: it uses its own. What it asks
//! permission for, an [`Approver`] decides ([`permission`]).

pub(crate) mod client;
pub mod permission;
pub(crate) mod wanted;

use std::pin::pin;
use std::sync::Mutex;
use std::time::Duration;

use futures_core::future::BoxFuture;
use punchlist_engine::workers::program::Heard;
use punchlist_engine::workers::{Agent, Job, WorkerStream, prompt};
use punchlist_formats::text::{mask, one_line};
use punchlist_model::ListEntry;
use punchlist_sched::output::Stream;
use punchlist_sched::process::{Error, Exit, Running, Stopper};
use punchlist_sched::{Command, Work};
use punchlist_streams::Source;
use punchlist_streams::lines::{Lines, Piece};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::Notify;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::{Instant, sleep_until};

use super::program::{hear, without_plan};
use super::{
    Listener, Outcome, Task, Worker, WorkerConfig, WorkerEnd, WorkerEvent, WorkerKind,
    WorkerOptions,
};
use client::{Client, Effect};
pub use permission::{Approver, ByPolicy, PermissionRequest, RefuseAll};

/// The longest message that is read. Longer ones are dropped.
const LONGEST: usize = 8 << 20;
/// How many messages to the agent may wait. An agent that asks more and does not read is ended.
const MOST_WAITING: usize = 256;
/// How long the agent may take to end its turn when it is told to, and to end after its turn.
const GRACE: Duration = Duration::from_secs(3);
/// How many bytes of standard error are kept.
const KEPT: usize = 8 << 10;

/// A worker of the kind `acp`.
pub struct AcpWorker {
    config: WorkerConfig,
    options: WorkerOptions,
}

/// What waits to be sent to the agent.
enum Outgoing {
    /// A message.
    Message(Value),
    /// An answer that is still to be decided.
    Decide(Box<PermissionRequest>),
}

/// The agent as the reader of its output sees it.
struct Reader<'a> {
    client: Client,
    lines: Lines,
    stream: WorkerStream,
    stderr: Vec<u8>,
    send: Sender<Outgoing>,
    stopper: Stopper,
    /// How the turn ended, if it has: the agent's reason, or the error.
    turn: Option<Result<String, String>>,
    /// Notified when the turn has ended.
    over: &'a Notify,
    /// The id of the session.
    session: &'a Mutex<Option<String>>,
    /// The last list of the agent.
    list: &'a Mutex<Vec<ListEntry>>,
    listener: &'a Listener<'a>,
}

/// How far a conversation has got.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The agent works.
    Working,
    /// Its time is over, and it was told to end its turn.
    Cancelling,
    /// Its turn has ended, and it should end.
    Ending,
}

impl AcpWorker {
    /// The worker of this configuration.
    pub fn new(config: WorkerConfig, options: WorkerOptions) -> Self {
        Self { config, options }
    }

    fn command(&self, words: &[String], task: &Task) -> Command {
        let (program, arguments) = words.split_first().map_or(("", &[][..]), |it| (it.0, it.1));
        let environment = without_plan(&self.options.environment_of(&self.config));
        let mut command = Command::new(program, &task.directory).envs(environment);
        command.arguments = arguments.iter().map(Into::into).collect();
        (command.stdin, command.apart) = (Some(Vec::new()), true);
        command
    }

    fn prompt(&self, task: &Task) -> String {
        let details = task.details();
        prompt(&Job {
            // The prompt does not depend on the agent.
            agent: Agent::Claude,
            program: "",
            model: None,
            arguments: &[],
            instructions: &self.config.prompt,
            title: task.title(),
            context: &details,
            criteria: &task.criteria,
        })
    }

    async fn work(
        &self,
        words: &[String],
        task: &Task,
        work: &Work,
        listener: &Listener<'_>,
    ) -> Outcome {
        let program = words.first().map_or("", String::as_str);
        let mut running = match work.spawn(self.command(words, task)).await {
            Ok(running) => running,
            Err(why) => {
                return Outcome::failed(format!(
                    "{program} did not start: {why}; is it installed?"
                ));
            }
        };
        let Some(stdin) = running.take_stdin() else { return Outcome::failed("it has no input") };
        let (send, waiting) = mpsc::channel(MOST_WAITING);
        let directory = task.directory.to_string_lossy();
        let (client, hello) = Client::new(&task.directory, self.prompt(task));
        send.try_send(Outgoing::Message(hello)).ok();
        let (over, session, list) = (Notify::new(), Mutex::default(), Mutex::default());
        let mut reader = Reader {
            client,
            lines: Lines::new(LONGEST),
            stream: WorkerStream::of(Source::Acp, &directory),
            stderr: Vec::new(),
            send: send.clone(),
            stopper: running.stopper(),
            turn: None,
            over: &over,
            session: &session,
            list: &list,
            listener,
        };
        let cancel = || {
            let session = session.lock().ok().and_then(|it| it.clone());
            session.and_then(|it| send.try_send(Outgoing::Message(client::cancel(&it))).ok());
        };
        let speak = self.speak(stdin, waiting);
        let (exit, is_timed_out) =
            converse(running, &mut reader, speak, self.config.timeout, cancel).await;
        let how = exit.map_or_else(|why| why.to_string(), |exit| exit.to_string());
        let Reader { stream, stderr, turn, .. } = reader;
        let ended = stream.end(Some(0));
        let stderr = String::from_utf8_lossy(&stderr);
        let said = ended.errors.iter().map(String::as_str).chain([&*stderr]);
        let end = match turn {
            _ if work.is_stopping() => WorkerEnd::Cancelled,
            Some(Ok(reason)) if reason == "end_turn" => WorkerEnd::Well,
            _ if is_timed_out => WorkerEnd::timed_out(self.config.timeout),
            Some(Ok(reason)) => WorkerEnd::Failed(format!("it stopped: {}", one_line(&reason))),
            Some(Err(why)) => WorkerEnd::of_failure(&one_line(&why), said, &self.options.now()),
            None => {
                let why = format!("it ended before it answered ({how})");
                WorkerEnd::of_failure(&why, said, &self.options.now())
            }
        };
        let text = if end == WorkerEnd::Well {
            ended.answer
        } else {
            [ended.answer.trim(), stderr.trim()].join("\n\n")
        };
        let list: Vec<ListEntry> = list.into_inner().unwrap_or_default();
        Outcome {
            list: list.iter().map(Into::into).collect(),
            session: session.into_inner().ok().flatten(),
            ..Outcome::new(mask(text.trim()), end).used(ended.usage)
        }
    }

    /// Sends what waits, until the agent closes its input.
    async fn speak(&self, mut stdin: pipe::Sender, mut waiting: Receiver<Outgoing>) {
        while let Some(outgoing) = waiting.recv().await {
            let message = match outgoing {
                Outgoing::Message(message) => message,
                Outgoing::Decide(request) => {
                    let approver = &self.options.approver;
                    let is_allowed = approver.decide(&self.config.name, &request).await;
                    request.answer(is_allowed)
                }
            };
            if stdin.write_all(format!("{message}\n").as_bytes()).await.is_err() {
                return;
            }
        }
    }
}

/// Carries messages until the agent has ended. When its time is over, it is told to end its turn;
/// when its turn has ended, its input is closed; if it then does not end soon, it is ended.
async fn converse(
    running: Running,
    reader: &mut Reader<'_>,
    speak: impl Future<Output = ()>,
    timeout: Duration,
    cancel: impl Fn(),
) -> (Result<Exit, Error>, bool) {
    let (stopper, over) = (running.stopper(), reader.over);
    let mut finish = pin!(running.finish(|from, bytes| reader.read(from, bytes)));
    let mut speak = Some(Box::pin(speak));
    let (mut phase, mut is_timed_out) = (Phase::Working, false);
    let mut deadline = Some(Instant::now() + timeout);
    loop {
        tokio::select! {
            biased;
            exit = &mut finish => return (exit, is_timed_out),
            () = over.notified() => {
                (phase, speak) = (Phase::Ending, None);
                deadline = Some(Instant::now() + GRACE);
            }
            () = maybe(speak.as_mut()) => speak = None,
            () = maybe(deadline.map(sleep_until)) => match phase {
                Phase::Working => {
                    (phase, is_timed_out) = (Phase::Cancelling, true);
                    deadline = Some(Instant::now() + GRACE);
                    cancel();
                }
                Phase::Cancelling | Phase::Ending => {
                    stopper.stop();
                    deadline = None;
                }
            },
        }
    }
}

/// Waits for a future; for ever without one.
async fn maybe(future: Option<impl Future<Output = ()>>) {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

impl Reader<'_> {
    /// Reads the next bytes of the agent.
    fn read(&mut self, from: Stream, bytes: &[u8]) {
        if from == Stream::Err {
            self.stderr.extend_from_slice(bytes);
            if self.stderr.len() > 2 * KEPT {
                self.stderr.drain(..self.stderr.len() - KEPT);
            }
            return;
        }
        for news in self.stream.push(bytes) {
            hear(Heard::News(news), self.list, self.listener);
        }
        hear(Heard::Used(self.stream.usage()), self.list, self.listener);
        if let (Some(id), Ok(mut session)) = (self.stream.session(), self.session.lock())
            && session.is_none()
        {
            *session = Some(id.to_owned());
            (self.listener)(WorkerEvent::Session(id.to_owned()));
        }
        let mut effects = Vec::new();
        let (lines, client) = (&mut self.lines, &mut self.client);
        lines.push(bytes, |piece| {
            // A message that is too long is dropped; the parser of the stream has a warning for it.
            let Piece::Lines(lines) = piece else { return };
            effects.extend(lines.split(|it| *it == b'\n').filter_map(|it| client.line(it)));
        });
        for effect in effects {
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        let outgoing = match effect {
            Effect::Send(message) => Outgoing::Message(message),
            Effect::Ask(request) => Outgoing::Decide(request),
            // It is decided at once, without asking anybody.
            Effect::TakeBack(_) => return,
            Effect::Over(turn) => {
                self.turn.get_or_insert(turn);
                return self.over.notify_one();
            }
        };
        if self.send.try_send(outgoing).is_err() && self.turn.is_none() {
            self.turn = Some(Err("it asks and does not read the answers".to_owned()));
            self.stopper.stop();
        }
    }
}

impl Worker for AcpWorker {
    fn run<'a>(
        &'a self,
        task: &'a Task,
        work: &'a Work,
        listener: &'a Listener<'a>,
    ) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            match &self.config.kind {
                WorkerKind::Acp { command } => self.work(command, task, work, listener).await,
                WorkerKind::Model | WorkerKind::Program { .. } | WorkerKind::Shell { .. } => {
                    Outcome::failed("it does not speak the Agent Client Protocol")
                }
            }
        })
    }
}

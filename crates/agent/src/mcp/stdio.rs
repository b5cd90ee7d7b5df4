//! Servers that are programs: how they are started, and the limits of what they print.
//!
//! The guardian starts them, so they end with this program, however it ends. They get a few harmless
//! variables of the user's environment and what their entry says, nothing else.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use punchlist_sched::Command;
use punchlist_sched::process::Running;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;

use super::Options;
use super::words::one_line;
use crate::provider::Secret;

/// The largest message of a server. A longer one ends the connection.
pub(super) const LARGEST_MESSAGE: usize = 8 * 1024 * 1024;
/// How many bytes at the end of the error output are kept.
const LOG: usize = 16 * 1024;
/// How many bytes at the beginning of the output are kept, for a message about a program that is no server.
const FIRST: usize = 4 * 1024;
/// How long to wait for the exit code of a program that closed its output.
const EXIT: Duration = Duration::from_secs(1);
/// How long a program may take to end after its input was closed.
const LEAVE: Duration = Duration::from_secs(1);

/// Variables of the user that every program gets.
const HARMLESS: &[&str] =
    &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ"];

/// A program that was started.
pub(super) struct Program {
    running: Running,
    output: Arc<Output>,
    log: Arc<Log>,
    /// Reads the error output until it is closed.
    logging: JoinHandle<()>,
}

/// The pipes of a program, for the protocol.
pub(super) type Pipes = (Reader, pipe::Sender);

/// Starts a program. Its error output goes to the log.
pub(super) async fn start(
    command: &[String],
    env: &BTreeMap<String, String>,
    directory: Option<&Path>,
    options: &Options,
    log: &Arc<Log>,
) -> Result<(Program, Pipes), String> {
    let (program, arguments) = command.split_first().ok_or("its command names no program")?;
    let directory = directory.map_or_else(|| options.root.clone(), |it| options.root.join(it));
    let is_harmless = |name: &OsString| {
        name.to_str().is_some_and(|it| HARMLESS.contains(&it) || it.starts_with("LC_"))
    };
    let own = options.environment.iter().filter(|(name, _)| is_harmless(name)).cloned();
    let mut order = Command::new(program, directory).envs(own);
    order.arguments = arguments.iter().map(OsString::from).collect();
    for (name, value) in env {
        order = order.env(name, value);
    }
    (order.stdin, order.apart) = (Some(Vec::new()), true);
    let mut running = options.processes.spawn(order).await.map_err(|why| why.to_string())?;
    let pipes = running.take_pipes().ok_or("its pipes are gone")?;
    let logging = tokio::spawn(Arc::clone(log).keep(pipes.stderr));
    let output = Arc::new(Output::default());
    let reader = Reader { pipe: pipes.stdout, line: 0, output: Arc::clone(&output) };
    let program = Program { running, output, log: Arc::clone(log), logging };
    Ok((program, (reader, pipes.stdin)))
}

impl Program {
    /// Why the program closed the connection.
    pub(super) async fn why_closed(self) -> String {
        let Self { running, output, log, logging } = self;
        let (_, is_too_long) = output.seen();
        if is_too_long {
            return format!("it sent a message of more than {LARGEST_MESSAGE} bytes");
        }
        let why = match tokio::time::timeout(EXIT, running.finish(|_, _| ())).await {
            Ok(Ok(exit)) => format!("it ended: {exit}"),
            Ok(Err(why)) => why.to_string(),
            Err(_) => "it closed its output".to_owned(),
        };
        // A process that it left behind may hold the error output open.
        drop(tokio::time::timeout(EXIT, logging).await);
        with_last_words(why, &output, &log)
    }

    /// The reason, and what the program printed.
    pub(super) fn with_last_words(&self, why: String) -> String {
        with_last_words(why, &self.output, &self.log)
    }

    /// Ends the program, whose input is closed already.
    pub(super) async fn end(self) {
        // Dropping the process ends it, if it does not end by itself.
        drop(tokio::time::timeout(LEAVE, self.running.finish(|_, _| ())).await);
    }
}

fn with_last_words(mut why: String, output: &Output, log: &Log) -> String {
    if let (Some(first), _) = output.seen() {
        let first = one_line(&log.hide(&first), 80);
        why = format!("{why}; it printed {first:?}, which is no message");
    }
    match log.last_line() {
        Some(line) => format!("{why}; its last words: {line:?}"),
        None => why,
    }
}

/// What a program printed where messages belong.
#[derive(Default)]
struct Output(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    first: Vec<u8>,
    is_too_long: bool,
}

impl Output {
    fn add(&self, bytes: &[u8]) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = FIRST.saturating_sub(seen.first.len());
        seen.first.extend(bytes.iter().take(room));
    }

    fn note_too_long(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_too_long = true;
    }

    /// The first line if it is no message, and whether a message was too long.
    fn seen(&self) -> (Option<String>, bool) {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&seen.first);
        let line = text.lines().next().unwrap_or_default();
        let is_message = line.trim_start().starts_with('{') || line.trim().is_empty();
        ((!is_message).then(|| line.to_owned()), seen.is_too_long)
    }
}

/// The output of a program. A line that is too long is an error, which ends the connection.
pub(super) struct Reader {
    pipe: pipe::Receiver,
    /// The length of the line so far.
    line: usize,
    output: Arc<Output>,
}

impl AsyncRead for Reader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        std::task::ready!(Pin::new(&mut self.pipe).poll_read(context, buffer))?;
        let new = buffer.filled().get(before..).unwrap_or_default();
        self.output.add(new);
        self.line = match new.iter().rposition(|it| *it == b'\n') {
            Some(end) => new.len() - end - 1,
            None => self.line + new.len(),
        };
        if self.line > LARGEST_MESSAGE {
            self.output.note_too_long();
            return Poll::Ready(Err(io::Error::other("a line is too long")));
        }
        Poll::Ready(Ok(()))
    }
}

/// The end of a program's error output, without values that were looked up for the program.
#[derive(Default)]
pub(super) struct Log(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    bytes: VecDeque<u8>,
    secrets: Vec<Secret>,
}

impl Log {
    /// Begins anew, for a program that gets these secrets.
    pub(super) fn begin(&self, secrets: Vec<Secret>) {
        *self.kept() = Kept { bytes: VecDeque::new(), secrets };
    }

    /// What was printed last.
    pub(super) fn text(&self) -> String {
        let bytes: Vec<u8> = self.kept().bytes.iter().copied().collect();
        self.hide(&String::from_utf8_lossy(&bytes))
    }

    /// The text without the program's secrets.
    fn hide(&self, text: &str) -> String {
        let kept = self.kept();
        kept.secrets.iter().fold(text.to_owned(), |text, it| it.hide_in(&text))
    }

    fn last_line(&self) -> Option<String> {
        let text = self.text();
        text.lines().rev().map(|it| one_line(it, 160)).find(|it| !it.is_empty())
    }

    fn add(&self, new: &[u8]) {
        let bytes = &mut self.kept().bytes;
        let new = new.get(new.len().saturating_sub(LOG)..).unwrap_or_default();
        let over = (bytes.len() + new.len()).saturating_sub(LOG);
        drop(bytes.drain(..over));
        bytes.extend(new);
    }

    /// Keeps what is printed, until the program closes its error output.
    async fn keep(self: Arc<Self>, mut pipe: pipe::Receiver) {
        let mut piece = vec![0; 4096];
        while let Ok(count @ 1..) = pipe.read(&mut piece).await {
            self.add(piece.get(..count).unwrap_or_default());
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

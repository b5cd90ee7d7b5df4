//! A running process, as seen by the code that started it.

use std::future::pending;
use std::io;
use std::pin::pin;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::link::{Stage, TaskMessage};
use super::{Error, Exit};
use crate::output::Stream;

/// How long to read from pipes that are still open after the process is over: a process that is no
/// descendant may hold one.
const HELD_OPEN: Duration = Duration::from_millis(100);
/// How many bytes are read at a time.
const PIECE: usize = 16 * 1024;

/// A process that can be stopped and waited for.
#[derive(Clone)]
pub(crate) struct Watched {
    id: u64,
    stage: watch::Receiver<Stage>,
    messages: UnboundedSender<TaskMessage>,
}

impl Watched {
    pub(super) fn new(
        id: u64,
        stage: watch::Receiver<Stage>,
        messages: UnboundedSender<TaskMessage>,
    ) -> Self {
        Self { id, stage, messages }
    }

    /// Whether the process and all its descendants have ended.
    pub(crate) fn is_over(&self) -> bool {
        matches!(*self.stage.borrow(), Stage::Over(_)) || self.stage.has_changed().is_err()
    }

    /// Ends the process and its descendants.
    pub(crate) fn stop(&self) {
        // If the task is gone, the guardian is gone too, and the process with it.
        drop(self.messages.send(TaskMessage::Stop(self.id)));
    }

    /// Waits until the process and all its descendants have ended.
    pub(crate) async fn over(&mut self) -> Result<Exit, Error> {
        match self.stage.wait_for(|it| matches!(it, Stage::Over(_))).await.as_deref() {
            Ok(Stage::Over(how)) => how.clone(),
            // The runtime of the guardian's task has ended.
            Ok(Stage::Ordered | Stage::Started(_)) | Err(_) => Err(Error::GuardianGone),
        }
    }

    async fn started(&mut self) -> Result<u32, Error> {
        match self.stage.wait_for(|it| *it != Stage::Ordered).await.as_deref() {
            Ok(Stage::Started(pid)) => Ok(*pid),
            Ok(Stage::Over(Err(why))) => Err(why.clone()),
            // The process ended before its start was seen.
            Ok(Stage::Over(Ok(_))) => Ok(0),
            Ok(Stage::Ordered) | Err(_) => Err(Error::GuardianGone),
        }
    }
}

/// The pipes of a process that its caller talks to. The caller must read both outputs, or the process
/// stands still when they are full.
pub struct Pipes {
    /// The input. It ends when this is dropped.
    pub stdin: pipe::Sender,
    /// The output.
    pub stdout: pipe::Receiver,
    /// The error output.
    pub stderr: pipe::Receiver,
}

/// Ends a process from elsewhere, while [`Running::finish`] reads its output.
#[derive(Clone)]
pub struct Stopper(Watched);

impl Stopper {
    /// Ends the process and its descendants. [`Running::finish`] returns when they have ended.
    pub fn stop(&self) {
        self.0.stop();
    }
}

/// A running process. It is ended when this is dropped.
pub struct Running {
    watched: Watched,
    pid: u32,
    stdin: Option<(pipe::Sender, Vec<u8>)>,
    out: Option<pipe::Receiver>,
    err: Option<pipe::Receiver>,
}

impl Running {
    pub(super) fn new(
        watched: Watched,
        stdin: Option<(pipe::Sender, Vec<u8>)>,
        out: pipe::Receiver,
        err: Option<pipe::Receiver>,
    ) -> Self {
        Self { watched, pid: 0, stdin, out: Some(out), err }
    }

    /// Waits for the guardian's report that the process runs.
    pub(crate) async fn started(mut self) -> Result<Self, Error> {
        self.pid = self.watched.started().await?;
        Ok(self)
    }

    /// The pid, or 0 if the process was over before its start was seen.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Takes the pipes, for a process that is talked to. Afterwards [`Running::finish`] only waits.
    /// `None` unless the command had an input, separate outputs, and still has all three pipes.
    pub fn take_pipes(&mut self) -> Option<Pipes> {
        if self.stdin.is_none() || self.out.is_none() || self.err.is_none() {
            return None;
        }
        let ((stdin, _), stdout, stderr) = (self.stdin.take()?, self.out.take()?, self.err.take()?);
        Some(Pipes { stdin, stdout, stderr })
    }

    pub(crate) fn watched(&self) -> &Watched {
        &self.watched
    }

    /// Ends the process and its descendants. [`Running::finish`] waits for it.
    pub fn stop(&self) {
        self.watched.stop();
    }

    /// Ends the process while [`Running::finish`] has it.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.watched.clone())
    }

    /// Takes the writing end of the input, to talk to the process while it runs. The input that was
    /// given with the command and is not written yet is dropped. `None` if the command has no
    /// input. The process sees the end of its input when the writing end is dropped.
    pub fn take_stdin(&mut self) -> Option<pipe::Sender> {
        self.stdin.take().map(|(pipe, _)| pipe)
    }

    /// Like [`Running::finish`], but ends the process when the time is over. Also returns whether
    /// that happened.
    pub async fn finish_within(
        self,
        limit: Option<Duration>,
        say: impl FnMut(Stream, &[u8]),
    ) -> (Result<Exit, Error>, bool) {
        let stopper = self.stopper();
        let mut finish = pin!(self.finish(say));
        let over = async {
            match limit {
                Some(limit) => sleep(limit).await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            exit = &mut finish => (exit, false),
            () = over => {
                stopper.stop();
                (finish.await, true)
            }
        }
    }

    /// Passes on the output until the process is over, and returns how it ended.
    pub async fn finish(mut self, mut say: impl FnMut(Stream, &[u8])) -> Result<Exit, Error> {
        let mut piece = vec![0; PIECE];
        let (mut err_piece, mut written) = (vec![0; if self.err.is_some() { PIECE } else { 0 }], 0);
        let exit = loop {
            let heard = tokio::select! {
                biased;
                count = read(self.out.as_mut(), &mut piece) => Heard::Said(Stream::Out, count),
                count = read(self.err.as_mut(), &mut err_piece) => Heard::Said(Stream::Err, count),
                count = write(self.stdin.as_mut(), written) => Heard::Wrote(count),
                exit = self.watched.over() => Heard::Over(exit),
            };
            match heard {
                Heard::Said(Stream::Out, Some(count)) => say(Stream::Out, upto(&piece, count)),
                Heard::Said(Stream::Err, Some(count)) => say(Stream::Err, upto(&err_piece, count)),
                Heard::Said(Stream::Out, None) => self.out = None,
                Heard::Said(Stream::Err, None) => self.err = None,
                Heard::Wrote(Some(count)) => written += count,
                Heard::Wrote(None) => self.stdin = None,
                Heard::Over(exit) => break exit,
            }
        };
        // All writers have ended, so the rest of the output is in the pipes already.
        for (stream, pipe) in [(Stream::Out, self.out.take()), (Stream::Err, self.err.take())] {
            let Some(mut pipe) = pipe else { continue };
            while let Ok(Some(count)) = timeout(HELD_OPEN, read(Some(&mut pipe), &mut piece)).await
            {
                say(stream, upto(&piece, count));
            }
        }
        exit
    }
}

enum Heard {
    Said(Stream, Option<usize>),
    Wrote(Option<usize>),
    Over(Result<Exit, Error>),
}

fn upto(piece: &[u8], count: usize) -> &[u8] {
    piece.get(..count).unwrap_or(piece)
}

/// Reads bytes; `None` at the end. Without a pipe, it waits for ever.
async fn read(pipe: Option<&mut pipe::Receiver>, piece: &mut [u8]) -> Option<usize> {
    let Some(pipe) = pipe else { return pending().await };
    loop {
        match pipe.read(piece).await {
            Ok(0) => return None,
            Ok(count) => return Some(count),
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// Writes bytes; `None` if none are left or nobody reads them.
async fn write(stdin: Option<&mut (pipe::Sender, Vec<u8>)>, written: usize) -> Option<usize> {
    let Some((pipe, bytes)) = stdin else { return pending().await };
    match bytes.get(written..) {
        None | Some([]) => None,
        Some(left) => pipe.write(left).await.ok().filter(|count| *count > 0),
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.watched.is_over() {
            self.stop();
        }
    }
}

//! A running program of a member: its output arrives while others work, and its input may stay open.

use std::time::Duration;

use punchlist_sched::Processes;
use punchlist_sched::output::Stream;
use punchlist_sched::process::{Command, Error, Exit, Stopper};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::{Receiver, Sender, UnboundedReceiver, channel, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How many messages to a program may wait. One that asks more and does not read is ended.
const MOST_WAITING: usize = 256;
/// How many bytes of standard error are kept, for when the program fails.
const KEPT: usize = 8 << 10;

/// A running program.
pub(super) struct Process {
    /// What it prints.
    output: UnboundedReceiver<(Stream, Vec<u8>)>,
    /// Its input, if it is talked to.
    input: Option<Sender<String>>,
    stopper: Stopper,
    exit: JoinHandle<Result<Exit, Error>>,
    stderr: Vec<u8>,
}

impl Process {
    /// Starts a program. It is talked to if the command has an input.
    pub(super) async fn start(processes: &Processes, command: Command) -> Result<Self, Error> {
        let mut running = processes.spawn(command).await?;
        let input = running.take_stdin().map(|mut stdin| {
            let (send, mut waiting): (Sender<String>, Receiver<String>) = channel(MOST_WAITING);
            tokio::spawn(async move {
                while let Some(line) = waiting.recv().await {
                    if stdin.write_all(line.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
            send
        });
        let stopper = running.stopper();
        let (tell, output) = unbounded_channel();
        let exit = tokio::spawn(running.finish(move |from, bytes| {
            // A member that is gone hears nothing more.
            tell.send((from, bytes.to_vec())).ok();
        }));
        Ok(Self { output, input, stopper, exit, stderr: Vec::new() })
    }

    /// The next piece of its output; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            match self.output.recv().await? {
                (Stream::Out, bytes) => return Some(bytes),
                (Stream::Err, bytes) => {
                    self.stderr.extend_from_slice(&bytes);
                    if self.stderr.len() > 2 * KEPT {
                        self.stderr.drain(..self.stderr.len() - KEPT);
                    }
                }
            }
        }
    }

    /// Sends a message. Returns whether the program takes it.
    pub(super) fn send(&self, message: &Value) -> bool {
        self.input.as_ref().is_some_and(|it| it.try_send(format!("{message}\n")).is_ok())
    }

    /// Closes its input. Messages that were sent arrive before.
    pub(super) fn close_input(&mut self) {
        self.input = None;
    }

    /// Whether the program has ended.
    pub(super) fn is_over(&self) -> bool {
        self.exit.is_finished()
    }

    /// Ends the program and its descendants. Its output ends then.
    pub(super) fn stop(&self) {
        self.stopper.stop();
    }

    /// Waits for the end. Returns how it ended, and the end of its standard error.
    pub(super) async fn ended(mut self) -> (Result<Exit, String>, String) {
        while self.next().await.is_some() {}
        let exit = match self.exit.await {
            Ok(exit) => exit.map_err(|why| why.to_string()),
            Err(why) => Err(why.to_string()),
        };
        (exit, String::from_utf8_lossy(&self.stderr).into_owned())
    }

    /// Closes its input, and ends it if it does not end by itself soon.
    pub(super) async fn close(mut self, patience: Duration) {
        self.input = None;
        if timeout(patience, &mut self.exit).await.is_err() {
            self.stopper.stop();
            self.exit.await.ok();
        }
    }
}

//! The context of a running call: its id, its live output, its processes, and the signal to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use punchlist_model::{Actor, Attempt};

use crate::call::{CallId, Ended, Output};
use crate::output::{self, Capture, Files, Line, Lines, Stream};
use crate::process::{self, Command, Exit, Processes, Running};
use crate::run::Listener;
use crate::run::brake::{Brake, Stopping};
use crate::run::event::{Event, Watchers};

/// What all running calls share.
pub(crate) struct Surroundings {
    pub(crate) watchers: Arc<Watchers>,
    pub(crate) processes: Processes,
    pub(crate) output: Arc<output::Options>,
    pub(crate) files: Arc<Files>,
}

/// The context of a running call.
pub struct Work {
    call: CallId,
    attempt: Attempt,
    around: Arc<Surroundings>,
    brake: Arc<Brake>,
    /// Gets what the call prints, besides the subscribers of the run.
    listener: Option<Arc<Listener>>,
    /// Who approved the call.
    approved_by: Option<Actor>,
    /// The name that the caller gave the call.
    label: Option<String>,
    /// How many outputs were captured.
    outputs: AtomicU32,
}

impl Work {
    pub(crate) fn new(
        call: CallId,
        attempt: Attempt,
        around: &Arc<Surroundings>,
        brake: &Arc<Brake>,
    ) -> Self {
        Self {
            call,
            attempt,
            around: Arc::clone(around),
            brake: Arc::clone(brake),
            listener: None,
            approved_by: None,
            label: None,
            outputs: AtomicU32::new(0),
        }
    }

    pub(crate) fn heard_by(self, listener: Arc<Listener>) -> Self {
        Self { listener: Some(listener), ..self }
    }

    pub(crate) fn approved(self, approved_by: Option<Actor>) -> Self {
        Self { approved_by, ..self }
    }

    pub(crate) fn labelled(self, label: Option<String>) -> Self {
        Self { label, ..self }
    }

    /// A context outside any run, for calling a tool directly: without subscribers, and never
    /// stopped.
    pub fn alone(processes: Processes, output: output::Options) -> Self {
        let around = Surroundings {
            watchers: Arc::default(),
            processes,
            // Nobody would record the call's end and remove its files.
            output: Arc::new(output::Options { directory: None, ..output }),
            files: Arc::default(),
        };
        Self::new(CallId(0), Attempt(1), &Arc::new(around), &Arc::default())
    }

    /// The call's id.
    pub fn call(&self) -> CallId {
        self.call
    }

    /// The name that the caller gave the call, if any.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// The number of the attempt.
    pub fn attempt(&self) -> Attempt {
        self.attempt
    }

    /// Who approved the call, if a person was asked and gave a name.
    pub fn approved_by(&self) -> Option<&Actor> {
        self.approved_by.as_ref()
    }

    /// Prints a line for the subscribers.
    pub fn say(&self, line: Line) {
        if let Some(listener) = &self.listener {
            listener.say(self.call, &line);
        }
        let watchers = &self.around.watchers;
        if watchers.is_anybody_there() {
            watchers.tell(&Event::Output { call: self.call, attempt: self.attempt, line });
        }
    }

    /// Whether the call must stop.
    pub fn is_stopping(&self) -> bool {
        self.brake.is_on()
    }

    /// Waits until the call must stop.
    pub async fn stopping(&self) {
        self.brake.reached(Stopping::Asked).await;
    }

    /// Starts a process. It is ended, with its descendants, when the call must stop or the
    /// [`Running`] is dropped.
    pub async fn spawn(&self, command: Command) -> Result<Running, process::Error> {
        if self.brake.is_on() {
            return Err(process::Error::Stopping);
        }
        let running = self.around.processes.begin(command)?;
        self.brake.add(running.watched().clone());
        running.started().await
    }

    /// Runs a process to its end: its output is passed on live, and kept up to the limit.
    pub async fn run(&self, command: Command) -> Result<Finished, process::Error> {
        let mut capture = self.capture();
        let longest = self.around.output.longest_line;
        let mut lines = [Lines::new(Stream::Out, longest), Lines::new(Stream::Err, longest)];
        let running = self.spawn(command).await?;
        let exit = running
            .finish(|stream, bytes| {
                capture.take(bytes);
                let [out, err] = &mut lines;
                let lines = match stream {
                    Stream::Out => out,
                    Stream::Err => err,
                };
                lines.take(bytes, &mut |line| self.say(line));
            })
            .await;
        for lines in &mut lines {
            lines.finish(&mut |line| self.say(line));
        }
        Ok(Finished { exit, output: capture.finish() })
    }

    /// Captures an output in a file, named after the call, the attempt (from the second on) and the
    /// number of the output (from the second on). The file stays until the call's end is recorded,
    /// and longer if the output is cut.
    pub fn capture(&self) -> Capture {
        let (around, outputs) = (&self.around, &self.outputs);
        let nth = outputs.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let name = output::name(self.call, self.attempt, nth);
        Capture::of(self.call, Arc::clone(&around.files), &around.output, &name)
    }
}

/// A process that ran to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finished {
    /// How the process ended, or why that is unknown.
    pub exit: Result<Exit, process::Error>,
    /// The output.
    pub output: Output,
}

impl Finished {
    /// The end of a call that consists of this process: a success if the exit code is 0.
    pub fn ended(self) -> Ended {
        match self.exit {
            Ok(exit) if exit.is_success() => Ended::Well(self.output),
            Ok(exit) => Ended::Badly { what: exit.to_string(), output: self.output },
            Err(why) => Ended::Badly { what: why.to_string(), output: self.output },
        }
    }
}

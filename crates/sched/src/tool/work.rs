//! What a running call is given: who it is, where its live output goes, how it starts processes, and
//! whether it is to stop.

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

/// What a running call is given.
pub struct Work {
    call: CallId,
    attempt: Attempt,
    around: Arc<Surroundings>,
    brake: Arc<Brake>,
    /// Who hears what it prints, besides those who watch the run.
    listener: Option<Arc<Listener>>,
    /// Who has said yes to it.
    approved_by: Option<Actor>,
    /// How many outputs it has begun to keep.
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
            outputs: AtomicU32::new(0),
        }
    }

    pub(crate) fn heard_by(self, listener: Arc<Listener>) -> Self {
        Self { listener: Some(listener), ..self }
    }

    pub(crate) fn approved(self, approved_by: Option<Actor>) -> Self {
        Self { approved_by, ..self }
    }

    /// Work outside any run, for who calls a tool by itself: nobody watches it, nobody stops it.
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

    /// Which call it is.
    pub fn call(&self) -> CallId {
        self.call
    }

    /// Which attempt it is.
    pub fn attempt(&self) -> Attempt {
        self.attempt
    }

    /// Who said yes to the call, if somebody was asked and gave a name.
    pub fn approved_by(&self) -> Option<&Actor> {
        self.approved_by.as_ref()
    }

    /// Says something to whoever watches.
    pub fn say(&self, line: Line) {
        if let Some(listener) = &self.listener {
            listener.say(self.call, &line);
        }
        let watchers = &self.around.watchers;
        if watchers.is_anybody_there() {
            watchers.tell(&Event::Output { call: self.call, attempt: self.attempt, line });
        }
    }

    /// Whether it is to stop.
    pub fn is_stopping(&self) -> bool {
        self.brake.is_on()
    }

    /// Waits until it is to stop.
    pub async fn stopping(&self) {
        self.brake.reached(Stopping::Asked).await;
    }

    /// Starts a process. It is ended, with all that came of it, when the call is to stop, and when
    /// the answer is dropped.
    pub async fn spawn(&self, command: Command) -> Result<Running, process::Error> {
        if self.brake.is_on() {
            return Err(process::Error::Stopping);
        }
        let running = self.around.processes.begin(command)?;
        self.brake.add(running.watched().clone());
        running.started().await
    }

    /// Runs a process to its end: what it says is passed on live and kept up to the limit.
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

    /// Keeps what the call says, in a file named after the call, its attempt from the second on, and the
    /// number of the output from the second on. The file stays until the call's end is recorded, and
    /// longer if the output must be cut.
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
    /// How it ended, or why that is not known.
    pub exit: Result<Exit, process::Error>,
    /// What it said.
    pub output: Output,
}

impl Finished {
    /// How a call ended that consists of this process: well if it says so.
    pub fn ended(self) -> Ended {
        match self.exit {
            Ok(exit) if exit.is_success() => Ended::Well(self.output),
            Ok(exit) => Ended::Badly { what: exit.to_string(), output: self.output },
            Err(why) => Ended::Badly { what: why.to_string(), output: self.output },
        }
    }
}

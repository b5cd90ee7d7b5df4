//! A plan file that runs inside the UI: the engine's run, with a front end that only passes on.
//!
//! Its questions are in the store and are answered like all others. The run is a task of its own; the
//! UI hears of it by messages and stops it.

use std::time::Duration;

use futures_core::future::BoxFuture;
use punchlist_engine::fail::Fail;
use punchlist_engine::run::{
    Board, Ended, Event, FrontEnd, Input, Options, Permissions, Source, Surroundings,
};
use punchlist_formats::view::run::{Run, line};
use punchlist_model::call::Asked;
use punchlist_model::{Number, RunId, Timestamp};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::msg::Msg;

/// The shortest time between two pictures, and how often durations change.
const FRAME: Duration = Duration::from_millis(100);
const TICK: Duration = Duration::from_secs(1);

/// What a run needs.
pub struct PlanRun {
    /// The plan file.
    pub source: Source,
    /// What to do with it.
    pub options: Options,
    /// What the engine needs to know about this process.
    pub surroundings: Surroundings,
    /// The policies.
    pub permissions: Permissions,
}

/// What the UI hears of a run.
#[derive(Debug)]
pub(crate) enum RunReport {
    /// The run has begun.
    Began(RunId),
    /// How it stands.
    Stands(Box<Run>),
    /// It asks the person something. The question itself is in the store.
    Asked(Box<Asked>),
    /// A line for the person.
    Said(String),
    /// The person is asked before anything runs.
    Confirm(String, oneshot::Sender<bool>),
    /// It has ended.
    Ended(Result<Box<Ended>, Fail>),
}

/// A run that is going on.
pub(super) struct Running {
    stop: UnboundedSender<()>,
    task: JoinHandle<()>,
}

impl Running {
    /// Starts a run in the present `LocalSet` of tokio.
    pub(super) fn start(run: PlanRun, tell: UnboundedSender<Msg>) -> Self {
        let (stop, stops) = unbounded_channel();
        let PlanRun { source, options, surroundings, permissions } = run;
        let task = tokio::task::spawn_local(async move {
            let now = Instant::now();
            let mut front = Reporter { tell: tell.clone(), stops, is_dirty: true, drawn: now };
            front.warnings(&source);
            let run = punchlist_engine::run::run(
                source,
                &options,
                &surroundings,
                &permissions,
                &mut front,
            );
            let ended = Box::pin(run).await.map(Box::new);
            tell.send(Msg::Run(RunReport::Ended(ended))).ok();
        });
        Self { stop, task }
    }

    /// Stops the run; a second time, at once.
    pub(super) fn stop(&self) {
        self.stop.send(()).ok();
    }

    pub(super) fn is_over(&self) -> bool {
        self.task.is_finished()
    }

    /// Stops the run, and waits for its end.
    pub(super) async fn close(self) {
        self.stop();
        // An error means that the task has panicked, which ended it too.
        self.task.await.ok();
    }
}

/// The front end of the run.
struct Reporter {
    tell: UnboundedSender<Msg>,
    stops: UnboundedReceiver<()>,
    /// Whether something has changed since the last picture.
    is_dirty: bool,
    drawn: Instant,
}

impl Reporter {
    fn report(&self, report: RunReport) {
        self.tell.send(Msg::Run(report)).ok();
    }

    fn warnings(&self, source: &Source) {
        for warning in source.warnings() {
            self.report(RunReport::Said(warning));
        }
    }

    /// What became of an item.
    fn moved(&self, item: Number, board: &Board, now: Timestamp) {
        if let Some(step) = board.step(item, now.as_millisecond()) {
            self.report(RunReport::Said(line(&step)));
        }
    }
}

impl FrontEnd for Reporter {
    fn warn(&mut self, text: &str) {
        self.report(RunReport::Said(text.to_owned()));
    }

    fn say(&mut self, text: &str, _: Timestamp) -> Result<(), Fail> {
        self.report(RunReport::Said(text.to_owned()));
        Ok(())
    }

    fn confirm<'a>(&'a mut self, question: &'a str) -> BoxFuture<'a, bool> {
        let (answer, answered) = oneshot::channel();
        self.report(RunReport::Confirm(question.to_owned(), answer));
        // A UI that is gone has not said yes.
        Box::pin(async { answered.await.unwrap_or(false) })
    }

    fn event(&mut self, event: Event<'_>, board: &Board, now: Timestamp) -> Result<(), Fail> {
        self.is_dirty = true;
        match event {
            Event::Begins { run, .. } => self.report(RunReport::Began(run)),
            Event::Completed { item, .. } | Event::Held(item) | Event::Retries(item) => {
                self.moved(item, board, now);
            }
            Event::Question(asked) => self.report(RunReport::Asked(Box::new(asked.clone()))),
            Event::Lost(_)
            | Event::Plan(_)
            | Event::Planned { .. }
            | Event::Scheduled(_)
            | Event::Starts(_)
            | Event::Stops(_)
            | Event::Printed { .. }
            | Event::Asked { .. }
            | Event::Answered { .. }
            | Event::Withdrawn(_)
            | Event::Changed { .. }
            | Event::Over => {}
        }
        Ok(())
    }

    fn draw(&mut self, board: &Board, now: Timestamp) -> Result<(), Fail> {
        (self.is_dirty, self.drawn) = (false, Instant::now());
        self.report(RunReport::Stands(Box::new(board.view(now.as_millisecond()))));
        Ok(())
    }

    fn input(&mut self) -> BoxFuture<'_, Result<Input, Fail>> {
        let next = self.drawn + if self.is_dirty { FRAME } else { TICK };
        Box::pin(async move {
            tokio::select! {
                Some(()) = self.stops.recv() => Ok(Input::Stop),
                () = sleep_until(next) => Ok(Input::Draw),
            }
        })
    }
}

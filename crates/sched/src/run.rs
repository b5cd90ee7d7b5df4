//! Runs calls: [`Run`] schedules batches of calls, asks people about them, and returns their
//! outcomes.
//!
//! ```text
//! Run::builder(tools) ─ start ─► Run ─ schedule(batch) ─► RunningBatch ─ outcomes ─► Vec<Outcome>
//!                                 └─ question() ─► Question ─ answer
//! ```
//!
//! A run is a task with one loop (`driver`). [`Run`] is its handle: cheap to clone, usable from any
//! thread.

mod attempt;
mod batch;
pub(crate) mod brake;
mod driver;
pub(crate) mod event;
mod ledger;
mod question;
mod timers;

use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use punchlist_model::call::{Answer, Asked};
use punchlist_model::{Actor, Timestamp};
use tokio::sync::{mpsc, oneshot, watch};

use crate::call::{BatchId, Call, CallId, CancelReason, IllegalStep, Outcome, QuestionId};
use crate::machine::{self, Attended, Limits, Target};
use crate::output;
use crate::policy::Policy;
use crate::process::Processes;
use crate::tool::Tools;
use driver::Driver;
use event::Watchers;
use question::Questions;

pub(crate) use batch::Listener;
pub use batch::{Batch, PlannedCall, RunningBatch};
pub(crate) use driver::panicked;
pub use event::{Event, Events};
pub use ledger::{Ledger, LedgerError, NoLedger, Page};
pub use question::{AnswerResult, Question};

/// Returns the current time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The options of a run.
#[derive(Clone)]
pub struct Options {
    /// The options of the scheduler: limits, policy, who can be asked.
    pub machine: machine::Options,
    /// The options for outputs.
    pub output: output::Options,
    /// How long a tool may go on after it was told to stop, before it is dropped. The grace of its
    /// processes should be shorter.
    pub patience: Duration,
    /// The clock.
    pub clock: Clock,
}

impl Default for Options {
    /// Ten seconds to stop, the system's clock, and default options otherwise.
    fn default() -> Self {
        Self {
            machine: machine::Options::default(),
            output: output::Options::default(),
            patience: Duration::from_secs(10),
            clock: Arc::new(system_time),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the clock of a run that is given no other")]
fn system_time() -> Timestamp {
    Timestamp::now()
}

/// A run that has not started. By default it has no ledger, starts no processes, and has nobody to
/// ask.
pub struct Builder<L = NoLedger> {
    options: Options,
    tools: Tools,
    processes: Processes,
    ledger: L,
}

impl<L: Ledger + 'static> Builder<L> {
    /// Replaces all options that were set so far.
    #[must_use]
    pub fn options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// Sets the policy.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.options.machine.policy = policy;
        self
    }

    /// Says that somebody answers questions. Otherwise a call that needs a person's approval fails.
    #[must_use]
    pub fn attended(mut self) -> Self {
        self.options.machine.attended = Attended::Yes;
        self
    }

    /// Sets how many calls may run at the same time.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.options.machine.limits = limits;
        self
    }

    /// Lets tools start processes.
    #[must_use]
    pub fn processes(self, processes: Processes) -> Self {
        Self { processes, ..self }
    }

    /// Records every transition in this ledger before its effects.
    #[must_use]
    pub fn ledger<M: Ledger + 'static>(self, ledger: M) -> Builder<M> {
        let Self { options, tools, processes, ledger: _ } = self;
        Builder { options, tools, processes, ledger }
    }

    /// Starts the run as a task of the current tokio runtime.
    ///
    /// It works until every [`Run`] and every [`RunningBatch`] is dropped or [`Run::shut_down`] is
    /// called, and every call has ended.
    pub fn start(self) -> Run {
        let Self { options, tools, processes, ledger } = self;
        let (driver, run) = Driver::new(options, tools, processes, ledger);
        drop(tokio::spawn(driver.run()));
        run
    }
}

/// Why a run failed. Its running calls have been stopped.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The ledger could not be written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// An illegal step in the machine: a bug of this crate.
    #[error("a bug in the scheduler: {0}: {1}")]
    Fault(CallId, IllegalStep),
    /// The run's task panicked, or its runtime has ended.
    #[error("the scheduler ended unexpectedly")]
    Broke,
}

/// The run is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the run is over")]
pub struct RunOver;

/// A request to the run's task.
enum Wish {
    Schedule {
        batch: Batch,
        listener: Arc<Listener>,
        reply: oneshot::Sender<Scheduled>,
    },
    Answer {
        question: QuestionId,
        answer: Answer,
        by: Option<Actor>,
        reply: oneshot::Sender<AnswerResult>,
    },
    Cancel {
        target: Target,
        reason: CancelReason,
        reply: oneshot::Sender<()>,
    },
    Call {
        id: CallId,
        reply: oneshot::Sender<Option<Call>>,
    },
    Outcomes {
        batch: BatchId,
        reply: oneshot::Sender<Vec<Outcome>>,
    },
    Release(BatchId),
    ShutDown(CancelReason),
}

/// A recorded batch, with the ids of its calls.
struct Scheduled {
    batch: BatchId,
    calls: Range<u32>,
}

/// A handle of a run.
#[derive(Clone)]
pub struct Run {
    wishes: mpsc::UnboundedSender<Wish>,
    watchers: Arc<Watchers>,
    questions: Arc<Questions>,
    /// The result of the run, once it has ended.
    ended: watch::Receiver<Option<Result<(), Error>>>,
}

impl Run {
    /// Starts building a run with these tools.
    pub fn builder(tools: Tools) -> Builder {
        let (options, processes) = (Options::default(), Processes::none());
        Builder { options, tools, processes, ledger: NoLedger }
    }

    /// Schedules calls. Returns once they are recorded.
    pub async fn schedule(&self, batch: impl Into<Batch>) -> Result<RunningBatch, RunOver> {
        let (batch, listener) = (batch.into(), Arc::<Listener>::default());
        let hears = Arc::clone(&listener);
        let scheduled = self.wish(|reply| Wish::Schedule { batch, listener: hears, reply }).await?;
        let Scheduled { batch: id, calls } = scheduled;
        Ok(RunningBatch { run: self.clone(), id, calls, listener })
    }

    /// Waits for the oldest open question that was not handed out yet; `None` once the run is over.
    /// Each question is handed out once, however many callers wait. A late caller misses none.
    pub async fn question(&self) -> Option<Question> {
        let asked = self.questions.next().await?;
        Some(Question { asked, run: self.clone() })
    }

    /// All open questions, the oldest first.
    pub fn questions(&self) -> Vec<Question> {
        let question = |asked: Arc<Asked>| Question { asked, run: self.clone() };
        self.questions.all().into_iter().map(question).collect()
    }

    /// Answers a question, optionally in somebody's name. The first answer counts.
    pub async fn answer(
        &self,
        question: QuestionId,
        answer: Answer,
        by: Option<Actor>,
    ) -> Result<AnswerResult, RunOver> {
        self.wish(|reply| Wish::Answer { question, answer, by, reply }).await
    }

    /// Cancels calls. Returns once that is recorded. Running calls have then been told to stop,
    /// which may take a while.
    pub async fn cancel(&self, target: Target, reason: CancelReason) -> Result<(), RunOver> {
        self.wish(|reply| Wish::Cancel { target, reason, reply }).await
    }

    /// A call in its present state. An ended call is available while its [`RunningBatch`] exists.
    pub async fn call(&self, id: CallId) -> Result<Option<Call>, RunOver> {
        self.wish(|reply| Wish::Call { id, reply }).await
    }

    /// Subscribes to all events from now on.
    pub fn subscribe(&self) -> Events {
        self.watchers.subscribe()
    }

    /// Cancels everything. The run ends once every call has ended, even if handles remain.
    pub fn shut_down(&self, reason: CancelReason) {
        // The run may have ended already.
        drop(self.wishes.send(Wish::ShutDown(reason)));
    }

    /// Waits for the end of the run. This does not keep the run alive.
    pub fn ended(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let mut ended = self.ended.clone();
        async move {
            match ended.wait_for(Option::is_some).await.as_deref() {
                Ok(Some(how)) => how.clone(),
                Ok(None) | Err(_) => Err(Error::Broke),
            }
        }
    }

    async fn outcomes(&self, batch: BatchId) -> Result<Vec<Outcome>, RunOver> {
        self.wish(|reply| Wish::Outcomes { batch, reply }).await
    }

    fn release(&self, batch: BatchId) {
        // If the run has ended, there is nothing to release.
        drop(self.wishes.send(Wish::Release(batch)));
    }

    async fn wish<T>(&self, wish: impl FnOnce(oneshot::Sender<T>) -> Wish) -> Result<T, RunOver> {
        let (reply, hear) = oneshot::channel();
        self.wishes.send(wish(reply)).map_err(|_| RunOver)?;
        hear.await.map_err(|_| RunOver)
    }
}

//! Running calls: [`Run`] takes batches of calls in, asks people about them, and gives their outcomes back.
//!
//! ```text
//! Run::builder(tools) ─ start ─► Run ─ schedule(batch) ─► RunningBatch ─ outcomes ─► Vec<Outcome>
//!                                 └─ question() ─► Question ─ answer
//! ```
//!
//! A run is a task with one loop (`driver`). A `Run` is the way in to it: cheap to clone, from any thread.

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

/// What time it is.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// How a run works.
#[derive(Clone)]
pub struct Options {
    /// How it is decided what runs when: limits, rules, who can be asked.
    pub machine: machine::Options,
    /// What is kept of outputs.
    pub output: output::Options,
    /// How long a tool that was told to stop may go on before it is dropped. Its processes have their
    /// own time, which should be shorter.
    pub patience: Duration,
    /// What time it is.
    pub clock: Clock,
}

impl Default for Options {
    /// Ten seconds to stop, the system's clock, and the defaults of the parts.
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

/// A run that has not begun. Without further words it keeps no ledger, starts no processes, and has
/// nobody to ask.
pub struct Builder<L = NoLedger> {
    options: Options,
    tools: Tools,
    processes: Processes,
    ledger: L,
}

impl<L: Ledger + 'static> Builder<L> {
    /// With these options, instead of all that was said so far about them.
    #[must_use]
    pub fn options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// With these rules.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.options.machine.policy = policy;
        self
    }

    /// Somebody answers questions. Otherwise a call that needs a person's yes is an error.
    #[must_use]
    pub fn attended(mut self) -> Self {
        self.options.machine.attended = Attended::Yes;
        self
    }

    /// With so many calls at once.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.options.machine.limits = limits;
        self
    }

    /// Tools may start processes.
    #[must_use]
    pub fn processes(self, processes: Processes) -> Self {
        Self { processes, ..self }
    }

    /// What happens is written there before anything follows from it.
    #[must_use]
    pub fn ledger<M: Ledger + 'static>(self, ledger: M) -> Builder<M> {
        let Self { options, tools, processes, ledger: _ } = self;
        Builder { options, tools, processes, ledger }
    }

    /// Begins the run, as a task of the tokio runtime that this is called in.
    ///
    /// It works until every [`Run`] and every [`RunningBatch`] is dropped, or one says so, and every call
    /// has ended.
    pub fn start(self) -> Run {
        let Self { options, tools, processes, ledger } = self;
        let (driver, run) = Driver::new(options, tools, processes, ledger);
        drop(tokio::spawn(driver.run()));
        run
    }
}

/// Why a run gave up. What ran has been ended.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// What happened could not be written down.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The machine was told something that cannot be: a fault of ours.
    #[error("a fault in the scheduler: {0}: {1}")]
    Fault(CallId, IllegalStep),
    /// Its task panicked, or the runtime that it belonged to has ended.
    #[error("the scheduler broke")]
    Broke,
}

/// The run is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("calls are not worked on any more")]
pub struct RunOver;

/// What callers want of a run.
enum Wish {
    Schedule {
        batch: Batch,
        listener: Arc<Listener>,
        told: oneshot::Sender<Scheduled>,
    },
    Answer {
        question: QuestionId,
        answer: Answer,
        by: Option<Actor>,
        told: oneshot::Sender<AnswerResult>,
    },
    Cancel {
        target: Target,
        reason: CancelReason,
        told: oneshot::Sender<()>,
    },
    Call {
        id: CallId,
        told: oneshot::Sender<Option<Call>>,
    },
    Outcomes {
        batch: BatchId,
        told: oneshot::Sender<Vec<Outcome>>,
    },
    Release(BatchId),
    ShutDown(CancelReason),
}

/// A batch that is written down, and its calls.
struct Scheduled {
    batch: BatchId,
    calls: Range<u32>,
}

/// A run, from outside.
#[derive(Clone)]
pub struct Run {
    wishes: mpsc::UnboundedSender<Wish>,
    watchers: Arc<Watchers>,
    questions: Arc<Questions>,
    /// How it ended, once it has.
    ended: watch::Receiver<Option<Result<(), Error>>>,
}

impl Run {
    /// A run with these tools, which then says how it is to work.
    pub fn builder(tools: Tools) -> Builder {
        let (options, processes) = (Options::default(), Processes::none());
        Builder { options, tools, processes, ledger: NoLedger }
    }

    /// Schedules calls. Answers once they are written down.
    pub async fn schedule(&self, batch: impl Into<Batch>) -> Result<RunningBatch, RunOver> {
        let (batch, listener) = (batch.into(), Arc::<Listener>::default());
        let hears = Arc::clone(&listener);
        let scheduled = self.wish(|told| Wish::Schedule { batch, listener: hears, told }).await?;
        let Scheduled { batch: id, calls } = scheduled;
        Ok(RunningBatch { run: self.clone(), id, calls, listener })
    }

    /// The oldest question that waits and that nobody has got from here, or `None` once the run is over.
    /// Each question is handed out once, however many listen; whoever comes late misses none.
    pub async fn question(&self) -> Option<Question> {
        let asked = self.questions.next().await?;
        Some(Question { asked, run: self.clone() })
    }

    /// All questions that wait for an answer, the oldest first.
    pub fn questions(&self) -> Vec<Question> {
        let question = |asked: Arc<Asked>| Question { asked, run: self.clone() };
        self.questions.all().into_iter().map(question).collect()
    }

    /// Answers a question, possibly in somebody's name. The first answer counts.
    pub async fn answer(
        &self,
        question: QuestionId,
        answer: Answer,
        by: Option<Actor>,
    ) -> Result<AnswerResult, RunOver> {
        self.wish(|told| Wish::Answer { question, answer, by, told }).await
    }

    /// Calls are not wanted any more. Answers once that is written down; what runs has then been told
    /// to end, and may take a while.
    pub async fn cancel(&self, target: Target, reason: CancelReason) -> Result<(), RunOver> {
        self.wish(|told| Wish::Cancel { target, reason, told }).await
    }

    /// A call as it stands. One that has ended is known as long as its batch is held.
    pub async fn call(&self, id: CallId) -> Result<Option<Call>, RunOver> {
        self.wish(|told| Wish::Call { id, told }).await
    }

    /// Everything that happens from now on.
    pub fn subscribe(&self) -> Events {
        self.watchers.subscribe()
    }

    /// Cancels everything; the run is over once everything has ended, whoever still holds it.
    pub fn shut_down(&self, reason: CancelReason) {
        // A run that is over needs no word.
        drop(self.wishes.send(Wish::ShutDown(reason)));
    }

    /// How the run ends, once it has. Waiting for it does not keep it from ending.
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
        self.wish(|told| Wish::Outcomes { batch, told }).await
    }

    fn release(&self, batch: BatchId) {
        // A run that is over has forgotten it already.
        drop(self.wishes.send(Wish::Release(batch)));
    }

    async fn wish<T>(&self, wish: impl FnOnce(oneshot::Sender<T>) -> Wish) -> Result<T, RunOver> {
        let (told, hear) = oneshot::channel();
        self.wishes.send(wish(told)).map_err(|_| RunOver)?;
        hear.await.map_err(|_| RunOver)
    }
}

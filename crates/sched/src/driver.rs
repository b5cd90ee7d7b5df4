//! Does what the machine says: one loop that thinks with [`crate::machine`] and acts.
//!
//! What is true is in the machine, and only the loop touches it. Facts come in (wishes of callers,
//! attempts that ended, times that came), the machine says what follows, the *ledger* writes down what
//! happened, and only then is anything done about it. Attempts run inside the loop's own task, so
//! nothing is under way that the loop does not see end.

mod attempt;
pub(crate) mod attempts;
mod clock;
pub(crate) mod event;
mod handle;
mod ledger;
pub(crate) mod mailbox;
mod todo;

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use punchlist_model::{Attempt, Timestamp};
use tokio::sync::oneshot;

use crate::call::{BatchId, CallId, Ended, Illegal, Look, Outcome, Output, State};
use crate::machine::{self, Answer, Effect, Input, Scheduler, Target, WakeToken};
use crate::output;
use crate::policy::Verdict;
use crate::process::Processes;
use crate::tool::{Place, Surroundings, Tools, Work};
use attempt::{Attempted, First, begin};
use attempts::{Attempts, Stopping};
use clock::Timers;
use event::Watchers;
use handle::Wish;
use mailbox::{Receiver, mailbox};
use todo::{Deed, Todo};

pub use event::{Event, Events};
pub use handle::{Gone, Handle, Scheduled};
pub use ledger::{Asked, Ledger, LedgerError, NoLedger, Page};

/// How much is written down at once, about. More makes fewer waits for the disk.
const PAGE: usize = 1_024;
/// How much is done before others that share the thread get their turn.
const TURN: u32 = 1_024;

/// How a driver works.
pub struct Options {
    /// How the machine decides.
    pub machine: machine::Options,
    /// What is kept of outputs.
    pub output: output::Options,
    /// How long a tool that was told to stop may go on before it is dropped. Its processes have their
    /// own time, which should be shorter.
    pub patience: Duration,
    /// What time it is.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Options {
    /// How long a tool that was told to stop may go on, if nobody says otherwise.
    pub const PATIENCE: Duration = Duration::from_secs(10);
}

/// Why a driver gave up. What ran has been ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What happened could not be written down.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The machine was told something that cannot be: a fault of ours.
    #[error("a fault in the scheduler: {0}: {1}")]
    Fault(CallId, Illegal),
}

/// What a caller is told once it is written down.
enum Reply {
    Scheduled(oneshot::Sender<Scheduled>, Scheduled),
    Answered(oneshot::Sender<bool>, bool),
    Cancelled(oneshot::Sender<()>),
    Batch(Waiter, BatchId),
}

/// Who waits for a batch to be done.
enum Waiter {
    Outcomes(oneshot::Sender<Vec<Outcome>>),
    Done(oneshot::Sender<()>),
}

impl Waiter {
    fn tell(self, machine: &Scheduler, batch: BatchId) {
        // Whoever asked may have gone.
        match self {
            Self::Outcomes(told) => drop(told.send(machine.outcomes(batch).unwrap_or_default())),
            Self::Done(told) => drop(told.send(())),
        }
    }
}

/// What comes with time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Due {
    /// The machine wants to be woken.
    Wake(WakeToken),
    /// An attempt that was told to stop had its time.
    GiveUp(CallId, Attempt),
}

/// The loop, before it runs.
pub struct Driver<L> {
    machine: Scheduler,
    tools: Tools,
    ledger: L,
    around: Arc<Surroundings>,
    patience: Duration,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    wishes: Receiver<Wish>,
    /// What was taken from them and not looked at yet.
    wished: VecDeque<Wish>,
    /// More calls may come.
    is_wanted: bool,
    /// What happened and is not written down.
    page: Vec<Effect>,
    asked: Vec<Asked>,
    /// Who is told when it is.
    replies: Vec<Reply>,
    /// Where the tool of a call is, by the call's number, so that it is looked for once.
    found: Vec<Option<Place>>,
    /// What was on the page that is being written.
    written: Vec<Deed>,
    /// What is written down and not done. A call may be told to stop before its attempt begins: it
    /// does not begin then.
    todo: Todo,
    running: FuturesUnordered<Attempted>,
    timers: Timers<Due>,
    /// Who waits for a batch to be done.
    batches: BTreeMap<BatchId, Vec<Waiter>>,
    /// What the question about a call rests on, until the call begins.
    stamps: BTreeMap<CallId, Option<String>>,
    /// Calls that were allowed and are asked about again, because that has changed.
    again: BTreeSet<CallId>,
    now: Timestamp,
}

impl<L: Ledger> Driver<L> {
    /// A driver and the way in to it.
    pub fn new(options: Options, tools: Tools, processes: Processes, ledger: L) -> (Self, Handle) {
        let Options { machine, output, patience, clock } = options;
        let watchers = Arc::new(Watchers::default());
        let (sender, wishes) = mailbox();
        let handle = Handle { wishes: sender, watchers: Arc::clone(&watchers) };
        let (files, attempts) = (Arc::default(), Attempts::default());
        let around = Surroundings { watchers, processes, output, files, attempts };
        let driver = Self {
            machine: Scheduler::new(machine),
            tools,
            ledger,
            around: Arc::new(around),
            patience,
            now: clock(),
            clock,
            wishes,
            wished: VecDeque::new(),
            is_wanted: true,
            page: Vec::new(),
            asked: Vec::new(),
            replies: Vec::new(),
            found: Vec::new(),
            written: Vec::new(),
            todo: Todo::default(),
            running: FuturesUnordered::new(),
            timers: Timers::default(),
            batches: BTreeMap::new(),
            stamps: BTreeMap::new(),
            again: BTreeSet::new(),
        };
        (driver, handle)
    }

    /// Works until every handle is dropped or one says so, and every call has ended.
    ///
    /// If it fails, everything that runs is ended first. Dropped, it drops what runs: processes are
    /// ended, but nobody waits for that.
    pub async fn run(mut self) -> Result<(), Error> {
        let result = self.work().await;
        if result.is_err() {
            // Tools first, so that none starts anything while its processes are ended. One that breaks
            // when it is dropped has told nobody anything new.
            drop(catch_unwind(AssertUnwindSafe(|| self.running.clear())));
            self.around.processes.close().await;
        }
        self.around.watchers.close();
        result
    }

    async fn work(&mut self) -> Result<(), Error> {
        let mut done = 0;
        loop {
            // What was written last is done first, while it is at hand; but where much waits, with each page
            // also what has waited longest, so that nobody waits for ever.
            if self.todo.len() > PAGE
                && let Some(deed) = self.todo.pop_back()
            {
                self.perform(deed);
            }
            while self.page.len() < PAGE
                && let Some(deed) = self.todo.pop_front()
            {
                self.perform(deed);
                done += 1;
            }
            if !self.page.is_empty() || !self.replies.is_empty() {
                self.write().await?;
            }
            if self.todo.is_empty() {
                if !self.is_wanted && self.machine.is_idle() {
                    return Ok(());
                }
                poll_fn(|context| self.wait(context)).await;
                done = 0;
            } else if done >= TURN {
                // Others get their turn, and what happened meanwhile is heard.
                tokio::task::yield_now().await;
                poll_fn(|context| {
                    let _ = self.wait(context);
                    Poll::Ready(())
                })
                .await;
                done = 0;
            }
            while let Some(wish) = self.wished.pop_front() {
                self.grant(wish);
            }
        }
    }

    /// Takes in whatever has happened; ready if that is anything.
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.now = (self.clock)();
        let mut happened = false;
        match self.wishes.poll_all(context, &mut self.wished) {
            Poll::Ready(true) => happened = true,
            Poll::Ready(false) => {
                happened |= self.is_wanted;
                self.is_wanted = false;
            }
            Poll::Pending => {}
        }
        while let Poll::Ready(Some((call, attempt, how))) = self.running.poll_next_unpin(context) {
            self.ended(call, attempt, how);
            happened = true;
        }
        while let Poll::Ready(due) = self.timers.poll(context) {
            match due {
                Due::Wake(token) => self.tell(Input::Woke(token)),
                Due::GiveUp(call, attempt) => {
                    if let Some(brake) = self.around.attempts.known(call, attempt) {
                        brake.stop(Stopping::Over);
                    }
                }
            }
            happened = true;
        }
        if happened { Poll::Ready(()) } else { Poll::Pending }
    }

    fn tell(&mut self, input: Input) {
        self.machine.handle(self.now, input, &mut self.page);
    }

    fn ended(&mut self, call: CallId, attempt: Attempt, how: Ended) {
        self.around.attempts.ended(call, attempt);
        self.tell(Input::Ended { call, attempt, how });
    }

    /// Does what a caller wants, as far as that is thinking.
    fn grant(&mut self, wish: Wish) {
        match wish {
            // Too late: whoever waits for the answer hears that nobody works any more.
            Wish::Schedule { .. } if !self.is_wanted => {}
            Wish::Schedule { make, told } => {
                let (batch, first) = (self.machine.next_batch(), self.machine.next_call());
                // A caller that breaks here harms itself: it hears that nobody works for it.
                let made = catch_unwind(AssertUnwindSafe(|| make(first)));
                let Ok(requests) = made else { return };
                self.tell(Input::Schedule(requests));
                let calls = first.0..self.machine.next_call().0;
                self.replies.push(Reply::Scheduled(told, Scheduled { batch, calls }));
            }
            Wish::Answer { question, answer, told } => {
                let counts = self.machine.is_open(question);
                match self.machine.asker(question) {
                    // A yes was meant for what stood there, not for what stands there now.
                    Some(call) if answer == Answer::Once && self.is_changed(call) => {
                        self.again.insert(call);
                        self.tell(Input::Changed(question));
                    }
                    Some(_) | None => self.tell(Input::Answered { question, answer }),
                }
                self.replies.push(Reply::Answered(told, counts));
            }
            Wish::Cancel { target, reason, told } => {
                self.tell(Input::Cancel(target, reason));
                self.replies.push(Reply::Cancelled(told));
            }
            Wish::Call { id, told } => drop(told.send(self.machine.call(id).map(Into::into))),
            Wish::Outcomes { batch, told } => self.wait_for(batch, Waiter::Outcomes(told)),
            Wish::Done { batch, told } => self.wait_for(batch, Waiter::Done(told)),
            Wish::ShutDown { reason } => {
                self.is_wanted = false;
                self.tell(Input::Cancel(Target::All, reason));
            }
        }
    }

    /// Whether what a question about a call rested on is not so any more.
    fn is_changed(&self, call: CallId) -> bool {
        let Some(asked) = self.stamps.get(&call) else { return false };
        let request = self.machine.call(call).map(|it| it.request);
        request.is_some_and(|it| self.tools.stamp(&it.tool, &it.arguments) != *asked)
    }

    fn wait_for(&mut self, batch: BatchId, waiter: Waiter) {
        if self.machine.is_done(batch) {
            self.replies.push(Reply::Batch(waiter, batch));
        } else {
            self.batches.entry(batch).or_default().push(waiter);
        }
    }

    /// Writes down what happened. What follows from it may then be done.
    async fn write(&mut self) -> Result<(), Error> {
        // What was cancelled on the same page is not asked about any more.
        let page = if self.machine.is_asking() { self.page.as_slice() } else { &[] };
        for effect in page {
            if let Effect::Ask(call, question) = effect
                && self.machine.is_open(*question)
                && let Some(subject) = self.machine.subject(*call)
                && let Some(call) = self.machine.call(*call)
            {
                let (tool, arguments) = (&call.request.tool, &call.request.arguments);
                // Before it is shown, so that what changes in between is noticed too.
                self.stamps.insert(call.id, self.tools.stamp(tool, arguments));
                let policy = self.machine.policy();
                let because = match policy.verdict(subject) {
                    Verdict::Ask(because) => because,
                    Verdict::Allow | Verdict::Deny(_) => None,
                };
                self.asked.push(Asked {
                    question: *question,
                    call: call.id,
                    tool: tool.clone(),
                    arguments: arguments.clone(),
                    preview: self.tools.preview(tool, arguments),
                    subject: subject.clone(),
                    because,
                    is_again: self.again.remove(&call.id),
                    allowing: policy.offers(subject),
                });
            }
        }
        let page =
            Page { at: self.now, asked: &self.asked, effects: &self.page, machine: &self.machine };
        if !self.page.is_empty() {
            self.ledger.record(page).await?;
        }
        let watchers = &self.around.watchers;
        for effect in self.page.drain(..) {
            match effect {
                Effect::Take(calls) => {
                    if watchers.is_anybody_there() {
                        for call in calls.clone().map(CallId) {
                            watchers.tell(&Event::Moved { call, state: State::NEW });
                        }
                    }
                    self.written.push(Deed::Take(calls));
                }
                Effect::Record(call, state) => {
                    if let State::Done(outcome) = &state {
                        self.around.files.recorded(call, outcome.output());
                    }
                    if watchers.is_anybody_there() {
                        watchers.tell(&Event::Moved { call, state });
                    }
                }
                // What is asked stands on the page, and is told below.
                Effect::Ask(..) => {}
                Effect::Validate(call, look) => self.written.push(Deed::Validate(call, look)),
                Effect::Run(call, attempt) => self.written.push(Deed::Run(call, attempt)),
                Effect::Kill(call, attempt) => self.written.push(Deed::Kill(call, attempt)),
                Effect::Wake { at, token } => {
                    self.written.push(Deed::Wake(Box::new((at, token))));
                }
                Effect::BatchDone(batch) => self.written.push(Deed::BatchDone(batch)),
                Effect::Illegal(call, illegal) => return Err(Error::Fault(call, illegal)),
            }
        }
        while let Some(deed) = self.written.pop() {
            self.todo.push_front(deed);
        }
        // A large batch need not be paid for as long as the driver lives.
        self.page.shrink_to(2 * PAGE);
        self.written.shrink_to(2 * PAGE);
        for asked in self.asked.drain(..) {
            watchers.tell(&Event::Asked(Arc::new(asked)));
        }
        for reply in self.replies.drain(..) {
            // Whoever asked may have gone.
            match reply {
                Reply::Scheduled(told, what) => drop(told.send(what)),
                Reply::Answered(told, what) => drop(told.send(what)),
                Reply::Cancelled(told) => drop(told.send(())),
                Reply::Batch(waiter, batch) => waiter.tell(&self.machine, batch),
            }
        }
        self.now = (self.clock)();
        Ok(())
    }

    /// Does what is written down.
    fn perform(&mut self, deed: Deed) {
        match deed {
            Deed::Take(calls) => {
                calls.map(CallId).for_each(|call| self.validate(call, Look::default()));
            }
            Deed::Validate(call, look) => self.validate(call, look),
            Deed::Run(call, attempt) => self.start(call, attempt),
            Deed::Kill(call, attempt) => {
                // One that is not known has ended, and that is about to be heard.
                if let Some(brake) = self.around.attempts.known(call, attempt) {
                    brake.stop(Stopping::Asked);
                    self.timers.add(self.patience, Due::GiveUp(call, attempt));
                }
            }
            Deed::Wake(due) => {
                let (at, token) = *due;
                let wait = at.duration_since(self.now).try_into().unwrap_or(Duration::ZERO);
                self.timers.add(wait, Due::Wake(token));
            }
            Deed::BatchDone(batch) => {
                self.around.watchers.tell(&Event::BatchDone(batch));
                for waiter in self.batches.remove(&batch).unwrap_or_default() {
                    waiter.tell(&self.machine, batch);
                }
            }
        }
    }

    /// Looks at a call's tool and arguments, if anybody still waits for that.
    fn validate(&mut self, call: CallId, look: Look) {
        if !self.machine.is_looked_at(call, look) {
            return;
        }
        let Some(it) = self.machine.call(call) else { return };
        let index = usize::try_from(call.0).unwrap_or(usize::MAX);
        if index >= self.found.len() {
            self.found.resize(index.saturating_add(1), None);
        }
        let place = self.tools.place(&it.request.tool);
        if let Some(found) = self.found.get_mut(index) {
            *found = place;
        }
        let found = self.tools.check_at(place, &it.request.tool, &it.request.arguments);
        self.tell(Input::Validated { call, look, found });
    }

    /// Starts an attempt. One that ends at once is not waited for.
    fn start(&mut self, call: CallId, attempt: Attempt) {
        let Some(it) = self.machine.call(call) else { return };
        if self.machine.is_stopping(call) {
            let what = "stopped before it began".to_owned();
            return self.ended(call, attempt, Ended::Badly { what, output: Output::default() });
        }
        let is_changed = self.is_changed(call);
        if self.stamps.remove(&call).is_some() && is_changed && !self.machine.is_given(call) {
            let what = "what it would change has changed since it was allowed; look at it again";
            let how = Ended::Badly { what: what.to_owned(), output: Output::default() };
            return self.ended(call, attempt, how);
        }
        let index = usize::try_from(call.0).unwrap_or(usize::MAX);
        let found = self.found.get(index).copied().flatten();
        let Some(tool) = found.and_then(|it| self.tools.at(it)) else {
            // Looked at and allowed, so it was there; but nothing here takes that for granted.
            let what = "its tool has gone".to_owned();
            return self.ended(call, attempt, Ended::Badly { what, output: Output::default() });
        };
        let work = Work::new(call, attempt, Arc::clone(&self.around));
        match begin(&**tool, it.request.arguments.clone(), work, &self.around) {
            First::Ended(how) => self.ended(call, attempt, how),
            First::Waits(attempted) => self.running.push(attempted),
        }
    }
}

/// What a panic said.
pub(crate) fn panicked(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it did not say why").to_owned()
}

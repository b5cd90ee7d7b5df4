//! The driver: one loop that feeds [`crate::machine`] and performs its effects.
//!
//! The machine has the whole state, and only the loop uses it. Inputs arrive (requests of callers,
//! ended attempts, expired timers), the machine returns effects, the *ledger* records the
//! transitions, and only then are the effects performed. Attempts run inside the loop's own task,
//! so that no attempt outlives the loop.

#[cfg(test)]
mod tests;

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use punchlist_model::call::{Answer, Asked, Offer, Permit};
use punchlist_model::{Actor, Attempt, Timestamp};
use tokio::sync::{mpsc, oneshot, watch};

use super::batch::Listener;
use super::brake::{Brake, Stopping};
use super::event::{Event, Watchers};
use super::ledger::{Ledger, Page};
use super::question::{AnswerResult, Questions};
use super::timers::{TimerKey, Timers};
use super::{Clock, Error, Options, Run, Scheduled, Wish, attempt};
use crate::call::{ArgumentsVersion, BatchId, CallId, Ended, Outcome, Output, QuestionId, State};
use crate::machine::{Effect, Input, Scheduler, Target, WakeToken};
use crate::output;
use crate::policy::Verdict;
use crate::process::Processes;
use crate::tool::{Surroundings, Tools, Work};

/// About how many effects are recorded together. More means fewer waits for the disk.
const PAGE: usize = 1_024;
/// How many effects are performed before the task yields to others on the same thread.
const TURN: u32 = 1_024;

/// A reply to a caller, sent after the ledger is written.
enum Reply {
    Scheduled(oneshot::Sender<Scheduled>, Scheduled),
    Answered(oneshot::Sender<AnswerResult>, AnswerResult),
    Cancelled(oneshot::Sender<()>),
    Outcomes(oneshot::Sender<Vec<Outcome>>, BatchId),
}

/// What a timer is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Due {
    /// A timer of the machine.
    Wake(WakeToken),
    /// The end of the time that an attempt has to stop.
    GiveUp(CallId, Attempt),
}

/// A running attempt.
struct UnderWay {
    brake: Arc<Brake>,
    /// Its timers, removed when it ends.
    timers: Vec<TimerKey>,
}

/// A batch that is not forgotten.
struct Kept {
    /// Gets what its calls print.
    listener: Arc<Listener>,
    /// Callers that wait for its outcomes.
    waiting: Vec<oneshot::Sender<Vec<Outcome>>>,
    /// Whether all its calls have ended and that is recorded.
    is_done: bool,
    /// Whether its caller has dropped it.
    is_released: bool,
}

/// The driver.
pub(super) struct Driver<L> {
    machine: Scheduler,
    tools: Tools,
    ledger: L,
    around: Arc<Surroundings>,
    kept_of_outputs: Arc<output::Options>,
    patience: Duration,
    clock: Clock,
    wishes: mpsc::UnboundedReceiver<Wish>,
    /// Whether more calls may come.
    is_wanted: bool,
    /// Effects that are not recorded yet.
    page: Vec<Effect>,
    /// Replies to send after the next write.
    replies: Vec<Reply>,
    /// Effects that are recorded and not performed yet.
    todo: VecDeque<Effect>,
    /// Validations to perform. They come last, so that a large batch does not delay calls that may
    /// run, and few calls are validated at a time.
    to_validate: VecDeque<(CallId, ArgumentsVersion)>,
    running: FuturesUnordered<BoxFuture<'static, (CallId, Attempt, Ended)>>,
    under_way: HashMap<(CallId, Attempt), UnderWay>,
    timers: Timers<Due>,
    batches: BTreeMap<BatchId, Kept>,
    questions: Arc<Questions>,
    /// The tools' stamps of the calls that were asked about, until the call starts.
    stamps: BTreeMap<CallId, Option<String>>,
    /// Calls that were allowed and are asked about again, because their stamp has changed.
    again: BTreeSet<CallId>,
    /// Who approved a call, until it has ended.
    approved: BTreeMap<CallId, Actor>,
    /// Calls that the ledger declined, with the reason, until they have ended.
    declined: BTreeMap<CallId, String>,
    now: Timestamp,
    ended: watch::Sender<Option<Result<(), Error>>>,
}

impl<L: Ledger> Driver<L> {
    /// A driver and its handle.
    pub(super) fn new(
        options: Options,
        tools: Tools,
        processes: Processes,
        ledger: L,
    ) -> (Self, Run) {
        let Options { machine, output, patience, clock } = options;
        let (watchers, questions) = (Arc::<Watchers>::default(), Arc::<Questions>::default());
        let (sender, wishes) = mpsc::unbounded_channel();
        let ended = watch::Sender::new(None);
        let run = Run {
            wishes: sender,
            watchers: Arc::clone(&watchers),
            questions: Arc::clone(&questions),
            ended: ended.subscribe(),
        };
        let output = Arc::new(output);
        let kept_of_outputs = Arc::clone(&output);
        let around = Surroundings { watchers, processes, output, files: Arc::default() };
        let driver = Self {
            machine: Scheduler::new(machine),
            tools,
            ledger,
            around: Arc::new(around),
            kept_of_outputs,
            patience,
            now: clock(),
            clock,
            wishes,
            is_wanted: true,
            page: Vec::new(),
            replies: Vec::new(),
            todo: VecDeque::new(),
            to_validate: VecDeque::new(),
            running: FuturesUnordered::new(),
            under_way: HashMap::new(),
            timers: Timers::default(),
            batches: BTreeMap::new(),
            questions,
            stamps: BTreeMap::new(),
            again: BTreeSet::new(),
            approved: BTreeMap::new(),
            declined: BTreeMap::new(),
            ended,
        };
        (driver, run)
    }

    /// Works until every handle is dropped or one shuts it down, and every call has ended.
    ///
    /// If it fails, it stops all running calls first. If it is dropped, it drops the running
    /// attempts: their processes are ended, but nobody waits for that.
    pub(super) async fn run(mut self) {
        let result = self.work().await;
        if result.is_err() {
            // Drop the tools first, so that none starts a process meanwhile. A panic during the
            // drop is ignored.
            drop(catch_unwind(AssertUnwindSafe(|| self.running.clear())));
            self.around.processes.close().await;
        }
        // From here on, requests are refused.
        let Self { wishes, replies, batches, .. } = &mut self;
        wishes.close();
        while wishes.try_recv().is_ok() {}
        replies.clear();
        batches.clear();
        self.around.watchers.close();
        self.questions.close();
        self.ended.send_replace(Some(result));
    }

    async fn work(&mut self) -> Result<(), Error> {
        let mut done = 0;
        loop {
            while self.page.len() < PAGE && done < TURN && self.perform_next() {
                done += 1;
            }
            if !self.page.is_empty() || !self.replies.is_empty() {
                self.write().await?;
            }
            if self.todo.is_empty() && self.to_validate.is_empty() {
                if !self.is_wanted && self.machine.is_idle() {
                    return Ok(());
                }
                poll_fn(|context| self.wait(context)).await;
                done = 0;
            } else if done >= TURN {
                // Yield to other tasks, and receive what has happened meanwhile.
                tokio::task::yield_now().await;
                poll_fn(|context| {
                    let _ = self.wait(context);
                    Poll::Ready(())
                })
                .await;
                done = 0;
            }
        }
    }

    /// Receives everything that has happened; ready if there was anything.
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.now = (self.clock)();
        let mut happened = false;
        while let Poll::Ready(wish) = self.wishes.poll_recv(context) {
            let Some(wish) = wish else {
                happened |= self.is_wanted;
                self.is_wanted = false;
                break;
            };
            self.grant(wish);
            happened = true;
        }
        while let Poll::Ready(Some((call, attempt, how))) = self.running.poll_next_unpin(context) {
            self.ended(call, attempt, how);
            happened = true;
        }
        while let Poll::Ready(due) = self.timers.poll(context) {
            match due {
                Due::Wake(token) => self.tell(Input::Woke(token)),
                Due::GiveUp(call, attempt) => {
                    if let Some(it) = self.under_way.get(&(call, attempt)) {
                        it.brake.stop(Stopping::Over);
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
        if let Some(it) = self.under_way.remove(&(call, attempt)) {
            // A task of the tool that still works must stop.
            it.brake.stop(Stopping::Over);
            it.timers.into_iter().for_each(|key| self.timers.remove(key));
        }
        self.tell(Input::Ended { call, attempt, how });
    }

    /// Handles a request of a caller.
    fn grant(&mut self, wish: Wish) {
        match wish {
            // Too late: the caller's reply channel is dropped.
            Wish::Schedule { .. } if !self.is_wanted => {}
            Wish::Schedule { batch: planned, listener, reply } => {
                let (batch, first) = (self.machine.next_batch(), self.machine.next_call());
                let (waiting, is_done, is_released) = (Vec::new(), false, false);
                self.batches.insert(batch, Kept { listener, waiting, is_done, is_released });
                self.tell(Input::Schedule(planned.requests(first)));
                let calls = first.0..self.machine.next_call().0;
                self.replies.push(Reply::Scheduled(reply, Scheduled { batch, calls }));
            }
            Wish::Answer { question, answer, by, reply } => {
                let result = self.answer(question, answer, by);
                self.replies.push(Reply::Answered(reply, result));
            }
            Wish::Cancel { target, reason, reply } => {
                self.tell(Input::Cancel(target, reason));
                self.replies.push(Reply::Cancelled(reply));
            }
            Wish::Call { id, reply } => drop(reply.send(self.machine.call(id).cloned())),
            Wish::Outcomes { batch, reply } => match self.batches.get_mut(&batch) {
                Some(kept) if !kept.is_done => kept.waiting.push(reply),
                Some(_) | None => self.replies.push(Reply::Outcomes(reply, batch)),
            },
            Wish::Release(batch) => self.release(batch),
            Wish::ShutDown(reason) => {
                self.is_wanted = false;
                self.tell(Input::Cancel(Target::All, reason));
            }
        }
    }

    fn answer(&mut self, question: QuestionId, answer: Answer, by: Option<Actor>) -> AnswerResult {
        let (Some(call), Some(asked)) =
            (self.machine.asker(question), self.questions.get(question))
        else {
            return AnswerResult::Late;
        };
        if !answer.is_among(&asked.offers) {
            return AnswerResult::NotOffered;
        }
        // The approval was for what the question showed, and that has changed.
        if answer == Answer::Once && self.is_changed(call) {
            self.again.insert(call);
            self.tell(Input::Changed(question));
        } else {
            if answer.is_yes() {
                self.approved.extend(by.map(|it| (call, it)));
            }
            self.tell(Input::Answered { question, answer });
        }
        AnswerResult::Taken
    }

    /// Whether the stamp of a call has changed since its question was shown.
    fn is_changed(&self, call: CallId) -> bool {
        let Some(asked) = self.stamps.get(&call) else { return false };
        let request = self.machine.call(call).map(|it| &it.request);
        request.is_some_and(|it| self.tools.stamp(&it.tool, &it.arguments) != *asked)
    }

    /// Marks a batch as dropped by its caller: it is forgotten when all its calls have ended.
    fn release(&mut self, batch: BatchId) {
        let Some(kept) = self.batches.get_mut(&batch) else { return };
        kept.is_released = true;
        if kept.is_done {
            self.batches.remove(&batch);
            self.machine.forget(batch);
            // A large batch has made these large.
            self.todo.shrink_to(PAGE);
            self.to_validate.shrink_to(PAGE);
            self.under_way.shrink_to(PAGE);
        }
    }

    /// The question about a call, with everything that a person must know.
    fn asked(&mut self, call: CallId, question: QuestionId) -> Option<Asked> {
        let subject = self.machine.subject(call)?;
        let request = &self.machine.call(call)?.request;
        let (tool, arguments) = (&request.tool, &request.arguments);
        // Taken before the preview, so that a change in between is noticed.
        self.stamps.insert(call, self.tools.stamp(tool, arguments));
        let preview = self.tools.preview(tool, arguments);
        let policy = self.machine.policy();
        let is_again = self.again.remove(&call);
        let why = match policy.verdict(subject) {
            _ if is_again => {
                "what it would change has changed while the question waited".to_owned()
            }
            Verdict::Ask(Some(rule)) => policy.why_asked(&rule, subject),
            Verdict::Ask(None) | Verdict::Allow | Verdict::Deny(_) => {
                preview.why.unwrap_or_else(|| "no rule allows it".to_owned())
            }
        };
        let always = policy.offers(subject).into_iter();
        let always = always.map(|it| Offer::Always(it.iter().map(Permit::from).collect()));
        let modify = (!preview.is_fixed).then_some(Offer::Modify);
        Some(Asked {
            id: question,
            call: call.0,
            item: None,
            title: tool.clone(),
            place: Vec::new(),
            context: String::new(),
            tool: tool.clone(),
            server: subject.server.clone(),
            what: preview.what,
            command: preview.command,
            diff: preview.diff,
            printed: Vec::new(),
            touches: preview.touches,
            why,
            arguments: arguments.clone(),
            offers: std::iter::once(Offer::Once).chain(always).chain(modify).collect(),
            at: self.now,
        })
    }

    /// Records what has happened. Then the effects may be performed.
    async fn write(&mut self) -> Result<(), Error> {
        let mut effects = std::mem::take(&mut self.page);
        let mut asked = Vec::new();
        for effect in &effects {
            // A question about a call that was cancelled meanwhile is dropped.
            if let Effect::Ask(call, question) = effect
                && self.machine.asker(*question).is_some()
            {
                asked.extend(self.asked(*call, *question));
            }
        }
        if !effects.is_empty() {
            let (machine, effects) = (&self.machine, effects.as_slice());
            let (asked, declined) = (&mut asked, &mut self.declined);
            let page = Page { at: self.now, asked, declined, effects, machine };
            self.ledger.record(page).await?;
        }
        for effect in effects.drain(..) {
            match effect {
                Effect::Record(call, state) => {
                    if let State::Done(outcome) = &state {
                        self.around.files.recorded(call, outcome.output());
                        self.stamps.remove(&call);
                        self.again.remove(&call);
                        self.approved.remove(&call);
                        self.declined.remove(&call);
                    }
                    self.around.watchers.tell(&Event::Moved { call, state });
                }
                // The question is part of the page, and is published below.
                Effect::Ask(..) => {}
                Effect::Illegal(call, illegal) => return Err(Error::Fault(call, illegal)),
                Effect::Validate(call, version) => self.to_validate.push_back((call, version)),
                effect @ (Effect::Run(..)
                | Effect::Kill(..)
                | Effect::Wake { .. }
                | Effect::BatchDone(_)) => self.todo.push_back(effect),
            }
        }
        // Reuse the memory for the next page, unless a large batch has made it large.
        effects.shrink_to(2 * PAGE);
        self.page = effects;
        self.questions.retain(|it| self.machine.asker(it).is_some());
        for asked in asked {
            let asked = Arc::new(asked);
            self.questions.add(Arc::clone(&asked));
            self.around.watchers.tell(&Event::Asked(asked));
        }
        for reply in std::mem::take(&mut self.replies) {
            // The caller may be gone.
            match reply {
                Reply::Scheduled(reply, what) => {
                    if let Err(what) = reply.send(what) {
                        self.release(what.batch);
                    }
                }
                Reply::Answered(reply, what) => drop(reply.send(what)),
                Reply::Cancelled(reply) => drop(reply.send(())),
                Reply::Outcomes(reply, batch) => {
                    drop(reply.send(self.machine.outcomes(batch).unwrap_or_default()));
                }
            }
        }
        self.now = (self.clock)();
        Ok(())
    }

    /// Performs the next recorded effect, if there is any.
    fn perform_next(&mut self) -> bool {
        if let Some(effect) = self.todo.pop_front() {
            self.perform(effect);
        } else if let Some((call, version)) = self.to_validate.pop_front() {
            self.validate(call, version);
        } else {
            return false;
        }
        true
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Run(call, attempt) => self.start(call, attempt),
            Effect::Kill(call, attempt) => {
                // If the attempt is unknown, it has ended, and its end is about to be received.
                if let Some(it) = self.under_way.get_mut(&(call, attempt)) {
                    it.brake.stop(Stopping::Asked);
                    it.timers.push(self.timers.add(self.patience, Due::GiveUp(call, attempt)));
                }
            }
            Effect::Wake { at, token } => {
                let wait = at.duration_since(self.now).try_into().unwrap_or(Duration::ZERO);
                let key = self.timers.add(wait, Due::Wake(token));
                if let Some(it) = self.under_way.get_mut(&(token.call, token.attempt)) {
                    it.timers.push(key);
                }
            }
            Effect::BatchDone(batch) => {
                self.around.watchers.tell(&Event::BatchDone(batch));
                let Some(kept) = self.batches.get_mut(&batch) else { return };
                kept.is_done = true;
                for reply in kept.waiting.drain(..) {
                    drop(reply.send(self.machine.outcomes(batch).unwrap_or_default()));
                }
                if kept.is_released {
                    self.release(batch);
                }
            }
            // Handled when the page was written.
            Effect::Record(..) | Effect::Validate(..) | Effect::Ask(..) | Effect::Illegal(..) => {}
        }
    }

    /// Validates a call, unless it was changed or cancelled meanwhile.
    fn validate(&mut self, call: CallId, version: ArgumentsVersion) {
        if !self.machine.is_validating(call, version) {
            return;
        }
        let Some(it) = self.machine.call(call) else { return };
        let found = self.tools.check(&it.request.tool, &it.request.arguments);
        self.tell(Input::Validated { call, version, found });
    }

    /// Starts an attempt.
    fn start(&mut self, call: CallId, attempt: Attempt) {
        let Some(it) = self.machine.call(call) else { return };
        let badly = |what: &str| Ended::Badly { what: what.to_owned(), output: Output::default() };
        // A call may be cancelled before its attempt starts.
        if self.machine.is_stopping(call) {
            return self.ended(call, attempt, badly("stopped before it began"));
        }
        if let Some(why) = self.declined.get(&call).cloned() {
            return self.ended(call, attempt, Ended::Declined(why));
        }
        let is_changed = self.is_changed(call);
        if self.stamps.remove(&call).is_some() && is_changed && !self.machine.is_given(call) {
            let what = "what it would change has changed since it was allowed; look at it again";
            return self.ended(call, attempt, badly(what));
        }
        let listener = self.batches.get(&it.batch).map(|it| Arc::clone(&it.listener));
        let (Some(tool), Some(listener)) = (self.tools.get(&it.request.tool), listener) else {
            // The call was validated, so the tool exists; this is only for safety.
            return self.ended(call, attempt, badly("its tool does not exist any more"));
        };
        let brake = Arc::new(Brake::default());
        let work = Work::new(call, attempt, &self.around, &brake)
            .heard_by(listener)
            .approved(self.approved.get(&call).cloned())
            .labelled(it.request.label.clone());
        let arguments = it.request.arguments.clone();
        let kept = Arc::clone(&self.kept_of_outputs);
        let running = attempt::run(&**tool, arguments, work, Arc::clone(&brake), kept);
        self.under_way.insert((call, attempt), UnderWay { brake, timers: Vec::new() });
        self.running.push(Box::pin(running));
    }
}

/// The message of a panic.
pub(crate) fn panicked(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it did not say why").to_owned()
}

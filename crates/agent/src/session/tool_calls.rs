//! Runs the calls of an answer through the scheduler, and finds out after a crash what became of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use punchlist_engine::CallLedger;
use punchlist_engine::fail::Fail;
use punchlist_formats::text::secret::mask;
use punchlist_model::call::{Answered, CallRecord, CallState, QuestionFilter, Standing};
use punchlist_model::session::Store;
use punchlist_model::{QuestionId, RunId};
use punchlist_sched::call::{
    ArgumentsVersion, CallId, CancelReason, Live, Outcome, Request, State,
};
use punchlist_sched::machine::{self, Attended, Limits};
use punchlist_sched::run::{Event as Happened, Run};
use punchlist_sched::{Batch, RunningBatch, Tool, Tools, output};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::event::Event;
use super::goal_met::GoalMet;
use super::plan::TurnPlan;
use super::world::World;
use crate::context;
use crate::provider::{Arguments, CallResult, ModelCall, ToolSpec};
use crate::turn::Offered;
use crate::workers::delegate::DELEGATE;
use crate::workers::left_running::LeftRunning;

/// What the model is told of a call that ran when the program ended.
pub(super) const MAY_HAVE_HAPPENED: &str =
    "interrupted: the program ended while this ran. It may have happened; check first.";

/// The detail of a call that had not begun when the program ended.
const NOT_BEGUN: &str = "the program ended before the call began";

/// How many calls of one answer run at once.
const AT_ONCE: u32 = 8;

/// How often it is looked whether only workers still run, while a steering message waits.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Tools that only read. They are offered while the model plans.
const READING: [&str; 3] = ["read", "list", "search"];

/// The scheduler of a turn.
pub(super) struct Calls {
    run: Run,
    ledger: CallLedger,
    tools: Vec<Arc<dyn Tool>>,
    /// The names of the plan's tools.
    plan_tools: Vec<String>,
    store: Arc<dyn Store>,
    answers: JoinHandle<()>,
}

/// Who asks the person about a call of the session.
const AGENT: &str = "The agent";

impl Calls {
    /// Starts the scheduler of a turn. `has_goal` says that its plan has a goal, or will have one;
    /// `before` is the run in which the turn was cut off.
    pub(super) async fn start(
        world: &World,
        plan: &TurnPlan,
        title: &str,
        has_goal: bool,
        before: Option<RunId>,
        sender: &UnboundedSender<Event>,
    ) -> Result<Self, Fail> {
        let mut own = plan.tools();
        if has_goal {
            own.push(Arc::new(GoalMet::new(plan.clone())));
        }
        let plan_tools = own.iter().map(|it| it.name().to_owned()).collect();
        let given = world.tools.all.iter().cloned().chain((world.tools.turn_tools)(plan, sender));
        let tools = own.into_iter().chain(given).collect();
        let ledger = world.place.engine.call_ledger(title, plan.id().await?).await?;
        let asks_as = world.user.asks_as.as_deref().unwrap_or(AGENT);
        let mut ledger = ledger.asking_as(asks_as);
        if let Some(run) = before {
            ledger = ledger.going_on(run).await?;
        }
        Self::with(world, tools, plan_tools, ledger).await
    }

    /// Starts the scheduler of a worker, which has no plan and only the tools that `is_given` accepts.
    pub(super) async fn for_worker(
        world: &World,
        is_given: impl Fn(&str) -> bool,
        title: &str,
    ) -> Result<Self, Fail> {
        let tools = world.tools.all.iter().filter(|it| is_given(it.name())).cloned().collect();
        let ledger = world.place.engine.call_ledger(title, None).await?;
        Self::with(world, tools, Vec::new(), ledger).await
    }

    async fn with(
        world: &World,
        tools: Vec<Arc<dyn Tool>>,
        plan_tools: Vec<String>,
        ledger: CallLedger,
    ) -> Result<Self, Fail> {
        let mut registry = Tools::new();
        for tool in tools {
            registry.add(tool).map_err(|why| Fail::usage(why.to_string()))?;
        }
        // A server's tool that cannot be offered, for example because of its schema, is left out.
        for tool in world.tools.servers.tools().await {
            registry.add(tool).ok();
        }
        let tools = registry.offered(&world.tools.policy).cloned().collect();
        let around = Arc::clone(&world.place.around);
        let attended = if world.user.is_attended { Attended::Yes } else { Attended::No };
        let directory = Some(world.tools.outputs.join(ledger.run().to_string()));
        let options = punchlist_sched::Options {
            machine: machine::Options {
                limits: Limits { all: AT_ONCE, of_kind: BTreeMap::new() },
                policy: world.tools.policy.clone(),
                attended,
                ids: around.ids(around.now())?,
                ..machine::Options::default()
            },
            output: output::Options { directory, ..output::Options::default() },
            clock: Arc::new(move || around.now()),
            ..punchlist_sched::Options::default()
        };
        let run = Run::builder(registry)
            .options(options)
            .processes(world.tools.processes.clone())
            .ledger(ledger.clone())
            .start();
        let (passes, answered) = (ledger.clone(), run.clone());
        let answers = tokio::spawn(async move {
            // If the store fails, the call that waits for it says so.
            passes.pass_answers(&answered).await.ok();
        });
        let store = Arc::clone(world.store());
        Ok(Self { run, ledger, tools, plan_tools, store, answers })
    }

    /// The id under which the calls are recorded.
    pub(super) fn id(&self) -> RunId {
        self.ledger.run()
    }

    /// The tools that a model call offers.
    pub(super) fn offered(&self, offered: Offered) -> Vec<ToolSpec> {
        let is_offered = |tool: &&Arc<dyn Tool>| self.is_offered(tool.name(), offered);
        let spec = |tool: &Arc<dyn Tool>| ToolSpec {
            name: tool.name().to_owned(),
            description: tool.description().to_owned(),
            schema: tool.schema().clone(),
        };
        self.tools.iter().filter(is_offered).map(spec).collect()
    }

    fn is_offered(&self, tool: &str, offered: Offered) -> bool {
        let is_plans = self.is_plans(tool);
        match offered {
            Offered::Nothing => false,
            Offered::Planning => is_plans || READING.contains(&tool),
            Offered::WithoutPlan => !is_plans,
            Offered::Everything => true,
        }
    }

    /// Whether this is a tool of the plan.
    pub(super) fn is_plans(&self, tool: &str) -> bool {
        self.plan_tools.iter().any(|it| it == tool)
    }

    /// Why a call cannot be scheduled, as its result.
    pub(super) fn refused(&self, call: &ModelCall, offered: Offered) -> Option<CallResult> {
        let error = |text: String| Some(CallResult { call: call.id.clone(), text, is_error: true });
        if let Arguments::Invalid(text) = &call.arguments {
            let start: String = text.chars().take(200).collect();
            return error(format!(
                "the arguments are not a JSON object, so the call was not run: {}",
                context::fence("arguments", &start)
            ));
        }
        let is_known = self.tools.iter().any(|it| it.name() == call.tool);
        if is_known && !self.is_offered(&call.tool, offered) {
            return error(format!("{} is not offered now, so the call was not run", call.tool));
        }
        None
    }

    /// Schedules calls. What happens to them is sent as events until the last has ended. `worker` is the
    /// worker that makes them, if it is not the session itself.
    pub(super) async fn schedule(
        &self,
        calls: &[ModelCall],
        sender: &UnboundedSender<Event>,
        worker: Option<&str>,
    ) -> Result<Scheduled, Fail> {
        let mut batch = Batch::new();
        let mut plan_calls = Vec::new();
        for call in calls {
            let arguments = match &call.arguments {
                Arguments::Object(arguments) => arguments.clone(),
                Arguments::Invalid(_) => Value::Null,
            };
            let tool = self.tools.iter().find(|it| it.name() == call.tool);
            let timeout = tool.and_then(|it| it.timeout(&arguments));
            let planned = batch.add(Request {
                tool: call.tool.clone(),
                timeout_ms: timeout.map(|it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX)),
                arguments,
                label: Some(call.id.to_string()),
                ..Request::default()
            });
            if self.is_plans(&call.tool) {
                plan_calls.push(planned);
            } else if call.tool == DELEGATE {
                // The calls before it in this answer may add the item that it is about.
                planned.after(&plan_calls);
            }
        }
        let mut events = self.run.subscribe();
        let batch = self.run.schedule(batch).await.map_err(|_| over())?;
        let mut ids: BTreeMap<CallId, ModelCall> =
            batch.calls().zip(calls.iter().cloned()).collect();
        let (sender, done, running) = (sender.clone(), batch.id(), self.run.clone());
        let (store, run, worker) = (Arc::clone(&self.store), self.id(), worker.map(str::to_owned));
        let tells = tokio::spawn(async move {
            let mut asked = Vec::new();
            while let Some(event) = events.next().await {
                if matches!(event, Happened::BatchDone(id) if id == done) {
                    break;
                }
                // A call that a person has edited is told as it runs.
                if let Happened::Moved { call, state: State::Live(Live::Validating { version }) } =
                    &event
                    && *version > ArgumentsVersion(0)
                    && let Some(it) = ids.get_mut(call)
                    && let Ok(Some(edited)) = running.call(*call).await
                {
                    it.arguments = Arguments::Object(edited.request.arguments);
                }
                for event in told(event, &ids, &mut asked) {
                    let event = with_answer(event, &*store, run).await;
                    let event = match &worker {
                        Some(worker) => event.of_worker(worker),
                        None => event,
                    };
                    sender.send(event).ok();
                }
            }
        });
        Ok(Scheduled { run: self.run.clone(), batch, calls: calls.to_vec(), tells })
    }

    /// The result of a call, as the model reads it.
    pub(super) fn result(
        &self,
        call: &ModelCall,
        outcome: &Outcome,
    ) -> (CallResult, Option<String>) {
        let text = outcome.for_model();
        let whole = outcome.output().and_then(|it| it.whole.clone());
        let is_error = !matches!(outcome, Outcome::Success(_));
        let text =
            if self.is_plans(&call.tool) { text } else { context::fence(&call.tool, &mask(&text)) };
        (CallResult { call: call.id.clone(), text, is_error }, whole)
    }

    /// Ends the scheduler. All calls have ended before.
    pub(super) async fn end(&self) -> Result<(), Fail> {
        self.run.shut_down(CancelReason::Asked(None));
        self.run.ended().await.ok();
        Ok(self.ledger.end().await?)
    }
}

impl Drop for Calls {
    /// Whoever drops a session in the middle ends its calls.
    fn drop(&mut self) {
        self.run.shut_down(CancelReason::Asked(None));
        self.answers.abort();
    }
}

/// Calls that run.
pub(super) struct Scheduled {
    run: Run,
    batch: RunningBatch,
    calls: Vec<ModelCall>,
    tells: JoinHandle<()>,
}

impl Scheduled {
    /// Waits until all calls have ended.
    pub(super) async fn outcomes(&self) -> Result<Vec<Outcome>, Fail> {
        self.batch.outcomes().await.map_err(|_| over())
    }

    /// Waits until all calls have ended, or until only workers run and a steering message waits: a call
    /// whose worker is left running has no outcome.
    pub(super) async fn until_steered(
        &self,
        mut steering: watch::Receiver<bool>,
        running: &LeftRunning,
    ) -> Result<Vec<(ModelCall, Option<Outcome>)>, Fail> {
        let steered = async {
            // The other side ends with the turn, which also ends this.
            if steering.wait_for(|it| *it).await.is_err() {
                std::future::pending::<()>().await;
            }
            loop {
                let outcomes = self.outcomes_so_far().await?;
                let open = outcomes.iter().filter(|(_, outcome)| outcome.is_none());
                let open: Vec<&str> = open.map(|(call, _)| call.id.0.as_str()).collect();
                if !open.is_empty() && running.leave(&open) {
                    return Ok(outcomes);
                }
                sleep(LOOK_EVERY).await;
            }
        };
        tokio::select! {
            biased;
            outcomes = self.outcomes() => {
                Ok(self.calls.iter().cloned().zip(outcomes?.into_iter().map(Some)).collect())
            }
            outcomes = steered => outcomes,
        }
    }

    async fn outcomes_so_far(&self) -> Result<Vec<(ModelCall, Option<Outcome>)>, Fail> {
        let mut outcomes = Vec::new();
        for (id, call) in self.batch.calls().zip(&self.calls) {
            let state = self.run.call(id).await.map_err(|_| over())?.map(|it| it.state);
            let outcome = match state {
                Some(State::Done(outcome)) => Some(Outcome::clone(&outcome)),
                Some(State::Live(_)) | None => None,
            };
            outcomes.push((call.clone(), outcome));
        }
        Ok(outcomes)
    }

    /// Waits until all events of calls that have ended are sent.
    pub(super) async fn told(self) {
        self.tells.await.ok();
    }

    /// Cancels what still runs. [`Self::outcomes`] returns once it has really ended.
    pub(super) async fn cancel(&self) {
        self.batch.cancel_all("the turn was ended").await.ok();
    }

    /// The calls with their outcomes, and all events sent.
    pub(super) async fn finish(self, outcomes: Vec<Outcome>) -> Vec<(ModelCall, Outcome)> {
        self.tells.await.ok();
        self.calls.into_iter().zip(outcomes).collect()
    }
}

fn over() -> Fail {
    Fail::ours("the scheduler ended before its calls")
}

/// What a front end is told of an event of the scheduler.
fn told(
    event: Happened,
    calls: &BTreeMap<CallId, ModelCall>,
    asked: &mut Vec<Arc<punchlist_model::call::Asked>>,
) -> Vec<Event> {
    match event {
        Happened::Moved { call, state } => {
            let mut events = Vec::new();
            if !matches!(state, State::Live(Live::AwaitingApproval { .. })) {
                let (over, waits) = asked.drain(..).partition(|it| it.call == call.0);
                *asked = waits;
                let over: Vec<Arc<punchlist_model::call::Asked>> = over;
                let settled = |id| Event::Settled { question: id, answered: None };
                events.extend(over.iter().map(|it| settled(it.id)));
            }
            let Some(it) = calls.get(&call).cloned() else { return events };
            match state {
                State::Live(Live::Executing { stopping: None, .. }) => {
                    events.push(Event::CallStarted(it));
                }
                State::Done(outcome) => events.push(Event::CallEnded {
                    call: it,
                    is_error: !matches!(*outcome, Outcome::Success(_)),
                    is_cancelled: matches!(*outcome, Outcome::Cancelled { .. }),
                    text: mask(&outcome.for_model()).into_owned(),
                }),
                State::Live(_) => {}
            }
            events
        }
        Happened::Asked(question) => {
            asked.push(Arc::clone(&question));
            let call = calls.get(&CallId(question.call)).cloned();
            call.map(|call| Event::Asked { asked: question, call }).into_iter().collect()
        }
        Happened::Output { call, mut line, .. } => {
            let call = calls.get(&call).cloned();
            line.text = mask(&line.text).into_owned();
            call.map(|call| Event::CallOutput { call, line }).into_iter().collect()
        }
        Happened::Lost { .. } | Happened::BatchDone(_) => Vec::new(),
    }
}

/// Adds to the end of a question who answered what.
async fn with_answer(event: Event, store: &dyn Store, run: RunId) -> Event {
    let Event::Settled { question, .. } = event else { return event };
    // Whoever reads the events can do without the answer, if the store fails now.
    let answered = answered(store, run, question).await.unwrap_or_default();
    Event::Settled { question, answered }
}

/// The answer to a question, if somebody answered it.
pub(super) async fn answered(
    store: &dyn Store,
    run: RunId,
    question: QuestionId,
) -> Result<Option<Box<Answered>>, Fail> {
    let filter = QuestionFilter { run: Some(run), ..QuestionFilter::default() };
    let questions = store.questions(filter).await?;
    let found = questions.into_iter().find(|it| it.asked.id == question);
    Ok(found.and_then(|it| match it.standing {
        Standing::Answered(answered) => Some(Box::new(answered)),
        Standing::Waiting | Standing::Settled => None,
    }))
}

fn is_over(state: CallState) -> bool {
    match state {
        CallState::Success | CallState::Error | CallState::Cancelled => true,
        CallState::Validating
        | CallState::Scheduled
        | CallState::AwaitingApproval
        | CallState::Executing => false,
    }
}

/// What became of the calls of a run that was cut off, by their labels.
pub(super) struct CutOff(BTreeMap<String, CallRecord>);

impl CutOff {
    /// Reads what is recorded of a run, and records that it has ended.
    pub(super) async fn read(
        store: &dyn Store,
        run: RunId,
        now: punchlist_model::Timestamp,
    ) -> Result<Self, Fail> {
        store.interrupt(run, now, BTreeMap::new()).await?;
        let calls = store.calls(run).await?;
        // Calls that had not begun, and their questions, wait for nobody any more.
        let waits = calls.iter().filter(|it| !is_over(it.state)).cloned();
        let over: Vec<CallRecord> = waits
            .map(|it| {
                let detail = Some(Value::from(NOT_BEGUN));
                CallRecord { state: CallState::Cancelled, detail, at: now, ..it }
            })
            .collect();
        store.record(run, over, Vec::new(), None).await?;
        store.end_run(run, now).await?;
        let label = |it: &CallRecord| it.request.get("label")?.as_str().map(str::to_owned);
        Ok(Self(calls.into_iter().filter_map(|it| Some((label(&it)?, it))).collect()))
    }

    /// The outcome of a call that ended, or that was executing when the program ended. `None` if it had
    /// not begun.
    pub(super) fn outcome(&self, call: &ModelCall) -> Option<Outcome> {
        let record = self.0.get(&call.id.0)?;
        match record.state {
            CallState::Success | CallState::Error | CallState::Cancelled => {
                let detail = record.detail.clone().filter(|it| it != NOT_BEGUN)?;
                let interrupted =
                    Outcome::Cancelled { reason: CancelReason::Interrupted, output: None };
                Some(serde_json::from_value(detail).unwrap_or(interrupted))
            }
            CallState::Executing => {
                Some(Outcome::Cancelled { reason: CancelReason::Interrupted, output: None })
            }
            CallState::Validating | CallState::Scheduled | CallState::AwaitingApproval => None,
        }
    }

    /// Whether an outcome means that nobody knows whether the call happened.
    pub(super) fn is_unknown(outcome: &Outcome) -> bool {
        matches!(outcome, Outcome::Cancelled { reason: CancelReason::Interrupted, .. })
    }
}

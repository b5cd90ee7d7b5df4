//! `delegate`: the tool by which the agent has a worker do an item, or a task without an item.
//!
//! The item is claimed as `AGENT/N`, so that nobody else changes it while the worker works; the
//! governor counts such a claim as the agent's own. However the worker ends, the item is pending
//! again afterwards and holds the turn until the agent completes or skips it. After a usage limit it
//! waits, so that `watch` shows why; the caller decides what to do then.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use futures_core::future::BoxFuture;
use punchlist_engine::engine::Claim;
use punchlist_engine::fail::Fail;
use punchlist_engine::{Error, PlanHandle, around};
use punchlist_formats::dialect::Dialect;
use punchlist_formats::text::one_line;
use punchlist_model::session::SessionKey;
use punchlist_model::store::turns::Used;
use punchlist_model::{ItemRef, ListEntry, Number, Op, Plan, Status};
use punchlist_sched::call::{Checked, Ended, Kind};
use punchlist_sched::output::{Line, Stream};
use punchlist_sched::policy::Subject;
use punchlist_sched::{Access, Output, Preview, Tool, Work};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{Notify, watch};

use super::left_running::LeftRunning;
use super::{Outcome, Task, WorkerConfig, WorkerEnd, WorkerEvent, WorkerKind, Workers};
use crate::tools;

/// The name of the tool.
pub const DELEGATE: &str = "delegate";

/// How much longer than the worker may take a claim lasts, in seconds.
const MARGIN: u32 = 300;

/// Finds the plan of the turn. A turn may begin without one.
pub trait TurnPlan: Send + Sync {
    /// The plan as it is now; `None` if there is none yet.
    fn plan(&self) -> BoxFuture<'_, Result<Option<PlanHandle>, Error>>;

    /// How the agent sees the plan, and so what its ids mean.
    fn dialect(&self) -> Dialect {
        Dialect::Turn
    }

    /// The delegations of the turn that run. Without a turn none is left running.
    fn left_running(&self) -> LeftRunning {
        LeftRunning::default()
    }

    /// Counts what a worker has used, so that it is not lost. Without a turn nobody counts.
    fn count<'a>(&'a self, _worker: &'a str, _used: Used) -> BoxFuture<'a, Result<(), Fail>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl TurnPlan for PlanHandle {
    fn plan(&self) -> BoxFuture<'_, Result<Option<PlanHandle>, Error>> {
        Box::pin(std::future::ready(Ok(Some(self.clone()))))
    }
}

/// The tool.
pub struct Delegate {
    inner: Arc<Inner>,
    description: String,
    schema: Value,
}

struct Inner {
    workers: Workers,
    plan: Arc<dyn TurnPlan>,
    /// The name of the agent that delegates.
    agent: String,
    directory: PathBuf,
    slots: Slots,
    /// Held while an item is claimed, so that no two delegations take the same name.
    claiming: tokio::sync::Mutex<()>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Arguments {
    /// The item that the worker does: its id, or its position in a list without ids. Leave it out if none.
    #[serde(default)]
    #[schemars(schema_with = "id_or_number")]
    todo_id: Option<TodoId>,
    /// The worker's name.
    agent_type: String,
    /// What to do, complete in itself: the worker sees neither the list nor this conversation.
    #[schemars(length(min = 1))]
    task: String,
    /// What the worker needs to know: findings, files, decisions.
    #[serde(default)]
    context: String,
}

/// An item's id or number.
#[derive(Deserialize)]
#[serde(untagged)]
enum TodoId {
    Number(u32),
    Text(String),
}

fn id_or_number(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "integer", "null"]})
}

/// What a delegation came to, in the data of the call's output.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Delegated {
    /// The worker.
    pub worker: String,
    /// The item, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Number>,
    /// How the worker ended.
    pub outcome: Outcome,
}

impl Delegated {
    /// Reads it from the output of a call.
    pub fn of(output: &Output) -> Option<Self> {
        Self::deserialize(&output.data).ok()
    }
}

impl Delegate {
    /// The tool for an agent of this name, whose workers work in this directory.
    pub fn new(
        workers: Workers,
        plan: Arc<dyn TurnPlan>,
        agent: impl Into<String>,
        directory: PathBuf,
    ) -> Self {
        let mut description =
            "Have a worker do one item of the list, or another task, and get its \
                               result. Afterwards the item is still open: check the result, then \
                               complete or skip it. If it is still running, call it again with \
                               the same todoId to wait for it. Workers:"
                .to_owned();
        for worker in workers.iter() {
            let about = one_line(worker.description.trim()).into_owned();
            let about = if about.is_empty() { about } else { format!(" ({about})") };
            description.push_str(&format!(" {}{about};", worker.name));
        }
        let description = description.trim_end_matches(';').to_owned();
        let inner = Inner {
            workers,
            plan,
            agent: agent.into(),
            directory,
            slots: Slots::default(),
            claiming: tokio::sync::Mutex::default(),
        };
        Self { inner: Arc::new(inner), description, schema: tools::schema::<Arguments>() }
    }
}

impl Tool for Delegate {
    fn name(&self) -> &str {
        DELEGATE
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn check(&self, input: &Value) -> Result<Checked, String> {
        let arguments: Arguments = tools::arguments(input)?;
        let worker = self.inner.worker(&arguments.agent_type)?;
        arguments.item(self.inner.plan.dialect())?;
        if arguments.task.trim().is_empty() {
            return Err("the task is empty: say what the worker is to do".to_owned());
        }
        let subject = Subject {
            tool: DELEGATE.to_owned(),
            // The policy decides about each call of our own loop.
            harmless: worker.kind == WorkerKind::Model,
            arguments: vec![("agentType".to_owned(), worker.name.clone())],
            ..Subject::default()
        };
        Ok(Checked { access: Access::none(), kind: Kind::OTHER, subject })
    }

    fn preview(&self, input: &Value) -> Preview {
        let Ok(arguments) = tools::arguments::<Arguments>(input) else { return Preview::default() };
        let what = format!("delegate to {}", one_line(&arguments.agent_type));
        Preview { what, command: Some(arguments.task), ..Preview::default() }
    }

    fn run(&self, input: Value, work: Work) -> BoxFuture<'static, Ended> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move {
            let failed = |what| Ended::Badly { what, output: Output::default() };
            match tools::arguments(&input) {
                Ok(arguments) => inner.run(arguments, &work).await.unwrap_or_else(failed),
                Err(what) => failed(what),
            }
        })
    }
}

impl Arguments {
    /// The item that the agent means, in its dialect.
    fn item(&self, dialect: Dialect) -> Result<Option<ItemRef>, String> {
        let text = match &self.todo_id {
            None => return Ok(None),
            Some(TodoId::Number(number)) => number.to_string(),
            Some(TodoId::Text(text)) => text.trim().to_owned(),
        };
        if text.is_empty() {
            return Ok(None);
        }
        let found = dialect.item(&text).map(Some);
        found.ok_or_else(|| format!("todoId {text:?} is neither an id nor a number"))
    }
}

impl Inner {
    fn worker(&self, name: &str) -> Result<&WorkerConfig, String> {
        self.workers.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.workers.iter().map(|it| it.name.as_str()).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            format!("there is no worker {name:?}; the workers are: {names}")
        })
    }

    async fn run(&self, arguments: Arguments, work: &Work) -> Result<Ended, String> {
        let plan = self.plan.plan().await.map_err(|why| why.to_string())?;
        let (running, call) = (self.plan.left_running(), work.label().unwrap_or_default());
        let item = self.item(&arguments, plan.as_ref()).await?;
        let what = what(&arguments, item);
        if let Some(mut end) = running.begin(&what, call) {
            // The worker was left running by an earlier call.
            let ended = tokio::select! {
                ended = end.wait_for(Option::is_some) => ended.ok().and_then(|it| it.clone()),
                () = work.stopping() => None,
            };
            running.collected(call);
            return ended.ok_or_else(|| "it was stopped before the worker ended".to_owned());
        }
        let failed = |what| Ended::Badly { what, output: Output::default() };
        let ended = self.delegate(arguments, item, plan, work).await.unwrap_or_else(failed);
        running.end(call, &ended);
        Ok(ended)
    }

    async fn delegate(
        &self,
        arguments: Arguments,
        item: Option<Number>,
        plan: Option<PlanHandle>,
        work: &Work,
    ) -> Result<Ended, String> {
        let worker = self.worker(&arguments.agent_type)?;
        let slot = tokio::select! {
            slot = self.slots.take(most(plan.as_ref()).await?) => slot,
            () = work.stopping() => return Err("it was stopped before the worker began".to_owned()),
        };
        let claim = match item.zip(plan.as_ref()) {
            Some((item, plan)) => Some(self.claim(plan, item, worker).await?),
            None => None,
        };
        let task = task(arguments, claim.as_ref(), &self.directory);
        let outcome = self.work(worker, task, claim.as_ref(), work).await;
        let note = match &claim {
            Some(claim) => give_back(claim, worker, &outcome).await,
            None => None,
        };
        drop(slot);
        let id = match item.zip(plan) {
            Some((item, plan)) => Some(self.id_now(&plan, item).await),
            None => None,
        };
        Ok(ended(Delegated { worker: worker.name.clone(), item, outcome }, id, note))
    }

    /// The item that a call is about. It is found once, at the beginning: positions shift.
    async fn item(
        &self,
        arguments: &Arguments,
        plan: Option<&PlanHandle>,
    ) -> Result<Option<Number>, String> {
        let Some(item) = arguments.item(self.plan.dialect())? else { return Ok(None) };
        let plan = plan.ok_or_else(|| format!("there is no item {item}: there is no list"))?;
        let whole = plan.whole().await.map_err(|why| why.to_string())?;
        let found = whole.find(&item).ok().flatten().and_then(|it| whole.get(it));
        let found = found.filter(|it| !it.is_superseded());
        Ok(Some(found.ok_or_else(|| format!("there is no item {item}"))?.number))
    }

    /// The id by which the agent knows an item now.
    async fn id_now(&self, plan: &PlanHandle, item: Number) -> String {
        let whole = plan.whole().await.ok();
        let found = whole.as_ref().and_then(|it| it.get(item));
        found.map_or_else(|| item.to_string(), |it| self.plan.dialect().id_of(it))
    }

    /// Claims an item for a delegation.
    async fn claim(
        &self,
        plan: &PlanHandle,
        item: Number,
        worker: &WorkerConfig,
    ) -> Result<Claim, String> {
        let words = |why: Error| why.to_string();
        let _claiming = self.claiming.lock().await;
        let whole = plan.whole().await.map_err(words)?;
        let found = whole.get(item).filter(|it| !it.is_superseded());
        let found = found.ok_or_else(|| "the item was removed meanwhile".to_owned())?;
        let id = self.plan.dialect().id_of(found);
        if found.is_workers() {
            return Err(format!("item {id} is on a worker's own list"));
        }
        let holder = found.claim.as_ref().map(|it| it.holder.name.as_str());
        if found.status == Status::InProgress && holder.is_none_or(|it| it == self.agent) {
            // The agent has started the item itself. The claim passes to the delegation.
            let release = vec![Op::Release(found.number.into())];
            plan.by(&self.agent).change(release).await.map_err(words)?;
        }
        let lease = u32::try_from(worker.timeout.as_secs()).unwrap_or(u32::MAX);
        let name = free_name(&whole, &self.agent);
        let holder = plan.by(name).holding(around::this_process(), lease.saturating_add(MARGIN));
        let claim = holder.start(found.number).await.map_err(words)?;
        claim.ok_or_else(|| format!("item {id} could not be claimed"))
    }

    /// Has the worker do the task, and stores the list that it keeps for itself.
    async fn work(
        &self,
        worker: &WorkerConfig,
        task: Task,
        claim: Option<&Claim>,
        work: &Work,
    ) -> Outcome {
        let (lists, mut changed) = watch::channel(None);
        let (totals, mut used) = watch::channel(Used::default());
        let mut counted = Used::default();
        let listener = |event| match event {
            WorkerEvent::Doing(text) => work.say(Line { stream: Stream::Out, text }),
            WorkerEvent::List(list) => drop(lists.send_replace(Some(list))),
            WorkerEvent::Used(total) => drop(totals.send_replace(total)),
            // The outcome has it too.
            WorkerEvent::Session(_) => {}
        };
        let id = self.branch_id(work);
        let mut running = pin!(self.workers.run(&worker.name, task, &id, work, &listener));
        loop {
            tokio::select! {
                biased;
                outcome = &mut running => {
                    keep_list(claim, worker, &mut changed).await;
                    if !outcome.is_counted {
                        self.count(worker, outcome.in_all(), &mut counted).await;
                    }
                    return Outcome { is_counted: true, ..outcome };
                }
                Ok(()) = changed.changed() => keep_list(claim, worker, &mut changed).await,
                Ok(()) = used.changed() => {
                    let total = *used.borrow_and_update();
                    self.count(worker, total, &mut counted).await;
                }
            }
        }
    }

    /// Counts what a worker has used in all, without what is counted already.
    async fn count(&self, worker: &WorkerConfig, total: Used, counted: &mut Used) {
        let more = total.beyond(*counted);
        *counted += more;
        // If the store fails, the next record of the turn fails too, and says so.
        self.plan.count(&worker.name, more).await.ok();
    }

    /// Tells the branches of delegations apart.
    fn branch_id(&self, work: &Work) -> String {
        let now = self.workers.options.now().timestamp().as_millisecond();
        format!("{:08x}{:x}", now & 0xffff_ffff, work.call().0)
    }
}

/// What is delegated, so that a later call for the same finds it.
fn what(arguments: &Arguments, item: Option<Number>) -> String {
    match item {
        Some(item) => item.to_string(),
        None => format!("{}: {}", arguments.agent_type, arguments.task),
    }
}

/// How many delegations may run side by side: as many items as may be in progress, else one.
async fn most(plan: Option<&PlanHandle>) -> Result<u32, String> {
    let Some(plan) = plan else { return Ok(1) };
    let whole = plan.whole().await.map_err(|why| why.to_string())?;
    Ok(whole.rules.max_in_progress.or(plan.limits().max_in_progress).unwrap_or(1))
}

/// The first of `AGENT/1`, `AGENT/2`, … that holds no item.
fn free_name(plan: &Plan, agent: &str) -> String {
    let is_taken = |name: &String| {
        let mut claims = plan.in_progress().filter_map(|it| it.claim.as_ref());
        claims.any(|it| it.holder.name == *name)
    };
    let mut names = (1_u32..).map(|it| format!("{agent}/{it}"));
    names.find(|it| !is_taken(it)).unwrap_or_else(|| format!("{agent}/0"))
}

/// The task for the worker: what the agent says, and what the item says.
fn task(arguments: Arguments, claim: Option<&Claim>, directory: &std::path::Path) -> Task {
    let Arguments { task, context, .. } = arguments;
    let directory = directory.to_owned();
    let Some(item) = claim.map(|it| &it.item) else {
        return Task { item: None, task, context, criteria: String::new(), directory };
    };
    let title = one_line(item.title.trim()).into_owned();
    let task = if task.contains(&title) { task } else { format!("{title}\n\n{}", task.trim()) };
    let parts = [context.trim(), item.context.trim()].into_iter().filter(|it| !it.is_empty());
    let context = parts.collect::<Vec<_>>().join("\n\n");
    let criteria = item.completion_criteria.clone();
    Task { item: Some(item.number), task, context, criteria, directory }
}

/// Stores the newest list of the worker.
async fn keep_list(
    claim: Option<&Claim>,
    worker: &WorkerConfig,
    changed: &mut watch::Receiver<Option<Vec<ListEntry>>>,
) {
    let list = changed.borrow_and_update().clone();
    if let (Some(claim), Some(list)) = (claim, list) {
        // The result of the task does not depend on the worker's own list.
        claim.keep_list(&worker.name, &list).await.ok();
    }
}

/// Puts the item back. Returns a note if that failed.
async fn give_back(claim: &Claim, worker: &WorkerConfig, outcome: &Outcome) -> Option<String> {
    if let (Some(id), WorkerKind::Program { agent, .. }) = (&outcome.session, &worker.kind) {
        let key = SessionKey { agent: agent.as_str().to_owned(), id: id.clone() };
        claim.keep_session(&worker.name, key).await.ok();
    }
    claim.close_list(&worker.name).await.ok();
    let number = claim.item.number;
    let mut ops = vec![Op::Release(number.into())];
    if let WorkerEnd::UsageLimit { until } = &outcome.end {
        let until = until.map(|it| format!(" until {it}")).unwrap_or_default();
        let on = format!("usage limit of {}{until}", worker.name);
        ops.push(Op::Wait { item: number.into(), on });
    }
    let why = claim.change(ops).await.err()?;
    Some(format!("Item {number} was changed by somebody else meanwhile: {why}"))
}

/// The end of the call: what the agent reads, and the data for the runtime. `id` is the item as the agent
/// knows it.
fn ended(delegated: Delegated, id: Option<String>, note: Option<String>) -> Ended {
    let Delegated { worker, outcome, .. } = &delegated;
    let mut lines = Vec::new();
    if let (Some(branch), Some(worktree)) = (&outcome.branch, &outcome.worktree) {
        lines.push(format!(
            "The changes are on branch {branch}, in the worktree {worktree}. They are not merged."
        ));
    }
    lines.extend(note.or_else(|| {
        let id = id?;
        Some(match &outcome.end {
            WorkerEnd::Well => {
                format!("Item {id} is open: complete it if this does it, or skip it.")
            }
            WorkerEnd::UsageLimit { .. } => format!("Item {id} waits for that."),
            WorkerEnd::Failed(_) | WorkerEnd::TimedOut(_) | WorkerEnd::Cancelled => {
                format!("Item {id} is open again.")
            }
        })
    }));
    let said = outcome.text.trim();
    let said = if said.is_empty() { "(it said nothing)" } else { said };
    let what = format!("{worker} {}", outcome.end);
    let is_well = outcome.end == WorkerEnd::Well;
    let text = [said].into_iter().chain(lines.iter().map(String::as_str));
    let text = text.collect::<Vec<_>>().join("\n\n");
    // All parts are plain data, so this does not fail.
    let data = serde_json::to_value(&delegated).unwrap_or_default();
    let output = Output::text(text).with_data(data);
    if is_well { Ended::Well(output) } else { Ended::Badly { what, output } }
}

/// The places for delegations that run side by side.
#[derive(Default)]
struct Slots {
    taken: Mutex<u32>,
    freed: Notify,
}

/// A place that is taken until this is dropped.
struct Slot<'a>(&'a Slots);

impl Slots {
    /// Waits until fewer than `most` places are taken, and takes one.
    async fn take(&self, most: u32) -> Slot<'_> {
        loop {
            // Registered before the check, so that no change is missed.
            let freed = self.freed.notified();
            {
                let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
                if *taken < most {
                    *taken += 1;
                    return Slot(self);
                }
            }
            freed.await;
        }
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.freed.notify_waiters();
    }
}

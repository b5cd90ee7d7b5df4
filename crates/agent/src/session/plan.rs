//! The plan of a turn: how the model's tools and the turn itself read and change it.
//!
//! Each change has a name that is unique in the conversation. A change that is repeated after a crash
//! under the same name happens once.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_core::future::BoxFuture;

use punchlist_engine::conversation::{CallResult, PlanCaller, plan_tools};
use punchlist_engine::fail::Fail;
use punchlist_engine::tool_service::{self, Caller};
use punchlist_engine::{Around, Engine, PlanHandle, Which, around, goal};
use punchlist_formats::dialect::{Dialect, Reply, Surface};
use punchlist_formats::prompt::{self, Also, Tools};
use punchlist_formats::view::xml;
use punchlist_model::goal::{Met, Missing, Reached};
use punchlist_model::session::Store;
use punchlist_model::store::turns::Used;
use punchlist_model::store::{AttachmentKey, Change, Error};
use punchlist_model::{
    Actor, ConversationId, Ctx, Goal, Holder, Level, Limits, Number, Op, Patch, Plan, PlanId,
    PlanPatch, Process, Status, WriteId,
};
use punchlist_sched::Tool;
use serde_json::Value;

use super::meter::Meter;
use crate::turn::{PlanChange, PlanStatus};
use crate::workers::delegate;
use crate::workers::left_running::LeftRunning;

/// The plan of a turn. Cheap to clone.
#[derive(Clone)]
pub struct TurnPlan {
    inner: Arc<Inner>,
    /// The delegations that run.
    running: LeftRunning,
    /// What the turn and its workers use.
    meter: Meter,
}

/// What the plan of a turn is made from.
pub(super) struct Inner {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The engine of that store.
    pub engine: Engine,
    /// Clock and ids.
    pub around: Arc<dyn Around>,
    /// The conversation.
    pub conversation: ConversationId,
    /// The attachment of the turn.
    pub key: AttachmentKey,
    /// The plan, if the user named one; otherwise the turn has its own.
    pub which: Option<Which>,
    /// The title of a new plan: the request.
    pub title: String,
    /// How the model sees the plan.
    pub dialect: Dialect,
    /// The limits of the plan.
    pub limits: Limits,
    /// The name under which the turn claims items.
    pub agent: String,
    /// The process that holds the claims.
    pub process: Option<Process>,
}

impl PlanCaller for TurnPlan {
    fn agent(&self) -> String {
        self.inner.agent.clone()
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a Value,
        label: Option<&'a str>,
    ) -> BoxFuture<'a, Result<CallResult, Error>> {
        Box::pin(Self::call(self, tool, arguments, label))
    }
}

/// A reply without the list: the model is sent that before each call.
fn result(reply: Reply) -> CallResult {
    let Reply { text, structured, is_error, changed, .. } = reply;
    CallResult { text, structured, is_error, changed, after: None }
}

impl delegate::TurnPlan for TurnPlan {
    fn plan(&self) -> BoxFuture<'_, Result<Option<PlanHandle>, Error>> {
        Box::pin(async move {
            match self.id().await? {
                Some(id) => self.inner.engine.plan(Which::Id(id)).await,
                None => Ok(None),
            }
        })
    }

    fn dialect(&self) -> Dialect {
        self.inner.dialect
    }

    fn left_running(&self) -> LeftRunning {
        self.running.clone()
    }

    fn count<'a>(&'a self, worker: &'a str, used: Used) -> BoxFuture<'a, Result<(), Fail>> {
        Box::pin(self.meter.add_of_worker(worker, used))
    }
}

impl TurnPlan {
    /// The plan of a turn. It is created with the first change.
    pub(super) fn new(inner: Inner, meter: Meter) -> Self {
        Self { inner: Arc::new(inner), running: LeftRunning::default(), meter }
    }

    /// What the turn and its workers use.
    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Which budget is used up. Before each model call of the turn and its workers, that is looked at.
    pub(super) async fn budget_reached(&self, plan: Option<&Plan>) -> Result<Option<String>, Fail> {
        self.meter.reached(&*self.inner.store, &*self.inner.around, plan).await
    }

    /// How the model sees the plan.
    pub fn dialect(&self) -> Dialect {
        self.inner.dialect
    }

    /// The tool by which the model adds items.
    pub fn adding_tool(&self) -> &'static str {
        match self.inner.dialect {
            Dialect::Manager => "todo_manager",
            Dialect::Turn => "create_todo",
            Dialect::TodoWrite => "TodoWrite",
            Dialect::WriteTodos => "write_todos",
            Dialect::UpdatePlan => "update_plan",
            Dialect::Tasks => "TaskCreate",
        }
    }

    /// The name under which the turn claims items.
    pub fn agent(&self) -> &str {
        &self.inner.agent
    }

    /// The delegations that run.
    pub(super) fn left_running(&self) -> &LeftRunning {
        &self.running
    }

    /// The attachment of the turn.
    pub fn key(&self) -> &AttachmentKey {
        &self.inner.key
    }

    /// The id of the plan, if there is one.
    pub async fn id(&self) -> Result<Option<PlanId>, Error> {
        tool_service::current(&*self.inner.store, &self.caller()).await
    }

    /// The whole plan, if there is one.
    pub async fn whole(&self) -> Result<Option<Plan>, Error> {
        match self.id().await? {
            Some(id) => self.inner.store.whole(id).await.map(Some),
            None => Ok(None),
        }
    }

    /// The tools by which the model reads and changes the plan.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        plan_tools(self.dialect().tools(Surface::Full), Arc::new(self.clone()))
    }

    /// Runs a tool that the model called. Without a name, a repeated call is made twice.
    async fn call(
        &self,
        tool: &str,
        arguments: &Value,
        name: Option<&str>,
    ) -> Result<CallResult, Error> {
        let Inner { store, around, dialect, .. } = &*self.inner;
        let fields = arguments.as_object().cloned().unwrap_or_default();
        let call = match dialect.call_with(tool, fields) {
            Ok(call) => call,
            Err(reply) => return Ok(result(reply)),
        };
        let caller = self.caller();
        let Some(ops) = call.ops() else {
            let told = tool_service::read(Some(&**store), &call, &caller, around.now()).await?;
            tool_service::note(&**store, &caller, &told).await;
            return Ok(result(told.reply));
        };
        let ctx = self.ctx(Some(*dialect))?;
        let write = name.map(|it| self.write(it));
        let change = Change { write, ..Change::new(ops.to_vec(), ctx.clone()) };
        let gone = |plan: &_| around::gone(&**around, plan);
        let told = tool_service::change(&**store, &call, &caller, change, &gone).await?;
        tool_service::await_approval(&**store, &told, ctx).await;
        Ok(result(told.reply))
    }

    /// Makes a change that the turn itself wants. A refusal is returned as the text for the model.
    /// `name` names the change; one without a name may be made twice.
    pub async fn change(
        &self,
        change: &PlanChange,
        name: Option<&str>,
    ) -> Result<Result<(), String>, Error> {
        let Some(plan) = self.whole().await? else { return Ok(Ok(())) };
        self.apply(&plan, ops(change, &plan), name).await
    }

    /// Says of the items that the turn has in progress what they wait for.
    pub async fn wait(&self, on: &str) -> Result<(), Error> {
        let Some(plan) = self.whole().await? else { return Ok(()) };
        let items = self.status(Some(&plan), None).in_progress.into_iter();
        let ops = items.map(|it| Op::Wait { item: it.into(), on: on.to_owned() }).collect();
        // If somebody has changed an item meanwhile, it does not wait.
        self.apply(&plan, ops, None).await?.ok();
        Ok(())
    }

    /// Ends a wait of [`Self::wait`].
    pub async fn wait_no_longer(&self, on: &str) -> Result<(), Error> {
        let Some(plan) = self.whole().await? else { return Ok(()) };
        let items = self.status(Some(&plan), None).in_progress.into_iter();
        let waits =
            |it: &Number| plan.get(*it).is_some_and(|it| it.waiting_on.as_deref() == Some(on));
        let ops = items.filter(waits).map(|it| Op::Resume(it.into())).collect();
        self.apply(&plan, ops, None).await?.ok();
        Ok(())
    }

    /// Gives the plan a goal, in the name of the person who set it.
    pub async fn set_goal(&self, plan: &Plan, goal: &str, by: &Actor) -> Result<(), Error> {
        let goal = Goal { statement: goal.trim().to_owned(), ..Goal::default() };
        let patch = PlanPatch { goal: Some(Some(goal)), ..PlanPatch::default() };
        let ctx = Ctx { actor: by.clone(), ..self.ctx(None)? };
        let change = Change::new(vec![Op::Plan(Box::new(patch))], ctx);
        self.inner.store.change(plan.id, change).await.map(drop)
    }

    /// Records that the agent says that the goal is met. A refusal is returned as the text for the model.
    pub(super) async fn declare_goal_met(
        &self,
        name: Option<&str>,
    ) -> Result<Result<(), String>, Error> {
        let Some(plan) = self.whole().await? else {
            return Ok(Err("there is no list yet: put what the goal needs on it first".to_owned()));
        };
        let goal = match goal::that_could_be_met(&plan) {
            Ok(goal) => goal,
            Err(why) => return Ok(Err(why.message)),
        };
        if !plan.is_word_enough(Some(Level::Reported)) {
            let why = "only a person can say that this goal is met: ask the user";
            return Ok(Err(why.to_owned()));
        }
        let (at, by) = (self.inner.around.now(), self.inner.agent.clone());
        let met = Some(Met { at, by, level: Level::Reported });
        let patch = PlanPatch { goal: Some(Some(Goal { met, ..goal })), ..PlanPatch::default() };
        self.apply(&plan, vec![Op::Plan(Box::new(patch))], name).await
    }

    async fn apply(
        &self,
        plan: &Plan,
        ops: Vec<Op>,
        name: Option<&str>,
    ) -> Result<Result<(), String>, Error> {
        if ops.is_empty() {
            return Ok(Ok(()));
        }
        let gone = around::gone(&*self.inner.around, plan);
        let ctx = Ctx { gone, ..self.ctx(None)? };
        let write = name.map(|it| self.write(it));
        let change = Change { write, ..Change::new(ops, ctx) };
        match self.inner.store.change(plan.id, change).await {
            Ok(_) => Ok(Ok(())),
            Err(Error::Refused(refusal)) => Ok(Err(refusal.to_string())),
            Err(error) => Err(error),
        }
    }

    /// Ends the wait of an item. Nothing happens if it does not wait.
    pub async fn end_wait(&self, item: Number) -> Result<(), Error> {
        let Some(id) = self.id().await? else { return Ok(()) };
        let change = Change::new(vec![Op::Resume(item.into())], self.ctx(None)?);
        match self.inner.store.change(id, change).await {
            Ok(_) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// How the plan stands for the turn. `told` is the revision at which the model was last told that the
    /// goal is not reached.
    pub fn status(&self, plan: Option<&Plan>, told: Option<u64>) -> PlanStatus {
        let Some(plan) = plan else { return PlanStatus::default() };
        let mut status = PlanStatus::of(plan, &self.inner.agent, self.inner.around.now());
        status.is_goal_unmet = !self.missing(plan).is_empty()
            && told != Some(plan.revision.0)
            && status.open.is_empty();
        status
    }

    /// The list as the model is shown it before each call: titles and states.
    pub fn list(&self, plan: &Plan) -> String {
        match self.inner.dialect {
            Dialect::Manager => xml::xml(plan),
            Dialect::Turn
            | Dialect::TodoWrite
            | Dialect::WriteTodos
            | Dialect::UpdatePlan
            | Dialect::Tasks => {
                let line = |item: &&punchlist_model::Item| {
                    let id = match self.inner.dialect {
                        Dialect::Turn => format!("{} ", item.id),
                        Dialect::Tasks => format!("#{} ", item.number),
                        Dialect::Manager
                        | Dialect::TodoWrite
                        | Dialect::WriteTodos
                        | Dialect::UpdatePlan => String::new(),
                    };
                    let waits = item.waiting_on.as_ref();
                    let waits = waits.map(|on| format!(" (waits for {on})")).unwrap_or_default();
                    format!("- [{}] {id}{}{waits}", item.status.as_str(), item.title)
                };
                plan.listed().iter().map(line).collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// The full text of the item that the turn has in progress.
    pub fn in_progress(&self, plan: &Plan) -> Option<String> {
        let item = plan.listed().into_iter().find(|it| it.status == Status::InProgress)?;
        let parts = [
            ("", &item.title),
            ("Context: ", &item.context),
            ("Done when: ", &item.completion_criteria),
        ];
        let lines = parts.iter().filter(|(_, text)| !text.is_empty());
        Some(lines.map(|(label, text)| format!("{label}{text}")).collect::<Vec<_>>().join("\n"))
    }

    /// Why an answer is not accepted: these items are open, or, if there are none, the goal is not
    /// reached. `unheard` says that the answer asks something, and nobody is there to reply.
    pub fn refusal(&self, plan: &Plan, open: &[Number], unheard: bool) -> String {
        let also = Also { unheard, park: None };
        if open.is_empty() {
            prompt::goal_refusal(plan, &self.missing(plan), "call goal_met", also)
        } else {
            prompt::stop_refusal(plan, open, Tools::of(self.inner.dialect), also)
        }
    }

    /// What the agent can still do for a goal that is not reached.
    fn missing(&self, plan: &Plan) -> Vec<Missing> {
        match plan.reached(&BTreeSet::new()) {
            Some(Reached::No(missing)) if !plan.is_over_budget(self.inner.around.now()) => {
                missing.into_iter().filter(|it| it.is_for_agents()).collect()
            }
            Some(Reached::No(_) | Reached::NotYet | Reached::Yes) | None => Vec::new(),
        }
    }

    fn caller(&self) -> Caller {
        Caller {
            key: self.inner.key.clone(),
            plan: self.inner.which.clone(),
            title: self.inner.title.clone(),
        }
    }

    fn ctx(&self, dialect: Option<Dialect>) -> Result<Ctx, Error> {
        let Inner { around, limits, agent, process, .. } = &*self.inner;
        let now = around.now();
        let limits = match dialect {
            Some(dialect) => tool_service::limits(dialect, *limits, false),
            None => *limits,
        };
        let holder = Holder { name: agent.clone(), process: process.clone() };
        Ok(Ctx { limits, holder, ..Ctx::new(agent.clone(), now, around.ids(now)?) })
    }

    fn write(&self, name: &str) -> WriteId {
        WriteId::named(self.inner.conversation, name)
    }
}

/// The operations of a change that the turn wants. Items that somebody has settled meanwhile are left
/// alone.
fn ops(change: &PlanChange, plan: &Plan) -> Vec<Op> {
    let is_open = |number: &&Number| plan.get(**number).is_some_and(|it| it.is_open());
    let runs =
        |number: &&Number| plan.get(**number).is_some_and(|it| it.status == Status::InProgress);
    match change {
        PlanChange::Start(item) => vec![Op::Start((*item).into())],
        PlanChange::Complete(item, outcome) => vec![Op::Complete {
            item: (*item).into(),
            outcome: Some(outcome.clone()).filter(|it| !it.trim().is_empty()),
            with_children: false,
        }],
        PlanChange::GiveBack(item, note) => {
            let noted = |before: &str| {
                let gap = if before.is_empty() { "" } else { "\n" };
                format!("{before}{gap}{note}")
            };
            let context = plan.get(*item).map(|it| noted(&it.context));
            let patch = Patch { context, ..Patch::default() };
            vec![
                Op::Release((*item).into()),
                Op::Edit { item: (*item).into(), patch: Box::new(patch) },
            ]
        }
        PlanChange::Skip(item, reason) => {
            vec![Op::Cancel { item: (*item).into(), reason: Some(reason.clone()) }]
        }
        PlanChange::Release(items) => {
            items.iter().filter(runs).map(|it| Op::Release((*it).into())).collect()
        }
        PlanChange::Park(items) => {
            let open: Vec<Number> = items.iter().filter(is_open).copied().collect();
            if open.is_empty() { Vec::new() } else { vec![Op::Park(open)] }
        }
    }
}

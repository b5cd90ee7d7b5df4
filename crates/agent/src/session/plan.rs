//! The plan of a turn: how the model's tools and the turn itself read and change it.
//!
//! Each change has a name that is unique in the conversation. A change that is repeated after a crash
//! under the same name happens once.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_core::future::BoxFuture;

use punchlist_engine::plan_service::{self, PlanRequest};
use punchlist_engine::tool_service::{self, Caller};
use punchlist_engine::{Around, Engine, PlanHandle, Which, around};
use punchlist_formats::dialect::Dialect;
use punchlist_formats::prompt::{self, Also, Tools};
use punchlist_formats::view::xml;
use punchlist_model::goal::{Missing, Reached};
use punchlist_model::session::Store;
use punchlist_model::store::{AttachmentKey, Change, Error};
use punchlist_model::{
    Actor, ConversationId, Ctx, Goal, Holder, Limits, Number, Op, Patch, Plan, PlanId, PlanPatch,
    Process, Status, WriteId,
};
use serde_json::Value;

use crate::turn::{PlanChange, PlanStatus};
use crate::workers::delegate;

/// The plan of a turn. Cheap to clone.
#[derive(Clone)]
pub struct TurnPlan {
    inner: Arc<Inner>,
}

/// What the plan of a turn is made from.
pub struct Inner {
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

/// The result of a call of a plan tool.
pub struct Called {
    /// What the model reads.
    pub text: String,
    /// Whether the call was refused.
    pub is_error: bool,
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
}

impl TurnPlan {
    /// The plan of a turn. It is created with the first change.
    pub fn new(inner: Inner) -> Self {
        Self { inner: Arc::new(inner) }
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

    /// Runs a tool that the model called. `name` names the call.
    pub async fn call(&self, tool: &str, arguments: &Value, name: &str) -> Result<Called, Error> {
        let Inner { store, around, dialect, .. } = &*self.inner;
        let fields = arguments.as_object().cloned().unwrap_or_default();
        let call = match dialect.call_with(tool, fields) {
            Ok(call) => call,
            Err(reply) => return Ok(Called { text: reply.text, is_error: true }),
        };
        let caller = self.caller();
        let Some(ops) = call.ops() else {
            let told = tool_service::read(Some(&**store), &call, &caller, around.now()).await?;
            tool_service::note(&**store, &caller, &told).await;
            return Ok(Called { text: told.reply.text, is_error: told.reply.is_error });
        };
        let ctx = self.ctx(Some(*dialect))?;
        let change =
            Change { write: Some(self.write(name)), ..Change::new(ops.to_vec(), ctx.clone()) };
        let gone = |plan: &_| around::gone(&**around, plan);
        let told = tool_service::change(&**store, &call, &caller, change, &gone).await?;
        tool_service::await_approval(&**store, &told, ctx).await;
        Ok(Called { text: told.reply.text, is_error: told.reply.is_error })
    }

    /// Makes a change that the turn itself wants. A refusal is returned as the text for the model.
    /// `name` names the change; one without a name may be made twice.
    pub async fn change(
        &self,
        change: &PlanChange,
        name: Option<&str>,
    ) -> Result<Result<(), String>, Error> {
        let Some(plan) = self.whole().await? else { return Ok(Ok(())) };
        let ops = ops(change, &plan);
        if ops.is_empty() {
            return Ok(Ok(()));
        }
        let gone = around::gone(&*self.inner.around, &plan);
        let ctx = Ctx { gone, ..self.ctx(None)? };
        let write = name.map(|it| self.write(it));
        let change = Change { write, ..Change::new(ops, ctx) };
        match self.inner.store.change(plan.id, change).await {
            Ok(_) => Ok(Ok(())),
            Err(Error::Refused(refusal)) => Ok(Err(refusal.to_string())),
            Err(error) => Err(error),
        }
    }

    /// Sets the goal of the plan in a person's name. Creates the plan if there is none.
    pub async fn set_goal(&self, statement: &str, by: &Actor) -> Result<(), Error> {
        let Inner { store, around, key, which, title, .. } = &*self.inner;
        let now = around.now();
        let ctx = Ctx { actor: by.clone(), ..self.ctx(None)? };
        let request = PlanRequest {
            project: key.project.clone(),
            which: which.clone().unwrap_or_else(|| Which::Attached(key.clone())),
            title: title.clone(),
            id: ctx.ids.plan(),
            now,
        };
        let plan = plan_service::ensure_attached(&**store, key.clone(), request).await?.plan;
        let goal = Goal { statement: statement.trim().to_owned(), ..Goal::default() };
        let patch = PlanPatch { goal: Some(Some(goal)), ..PlanPatch::default() };
        store.change(plan, Change::new(vec![Op::Plan(Box::new(patch))], ctx)).await?;
        Ok(())
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
    /// reached.
    pub fn refusal(&self, plan: &Plan, open: &[Number]) -> String {
        let also = Also { unheard: false, park: None };
        if open.is_empty() {
            prompt::goal_refusal(plan, &self.missing(plan), also)
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

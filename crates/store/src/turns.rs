//! The to-dos of one turn as a small repository: create, find, update, count.
//!
//! A thin layer over any [`PlanStore`] for callers that work with turns. The plan of a turn is
//! found through its attachment and created with the first to-do. It adds no rule.

use futures_core::future::BoxFuture;
use punchlist_model::needs::{Needs, Reach};
use punchlist_model::store::{AttachmentKey, Change, Error, NewPlan, PlanStore};
use punchlist_model::{
    Ctx, Item, ItemId, ItemRef, MadeFor, NewItem, Op, Patch, Plan, Slice, Status, Timestamp,
};

/// The to-dos of one turn. Ids of other turns are not found.
#[derive(Clone)]
pub struct TurnTodos<'a> {
    store: &'a dyn PlanStore,
    turn: AttachmentKey,
}

/// A to-do to create.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the fields are those of `Item`")]
pub struct NewTodo {
    pub title: String,
    pub context: String,
    pub completion_criteria: String,
    pub agent_type: Option<String>,
    pub priority: Option<u32>,
}

/// A to-do, as the `turn_todos` view shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the fields are those of `Item` and `AttachmentKey`")]
pub struct TurnTodo {
    pub id: ItemId,
    pub conversation: String,
    pub turn: String,
    pub title: String,
    pub context: String,
    pub completion_criteria: String,
    pub agent_type: Option<String>,
    pub status: Status,
    /// The item's priority; if it has none, its position counted from 0.
    pub priority: u32,
    pub outcome: Option<String>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
}

/// New values for a to-do. `None` leaves a field unchanged.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the fields are those of `TurnTodo`")]
pub struct TodoUpdate {
    pub title: Option<String>,
    pub context: Option<String>,
    pub completion_criteria: Option<String>,
    pub agent_type: Option<Option<String>>,
    pub priority: Option<u32>,
    pub status: Option<Status>,
    pub outcome: Option<String>,
}

/// How many to-dos have each status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the fields are the statuses")]
pub struct Counts {
    pub pending: u32,
    pub in_progress: u32,
    pub completed: u32,
    pub cancelled: u32,
}

impl Counts {
    /// The number of all to-dos.
    pub fn total(self) -> u32 {
        self.pending + self.in_progress + self.completed + self.cancelled
    }

    /// The number of open to-dos.
    pub fn remaining(self) -> u32 {
        self.pending + self.in_progress
    }
}

impl<'a> TurnTodos<'a> {
    /// The to-dos of this turn.
    pub fn new(store: &'a dyn PlanStore, turn: AttachmentKey) -> Self {
        Self { store, turn }
    }

    /// Creates one to-do.
    pub fn create(&self, todo: NewTodo, ctx: Ctx) -> BoxFuture<'a, Result<TurnTodo, Error>> {
        let batch = self.create_batch(vec![todo], ctx);
        Box::pin(async move {
            // A batch of one creates one to-do or fails.
            let missing = || Error::Unusable { what: "no todo was made".to_owned(), source: None };
            batch.await?.pop().ok_or_else(missing)
        })
    }

    /// Creates several to-dos, or none of them.
    pub fn create_batch(
        &self,
        todos: Vec<NewTodo>,
        ctx: Ctx,
    ) -> BoxFuture<'a, Result<Vec<TurnTodo>, Error>> {
        let Self { store, turn } = self.clone();
        Box::pin(async move {
            let plan = match store.attachment(turn.clone()).await? {
                Some(attachment) => attachment.plan,
                None => {
                    let new = NewPlan {
                        made_for: Some(MadeFor::Conversation(turn.clone())),
                        ..NewPlan::new(ctx.ids.plan(), turn.project.clone(), ctx.now)
                    };
                    let id = match store.create(new).await {
                        Ok(plan) => plan.id,
                        // Two concurrent first to-dos create only one plan.
                        Err(Error::AlreadyMade(id)) => id,
                        Err(error) => return Err(error),
                    };
                    store.attach(turn.clone(), id, ctx.now).await?.plan
                }
            };
            let ops: Vec<_> =
                todos.into_iter().map(|todo| Op::Add(Box::new(todo.into()))).collect();
            let applied = store.change(plan, Change::new(ops, ctx)).await?;
            let added = applied.decision.added.iter().filter_map(|it| applied.plan.get(*it));
            Ok(added.map(|item| TurnTodo::of(item, &turn)).collect())
        })
    }

    /// The turn's to-dos with one of these statuses, or all if `statuses` is empty, by priority.
    pub fn find(&self, statuses: &[Status]) -> BoxFuture<'a, Result<Vec<TurnTodo>, Error>> {
        let this = self.clone();
        let statuses = statuses.to_vec();
        Box::pin(async move {
            let Some(plan) = this.whole().await? else { return Ok(Vec::new()) };
            let listed = plan.listed().into_iter();
            let wanted = listed.filter(|it| statuses.is_empty() || statuses.contains(&it.status));
            let mut todos: Vec<_> = wanted.map(|item| TurnTodo::of(item, &this.turn)).collect();
            todos.sort_by_key(|todo| todo.priority);
            Ok(todos)
        })
    }

    /// The to-do with this id.
    pub fn find_by_id(&self, id: ItemId) -> BoxFuture<'a, Result<Option<TurnTodo>, Error>> {
        let this = self.clone();
        Box::pin(async move {
            let plan = this.slice(only(id)).await?;
            let item = plan.as_ref().and_then(|plan| found(plan, id));
            Ok(item.map(|item| TurnTodo::of(item, &this.turn)))
        })
    }

    /// Changes a to-do; `None` if the turn has none with this id.
    pub fn update(
        &self,
        id: ItemId,
        update: TodoUpdate,
        ctx: Ctx,
    ) -> BoxFuture<'a, Result<Option<TurnTodo>, Error>> {
        let this = self.clone();
        Box::pin(async move {
            let Some(plan) = this.slice(only(id)).await? else { return Ok(None) };
            let Some(item) = found(&plan, id) else { return Ok(None) };
            let ops = update.ops(item);
            let applied = this.store.change(plan.id, Change::new(ops, ctx)).await?;
            // The change loads only what it needs, and an empty update needs nothing, so the to-do
            // may have to be read.
            let after = match found(&applied.plan, id) {
                Some(item) => Some(TurnTodo::of(item, &this.turn)),
                None => this.find_by_id(id).await?,
            };
            Ok(after)
        })
    }

    /// How many of the turn's to-dos have each status.
    pub fn count_by_status(&self) -> BoxFuture<'a, Result<Counts, Error>> {
        let this = self.clone();
        Box::pin(async move {
            let mut counts = Counts::default();
            let Some(plan) = this.whole().await? else { return Ok(counts) };
            for item in plan.listed() {
                match item.status {
                    Status::Pending => counts.pending += 1,
                    Status::InProgress => counts.in_progress += 1,
                    Status::Completed => counts.completed += 1,
                    Status::Cancelled => counts.cancelled += 1,
                }
            }
            Ok(counts)
        })
    }

    /// The turn's plan, if it has one.
    fn whole(&self) -> BoxFuture<'a, Result<Option<Plan>, Error>> {
        self.store.whole_attached(self.turn.clone())
    }

    /// What is needed of it.
    fn slice(&self, needs: Needs) -> BoxFuture<'a, Result<Option<Slice>, Error>> {
        let Self { store, turn } = self.clone();
        Box::pin(async move {
            match store.attachment(turn).await? {
                Some(attachment) => store.read(attachment.plan, needs).await.map(Some),
                None => Ok(None),
            }
        })
    }
}

fn only(id: ItemId) -> Needs {
    let reach = Reach { item: ItemRef::Id(id), around: Vec::new() };
    Needs { items: vec![reach], ..Needs::default() }
}

fn found(plan: &Slice, id: ItemId) -> Option<&Item> {
    plan.items.values().find(|item| item.id == id && !item.is_superseded())
}

impl From<NewTodo> for NewItem {
    fn from(todo: NewTodo) -> Self {
        Self {
            context: todo.context,
            completion_criteria: todo.completion_criteria,
            agent_type: todo.agent_type,
            priority: todo.priority,
            ..Self::titled(todo.title)
        }
    }
}

impl TurnTodo {
    fn of(item: &Item, turn: &AttachmentKey) -> Self {
        let place = item.position.map_or(0, |position| position.0.saturating_sub(1));
        Self {
            id: item.id,
            conversation: turn.conversation.clone(),
            turn: turn.turn.clone(),
            title: item.title.clone(),
            context: item.context.clone(),
            completion_criteria: item.completion_criteria.clone(),
            agent_type: item.agent_type.clone(),
            status: item.status,
            priority: item.priority.unwrap_or(place),
            outcome: item.outcome.clone(),
            created_at: item.created_at,
            started_at: item.started_at,
            completed_at: item.completed_at,
        }
    }
}

impl TodoUpdate {
    /// The operations that lead from the current item to the wanted values.
    fn ops(self, item: &Item) -> Vec<Op> {
        let at = || ItemRef::Id(item.id);
        let step = self.status.filter(|status| *status != item.status);
        let mut patch = Patch {
            title: self.title,
            context: self.context,
            completion_criteria: self.completion_criteria,
            agent_type: self.agent_type,
            priority: self.priority.map(Some),
            ..Patch::default()
        };
        let outcome = self.outcome;
        let open = item.status.is_open();
        let step = match step {
            Some(Status::Completed) => {
                Some(Op::Complete { item: at(), outcome, with_children: false })
            }
            Some(Status::Cancelled) => Some(Op::Cancel { item: at(), reason: outcome }),
            Some(status @ (Status::Pending | Status::InProgress)) => {
                patch.outcome = outcome.map(Some);
                let start = status == Status::InProgress;
                Some(match (open, start) {
                    (true, true) => Op::Start(at()),
                    (true, false) => Op::Release(at()),
                    (false, start) => Op::Reopen { item: at(), start },
                })
            }
            None => {
                patch.outcome = outcome.map(Some);
                None
            }
        };
        let edit =
            (patch != Patch::default()).then(|| Op::Edit { item: at(), patch: Box::new(patch) });
        edit.into_iter().chain(step).collect()
    }
}

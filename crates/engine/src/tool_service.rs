//! Runs one tool call of a dialect on a conversation's plan.
//!
//! When a conversation's first plan is created, and what is recorded as shown to the conversation,
//! is the same for a pipe and for a server. [`crate::plan_service`] finds the plan. Only the
//! store's futures are awaited, so no runtime is needed. The caller passes in clock, processes and
//! names.

use punchlist_formats::dialect::{Answer, Call, Dialect, Reply};
use punchlist_formats::prompt::{self, Tag as Wrap};
use punchlist_formats::view;
use punchlist_model::needs::Needs;
use punchlist_model::store::{Attachment, AttachmentKey, Change, Error, PlanStore};
use punchlist_model::{
    Broken, Ctx, Item, Level, Limits, Op, Plan, PlanId, Process, Refusal, Revision, Slice, Tag,
    Timestamp, decide,
};

use crate::plan_service::{self, PlanRequest, Which};

/// A conversation, and the plan that it works on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caller {
    /// The conversation.
    pub key: AttachmentKey,
    /// The plan, if it is not the one that the conversation is attached to. The first change
    /// creates it, unless it is given by its id.
    pub plan: Option<Which>,
    /// The title for a new plan; may be empty.
    pub title: String,
}

impl Caller {
    /// A conversation that works on the plan that it is attached to, or on its own new plan.
    pub fn new(key: AttachmentKey) -> Self {
        Self { key, plan: None, title: String::new() }
    }
}

/// The result of a call.
#[derive(Clone, PartialEq, Debug)]
pub struct Told {
    /// The reply to the model.
    pub reply: Reply,
    /// The plan that the call was about, if there is one.
    pub plan: Option<PlanId>,
    /// A revision that the model has now been shown, if this is not recorded yet; [`note`] records
    /// it. Only a reading call leaves this to its caller, because reading must not need a writable
    /// store.
    pub unseen: Option<Revision>,
    /// The items that lack only a person's approval.
    pub unapproved: Vec<Tag>,
}

impl Told {
    fn new(reply: Reply, plan: Option<PlanId>) -> Self {
        Self { reply, plan, unseen: None, unapproved: Vec::new() }
    }
}

/// Returns the processes that hold claims in a plan and are known to have ended.
pub type Gone<'a> = &'a (dyn Fn(&Slice) -> Vec<Process> + Sync);

/// The limits for a dialect: at most its own number of open items, unless the user set one.
pub fn limits(dialect: Dialect, limits: Limits, open_items_chosen: bool) -> Limits {
    match dialect.open_items().filter(|_| !open_items_chosen) {
        Some(cap) => Limits { open_items: limits.open_items.min(cap), ..limits },
        None => limits,
    }
}

/// Runs a call that only reads. Without a list or a store, the conversation sees an empty list.
pub async fn read(
    store: Option<&dyn PlanStore>,
    call: &Call,
    caller: &Caller,
    now: Timestamp,
) -> Result<Told, Error> {
    let found = match store {
        Some(store) => find(store, caller).await?.map(|found| (store, found)),
        None => None,
    };
    let Some((store, found)) = found else {
        return Ok(Told::new(call.reply(Answer::Read(empty(caller, now).into())), None));
    };
    let plan = store.read(found.plan, call.needs()).await?;
    let revision = plan.revision;
    let reply = call.reply(Answer::Read(plan));
    let is_news = reply.shows && found.shown.is_some_and(|shown| shown < revision);
    Ok(Told { unseen: is_news.then_some(revision), ..Told::new(reply, Some(found.plan)) })
}

/// Records what a reading call has shown. If the store is not writable, the list can still be read.
pub async fn note(store: &dyn PlanStore, caller: &Caller, told: &Told) {
    if let Some(revision) = told.unseen {
        store.shown(caller.key.clone(), revision).await.ok();
    }
}

/// Runs a call that changes the list. The first change creates the plan. A refusal is a reply to
/// the model; other failures are errors.
pub async fn change(
    store: &dyn PlanStore,
    call: &Call,
    caller: &Caller,
    mut change: Change,
    gone: Gone<'_>,
) -> Result<Told, Error> {
    let found = match find(store, caller).await? {
        Some(found) => found,
        None => {
            let empty = empty(caller, change.ctx.now);
            // The change is decided first, so that a refused call leaves no empty plan behind.
            if let Err(refusal) = decide(&empty, &change.ops, &change.ctx) {
                let answer = Answer::Failed(&Error::Refused(refusal), Some(&empty));
                return Ok(Told::new(call.reply(answer), None));
            }
            make(store, caller, &change).await?
        }
    };
    let (id, shown) = (found.plan, found.shown);
    let base = shown.unwrap_or(Revision(0));
    change.ctx.base = Some(base);
    // If the conversation has been shown everything before its own change, it has then been shown
    // everything; otherwise only the list can show it.
    change.seen_by = found.key;
    if change.ops.iter().any(depends_on_claims) {
        change.ctx.gone = gone(&store.read(id, Needs::header()).await?);
    }
    let now = change.ctx.now;
    match store.change(id, change).await {
        Ok(applied) => {
            let reply = call.reply(Answer::Changed(&applied));
            // The change has happened now. A failure to record something else (such as a full disk)
            // must not turn it into an error, because the call would be repeated. The conversation
            // is attached only now, so that a refused call attaches nothing.
            if shown.is_none() {
                store.attach(caller.key.clone(), id, now).await.ok();
            }
            let next = applied.revision().0 == base.0.saturating_add(1);
            let is_own = next && !applied.decision.events.is_empty();
            // The change itself already recorded the shown revision.
            let is_noted = is_own && shown.is_some();
            if (reply.shows || is_own) && !is_noted && applied.revision() > base {
                store.shown(caller.key.clone(), applied.revision()).await.ok();
            }
            Ok(Told::new(reply, Some(id)))
        }
        Err(Error::Refused(refusal)) => {
            let unapproved = unapproved(&refusal);
            let plan = store.read(id, call.needs()).await.ok();
            let reply = call.reply(Answer::Failed(&Error::Refused(refusal), plan.as_ref()));
            if let Some(plan) = plan.filter(|_| reply.shows && shown.is_some()) {
                store.shown(caller.key.clone(), plan.revision).await.ok();
            }
            Ok(Told { unapproved, ..Told::new(reply, Some(id)) })
        }
        Err(error) => Err(error),
    }
}

/// Marks the items of a refused call as waiting for the approval that they lack, so that everybody
/// sees what is needed and the agent can leave it to a person. A failure here does not affect the
/// call.
pub async fn await_approval(store: &dyn PlanStore, told: &Told, ctx: Ctx) {
    let Some(plan) = told.plan.filter(|_| !told.unapproved.is_empty()) else { return };
    let wait = |tag: &Tag| Op::Wait { item: tag.number.into(), on: Item::APPROVAL.to_owned() };
    let ops: Vec<Op> = told.unapproved.iter().map(wait).collect();
    store.change(plan, Change::new(ops, ctx)).await.ok();
}

/// The list after a change, if the dialect's own reply does not show it.
pub async fn after_change(store: &dyn PlanStore, dialect: Dialect, told: &Told) -> Option<String> {
    let plan = told.plan.filter(|_| told.reply.changed)?;
    match dialect {
        Dialect::Manager => {
            // The change has happened, and the reply says so; the list is shown again next time.
            let plan = store.whole(plan).await.ok()?;
            Some(prompt::after_change(&view::xml::xml(&plan), &Wrap::browser_state()))
        }
        Dialect::Turn
        | Dialect::TodoWrite
        | Dialect::WriteTodos
        | Dialect::UpdatePlan
        | Dialect::Tasks => None,
    }
}

/// The plan that a conversation works on, if it exists.
pub async fn current(store: &dyn PlanStore, caller: &Caller) -> Result<Option<PlanId>, Error> {
    Ok(find(store, caller).await?.map(|found| found.plan))
}

/// The plan that a conversation works on, and the revision that it was last shown; `None` if it is
/// not attached.
struct Found {
    plan: PlanId,
    shown: Option<Revision>,
    /// The conversation, if it is attached to that plan.
    key: Option<AttachmentKey>,
}

async fn find(store: &dyn PlanStore, caller: &Caller) -> Result<Option<Found>, Error> {
    let attachment = store.attachment(caller.key.clone()).await?;
    let Some(which) = &caller.plan else { return Ok(attachment.map(Found::attached)) };
    let plan = plan_service::find(store, &caller.key.project, which).await?;
    Ok(plan.map(|plan| match attachment.filter(|it| it.plan == plan) {
        Some(attachment) => Found::attached(attachment),
        None => Found { plan, shown: None, key: None },
    }))
}

impl Found {
    fn attached(attachment: Attachment) -> Self {
        let Attachment { key, plan, shown, at: _ } = attachment;
        Self { plan, shown: Some(shown), key: Some(key) }
    }
}

/// The empty plan that a conversation would start with.
fn empty(caller: &Caller, now: Timestamp) -> Plan {
    let name = match &caller.plan {
        Some(Which::Named(name)) => Some(name.clone()),
        Some(Which::Id(_) | Which::Attached(_) | Which::Project | Which::File { .. }) | None => {
            None
        }
    };
    let mut plan = Plan::new(PlanId::NIL, caller.key.project.clone(), now);
    plan.name = name;
    plan
}

async fn make(store: &dyn PlanStore, caller: &Caller, change: &Change) -> Result<Found, Error> {
    let request = PlanRequest {
        project: caller.key.project.clone(),
        which: caller.plan.clone().unwrap_or_else(|| Which::Attached(caller.key.clone())),
        title: if caller.plan.is_none() { title(caller, change) } else { String::new() },
        id: change.ctx.ids.plan(),
        now: change.ctx.now,
    };
    let attachment = plan_service::ensure_attached(store, caller.key.clone(), request).await?;
    Ok(Found::attached(attachment))
}

/// The title of a conversation's own plan: the user's prompt, else the title of the first item.
fn title(caller: &Caller, change: &Change) -> String {
    if !caller.title.is_empty() {
        return caller.title.clone();
    }
    let first = change.ops.iter().find_map(|op| {
        if let Op::Add(item) = op {
            return Some(&item.title);
        }
        let Op::Replace(list) = op else { return None };
        list.first().map(|it| &it.title)
    });
    first.cloned().unwrap_or_default()
}

/// Whether an operation depends on claims. Adding an item does not.
fn depends_on_claims(op: &Op) -> bool {
    !matches!(op, Op::Add(_))
}

/// The items that only need a person's approval; empty if anything else is wrong.
fn unapproved(refusal: &Refusal) -> Vec<Tag> {
    let tags = refusal.problems.iter().map(|problem| match (&problem.broken, &problem.item) {
        (Broken::Unverified { demanded: Level::Approved, failed: false }, Some(tag)) => {
            Some(tag.clone())
        }
        _ => None,
    });
    tags.collect::<Option<Vec<Tag>>>().unwrap_or_default()
}

//! One call of a dialect's tool, from the conversation that makes it to what its model is told.
//!
//! When a conversation's first plan is made, what the conversation was shown and what is noted of that is
//! the same for every way in, be it a pipe or a server. Which plan is meant, [`crate::plan_service`] says.
//! Waits for the store alone, so it needs no runtime. What is around the program (clock, processes, names) is handed in.

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

/// A conversation, and the plan that is meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caller {
    /// Which conversation.
    pub key: AttachmentKey,
    /// Which plan, where it is not the one that the conversation is attached to. The first change makes
    /// it, unless it is named by its id.
    pub plan: Option<Which>,
    /// What a plan of its own is called, should it have to be made; empty where nobody said.
    pub title: String,
}

impl Caller {
    /// A conversation that works on the plan that it is attached to, else on one of its own.
    pub fn new(key: AttachmentKey) -> Self {
        Self { key, plan: None, title: String::new() }
    }
}

/// What came of a call.
#[derive(Clone, PartialEq, Debug)]
pub struct Told {
    /// What the model is told.
    pub reply: Reply,
    /// The plan that it was told about, where there is one.
    pub plan: Option<PlanId>,
    /// A revision that the model has seen now and that is not noted yet: [`note`] does that. Only a
    /// call that reads leaves it to its caller, since reading must not need a store to write to.
    pub unseen: Option<Revision>,
    /// The items for which nothing but a person's word is missing.
    pub unapproved: Vec<Tag>,
}

impl Told {
    fn new(reply: Reply, plan: Option<PlanId>) -> Self {
        Self { reply, plan, unseen: None, unapproved: Vec::new() }
    }
}

/// Who of these processes is known to have ended.
pub type Gone<'a> = &'a (dyn Fn(&Slice) -> Vec<Process> + Sync);

/// How much of anything a dialect allows: at most its own cap of open items, unless the user chose one.
pub fn limits(dialect: Dialect, limits: Limits, open_items_chosen: bool) -> Limits {
    match dialect.open_items().filter(|_| !open_items_chosen) {
        Some(cap) => Limits { open_items: limits.open_items.min(cap), ..limits },
        None => limits,
    }
}

/// A call that only reads. A conversation that has no list yet sees an empty one; so does every
/// conversation where there is no store.
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

/// Notes what a call that reads has shown. Where nothing can be written, the list can still be read.
pub async fn note(store: &dyn PlanStore, caller: &Caller, told: &Told) {
    if let Some(revision) = told.unseen {
        store.shown(caller.key.clone(), revision).await.ok();
    }
}

/// A call that changes the list; the first one makes it. A refusal is told to the model; what else
/// goes wrong is an error.
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
            // Looked at first, so that a call that is refused leaves no empty plan behind.
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
    // Whoever has seen all up to its own change has seen all; else only the list tells.
    change.seen_by = found.key;
    if change.ops.iter().any(depends_on_claims) {
        change.ctx.gone = gone(&store.read(id, Needs::header()).await?);
    }
    let now = change.ctx.now;
    match store.change(id, change).await {
        Ok(applied) => {
            let reply = call.reply(Answer::Changed(&applied));
            // From here on the change has happened: that something could not be noted (a disk that
            // is full now) must not turn it into a failure, which would be tried again. The
            // conversation is attached only now, because a refused call ties it to nothing.
            if shown.is_none() {
                store.attach(caller.key.clone(), id, now).await.ok();
            }
            let next = applied.revision().0 == base.0.saturating_add(1);
            let is_own = next && !applied.decision.events.is_empty();
            // What a change notes by itself needs no second one.
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

/// Lets the items of a refused call wait for the approval that they lack, so that everybody sees what is
/// asked for and the agent may leave it to a person. That this cannot be noted changes nothing for the call.
pub async fn await_approval(store: &dyn PlanStore, told: &Told, ctx: Ctx) {
    let Some(plan) = told.plan.filter(|_| !told.unapproved.is_empty()) else { return };
    let wait = |tag: &Tag| Op::Wait { item: tag.number.into(), on: Item::APPROVAL.to_owned() };
    let ops: Vec<Op> = told.unapproved.iter().map(wait).collect();
    store.change(plan, Change::new(ops, ctx)).await.ok();
}

/// The list as it stands after a change, where the dialect's own answer does not show it.
pub async fn after_change(store: &dyn PlanStore, dialect: Dialect, told: &Told) -> Option<String> {
    let plan = told.plan.filter(|_| told.reply.changed)?;
    match dialect {
        Dialect::Manager => {
            // The change has happened, and its result says so; the list is shown again next time.
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

/// The plan that a conversation works on, if it is there.
pub async fn current(store: &dyn PlanStore, caller: &Caller) -> Result<Option<PlanId>, Error> {
    Ok(find(store, caller).await?.map(|found| found.plan))
}

/// The plan that a conversation works on, and what it was shown of it last; `None` if it is not
/// attached to it.
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

/// The plan that a conversation would begin with.
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

/// What a conversation's own plan is called: as the user said, else like its first item.
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

/// Whether it matters to a step who holds what: putting something new on the list it does not.
fn depends_on_claims(op: &Op) -> bool {
    !matches!(op, Op::Add(_))
}

/// The items that a person need only approve; none if anything else is wrong.
fn unapproved(refusal: &Refusal) -> Vec<Tag> {
    let tags = refusal.problems.iter().map(|problem| match (&problem.broken, &problem.item) {
        (Broken::Unverified { demanded: Level::Approved, failed: false }, Some(tag)) => {
            Some(tag.clone())
        }
        _ => None,
    });
    tags.collect::<Option<Vec<Tag>>>().unwrap_or_default()
}

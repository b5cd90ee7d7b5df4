//! What any store must promise.
//!
//! A store loads, decides with [`crate::decide::decide`], and writes journal and rows in one
//! transaction; it contains no rule of its own. The conformance suite in `store` is this contract as a
//! program: a behaviour that is not in it, no caller may rely on.

pub mod memory;

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::call::{BadMessage, CallState};
use crate::command::{Ctx, ItemRef, Op};
use crate::decide::Decision;
use crate::event::{Event, What};
use crate::id::{Number, PlanId, QuestionId, Revision, RunId, WriteId};
use crate::item::Item;
use crate::needs::Needs;
use crate::plan::{End, MadeFor, Plan, Progress, Rules};
use crate::refusal::{Refusal, Warning};
use crate::slice::Slice;
use crate::undo::Conflict;

/// Plans, their journal, and who is attached to them.
///
/// Every method is one transaction: all of it happens and survives a crash, or none of it does. An
/// answer is given only once that is so. Many processes may use one store at once. Times are kept
/// to the millisecond.
pub trait PlanStore: Send + Sync {
    /// Makes an empty plan at revision 0. A name that the project has already is refused with
    /// [`Error::NameTaken`]; what a plan was already made for, with [`Error::AlreadyMade`], which names that
    /// plan. Nothing is journaled: the first change is the first entry.
    fn create(&self, new: NewPlan) -> BoxFuture<'_, Result<Plan, Error>>;

    /// Decides `ops` on the plan as it is now and applies what follows.
    ///
    /// The new revision is the old one plus one, and the journal entry carries it. If nothing
    /// follows, nothing is written and the revision stays. With `expect`, fails with
    /// [`Error::Revision`] unless the plan is at that revision.
    ///
    /// Every entry of the journal has a write id. If `change.write` is in the plan's journal already, nothing
    /// is decided or written: the answer has the recorded revision and events, and the plan as it is now.
    fn change(&self, plan: PlanId, change: Change) -> BoxFuture<'_, Result<Applied, Error>>;

    /// Takes back the caller's last change that is not yet taken back; see [`crate::undo`].
    fn undo(
        &self,
        plan: PlanId,
        ctx: Ctx,
        expect: Option<Revision>,
    ) -> BoxFuture<'_, Result<Applied, Error>>;

    /// Erases the texts of an item, or of the whole plan, from rows and journal, and leaves a
    /// tombstone. Afterwards no copy is left in the store's files.
    fn forget(
        &self,
        plan: PlanId,
        item: Option<ItemRef>,
        ctx: Ctx,
    ) -> BoxFuture<'_, Result<Applied, Error>>;

    /// The whole plan, superseded items included.
    fn whole(&self, plan: PlanId) -> BoxFuture<'_, Result<Plan, Error>>;

    /// The part of a plan that `needs` names, with a whole header.
    fn read(&self, plan: PlanId, needs: Needs) -> BoxFuture<'_, Result<Slice, Error>>;

    /// The plans that fit, most recently changed first.
    fn plans(&self, filter: Filter) -> BoxFuture<'_, Result<Vec<Summary>, Error>>;

    /// The plan that was made for this, if there is one.
    fn plan_for(&self, what: MadeFor) -> BoxFuture<'_, Result<Option<PlanId>, Error>>;

    /// Records what a plan was made for, instead of what was recorded before: a plan file has moved. Fails
    /// with [`Error::AlreadyMade`] if that is another plan's. Nothing is journaled.
    fn set_made_for(&self, plan: PlanId, what: Option<MadeFor>)
    -> BoxFuture<'_, Result<(), Error>>;

    /// Ties a conversation to a plan, or moves it to another. What it was shown is kept if the plan
    /// is the same.
    fn attach(
        &self,
        key: AttachmentKey,
        plan: PlanId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Attachment, Error>>;

    /// Where a conversation is attached.
    fn attachment(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<Attachment>, Error>>;

    /// The plan that a conversation is attached to: all that most callers want to know of the
    /// attachment.
    fn attached(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<PlanId>, Error>>;

    /// All of that plan, as [`Self::whole`] gives it.
    fn whole_attached(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<Plan>, Error>>;

    /// Notes the revision that a conversation was last shown. Never goes back.
    fn shown(&self, key: AttachmentKey, revision: Revision) -> BoxFuture<'_, Result<(), Error>>;

    /// Journal entries of one plan after a revision, in order and without gaps, at most `most`.
    fn journal(
        &self,
        plan: PlanId,
        after: Revision,
        most: u32,
    ) -> BoxFuture<'_, Result<Vec<Entry>, Error>>;

    /// Journal entries after a cursor, then new ones as they come.
    ///
    /// Following has begun when the future is done: every change that is acknowledged after that is
    /// given, whoever makes it. The order is promised per plan, by revision, and no entry is left
    /// out; between plans there is none, since changes to two plans may be committed in another
    /// order than they were written. An entry is given at least once: who goes on from a cursor may
    /// be given some again, in order, and recognises them by (plan, revision). No transaction is
    /// held while waiting. After an error the stream ends; the last cursor leads on.
    fn follow(&self, after: Cursor, scope: Scope) -> BoxFuture<'_, Result<Following, Error>>;

    /// Takes in a plan with its whole journal, as [`PlanStore::whole`] and [`PlanStore::journal`]
    /// gave them elsewhere. Fails with [`Error::Exists`] if a plan with that id is there.
    fn import(&self, plan: Plan, journal: Vec<Entry>) -> BoxFuture<'_, Result<(), Error>>;
}

/// A time as every store keeps it: to the millisecond.
pub fn kept(at: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at)
}

/// A plan to be made.
#[derive(Clone, PartialEq, Debug)]
#[expect(missing_docs, reason = "the fields are those of `Plan`")]
pub struct NewPlan {
    pub id: PlanId,
    pub project: String,
    pub name: Option<String>,
    pub made_for: Option<MadeFor>,
    pub title: String,
    pub rules: Rules,
    pub at: Timestamp,
}

impl NewPlan {
    /// A plan with nothing but its id and project.
    pub fn new(id: PlanId, project: impl Into<String>, at: Timestamp) -> Self {
        Self {
            id,
            project: project.into(),
            name: None,
            made_for: None,
            title: String::new(),
            rules: Rules::default(),
            at,
        }
    }

    /// The plan, still empty.
    pub fn plan(self) -> Plan {
        let mut plan = Plan::new(self.id, self.project, kept(self.at));
        plan.name = self.name;
        plan.made_for = self.made_for;
        plan.title = self.title;
        plan.rules = self.rules;
        plan
    }
}

/// A change to be made.
#[derive(Clone, Debug)]
pub struct Change {
    /// What is asked. Whoever asks may have to ask again.
    pub ops: Arc<[Op]>,
    /// By whom and when.
    pub ctx: Ctx,
    /// The revision that the caller believes the plan to be at.
    pub expect: Option<Revision>,
    /// What the journal calls it.
    pub kind: Kind,
    /// The id of this write, for a caller that may have to ask again without knowing whether the first time
    /// succeeded. Without it the write gets a new one from the caller's id source.
    pub write: Option<WriteId>,
    /// The conversation that makes it. If it had seen the plan up to just before (`ctx.base`), it
    /// has seen it up to this change then, and that is noted with it.
    pub seen_by: Option<AttachmentKey>,
}

impl Change {
    /// A change called by its first step, whatever revision the plan is at.
    pub fn new(ops: impl Into<Arc<[Op]>>, ctx: Ctx) -> Self {
        let ops = ops.into();
        let kind = ops.first().map_or(Kind::Edit, Kind::of);
        Self { ops, ctx, expect: None, kind, write: None, seen_by: None }
    }

    /// The conversation that has seen the plan at `revision` by making this change, if one has.
    pub fn has_shown(&self, revision: Revision) -> Option<&AttachmentKey> {
        let before = self.ctx.base?;
        self.seen_by.as_ref().filter(|_| revision.0 == before.0.saturating_add(1))
    }
}

/// What a change is called in the journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the verbs")]
pub enum Kind {
    Add,
    Start,
    Next,
    Done,
    Skip,
    Release,
    Reopen,
    Wait,
    Edit,
    Move,
    Supersede,
    Replace,
    Prove,
    Stop,
    Plan,
    Undo,
    Forget,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::Add,
        Self::Start,
        Self::Next,
        Self::Done,
        Self::Skip,
        Self::Release,
        Self::Reopen,
        Self::Wait,
        Self::Edit,
        Self::Move,
        Self::Supersede,
        Self::Replace,
        Self::Prove,
        Self::Stop,
        Self::Plan,
        Self::Undo,
        Self::Forget,
    ];

    /// What a step is called.
    pub fn of(op: &Op) -> Self {
        match op {
            Op::Add(_) => Self::Add,
            Op::Start(_) => Self::Start,
            Op::Next => Self::Next,
            Op::Complete { .. } | Op::Tick { .. } => Self::Done,
            Op::Cancel { .. } => Self::Skip,
            Op::Release(_) => Self::Release,
            Op::Reopen { .. } => Self::Reopen,
            Op::Wait { .. } | Op::Resume(_) => Self::Wait,
            Op::Edit { .. } => Self::Edit,
            Op::Move { .. } => Self::Move,
            Op::Supersede(_) => Self::Supersede,
            Op::Replace(_) | Op::ReplaceAll(_) => Self::Replace,
            Op::Prove { .. } => Self::Prove,
            Op::Park(_) => Self::Stop,
            Op::Plan(_) => Self::Plan,
        }
    }

    /// The name in stores and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Start => "start",
            Self::Next => "next",
            Self::Done => "done",
            Self::Skip => "skip",
            Self::Release => "release",
            Self::Reopen => "reopen",
            Self::Wait => "wait",
            Self::Edit => "edit",
            Self::Move => "move",
            Self::Supersede => "supersede",
            Self::Replace => "replace",
            Self::Prove => "prove",
            Self::Stop => "stop",
            Self::Plan => "plan",
            Self::Undo => "undo",
            Self::Forget => "forget",
        }
    }

    /// The kind with that name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// One change, as the journal keeps it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Which plan.
    pub plan: PlanId,
    /// The revision that it led to.
    pub revision: Revision,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: Actor,
    /// What it is called.
    pub kind: Kind,
    /// The revision that it took back, for an undo.
    pub undoes: Option<Revision>,
    /// What happened, with before and after.
    pub events: Vec<Event>,
}

/// What a change came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Applied {
    /// The revision that the change led to.
    pub revision: Revision,
    /// The plan after it, as much of it as the change needed.
    pub plan: Slice,
    /// What was decided.
    pub decision: Decision,
}

impl Applied {
    /// The revision after it.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// A change that was made before, under the same write id: what was recorded, and the plan as it is now.
    pub fn repeated(entry: Entry, plan: Slice) -> Self {
        let (mut added, mut picked) = (Vec::new(), None);
        for event in &entry.events {
            if let Event::Added { item } = event {
                added.push(item.number);
            }
            if let Event::Changed { number, what: What::Started, .. } = event {
                picked = picked.or(Some(*number));
            }
        }
        let decision = Decision { added, picked, ..Decision::default() };
        let decision = Decision { events: entry.events, ..decision };
        Self { revision: entry.revision, plan, decision }
    }

    /// The whole plan after it, if the change needed it whole: one that sends a whole list does.
    pub fn whole(&self) -> Option<Plan> {
        self.plan.clone().whole()
    }

    /// What the caller should know.
    pub fn warnings(&self) -> &[Warning] {
        &self.decision.warnings
    }

    /// The items that changed or were picked, as they are now, by number.
    pub fn items(&self) -> Vec<&Item> {
        let events = self.decision.events.iter().filter_map(Event::number);
        let numbers: BTreeSet<Number> = events.chain(self.decision.picked).collect();
        numbers.into_iter().filter_map(|number| self.plan.get(number)).collect()
    }
}

/// Which plans.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// Of this project only.
    pub project: Option<String>,
    /// With this name only.
    pub name: Option<String>,
    /// Whose id begins or ends with this, in lower case.
    pub id: Option<String>,
}

/// A plan at a glance.
#[derive(Clone, PartialEq, Debug)]
#[expect(missing_docs, reason = "the fields are those of `Plan`")]
pub struct Summary {
    pub id: PlanId,
    pub project: String,
    pub name: Option<String>,
    pub title: String,
    pub revision: Revision,
    pub end: End,
    pub archived: bool,
    pub open: u32,
    pub progress: Progress,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The newest conversation attached to it; none for a plan made by hand.
    pub attachment: Option<AttachmentKey>,
    /// What it was made for.
    pub made_for: Option<MadeFor>,
}

/// Which conversation: what an agent calls itself and its session. Sessions attach to plans; they
/// never own them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct AttachmentKey {
    /// The project that it works in.
    pub project: String,
    /// Which agent: `claude`, `codex`, a name of the caller's.
    pub agent: String,
    /// Its conversation or session.
    pub conversation: String,
    /// Its sub-agent, or empty.
    pub sub_agent: String,
    /// Its turn, or empty where there is none.
    pub turn: String,
}

/// A conversation tied to a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attachment {
    /// Which conversation.
    pub key: AttachmentKey,
    /// Which plan.
    pub plan: PlanId,
    /// The last revision that it was shown.
    pub shown: Revision,
    /// When it was last attached.
    pub at: Timestamp,
}

/// Entries as they come, each with the place to go on from. It does not borrow the store, so a
/// server can hand it to a task of its own.
pub type Following = BoxStream<'static, Result<(Cursor, Entry), Error>>;

/// How far a follower has read. Opaque: only the store that gave it understands it. It says below
/// what everything was given, not that all above it is new.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Cursor {
    /// Before everything.
    #[default]
    Start,
    /// After all that is there when the following begins.
    Now,
    /// Where a store's entry said.
    After(String),
}

/// What is followed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Every plan.
    All,
    /// One plan.
    Plan(PlanId),
}

/// What can go wrong with a store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A rule says no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The plan has moved on.
    #[error("the plan changed: you had revision {expected}, it is at {actual}")]
    Revision {
        /// Which plan.
        plan: PlanId,
        /// What the caller believed.
        expected: Revision,
        /// What is so.
        actual: Revision,
        /// What happened in between, oldest first.
        since: Vec<Entry>,
    },
    /// Somebody has changed the same fields since.
    #[error(transparent)]
    Undo(#[from] Conflict),
    /// There is no such plan.
    #[error("there is no plan {0}")]
    NoPlan(PlanId),
    /// The project has a plan of that name.
    #[error("the project has a plan called {0:?} already")]
    NameTaken(String),
    /// A plan with that id is there already.
    #[error("plan {0} is in this store already")]
    Exists(PlanId),
    /// A plan was made for that already, and this is it.
    #[error("plan {0} was made for that already")]
    AlreadyMade(PlanId),
    /// There is no such run.
    #[error("there is no run {0}")]
    NoRun(RunId),
    /// The run has no such call.
    #[error("run {run} has no call {call}")]
    NoCall {
        /// Which run.
        run: RunId,
        /// Which call.
        call: u32,
    },
    /// A call cannot become what was to be recorded of it: somebody else has moved it.
    #[error(
        "call {call} of run {run} is {} and cannot become {}: another process has moved it",
        .from.as_str(), .to.as_str()
    )]
    CallMoved {
        /// Which run.
        run: RunId,
        /// Which call.
        call: u32,
        /// Where it stands.
        from: CallState,
        /// What was to be recorded.
        to: CallState,
    },
    /// There is no such question.
    #[error("there is no question {0}")]
    NoQuestion(QuestionId),
    /// A text is no message, or too many wait.
    #[error(transparent)]
    Message(#[from] BadMessage),
    /// The store was written by a newer version.
    #[error("the store has schema {found}, this version knows up to {known}")]
    NewerSchema {
        /// What it has.
        found: u32,
        /// What we know.
        known: u32,
    },
    /// The store can be read but not written.
    #[error("the store cannot be written: {0}")]
    ReadOnly(String),
    /// Another program has kept the store to itself for longer than anybody waits; nothing was changed.
    #[error("{0}")]
    Busy(String),
    /// Something is wrong with the store itself. Whether a change that met it happened is not known
    /// where the store is a server; the plan's revision tells.
    #[error("{what}")]
    Unusable {
        /// What happened, and where.
        what: String,
        /// Why.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The change is made, and others see it, but the store cannot promise that it stays: the disk
    /// did not confirm it.
    #[error("{what}")]
    Unconfirmed {
        /// What happened, and where.
        what: String,
        /// Why.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
}

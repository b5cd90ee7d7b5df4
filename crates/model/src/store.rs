//! The contract of a store.
//!
//! A store loads, decides with [`crate::decide::decide`], and writes journal and rows, in one
//! transaction; it contains no rule. The conformance suite in the crate `store` tests this
//! contract. Callers may rely only on what the suite tests.

pub mod access;
pub mod maintenance;
pub mod memory;
pub mod notices;
mod plan_list;
pub mod turns;
pub mod work;

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
use crate::id::{ConversationId, MessageId, Number, PlanId, QuestionId, Revision, RunId, WriteId};
use crate::item::{Item, Status};
use crate::needs::Needs;
use crate::plan::{End, MadeFor, Plan, Progress, Rules};
use crate::refusal::{Refusal, Warning};
use crate::slice::Slice;
use crate::undo::Conflict;

pub use plan_list::{Filter, ProjectSums};

/// The store of plans, their journals, and attachments.
///
/// Every method is one transaction: it happens completely and is durable when the method returns,
/// or it does not happen. Many processes may use a store at once. Times are kept to the
/// millisecond.
pub trait PlanStore: Send + Sync {
    /// Creates an empty plan at revision 0. Fails with [`Error::NameTaken`] if the project has a
    /// plan of that name, and with [`Error::AlreadyMade`] if another plan was made for the same.
    /// Creating is not journaled: the first entry is the first change.
    fn create(&self, new: NewPlan) -> BoxFuture<'_, Result<Plan, Error>>;

    /// Decides `ops` on the current plan and applies the events.
    ///
    /// The revision goes up by one, and the journal entry has the new revision. If there are no
    /// events, nothing is written and the revision stays. With `expect`, fails with
    /// [`Error::Revision`] unless the plan has that revision.
    ///
    /// Every journal entry has a write id. If the plan's journal already contains `change.write`,
    /// nothing is decided or written: the result has the recorded revision and events, and the
    /// current plan.
    fn change(&self, plan: PlanId, change: Change) -> BoxFuture<'_, Result<Applied, Error>>;

    /// Undoes the caller's last change that is not undone yet; see [`crate::undo`].
    fn undo(
        &self,
        plan: PlanId,
        ctx: Ctx,
        expect: Option<Revision>,
    ) -> BoxFuture<'_, Result<Applied, Error>>;

    /// Erases the texts of an item, or of the whole plan, from rows and journal, and leaves a
    /// tombstone. No copy remains in the store's files. Conversations that worked on the plan stay;
    /// [`turns::TurnStore::forget_conversation`] deletes them.
    fn forget(
        &self,
        plan: PlanId,
        item: Option<ItemRef>,
        ctx: Ctx,
    ) -> BoxFuture<'_, Result<Applied, Error>>;

    /// Reads the whole plan, superseded items included.
    fn whole(&self, plan: PlanId) -> BoxFuture<'_, Result<Plan, Error>>;

    /// Reads the slice of a plan that `needs` describes, with a complete header.
    fn read(&self, plan: PlanId, needs: Needs) -> BoxFuture<'_, Result<Slice, Error>>;

    /// The plans that match, most recently changed first.
    fn plans(&self, filter: Filter) -> BoxFuture<'_, Result<Vec<Summary>, Error>>;

    /// The projects that have plans, by name, with what their plans add up to. With `project`, only
    /// that one.
    fn projects(&self, project: Option<String>) -> BoxFuture<'_, Result<Vec<ProjectSums>, Error>>;

    /// The items, also superseded ones, of which a text contains the text, whatever its case; those of plans
    /// that changed last come first.
    fn search(&self, search: ItemSearch) -> BoxFuture<'_, Result<Vec<FoundItem>, Error>>;

    /// The plan that was made for `what`, if there is one.
    fn plan_for(&self, what: MadeFor) -> BoxFuture<'_, Result<Option<PlanId>, Error>>;

    /// Replaces what a plan was made for, for example after a plan file was moved. Fails with
    /// [`Error::AlreadyMade`] if another plan was made for the same. Not journaled.
    fn set_made_for(&self, plan: PlanId, what: Option<MadeFor>)
    -> BoxFuture<'_, Result<(), Error>>;

    /// Attaches a conversation to a plan, or moves it to another plan. The revision that it was
    /// shown is kept if the plan stays the same.
    fn attach(
        &self,
        key: AttachmentKey,
        plan: PlanId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Attachment, Error>>;

    /// The attachment of a conversation.
    fn attachment(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<Attachment>, Error>>;

    /// The plan that a conversation is attached to. Most callers need only this.
    fn attached(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<PlanId>, Error>>;

    /// Reads the whole of that plan, like [`Self::whole`].
    fn whole_attached(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<Plan>, Error>>;

    /// Records the revision that a conversation was last shown. It never goes back.
    fn shown(&self, key: AttachmentKey, revision: Revision) -> BoxFuture<'_, Result<(), Error>>;

    /// The journal entries of a plan after a revision, in order and without gaps, at most `most`.
    fn journal(
        &self,
        plan: PlanId,
        after: Revision,
        most: u32,
    ) -> BoxFuture<'_, Result<Vec<Entry>, Error>>;

    /// The journal entries of all plans after a cursor that exist now, at most `most`, each with the cursor
    /// after it, in an order that [`Self::follow`] could have; and the cursor after all of them. A reader
    /// that continues from that cursor misses nothing, and may get entries again. With [`Cursor::Now`]
    /// there are no entries, and the cursor is that of now. The text of a cursor is ASCII without spaces.
    fn journal_since(&self, after: Cursor, most: u32) -> BoxFuture<'_, Result<Since, Error>>;

    /// The journal entries after a cursor, then new ones as they are written.
    ///
    /// The stream contains every change that is acknowledged after this future completes, whoever
    /// makes it. Entries of one plan come in the order of their revisions, without gaps. Between
    /// plans there is no order, because changes of two plans may be committed in another order than
    /// they were written. Each entry is delivered at least once: a reader that continues from a
    /// cursor may get some entries again, in order, and recognises them by (plan, revision). No
    /// transaction is open while the stream waits. After an error the stream ends; the reader may
    /// continue from its last cursor.
    fn follow(&self, after: Cursor, scope: Scope) -> BoxFuture<'_, Result<Following, Error>>;

    /// Imports a plan with its whole journal, as [`PlanStore::whole`] and [`PlanStore::journal`] of
    /// another store returned them. Fails with [`Error::Exists`] if there is a plan with that id.
    fn import(&self, plan: Plan, journal: Vec<Entry>) -> BoxFuture<'_, Result<(), Error>>;
}

/// What an acknowledged change survives, for a store that lets the user choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Durability {
    /// `kill -9` and power loss.
    #[default]
    Full,
    /// `kill -9`. After a power loss the last changes may be missing; the store stays whole.
    Normal,
}

/// A time as every store keeps it: to the millisecond.
pub fn kept(at: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at)
}

/// A plan to create.
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
    /// A plan with only an id and a project.
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

    /// The empty plan.
    pub fn plan(self) -> Plan {
        let mut plan = Plan::new(self.id, self.project, kept(self.at));
        plan.name = self.name;
        plan.made_for = self.made_for;
        plan.title = self.title;
        plan.rules = self.rules;
        plan
    }
}

/// A change to apply.
#[derive(Clone, Debug)]
pub struct Change {
    /// The operations. Shared, because a caller may have to retry.
    pub ops: Arc<[Op]>,
    /// Who makes the change, and when.
    pub ctx: Ctx,
    /// The revision that the caller expects the plan to have.
    pub expect: Option<Revision>,
    /// The kind of the change in the journal.
    pub kind: Kind,
    /// The id of this write, for a caller that may have to retry without knowing whether the first
    /// try succeeded. If `None`, the write gets a new id from the caller's id source.
    pub write: Option<WriteId>,
    /// The conversation that makes the change. If it was shown the previous revision (`ctx.base`),
    /// the change also advances its shown revision.
    pub seen_by: Option<AttachmentKey>,
    /// Fails with [`Error::Busy`] instead of waiting while another process changes the plan. A store that
    /// cannot tell waits.
    pub skip_locked: bool,
}

impl Change {
    /// A change without an expected revision. Its kind is that of the first operation that does more than
    /// renew a lease.
    pub fn new(ops: impl Into<Arc<[Op]>>, ctx: Ctx) -> Self {
        let ops = ops.into();
        let is_more = |op: &&Op| !matches!(op, Op::Renew { .. });
        let kind = ops.iter().find(is_more).or(ops.first()).map_or(Kind::Edit, Kind::of);
        Self { ops, ctx, expect: None, kind, write: None, seen_by: None, skip_locked: false }
    }

    /// The conversation whose shown revision this change advances to `revision`, if any.
    pub fn has_shown(&self, revision: Revision) -> Option<&AttachmentKey> {
        let before = self.ctx.base?;
        self.seen_by.as_ref().filter(|_| revision.0 == before.0.saturating_add(1))
    }
}

/// The kinds of changes in the journal.
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
    /// All kinds.
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

    /// The kind of a change that begins with this operation.
    pub fn of(op: &Op) -> Self {
        match op {
            Op::Add(_) => Self::Add,
            Op::Start(_) | Op::Renew { .. } => Self::Start,
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

    /// The name in the store and in JSON.
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
    /// The revision after the change.
    pub revision: Revision,
    /// When the change was made.
    pub at: Timestamp,
    /// Who made it.
    pub actor: Actor,
    /// The kind of the change.
    pub kind: Kind,
    /// The revision that this change undoes, if it is an undo.
    pub undoes: Option<Revision>,
    /// The events, with old and new values.
    pub events: Vec<Event>,
}

/// The result of a change.
#[derive(Clone, PartialEq, Debug)]
pub struct Applied {
    /// The revision after the change.
    pub revision: Revision,
    /// The slice of the plan that the change needed, after the change.
    pub plan: Slice,
    /// The decision.
    pub decision: Decision,
}

impl Applied {
    /// The revision after the change.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The result for a write id that is already in the journal: the recorded events, and the
    /// current plan.
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

    /// The whole plan after the change, if the change needed the whole plan. A rewrite of the list does.
    pub fn whole(&self) -> Option<Plan> {
        self.plan.clone().whole()
    }

    /// What the caller should know although nothing was refused.
    pub fn warnings(&self) -> &[Warning] {
        &self.decision.warnings
    }

    /// The items that were changed or picked, in their current state, by number.
    pub fn items(&self) -> Vec<&Item> {
        let events = self.decision.events.iter().filter_map(Event::number);
        let numbers: BTreeSet<Number> = events.chain(self.decision.picked).collect();
        numbers.into_iter().filter_map(|number| self.plan.get(number)).collect()
    }
}

/// Which items to find.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ItemSearch {
    /// The text, in the title, the context, the criteria or the outcome.
    pub text: String,
    /// Only items of this project.
    pub project: Option<String>,
    /// Only items after this one, which was found before.
    pub after: Option<FoundAt>,
    /// At most so many.
    pub most: u32,
}

/// The place of an item among all that were found: the plan that changed last comes first, and the items
/// of a plan come by their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoundAt {
    /// When its plan last changed.
    pub updated_at: Timestamp,
    /// Its plan.
    pub plan: PlanId,
    /// Its number.
    pub number: Number,
}

impl ItemSearch {
    /// Whether an item at this place comes after the one that was found before.
    pub fn begins_before(&self, at: FoundAt) -> bool {
        let order = |it: FoundAt| (std::cmp::Reverse(it.updated_at), it.plan, it.number);
        self.after.is_none_or(|after| order(at) > order(after))
    }
}

/// An item that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundItem {
    /// Its place among all that were found, with its plan and its number.
    pub at: FoundAt,
    /// The plan's project.
    pub project: String,
    /// The plan's title.
    pub plan_title: String,
    /// Its title.
    pub title: String,
    /// Its status.
    pub status: Status,
}

/// The header of a plan, for overviews.
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
    /// The most recent attachment; `None` if no conversation was ever attached.
    pub attachment: Option<AttachmentKey>,
    /// What the plan was made for.
    pub made_for: Option<MadeFor>,
}

/// The key of a conversation's attachment. A conversation does not own its plan.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct AttachmentKey {
    /// The project that the conversation works in.
    pub project: String,
    /// The agent: `claude`, `codex`, or a name that the caller chose.
    pub agent: String,
    /// The id of the conversation or session.
    pub conversation: String,
    /// The sub-agent, or empty.
    pub sub_agent: String,
    /// The turn, or empty.
    pub turn: String,
}

/// A conversation's attachment to a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attachment {
    /// The conversation.
    pub key: AttachmentKey,
    /// The plan.
    pub plan: PlanId,
    /// The last revision that the conversation was shown.
    pub shown: Revision,
    /// When the conversation was last attached.
    pub at: Timestamp,
}

/// Journal entries, each with the cursor after it. The stream does not borrow the store, so a
/// server can move it to another task.
pub type Following = BoxStream<'static, Result<(Cursor, Entry), Error>>;

/// What [`PlanStore::journal_since`] returns.
#[derive(Clone, PartialEq, Debug)]
pub struct Since {
    /// The entries, each with the cursor after it.
    pub entries: Vec<(Cursor, Entry)>,
    /// The cursor after all of them.
    pub end: Cursor,
}

/// How far a follower has read. Opaque: only the store that made it understands it. Everything
/// before the cursor was delivered; some entries after it may have been delivered too.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Cursor {
    /// Before all entries.
    #[default]
    Start,
    /// After all entries that exist when following begins.
    Now,
    /// A cursor that the store returned with an entry.
    After(String),
}

/// What to follow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Every plan.
    All,
    /// One plan.
    Plan(PlanId),
}

/// The errors of a store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A rule refused the change.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The plan has another revision than expected.
    #[error("the plan changed: you had revision {expected}, it is at {actual}")]
    Revision {
        /// Which plan.
        plan: PlanId,
        /// The expected revision.
        expected: Revision,
        /// The actual revision.
        actual: Revision,
        /// The changes in between, oldest first.
        since: Vec<Entry>,
    },
    /// The change cannot be undone.
    #[error(transparent)]
    Undo(#[from] Conflict),
    /// There is no plan with this id.
    #[error("there is no plan {0}")]
    NoPlan(PlanId),
    /// The project already has a plan of that name.
    #[error("the project has a plan called {0:?} already")]
    NameTaken(String),
    /// A plan with that id already exists.
    #[error("plan {0} is in this store already")]
    Exists(PlanId),
    /// This plan was already made for the same.
    #[error("plan {0} was already made for the same")]
    AlreadyMade(PlanId),
    /// There is no run with this id.
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
    /// A call may not move to the recorded state: another process has moved it.
    #[error(
        "call {call} of run {run} is {} and cannot become {}: another process has moved it",
        .from.as_str(), .to.as_str()
    )]
    CallMoved {
        /// Which run.
        run: RunId,
        /// Which call.
        call: u32,
        /// The call's state in the store.
        from: CallState,
        /// The state that was to be recorded.
        to: CallState,
    },
    /// There is no question with this id.
    #[error("there is no question {0}")]
    NoQuestion(QuestionId),
    /// There is no conversation with this id.
    #[error("there is no session {0}")]
    NoConversation(ConversationId),
    /// A conversation with that id already exists.
    #[error("session {0} is in this store already")]
    ConversationExists(ConversationId),
    /// Another process runs the conversation, or this one no longer does.
    #[error("session {id} is {}", held_words(.runner))]
    Held {
        /// Which conversation.
        id: ConversationId,
        /// Who runs it; empty if nobody does.
        runner: String,
    },
    /// A message cannot be queued.
    #[error(transparent)]
    Message(#[from] BadMessage),
    /// A message was taken, edited or removed since it was read.
    #[error("the message was taken, edited or removed meanwhile")]
    MessageChanged(MessageId),
    /// A newer version wrote the store.
    #[error("the store has schema {found}, this version knows up to {known}")]
    NewerSchema {
        /// The schema of the store.
        found: u32,
        /// The newest schema that this version knows.
        known: u32,
    },
    /// The store can be read but not written.
    #[error("the store cannot be written: {0}")]
    ReadOnly(String),
    /// Another program kept the store locked until the timeout; nothing was changed.
    #[error("{0}")]
    Busy(String),
    /// The role that this program uses on a server lacks a right. Nothing was changed.
    #[error("{} may not {what}", role_words(.role))]
    Denied {
        /// The role; empty if its name is not known.
        role: String,
        /// What it may not do, as in "the role may not …".
        what: String,
    },
    /// A server cannot be reached or used. A change may have happened nevertheless; the plan's
    /// revision tells.
    #[error("{what}")]
    Server {
        /// What failed, where and why.
        what: String,
        /// The cause.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The store itself failed.
    #[error("{what}")]
    Unusable {
        /// What failed, and where.
        what: String,
        /// The cause.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The change was made and others see it, but it may not be durable: the disk did not confirm
    /// it.
    #[error("{what}")]
    Unconfirmed {
        /// What failed, and where.
        what: String,
        /// The cause.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
}

fn role_words(role: &str) -> String {
    match role {
        "" => "this role".to_owned(),
        role => format!("the role {role}"),
    }
}

fn held_words(runner: &str) -> String {
    match runner {
        "" => "no longer run by this process".to_owned(),
        runner => format!("run by another process ({runner})"),
    }
}

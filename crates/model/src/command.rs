//! The operations on a plan.
//!
//! A change is a list of [`Op`]s that are applied together or not at all. Everything else that a
//! decision needs (time, ids, actor) is in [`Ctx`].

use jiff::Timestamp;

use crate::actor::{Actor, ActorKind, Holder, Process};
use crate::goal::Goal;
use crate::id::{Attempt, IdSource, ItemId, Number, Position, Revision};
use crate::item::{Check, Evidence, Run, Status};
use crate::limits::Limits;
use crate::plan::Rules;

/// One operation of a change.
#[derive(Clone, PartialEq, Debug)]
pub enum Op {
    /// Adds a new item to the list.
    Add(Box<NewItem>),
    /// Pending → in progress, claimed for the worker in [`Ctx`].
    Start(ItemRef),
    /// Picks the item that the worker has in progress, or starts the next ready one.
    Next,
    /// → completed.
    Complete {
        /// Which item.
        item: ItemRef,
        /// The result, in words.
        outcome: Option<String>,
        /// Completes the open items under it too.
        with_children: bool,
    },
    /// → completed, because a person ticked the item in a file. If the item lacks verification, it
    /// gets a mark; the operation is not refused.
    Tick {
        /// Which item.
        item: ItemRef,
        /// The file's name, for the evidence.
        by: String,
    },
    /// → cancelled.
    Cancel {
        /// Which item.
        item: ItemRef,
        /// Why it will not be done.
        reason: Option<String>,
    },
    /// In progress → pending; the claim ends.
    Release(ItemRef),
    /// Renews the leases of the worker in [`Ctx`]. Refused unless the worker still holds the item, so a change
    /// that begins with it is made only while the claim lasts.
    Renew {
        /// Which item.
        item: ItemRef,
        /// The attempt under which the worker holds it, if the worker knows it.
        attempt: Option<Attempt>,
    },
    /// Completed or cancelled → pending, or in progress for the worker.
    Reopen {
        /// Which item.
        item: ItemRef,
        /// Starts the item at once.
        start: bool,
    },
    /// Makes an item wait.
    Wait {
        /// Which item.
        item: ItemRef,
        /// The person or event that it waits for.
        on: String,
    },
    /// Ends the wait.
    Resume(ItemRef),
    /// Changes fields of an item.
    Edit {
        /// Which item.
        item: ItemRef,
        /// The new values.
        patch: Box<Patch>,
    },
    /// Moves an item to another place on the list.
    Move {
        /// Which item.
        item: ItemRef,
        /// The new place.
        to: Place,
    },
    /// Takes an item off the list; its number and history stay.
    Supersede(ItemRef),
    /// Reconciles the plan with the whole list that an agent keeps. Items that are missing from the
    /// list are superseded if they came from such a list; items that were added in another way
    /// stay.
    Replace(Vec<ListEntry>),
    /// Like [`Self::Replace`], but every item that is missing from the list is superseded.
    ReplaceAll(Vec<ListEntry>),
    /// Adds a piece of evidence.
    Prove {
        /// Which item.
        item: ItemRef,
        /// The evidence.
        evidence: Box<Evidence>,
    },
    /// Marks the items with which a turn was allowed to end.
    Park(Vec<Number>),
    /// Changes the plan's own fields.
    Plan(Box<PlanPatch>),
}

/// How a caller names an item.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ItemRef {
    /// By its number.
    Number(Number),
    /// By its id.
    Id(ItemId),
    /// By its number, which must belong to the item with this id. A store finds the row by the
    /// number.
    Both(Number, ItemId),
    /// By the beginning of its id, in lower case.
    Prefix(String),
    /// By its current position.
    Position(Position),
    /// The n-th [`Op::Add`] of the same change, from 1.
    Batch(u32),
}

impl From<Number> for ItemRef {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

impl std::fmt::Display for ItemRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Id(id) | Self::Both(_, id) => id.fmt(f),
            Self::Prefix(prefix) => prefix.fmt(f),
            Self::Position(position) => write!(f, "at position {position}"),
            Self::Batch(n) => write!(f, "entry {n} of this batch"),
        }
    }
}

/// A place on the list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Place {
    /// Before all others.
    Front,
    /// After all others.
    #[default]
    Back,
    /// At this position; past the end means at the end.
    At(Position),
    /// Before another item.
    Before(ItemRef),
    /// After another item.
    After(ItemRef),
}

/// A new item.
#[derive(Clone, PartialEq, Debug, Default)]
#[expect(missing_docs, reason = "the fields are those of `Item`")]
pub struct NewItem {
    /// The item's id, if the caller must know it beforehand; otherwise a new id is made.
    pub id: Option<ItemId>,
    pub title: String,
    pub active_form: Option<String>,
    pub context: String,
    pub completion_criteria: String,
    pub agent_type: Option<String>,
    pub owner: Option<String>,
    pub priority: Option<u32>,
    pub depends_on: Vec<ItemRef>,
    pub parent: Option<ItemRef>,
    pub waiting_on: Option<String>,
    pub check: Option<Check>,
    pub run: Option<Run>,
    pub approve: bool,
    pub retry: Option<u32>,
    pub timeout: Option<u32>,
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
    pub from_list: bool,
    pub place: Place,
}

impl NewItem {
    /// An item with only a title, at the end of the list.
    pub fn titled(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }
}

/// New values for an item's fields. If the outer `Option` is `None`, the field stays unchanged.
#[derive(Clone, PartialEq, Debug, Default)]
#[expect(missing_docs, reason = "the fields are those of `Item`")]
pub struct Patch {
    pub title: Option<String>,
    pub active_form: Option<Option<String>>,
    pub context: Option<String>,
    pub completion_criteria: Option<String>,
    pub agent_type: Option<Option<String>>,
    pub owner: Option<Option<String>>,
    pub priority: Option<Option<u32>>,
    pub outcome: Option<Option<String>>,
    /// Replaces all dependencies.
    pub depends_on: Option<Vec<ItemRef>>,
    /// Dependencies to add.
    pub after: Vec<ItemRef>,
    /// Dependencies to remove.
    pub not_after: Vec<ItemRef>,
    pub parent: Option<Option<ItemRef>>,
    pub check: Option<Option<Check>>,
    pub run: Option<Option<Run>>,
    pub approve: Option<bool>,
    pub retry: Option<Option<u32>>,
    pub timeout: Option<Option<u32>>,
    pub metadata: Option<Option<serde_json::Map<String, serde_json::Value>>>,
    /// Metadata keys to set; other keys stay. A null removes its key.
    pub merge: serde_json::Map<String, serde_json::Value>,
    /// The new status. The operation that leads to it is applied; nothing happens if the item has
    /// it already.
    pub status: Option<Status>,
}

/// New values for a plan's own fields.
#[derive(Clone, PartialEq, Debug, Default)]
#[expect(missing_docs, reason = "the fields are those of `Plan`")]
pub struct PlanPatch {
    pub title: Option<String>,
    pub name: Option<Option<String>>,
    pub rules: Option<Rules>,
    pub goal: Option<Option<Goal>>,
}

/// One entry of a whole-list write.
#[derive(Clone, PartialEq, Debug)]
pub struct ListEntry {
    /// The item that the caller says this entry is.
    pub item: Option<ItemRef>,
    /// What to do.
    pub title: String,
    /// `None` leaves the item's active form unchanged.
    pub active_form: Option<String>,
    /// The item's status.
    pub status: Status,
    /// `None` leaves the item's wait unchanged; a blank text ends it. [`Self::BLOCKED`] says that
    /// the item waits but not for what: a reason that the item already has stays.
    pub waiting_on: Option<String>,
}

impl ListEntry {
    /// The wait reason of an entry whose list only says that it is blocked.
    pub const BLOCKED: &str = "blocked";

    /// An entry with a title and a status.
    pub fn titled(title: impl Into<String>, status: Status) -> Self {
        Self { item: None, title: title.into(), active_form: None, status, waiting_on: None }
    }
}

/// Whether a broken rule causes a refusal or a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// For tools and verbs: a change that breaks a rule is refused.
    Enforced,
    /// For mirrors: the change has already happened, so it is stored and the item is marked.
    Recorded,
}

/// Everything that a decision depends on besides the plan and the operations.
#[derive(Clone, Debug)]
pub struct Ctx {
    /// The time of the change.
    pub now: Timestamp,
    /// Where new ids come from.
    pub ids: IdSource,
    /// The author of the change, for the journal.
    pub actor: Actor,
    /// The worker for whom items are started and claimed.
    pub holder: Holder,
    /// The attempt under which the worker writes, if the worker knows it.
    pub attempt: Option<Attempt>,
    /// The revision that the caller was last shown, if it writes whole lists from memory.
    pub base: Option<Revision>,
    /// Whether broken rules are refused or recorded.
    pub mode: Mode,
    /// Limits on the sizes of texts and lists.
    pub limits: Limits,
    /// Processes that have ended. A process that has ended never comes back, so this list may be
    /// made before the transaction begins.
    pub gone: Vec<Process>,
    /// Start or complete blocked items all the same. Only a person may do this; from others it is
    /// ignored.
    pub anyway: bool,
}

impl Ctx {
    /// The context of a change by an agent of this name, with enforced rules and the default limits. Set the
    /// fields for a person, or for anything else that differs.
    pub fn new(worker: impl Into<String>, now: Timestamp, ids: IdSource) -> Self {
        let worker = worker.into();
        Self {
            now,
            ids,
            actor: Actor::agent(worker.clone()),
            holder: Holder::named(worker),
            attempt: None,
            base: None,
            mode: Mode::Enforced,
            limits: Limits::default(),
            gone: Vec::new(),
            anyway: false,
        }
    }

    /// The maximum number of open items, if there is one. It keeps agents from flooding a list. A
    /// person's own list has no maximum.
    pub fn most_open(&self) -> Option<u32> {
        match self.actor.kind {
            ActorKind::Agent => Some(self.limits.open_items),
            ActorKind::Person | ActorKind::Engine => None,
        }
    }
}

//! What may be asked of a plan.
//!
//! A change is a list of [`Op`]s that happen together or not at all. Everything that a decision
//! needs besides the plan (time, ids, who asks) is in [`Ctx`].

use jiff::Timestamp;

use crate::actor::{Actor, ActorKind, Holder, Process};
use crate::goal::Goal;
use crate::id::{Attempt, IdSource, ItemId, Number, Position, Revision};
use crate::item::{Check, Evidence, Run, Status};
use crate::limits::Limits;
use crate::plan::Rules;

/// One step of a change.
#[derive(Clone, PartialEq, Debug)]
pub enum Op {
    /// Puts a new item on the list.
    Add(Box<NewItem>),
    /// Pending → in progress, claimed for the worker in [`Ctx`].
    Start(ItemRef),
    /// Gives the worker the item that it has in progress, or starts the next ready one.
    Next,
    /// → completed.
    Complete {
        /// Which item.
        item: ItemRef,
        /// What came of it.
        outcome: Option<String>,
        /// Completes the open items under it too.
        with_children: bool,
    },
    /// → completed on the word of a file that a person keeps: what verification it lacks is marked
    /// on the item, not refused.
    Tick {
        /// Which item.
        item: ItemRef,
        /// The file, as the evidence names it.
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
    /// Completed or cancelled → pending, or in progress for the worker.
    Reopen {
        /// Which item.
        item: ItemRef,
        /// Begins it at once.
        start: bool,
    },
    /// Says what an item waits for.
    Wait {
        /// Which item.
        item: ItemRef,
        /// The person or event.
        on: String,
    },
    /// The wait is over.
    Resume(ItemRef),
    /// Changes fields.
    Edit {
        /// Which item.
        item: ItemRef,
        /// The new values.
        patch: Box<Patch>,
    },
    /// Changes places.
    Move {
        /// Which item.
        item: ItemRef,
        /// Where to.
        to: Place,
    },
    /// Takes an item off the list; its number and history stay.
    Supersede(ItemRef),
    /// The whole list that an agent keeps, reconciled with what is there. What it lacks leaves if it
    /// came from such a list; what was put there in another way stays.
    Replace(Vec<ListEntry>),
    /// The same for somebody who means all of it: whatever the list lacks leaves.
    ReplaceAll(Vec<ListEntry>),
    /// Adds a piece of evidence.
    Prove {
        /// Which item.
        item: ItemRef,
        /// The evidence.
        evidence: Box<Evidence>,
    },
    /// The turn was let go with these items open.
    Park(Vec<Number>),
    /// Changes the plan's own fields.
    Plan(Box<PlanPatch>),
}

/// How a caller points at an item.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ItemRef {
    /// By its number.
    Number(Number),
    /// By its id.
    Id(ItemId),
    /// By its number, if it has this id too: a store finds it without looking for the id.
    Both(Number, ItemId),
    /// By the beginning of its id, in lower case.
    Prefix(String),
    /// By where it stands now.
    Position(Position),
    /// The n-th [`Op::Add`] of this same change, from 1.
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

/// Where on the list.
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
    /// Its id, for a caller that must know it beforehand; else a new one.
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
    /// One with nothing but a title, at the end.
    pub fn titled(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }
}

/// New values for an item's fields. The outer `None` leaves a field alone.
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
    /// Depends on these and on nothing else.
    pub depends_on: Option<Vec<ItemRef>>,
    /// Depends on these as well.
    pub after: Vec<ItemRef>,
    /// Depends on these no more.
    pub not_after: Vec<ItemRef>,
    pub parent: Option<Option<ItemRef>>,
    pub check: Option<Option<Check>>,
    pub run: Option<Option<Run>>,
    pub approve: Option<bool>,
    pub retry: Option<Option<u32>>,
    pub timeout: Option<Option<u32>>,
    pub metadata: Option<Option<serde_json::Map<String, serde_json::Value>>>,
    /// Keys of the metadata that change; the others stay. A null takes its key away.
    pub merge: serde_json::Map<String, serde_json::Value>,
    /// Where it shall stand: the act that leads there is done, and none if it stands there.
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

/// One entry of a whole list.
#[derive(Clone, PartialEq, Debug)]
pub struct ListEntry {
    /// The item that the caller says it is.
    pub item: Option<ItemRef>,
    /// What to do.
    pub title: String,
    /// `None` leaves what is there.
    pub active_form: Option<String>,
    /// Where it stands.
    pub status: Status,
    /// `None` leaves what is there; a blank one ends the wait; [`Self::BLOCKED`] says that it waits,
    /// but not for what, so that a better word that is there already stays.
    pub waiting_on: Option<String>,
}

impl ListEntry {
    /// What an item waits for when its list says no more than that it does.
    pub const BLOCKED: &str = "blocked";

    /// An entry with a title and a status.
    pub fn titled(title: impl Into<String>, status: Status) -> Self {
        Self { item: None, title: title.into(), active_form: None, status, waiting_on: None }
    }
}

/// Whether a breach of a rule is refused or kept and marked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Tools and verbs: what breaks a rule is refused.
    Enforced,
    /// Mirrors: what happened is kept, and marked.
    Recorded,
}

/// Everything that a decision depends on besides the plan and the command.
#[derive(Clone, Debug)]
pub struct Ctx {
    /// The time of the change.
    pub now: Timestamp,
    /// Where new ids come from.
    pub ids: IdSource,
    /// Who asks, for the journal.
    pub actor: Actor,
    /// For whom items are started and claimed.
    pub holder: Holder,
    /// The attempt under which the worker writes, where it knows it.
    pub attempt: Option<Attempt>,
    /// The revision that the caller was last shown, where it writes whole lists from memory.
    pub base: Option<Revision>,
    /// Refuse or record.
    pub mode: Mode,
    /// How much of anything.
    pub limits: Limits,
    /// Processes known to have ended. What has ended stays so, hence looking before the change
    /// is as good as looking during it.
    pub gone: Vec<Process>,
    /// A person starts or completes what is blocked all the same. From anybody else it is no word.
    pub anyway: bool,
}

impl Ctx {
    /// A change that an agent asks for under this name, at this time, held against the rules and the default
    /// limits. Whoever is a person, or knows more, says so in the fields.
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

    /// Most items that may be open at once. The cap keeps agents from flooding a list; a person's own
    /// list is as long as the person likes.
    pub fn most_open(&self) -> Option<u32> {
        match self.actor.kind {
            ActorKind::Agent => Some(self.limits.open_items),
            ActorKind::Person | ActorKind::Engine => None,
        }
    }
}

//! Events: the effects of a change on a plan, and how to apply and undo them.
//!
//! An event contains the old and the new values. So a plan can be rebuilt from its journal, a
//! change can be undone, and the journal can be read without the plan. Events are stored: variants
//! and fields may be added, never changed.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::goal::Goal;
use crate::id::{Attempt, Number, Position};
use crate::item::{Check, Claim, Evidence, Item, Mark, Run, Status};
use crate::plan::{End, Rules};
use crate::slice::Slice;

/// One event of a change.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A new item was inserted at its position; the positions after it went up by one.
    Added {
        /// The item as it was added.
        item: Box<Item>,
    },
    /// Fields of an item changed.
    Changed {
        /// Which item.
        number: Number,
        /// Why they changed.
        what: What,
        /// The changed fields.
        deltas: Vec<Delta>,
    },
    /// An item was moved; the positions between `from` and `to` changed by one.
    Moved {
        /// Which item.
        number: Number,
        /// The old position.
        from: Position,
        /// The new position.
        to: Position,
    },
    /// An item was superseded, so it is no longer on the list; the positions after it went down by
    /// one.
    Superseded {
        /// Which item.
        number: Number,
        /// Its last position.
        from: Position,
        /// When it was superseded.
        at: Timestamp,
    },
    /// A superseded item is on the list again; the positions after it went up by one.
    Restored {
        /// Which item.
        number: Number,
        /// Its new position.
        to: Position,
        /// When it had been superseded.
        superseded_at: Timestamp,
    },
    /// The plan's own fields changed.
    PlanChanged {
        /// The changed fields.
        deltas: Vec<PlanDelta>,
    },
    /// A person erased the texts of one item, or of the whole plan.
    Forgotten {
        /// Which item; `None` for the whole plan.
        number: Option<Number>,
    },
}

/// Why the fields of an item changed: the verb that `punchlist log` prints.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the words that `log` prints")]
pub enum What {
    Started,
    Completed,
    Cancelled,
    Released,
    LeaseRanOut,
    Reopened,
    Waiting,
    Resumed,
    Edited,
    Renewed,
    Evidence,
    Parked,
    Undone,
    /// The stored event cannot be parsed, so its kind is unknown.
    Unreadable,
}

impl What {
    /// The words in a line of `punchlist log`, before the item.
    pub fn word(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Released => "released",
            Self::LeaseRanOut => "lease ran out on",
            Self::Reopened => "reopened",
            Self::Waiting => "set waiting",
            Self::Resumed => "ended the wait of",
            Self::Edited => "edited",
            Self::Renewed => "renewed",
            Self::Evidence => "added evidence to",
            Self::Parked => "parked",
            Self::Undone => "undid a change of",
            Self::Unreadable => "made an unreadable change to",
        }
    }
}

macro_rules! deltas {
    ($(#[$doc:meta])* $delta:ident of $owner:ty, named by $field_enum:ident {
        $($variant:ident $field:ident: $type:ty,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[expect(missing_docs, reason = "each variant is a field, with its old and new value")]
        pub enum $delta {
            $($variant { before: $type, after: $type },)*
        }

        /// The fields that a delta can be about.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[expect(missing_docs, reason = "each variant is a field")]
        pub enum $field_enum {
            $($variant,)*
        }

        impl $delta {
            /// The field that changed.
            pub fn field(&self) -> $field_enum {
                match self { $(Self::$variant { .. } => $field_enum::$variant,)* }
            }

            /// Sets the new value.
            pub fn apply(&self, owner: &mut $owner) {
                match self { $(Self::$variant { after, .. } => owner.$field = after.clone(),)* }
            }

            /// The delta that undoes this one.
            pub fn inverse(&self) -> Self {
                match self {
                    $(Self::$variant { before, after } => {
                        Self::$variant { before: after.clone(), after: before.clone() }
                    })*
                }
            }

            /// The deltas of all fields in which `old` and `new` differ.
            pub fn between(old: &$owner, new: &$owner) -> Vec<Self> {
                let mut deltas = Vec::new();
                $(if old.$field != new.$field {
                    deltas.push(Self::$variant {
                        before: old.$field.clone(),
                        after: new.$field.clone(),
                    });
                })*
                deltas
            }
        }

        impl $field_enum {
            /// The field's name, as in JSON.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => stringify!($field),)* }
            }
        }
    };
}

deltas! {
    /// A changed field of an item, with its old and new value.
    Delta of Item, named by Field {
        Title title: String,
        ActiveForm active_form: Option<String>,
        Context context: String,
        CompletionCriteria completion_criteria: String,
        AgentType agent_type: Option<String>,
        Owner owner: Option<String>,
        Status status: Status,
        Priority priority: Option<u32>,
        Outcome outcome: Option<String>,
        DependsOn depends_on: BTreeSet<Number>,
        Parent parent: Option<Number>,
        WaitingOn waiting_on: Option<String>,
        Check check: Option<Check>,
        Run run: Option<Run>,
        Approve approve: bool,
        Retry retry: Option<u32>,
        Timeout timeout: Option<u32>,
        Evidence evidence: Vec<Evidence>,
        Claim claim: Option<Claim>,
        Attempt attempt: Attempt,
        Marks marks: BTreeSet<Mark>,
        Metadata metadata: Option<serde_json::Map<String, serde_json::Value>>,
        StartedAt started_at: Option<Timestamp>,
        CompletedAt completed_at: Option<Timestamp>,
    }
}

deltas! {
    /// A changed field of a plan, with its old and new value.
    PlanDelta of Slice, named by PlanField {
        Title title: String,
        Name name: Option<String>,
        Rules rules: Rules,
        Goal goal: Option<Box<Goal>>,
        End end: End,
    }
}

/// The text that replaces a text that `forget` erased.
pub const TOMBSTONE: &str = "[forgotten]";

impl Event {
    /// The item that the event is about, if there is one.
    pub fn number(&self) -> Option<Number> {
        match self {
            Self::Added { item } => Some(item.number),
            Self::Changed { number, .. }
            | Self::Moved { number, .. }
            | Self::Superseded { number, .. }
            | Self::Restored { number, .. } => Some(*number),
            Self::Forgotten { number } => *number,
            Self::PlanChanged { .. } => None,
        }
    }
}

impl Slice {
    /// Applies an event that [`crate::decide()`] returned. This cannot fail, because `decide` has
    /// refused invalid changes.
    ///
    /// Items that the slice has not loaded are skipped; the header (all fields except the items) is
    /// always correct. Counters saturate instead of overflowing, because an imported journal may
    /// contain anything; the import compares the result with the imported plan.
    pub fn evolve(&mut self, event: &Event) {
        match event {
            Event::Added { item } => {
                if let Some(position) = item.position {
                    self.shift(position, u32::MAX, 1);
                    self.placed = self.placed.saturating_add(1);
                }
                self.open = self.open.saturating_add(u32::from(item.is_open()));
                self.next_number = self.next_number.max(Number(item.number.0.saturating_add(1)));
                self.items.insert(item.number, Item::clone(item));
            }
            Event::Changed { number, deltas, .. } => {
                if let Some(item) = self.items.get_mut(number) {
                    let was_open = item.is_open();
                    for delta in deltas {
                        delta.apply(item);
                    }
                    let opened = self.open.saturating_add(u32::from(item.is_open()));
                    self.open = opened.saturating_sub(u32::from(was_open));
                }
            }
            Event::Moved { number, from, to } => {
                if from < to {
                    self.shift(Position(from.0.saturating_add(1)), to.0, -1);
                } else {
                    self.shift(*to, from.0.saturating_sub(1), 1);
                }
                self.place(*number, Some(*to), None);
            }
            Event::Superseded { number, from, at } => {
                let was_open = self.items.get(number).is_some_and(Item::is_open);
                self.place(*number, None, Some(*at));
                self.shift(Position(from.0.saturating_add(1)), u32::MAX, -1);
                self.placed = self.placed.saturating_sub(1);
                self.open = self.open.saturating_sub(u32::from(was_open));
            }
            Event::Restored { number, to, .. } => {
                self.shift(*to, u32::MAX, 1);
                self.place(*number, Some(*to), None);
                self.placed = self.placed.saturating_add(1);
                let is_open = self.items.get(number).is_some_and(Item::is_open);
                self.open = self.open.saturating_add(u32::from(is_open));
            }
            Event::PlanChanged { deltas } => {
                for delta in deltas {
                    delta.apply(self);
                }
            }
            Event::Forgotten { number } => self.forget(*number),
        }
    }

    /// Adds `by` to all positions between `from` and `to`.
    fn shift(&mut self, from: Position, to: u32, by: i32) {
        // Fast path: a new last item does not move other items.
        if from.0 > self.placed {
            return;
        }
        for item in self.items.values_mut() {
            if let Some(position) = &mut item.position
                && *position >= from
                && position.0 <= to
            {
                position.0 = position.0.saturating_add_signed(by);
            }
        }
    }

    /// Sets the position of an item, and when it was superseded.
    fn place(&mut self, number: Number, at: Option<Position>, superseded: Option<Timestamp>) {
        if let Some(item) = self.items.get_mut(&number) {
            item.position = at;
            item.superseded_at = superseded;
        }
    }

    /// Erases the texts of one item, or of the whole plan.
    fn forget(&mut self, number: Option<Number>) {
        for item in self.items.values_mut() {
            if number.is_none_or(|number| number == item.number) {
                item.forget();
            }
        }
        if number.is_none() {
            TOMBSTONE.clone_into(&mut self.title);
            self.name = None;
            self.goal = None;
        }
    }
}

impl Item {
    /// Erases all texts of the item; other fields stay.
    pub fn forget(&mut self) {
        TOMBSTONE.clone_into(&mut self.title);
        self.active_form = None;
        self.context.clear();
        self.completion_criteria.clear();
        self.agent_type = None;
        self.owner = None;
        self.outcome = self.outcome.take().map(|_| TOMBSTONE.to_owned());
        self.waiting_on = self.waiting_on.take().map(|_| TOMBSTONE.to_owned());
        self.check = None;
        self.run = None;
        self.evidence.clear();
        self.claim = None;
        self.metadata = None;
    }
}

//! What happened to a plan: the journal's words, how they apply, and how they are taken back.
//!
//! Events carry what was and what is, so that a plan can be replayed from its journal, a change can
//! be undone, and a reader needs nothing else to tell the story. They are stored: a variant or field
//! may be added, never changed.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::goal::Goal;
use crate::id::{Attempt, Number, Position};
use crate::item::{Check, Claim, Evidence, Item, Mark, Run, Status};
use crate::plan::{End, Rules};
use crate::slice::Slice;

/// One thing that happened.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A new item, at its position; those behind it moved up.
    Added {
        /// As it was made.
        item: Box<Item>,
    },
    /// Fields of an item changed.
    Changed {
        /// Which item.
        number: Number,
        /// In one word.
        what: What,
        /// Field by field.
        deltas: Vec<Delta>,
    },
    /// An item changed places; those between moved by one.
    Moved {
        /// Which item.
        number: Number,
        /// Where it was.
        from: Position,
        /// Where it is.
        to: Position,
    },
    /// An item left the list; those behind it moved up.
    Superseded {
        /// Which item.
        number: Number,
        /// Where it was.
        from: Position,
        /// When.
        at: Timestamp,
    },
    /// A superseded item came back; those behind it moved down.
    Restored {
        /// Which item.
        number: Number,
        /// Where it is.
        to: Position,
        /// When it had been superseded.
        superseded_at: Timestamp,
    },
    /// The plan's own fields changed.
    PlanChanged {
        /// Field by field.
        deltas: Vec<PlanDelta>,
    },
    /// A person had texts erased: of one item, or of the whole plan.
    Forgotten {
        /// Which item; `None` for all.
        number: Option<Number>,
    },
}

/// What kind of change it was, for people who read the journal.
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
    /// Nobody knows: what was stored of it cannot be read.
    Unreadable,
}

impl What {
    /// The word in a log line.
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
            Self::Unreadable => "did what cannot be read any more to",
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
        #[expect(missing_docs, reason = "each variant is a field, before and after")]
        pub enum $delta {
            $($variant { before: $type, after: $type },)*
        }

        /// Which field a change is of.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[expect(missing_docs, reason = "each variant is a field")]
        pub enum $field_enum {
            $($variant,)*
        }

        impl $delta {
            /// Which field it is of.
            pub fn field(&self) -> $field_enum {
                match self { $(Self::$variant { .. } => $field_enum::$variant,)* }
            }

            /// Puts the new value in place.
            pub fn apply(&self, owner: &mut $owner) {
                match self { $(Self::$variant { after, .. } => owner.$field = after.clone(),)* }
            }

            /// The change back.
            pub fn inverse(&self) -> Self {
                match self {
                    $(Self::$variant { before, after } => {
                        Self::$variant { before: after.clone(), after: before.clone() }
                    })*
                }
            }

            /// Every field in which two values differ.
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
    /// One field of an item, before and after.
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
    /// One field of a plan, before and after.
    PlanDelta of Slice, named by PlanField {
        Title title: String,
        Name name: Option<String>,
        Rules rules: Rules,
        Goal goal: Option<Box<Goal>>,
        End end: End,
    }
}

/// What a forgotten text is replaced by.
pub const TOMBSTONE: &str = "[forgotten]";

impl Event {
    /// The item that it is about, if it is about one.
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
    /// Applies one decided event. Cannot fail: whatever could was refused by [`crate::decide()`].
    ///
    /// On a slice, items that are not loaded are passed over; the header is always right. Counts
    /// saturate: a journal from elsewhere may say anything, and is held against its rows afterwards.
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

    fn shift(&mut self, from: Position, to: u32, by: i32) {
        // What goes to the end moves nobody; long lists are made by that alone.
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

    fn place(&mut self, number: Number, at: Option<Position>, superseded: Option<Timestamp>) {
        if let Some(item) = self.items.get_mut(&number) {
            item.position = at;
            item.superseded_at = superseded;
        }
    }

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
    /// Erases every text that somebody wrote, and keeps the rest.
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

//! When to remind an agent of its list: a pure policy that counts costs.
//!
//! A reminder costs tokens and turns. So it is given only on drift (the agent worked but did not
//! update the list), never right after a write, and within a limit per hour. This module decides
//! *that* a reminder is given and what it is about. Another module writes the text, and its sender
//! reports the text with [`Watch::gave`].

mod ledger;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::id::Number;

pub use ledger::{Ledger, Tally, tokens};

/// The kinds of reminders.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One line at the start of a conversation that has a to-do tool.
    Initial,
    /// The agent worked but did not update its list.
    Nag,
    /// The current list, after a change. It is part of a dialect, so the policy does not apply.
    AfterChange,
    /// The session's own open list, repeated after the agent lost its context.
    Boundary,
    /// How many items are open from sessions that ended.
    Offer,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 5] =
        [Self::Initial, Self::Nag, Self::AfterChange, Self::Boundary, Self::Offer];

    /// The name in configuration and on screens.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Nag => "nag",
            Self::AfterChange => "after_change",
            Self::Boundary => "boundary",
            Self::Offer => "offer",
        }
    }

    fn is_under_policy(self) -> bool {
        match self {
            Self::AfterChange => false,
            Self::Initial | Self::Nag | Self::Boundary | Self::Offer => true,
        }
    }

    /// Whether the agent's next model turn should follow it. Other reminders may be followed until
    /// the agent stops.
    fn is_urgent(self) -> bool {
        match self {
            Self::Nag => true,
            Self::Initial | Self::AfterChange | Self::Boundary | Self::Offer => false,
        }
    }

    /// Whether it asks the agent to write its list. An offer asks it to take over items of others.
    fn is_about_own_list(self) -> bool {
        match self {
            Self::Initial | Self::Nag | Self::AfterChange | Self::Boundary => true,
            Self::Offer => false,
        }
    }

    /// Whether agents that remind themselves already say this. None of them repeats the list after
    /// a lost context.
    fn is_said_by_agents(self) -> bool {
        match self {
            Self::Initial | Self::Nag => true,
            Self::AfterChange | Self::Boundary | Self::Offer => false,
        }
    }
}

/// The user's settings.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// Kinds that are switched off.
    pub off: BTreeSet<Kind>,
    /// Maximum of reminders of one kind per hour.
    pub per_hour: u32,
    /// Model turns without a change before a nag, and between two nags; 0 means never.
    pub nag_after: u32,
    /// A nag shows the whole list.
    pub whole_list: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self { off: BTreeSet::new(), per_hour: 6, nag_after: 10, whole_list: false }
    }
}

/// What the policy needs to know about the agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agent {
    /// The agent has tools for its list.
    pub has_tools: bool,
    /// The agent reminds itself.
    pub reminds_itself: bool,
    /// The agent's dialect shows the list after each change.
    pub echoes_changes: bool,
    /// The agent accepts context when it compacts; otherwise the list goes with the next prompt.
    pub hears_compaction: bool,
}

/// An event that the policy reacts to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// The agent's context begins anew.
    Boundary {
        /// Why.
        at: Boundary,
        /// How many items of this session's list are open.
        open: u32,
        /// What ended sessions left open in this project.
        others: Others,
    },
    /// The user sent a prompt, and a turn of the agent begins.
    Prompt {
        /// How many items of this session's list are open.
        open: u32,
    },
    /// A hook in the middle of a turn, which can pass text to the agent.
    Listens {
        /// How many items of this session's list are open.
        open: u32,
    },
    /// The agent stopped: its turn is over.
    Stopped,
    /// The agent wrote the list.
    Changed,
    /// A sub-agent wrote the list. That is no drift, but it does not mean that the agent followed a
    /// reminder.
    ChangedBySubAgent,
    /// Somebody else changed these items.
    ChangedByOthers(BTreeSet<Number>),
    /// A model turn ended.
    Turn {
        /// It did something besides talking.
        worked: bool,
        /// How many items hold the agent's turn. Items that wait or that others hold are no reason
        /// to nag.
        open: u32,
    },
}

/// Why an agent's context begins anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Boundary {
    Start,
    Resume,
    Compaction,
}

/// What ended sessions left open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Others {
    pub items: u32,
    pub sessions: u32,
}

/// A reminder to give now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reminder {
    /// The agent has a tool for its list.
    Initial,
    /// The agent did not update its list.
    Nag {
        /// For how many model turns.
        turns: u32,
        /// The items that others changed since the agent last wrote.
        changed: BTreeSet<Number>,
        /// Show the whole list.
        whole_list: bool,
    },
    /// The current list.
    AfterChange,
    /// The open items, word for word.
    Boundary,
    /// What ended sessions left open.
    Offer(Others),
}

impl Reminder {
    /// What kind it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Initial => Kind::Initial,
            Self::Nag { .. } => Kind::Nag,
            Self::AfterChange => Kind::AfterChange,
            Self::Boundary => Kind::Boundary,
            Self::Offer(_) => Kind::Offer,
        }
    }
}

/// The state of one conversation. A store keeps it between two inputs.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Watch {
    /// Model turns since the agent last wrote its list.
    turns: u32,
    /// Model turns since the last write or nag.
    quiet: u32,
    /// Whether the agent worked in any of those turns.
    worked: bool,
    /// The items that others changed since the agent last wrote.
    changed: BTreeSet<Number>,
    /// The initial reminder was given.
    begun: bool,
    /// The offer was made.
    offered: bool,
    /// The list must be repeated with the next prompt.
    owed: bool,
    /// Costs and effects of the reminders.
    pub ledger: Ledger,
}

impl Watch {
    /// Handles an input and returns the reminders to give now.
    pub fn step(
        &mut self,
        policy: &Policy,
        agent: Agent,
        input: Input,
        now: Timestamp,
    ) -> Vec<Reminder> {
        let mut reminders = match input {
            Input::Boundary { at, open, others } => self.boundary(agent, at, open, others),
            Input::Prompt { open } => {
                let reminders = self.repeat_owed_list(open);
                self.ledger.turn_begins(!reminders.is_empty());
                reminders
            }
            Input::Listens { open } => self.repeat_owed_list(open),
            Input::Stopped => {
                self.ledger.ignored(|_| true);
                Vec::new()
            }
            Input::ChangedBySubAgent => {
                self.was_written();
                Vec::new()
            }
            Input::Changed => {
                self.ledger.acted(Kind::is_about_own_list);
                self.was_written();
                agent.echoes_changes.then_some(Reminder::AfterChange).into_iter().collect()
            }
            Input::ChangedByOthers(numbers) => {
                self.changed.extend(numbers);
                Vec::new()
            }
            Input::Turn { worked, open } => {
                self.ledger.ignored(Kind::is_urgent);
                self.turn(policy, worked, open).into_iter().collect()
            }
        };
        reminders.retain(|reminder| self.allows(policy, agent, reminder.kind(), now));
        for reminder in &reminders {
            self.record(reminder);
        }
        reminders
    }

    /// Repeats the list with the next prompt. Used when the session got the list while nothing
    /// could be passed to the model.
    pub fn owe(&mut self) {
        self.owed = true;
    }

    /// Whether a prompt matters here: the list must be repeated, or pending reminders are judged by
    /// the turn that begins.
    pub fn heeds_prompts(&self) -> bool {
        self.owed || self.ledger.awaits()
    }

    /// The agent took over items of ended sessions, as an offer asks.
    pub fn took_over(&mut self) {
        self.ledger.acted(|kind| !kind.is_about_own_list());
    }

    /// Records that a reminder was given, with its text.
    pub fn gave(&mut self, kind: Kind, text: &str, now: Timestamp) {
        self.ledger.gave(kind, tokens(text), now, kind.is_under_policy());
    }

    /// The list, if it must be repeated and has open items.
    fn repeat_owed_list(&mut self, open: u32) -> Vec<Reminder> {
        let owed = std::mem::take(&mut self.owed) && open > 0;
        owed.then_some(Reminder::Boundary).into_iter().collect()
    }

    fn was_written(&mut self) {
        (self.turns, self.quiet, self.worked) = (0, 0, false);
        self.changed.clear();
    }

    fn boundary(&mut self, agent: Agent, at: Boundary, open: u32, others: Others) -> Vec<Reminder> {
        let mut wanted = Vec::new();
        // A turn continues after a compaction, but ended before a start or resume.
        match at {
            Boundary::Start | Boundary::Resume => self.ledger.ignored(|_| true),
            Boundary::Compaction => {}
        }
        if open > 0 {
            match at {
                Boundary::Compaction if !agent.hears_compaction => self.owed = true,
                Boundary::Start | Boundary::Resume | Boundary::Compaction => {
                    wanted.push(Reminder::Boundary);
                }
            }
        } else if at == Boundary::Start && !self.begun {
            wanted.push(Reminder::Initial);
        }
        if others.items > 0 && !self.offered && at != Boundary::Compaction {
            wanted.push(Reminder::Offer(others));
        }
        wanted
    }

    fn turn(&mut self, policy: &Policy, worked: bool, open: u32) -> Option<Reminder> {
        if open == 0 {
            (self.turns, self.quiet, self.worked) = (0, 0, false);
            return None;
        }
        self.turns = self.turns.saturating_add(1);
        self.quiet = self.quiet.saturating_add(1);
        self.worked |= worked;
        let drift = self.worked && policy.nag_after > 0 && self.quiet >= policy.nag_after;
        drift.then(|| Reminder::Nag {
            turns: self.turns,
            changed: self.changed.clone(),
            whole_list: policy.whole_list,
        })
    }

    fn allows(&self, policy: &Policy, agent: Agent, kind: Kind, now: Timestamp) -> bool {
        if !kind.is_under_policy() {
            return true;
        }
        // An offer is for the user too, so it does not depend on the agent's tools.
        let is_useful = agent.has_tools || kind == Kind::Offer;
        let said_already = agent.reminds_itself && kind.is_said_by_agents();
        let off = policy.off.contains(&kind);
        is_useful && !said_already && !off && self.ledger.in_last_hour(kind, now) < policy.per_hour
    }

    /// Records what must not be said twice.
    fn record(&mut self, reminder: &Reminder) {
        match reminder {
            Reminder::Initial => self.begun = true,
            Reminder::Nag { .. } => {
                (self.quiet, self.worked) = (0, false);
                self.changed.clear();
            }
            Reminder::Offer(_) => self.offered = true,
            // The list has been repeated, for whatever reason, so it need not be repeated again.
            Reminder::Boundary => self.owed = false,
            Reminder::AfterChange => {}
        }
    }
}

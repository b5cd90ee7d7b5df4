//! When to remind an agent of its list, and what that cost: a pure policy with a ledger.
//!
//! A reminder costs tokens and turns. So it is given on drift (work went on, the list did not), never
//! right after a write, within a cap per hour, and what came of it is counted. This module decides
//! *that* something is said and what it is about; the words are made elsewhere, and whoever says
//! them reports the bytes back with [`Watch::gave`].

mod ledger;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::id::Number;

pub use ledger::{Ledger, Tally, tokens};

/// What kind of reminder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One line at the start of a conversation that has a todo tool.
    Initial,
    /// The list was left alone while work went on.
    Nag,
    /// The list as it stands, after a change. Part of a dialect, so not under the policy.
    AfterChange,
    /// The session's own open list, put back after its context was lost.
    Boundary,
    /// Open items of sessions that ended, as a count.
    Offer,
}

impl Kind {
    /// All of them.
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

    /// Whether the agent's next model turn shall do what it asks for. What is said where a conversation
    /// begins is for the whole turn that follows, up to the agent's stop.
    fn is_urgent(self) -> bool {
        match self {
            Self::Nag => true,
            Self::Initial | Self::AfterChange | Self::Boundary | Self::Offer => false,
        }
    }

    /// Whether it asks for the list to be written. An offer asks for what others left to be taken over.
    fn is_about_own_list(self) -> bool {
        match self {
            Self::Initial | Self::Nag | Self::AfterChange | Self::Boundary => true,
            Self::Offer => false,
        }
    }

    /// What an agent that reminds itself already says. Its own list after a lost context is not
    /// among that.
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
    /// Most reminders of one kind in an hour.
    pub per_hour: u32,
    /// Model turns without a change before a nag, and between two; 0 means never.
    pub nag_after: u32,
    /// A nag shows the whole list.
    pub whole_list: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self { off: BTreeSet::new(), per_hour: 6, nag_after: 10, whole_list: false }
    }
}

/// What is known of the agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agent {
    /// It has tools for its list.
    pub has_tools: bool,
    /// It nags by itself.
    pub reminds_itself: bool,
    /// Its dialect shows the list after each change.
    pub echoes_changes: bool,
    /// It takes context when it compacts; else that goes with the next prompt.
    pub hears_compaction: bool,
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// The conversation crossed a boundary.
    Boundary {
        /// Which.
        at: Boundary,
        /// How many items of this session's list are open.
        open: u32,
        /// What sessions that ended left open in this project.
        others: Others,
    },
    /// The user said something, and a turn of the agent begins.
    Prompt {
        /// How many items of this session's list are open.
        open: u32,
    },
    /// The agent can be told something in the middle of its turn.
    Listens {
        /// How many items of this session's list are open.
        open: u32,
    },
    /// The agent stopped: its turn is over.
    Stopped,
    /// The agent wrote the list.
    Changed,
    /// A sub-agent wrote the list: that is no drift, but nothing that was said to the agent made it.
    ChangedBySubAgent,
    /// Somebody else changed these items.
    ChangedByOthers(BTreeSet<Number>),
    /// A model turn ended.
    Turn {
        /// It did something beside talking.
        worked: bool,
        /// How many items hold the agent: what waits or is held by others is nothing to nag about.
        open: u32,
    },
}

/// A place where an agent's context begins anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Boundary {
    Start,
    Resume,
    Compaction,
}

/// What sessions that ended left open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Others {
    pub items: u32,
    pub sessions: u32,
}

/// Something to say now, and what about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reminder {
    /// That there is a tool for this.
    Initial,
    /// That the list was left alone.
    Nag {
        /// For how many model turns.
        turns: u32,
        /// What others changed since the agent last wrote.
        changed: BTreeSet<Number>,
        /// Show the whole list.
        whole_list: bool,
    },
    /// The list as it stands.
    AfterChange,
    /// The open list, word for word.
    Boundary,
    /// What others left open.
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

/// What is remembered of one conversation. A store keeps it between two inputs.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Watch {
    /// Model turns since the agent wrote the list.
    turns: u32,
    /// Model turns since that or the last nag.
    quiet: u32,
    /// Whether any of those did something.
    worked: bool,
    /// What others changed since the agent wrote.
    changed: BTreeSet<Number>,
    /// The first line was said.
    begun: bool,
    /// The offer was made.
    offered: bool,
    /// The list is to be put back with the next prompt.
    owed: bool,
    /// What was spent.
    pub ledger: Ledger,
}

impl Watch {
    /// Takes note of what happened, and gives what is to be said now.
    pub fn step(
        &mut self,
        policy: &Policy,
        agent: Agent,
        input: Input,
        now: Timestamp,
    ) -> Vec<Reminder> {
        let mut said = match input {
            Input::Boundary { at, open, others } => self.boundary(agent, at, open, others),
            Input::Prompt { open } => {
                let said = self.pay(open);
                self.ledger.begins(!said.is_empty());
                said
            }
            Input::Listens { open } => self.pay(open),
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
        said.retain(|reminder| self.allows(policy, agent, reminder.kind(), now));
        for reminder in &said {
            self.note(reminder);
        }
        said
    }

    /// The list is to be put back with the next prompt: it became this session's while nobody
    /// could tell the model.
    pub fn owe(&mut self) {
        self.owed = true;
    }

    /// Whether a prompt changes anything here: the list is to be put back with it, or what was said is
    /// held against the turn that it begins.
    pub fn heeds_prompts(&self) -> bool {
        self.owed || self.ledger.awaits()
    }

    /// What others left open was taken over, which is what an offer asks for.
    pub fn took_over(&mut self) {
        self.ledger.acted(|kind| !kind.is_about_own_list());
    }

    /// Records that a reminder was really given, with what it said.
    pub fn gave(&mut self, kind: Kind, text: &str, now: Timestamp) {
        self.ledger.gave(kind, tokens(text), now, kind.is_under_policy());
    }

    /// The list, if it is owed and anything is open on it.
    fn pay(&mut self, open: u32) -> Vec<Reminder> {
        let owed = std::mem::take(&mut self.owed) && open > 0;
        owed.then_some(Reminder::Boundary).into_iter().collect()
    }

    fn was_written(&mut self) {
        (self.turns, self.quiet, self.worked) = (0, 0, false);
        self.changed.clear();
    }

    fn boundary(&mut self, agent: Agent, at: Boundary, open: u32, others: Others) -> Vec<Reminder> {
        let mut wanted = Vec::new();
        // A turn goes on after a compaction; what begins or is resumed has none that does.
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
        // What others left open is for the user to hear of, whatever tools there are.
        let of_use = agent.has_tools || kind == Kind::Offer;
        let said_already = agent.reminds_itself && kind.is_said_by_agents();
        let off = policy.off.contains(&kind);
        of_use && !said_already && !off && self.ledger.in_last_hour(kind, now) < policy.per_hour
    }

    /// What is not said twice.
    fn note(&mut self, reminder: &Reminder) {
        match reminder {
            Reminder::Initial => self.begun = true,
            Reminder::Nag { .. } => {
                (self.quiet, self.worked) = (0, false);
                self.changed.clear();
            }
            Reminder::Offer(_) => self.offered = true,
            // However it came to be put back: it is owed no longer.
            Reminder::Boundary => self.owed = false,
            Reminder::AfterChange => {}
        }
    }
}

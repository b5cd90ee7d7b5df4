//! The governor: decides whether a turn may end. A pure state machine.
//!
//! It has two parts. [`outlook`] reads a plan and says of each unsettled item whether it holds the
//! turn or is excused. [`Turn::step`] knows no plan: it counts refusals and progress against
//! [`Bounds`], so that every turn ends at last, whatever the agent does. It returns a verdict, and
//! the caller carries it out (tells the model, or parks the items). The governor never changes a
//! plan, runs a check or writes a message.

mod outlook;
#[cfg(test)]
mod search;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::command::Op;
use crate::id::Number;

pub use outlook::{Asking, Excuse, Scope, excuses, holding, outlook, owes_evidence};

/// Whether an unsettled item holds the turn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The item holds the turn.
    Holds,
    /// The item is open but does not hold this worker's turn.
    Excused,
}

/// How often the gate may refuse to end a turn, per user prompt.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bounds {
    /// Maximum of consecutive refusals without progress.
    pub without_progress: u32,
    /// Maximum of refusals in all.
    pub in_all: u32,
}

impl Bounds {
    /// For headless sessions.
    pub const FULL: Self = Self { without_progress: 3, in_all: 8 };
    /// For interactive sessions.
    pub const ONCE: Self = Self { without_progress: 1, in_all: 1 };
}

/// The user's setting of the gate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// Never refuses.
    Off,
    /// Refuses once per user prompt.
    Once,
    /// Refuses within [`Bounds::FULL`].
    Full,
}

impl Gate {
    /// All settings.
    pub const ALL: [Self; 3] = [Self::Off, Self::Once, Self::Full];

    /// The default: once in interactive sessions, full in headless ones.
    pub fn default_for(interactive: bool) -> Self {
        if interactive { Self::Once } else { Self::Full }
    }

    /// The limits of this setting; `None` if the gate is off.
    pub fn bounds(self) -> Option<Bounds> {
        match self {
            Self::Off => None,
            Self::Once => Some(Bounds::ONCE),
            Self::Full => Some(Bounds::FULL),
        }
    }

    /// The name in configuration and on screens.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Once => "once",
            Self::Full => "full",
        }
    }
}

/// A text that is no setting of the gate.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown gate setting {0:?}: use off, once or full")]
pub struct UnknownGate(pub String);

impl std::str::FromStr for Gate {
    type Err = UnknownGate;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|gate| gate.as_str() == text)
            .ok_or_else(|| UnknownGate(text.to_owned()))
    }
}

/// An input of the governor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// The user sent a new prompt: counting starts again.
    Prompt,
    /// The user stopped the turn.
    UserStop,
    /// The agent wants to end its turn.
    Stop(Wish),
}

/// An agent's request to end its turn, with everything that the verdict depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wish {
    /// The unsettled items, from [`outlook`].
    pub items: BTreeMap<Number, Standing>,
    /// How often the gate may refuse; `None` if the gate is off.
    pub bounds: Option<Bounds>,
    /// Why the gate lets this stop pass, if it does.
    pub pass: Option<Pass>,
    /// No item is open, the goal is not reached, and the agent has not been told so at this
    /// revision.
    pub aim: bool,
}

/// A reason why a stop is never refused, whatever is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pass {
    /// The agent is in plan mode.
    PlanMode,
    /// The agent's answer ends with a question to the user.
    AsksUser,
    /// Work continues in the background and will wake the agent when it ends.
    Background,
}

/// The governor's state during one user prompt. A store keeps it between two stops.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// No stop was refused yet.
    #[default]
    Fresh,
    /// The gate has refused at least once.
    Refused(Count),
    /// The user stopped the turn: nothing is refused until the next prompt.
    Stopped,
}

/// Counts of refusals and progress.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Count {
    /// The items that were open at the first refusal and have not counted as progress since, with
    /// their standing at that time or when they were parked. Items are only removed, so closing and
    /// adding items in turns cannot count as progress again and again.
    pub first: BTreeMap<Number, Standing>,
    /// Refusals since the last progress.
    pub stalled: u32,
    /// Refusals in all.
    pub refusals: u32,
}

/// The governor's verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The input was no request to stop.
    Noted,
    /// The turn may end.
    End(Ending),
    /// The turn may not end yet: these items hold it or, if there are none, the goal.
    Refuse {
        /// The items that hold the turn.
        open: Vec<Number>,
        /// The number of this refusal within the prompt, from 1.
        refusal: u32,
    },
    /// The turn may end although these items hold it, because refusals have not helped. The caller
    /// parks them.
    LetGo {
        /// The items to park.
        park: Vec<Number>,
    },
}

/// Why a turn may end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Nothing holds it.
    NothingHolds,
    /// The user stopped it.
    UserStopped,
    /// The gate is off.
    GateOff,
    /// The gate lets this stop pass.
    Passed(Pass),
}

impl Verdict {
    /// The operation that carries out the verdict: parking the items of a turn that is let go.
    pub fn op(&self) -> Option<Op> {
        match self {
            Self::LetGo { park } => Some(Op::Park(park.clone())),
            Self::Noted | Self::End(_) | Self::Refuse { .. } => None,
        }
    }

    /// Whether the agent may end its turn now.
    pub fn ends(&self) -> bool {
        match self {
            Self::End(_) | Self::LetGo { .. } => true,
            Self::Noted | Self::Refuse { .. } => false,
        }
    }
}

impl Turn {
    /// Handles one input.
    pub fn step(self, input: Input) -> (Self, Verdict) {
        match (self, input) {
            (Self::Fresh | Self::Refused(_) | Self::Stopped, Input::Prompt) => {
                (Self::Fresh, Verdict::Noted)
            }
            (Self::Fresh | Self::Refused(_) | Self::Stopped, Input::UserStop) => {
                (Self::Stopped, Verdict::End(Ending::UserStopped))
            }
            (Self::Stopped, Input::Stop(_)) => (Self::Stopped, Verdict::End(Ending::UserStopped)),
            (Self::Fresh, Input::Stop(wish)) => wish.judge(Self::Fresh, None),
            (Self::Refused(count), Input::Stop(wish)) => {
                wish.judge(Self::Refused(count.clone()), Some(count))
            }
        }
    }
}

impl Wish {
    /// `turn` is the previous state. It is returned unchanged unless something is counted.
    fn judge(self, turn: Turn, count: Option<Count>) -> (Turn, Verdict) {
        let held = self.items.iter().filter(|(_, standing)| **standing == Standing::Holds);
        let open: Vec<Number> = held.map(|(number, _)| *number).collect();
        if open.is_empty() && !self.aim {
            return (turn, Verdict::End(Ending::NothingHolds));
        }
        if let Some(pass) = self.pass {
            return (turn, Verdict::End(Ending::Passed(pass)));
        }
        let Some(bounds) = self.bounds else {
            return (turn, Verdict::End(Ending::GateOff));
        };
        let mut count =
            count.unwrap_or_else(|| Count { first: self.items.clone(), ..Count::default() });
        count.credit(&self.items);
        if count.stalled >= bounds.without_progress || count.refusals >= bounds.in_all {
            // Only items can be parked, not the goal.
            let verdict = if open.is_empty() {
                Verdict::End(Ending::NothingHolds)
            } else {
                count.excuse(&open);
                Verdict::LetGo { park: open }
            };
            return (Turn::Refused(count), verdict);
        }
        count.stalled += 1;
        count.refusals += 1;
        let refusal = count.refusals;
        (Turn::Refused(count), Verdict::Refuse { open, refusal })
    }
}

impl Count {
    /// Counts progress: an item from the first refusal stands better than it did then. The item is
    /// removed, so that it counts only once, whatever happens to it later.
    fn credit(&mut self, now: &BTreeMap<Number, Standing>) {
        let before = self.first.len();
        self.first.retain(|number, then| now.get(number).is_some_and(|now| now <= then));
        if self.first.len() < before {
            self.stalled = 0;
        }
    }

    /// Records that items were parked and so are excused from now on. The governor did that, so it
    /// is no progress of the agent; closing such an item later still is.
    fn excuse(&mut self, parked: &[Number]) {
        for number in parked {
            if let Some(then) = self.first.get_mut(number) {
                *then = Standing::Excused;
            }
        }
    }
}

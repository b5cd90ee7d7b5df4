//! May this turn end? The governor, as a pure machine.
//!
//! Two questions, kept apart. [`outlook`] looks at a plan and says of each item that is not settled
//! whether it holds the turn or is excused. [`Turn::step`] knows nothing of plans: it counts refusals
//! and progress against [`Bounds`], so that it ends for every behaviour of the agent. Its answer is
//! data; who asked performs it (tells the model, or parks the items). It must never change a plan,
//! run a check or word a message.

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

/// How an item that is not settled stands towards the end of the turn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It holds the turn.
    Holds,
    /// It is open, but not held against this worker.
    Excused,
}

/// How often the gate may refuse per user prompt.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bounds {
    /// Most refusals in a row without progress.
    pub without_progress: u32,
    /// Most refusals in all.
    pub in_all: u32,
}

impl Bounds {
    /// For sessions that nobody sits in front of.
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
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Off, Self::Once, Self::Full];

    /// What holds where the user has not said: once in interactive sessions, full in headless ones.
    pub fn default_for(interactive: bool) -> Self {
        if interactive { Self::Once } else { Self::Full }
    }

    /// How often it may refuse; `None` if never.
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

/// A word that is no setting of the gate.
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

/// What the governor is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// The user said something new: a fresh count.
    Prompt,
    /// The user stopped the turn.
    UserStop,
    /// The agent wants to end its turn.
    Stop(Wish),
}

/// An agent's wish to end its turn, with all that the answer depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wish {
    /// The items that are not settled, as [`outlook`] gives them.
    pub items: BTreeMap<Number, Standing>,
    /// How often the gate may refuse; `None` if it is off.
    pub bounds: Option<Bounds>,
    /// Why this stop is none that the gate looks at.
    pub pass: Option<Pass>,
    /// Nothing is open, the goal above the list is not reached, and this has not been said yet of the
    /// list as it stands.
    pub aim: bool,
}

/// A stop that is never refused, whatever is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pass {
    /// The agent only plans.
    PlanMode,
    /// Its answer ends by asking the user.
    AsksUser,
    /// Work goes on in the background, and its end will wake the agent.
    Background,
}

/// What the governor knows of one user prompt. A store keeps it between two stops.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// Nothing was refused yet.
    #[default]
    Fresh,
    /// The gate has refused at least once.
    Refused(Count),
    /// The user stopped it: nothing is refused until the next prompt.
    Stopped,
}

/// The count of refusals and progress.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Count {
    /// What was open when the gate first refused and has not been credited as progress since, with
    /// its standing at that time, or since it was let go. It only ever shrinks: that is why churn
    /// cannot count.
    pub first: BTreeMap<Number, Standing>,
    /// Refusals since the last progress.
    pub stalled: u32,
    /// Refusals in all.
    pub refusals: u32,
}

/// What becomes of the wish to stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// There was no such wish.
    Noted,
    /// The turn may end, and nothing else follows.
    End(Ending),
    /// Not yet: these items hold it, or, if there are none, the goal.
    Refuse {
        /// What holds it.
        open: Vec<Number>,
        /// Which refusal of this prompt it is, from 1.
        refusal: u32,
    },
    /// The turn may end although these items hold it, because refusing has not helped. They are to
    /// be parked.
    LetGo {
        /// What to park.
        park: Vec<Number>,
    },
}

/// Why a turn may end without more ado.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Nothing holds it.
    NothingHolds,
    /// The user stopped it.
    UserStopped,
    /// The gate is off.
    GateOff,
    /// The stop is none that the gate looks at.
    Passed(Pass),
}

impl Verdict {
    /// What this does to the plan: the items of a turn that was let go are parked.
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
    /// The only way a turn moves.
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
    /// `turn` is the state as it was; it stays so unless something is counted.
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
            // A goal is nothing that could be parked.
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
    /// Progress: an item that was open at the first refusal stands better than it did then. It is
    /// struck out, so it counts once, whatever becomes of it afterwards.
    fn credit(&mut self, now: &BTreeMap<Number, Standing>) {
        let before = self.first.len();
        self.first.retain(|number, then| now.get(number).is_some_and(|now| now <= then));
        if self.first.len() < before {
            self.stalled = 0;
        }
    }

    /// What is let go is parked, and so excused from now on. That is our doing, and no progress of the
    /// agent's: only what it settles of that still counts.
    fn excuse(&mut self, parked: &[Number]) {
        for number in parked {
            if let Some(then) = self.first.get_mut(number) {
                *then = Standing::Excused;
            }
        }
    }
}

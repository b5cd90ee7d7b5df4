//! Turns of sources that say when one begins, and hardly ever when it is over.
//!
//! A turn is over when something failed or was cancelled, when the next one begins, or when the source ends
//! after an answer. It knows no agent.

use super::emit::Emit;
use crate::event::{Kind, Outcome, Text};

/// Where a turn stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Turn {
    /// Nothing was told of one yet: the source may be read from its middle on.
    #[default]
    Unknown,
    /// None runs.
    Over,
    /// It runs.
    Runs,
    /// It runs, and the last that came was an answer.
    Answered,
}

impl Turn {
    /// The user said something: the turn before is over, however it stands.
    pub(crate) fn starts(&mut self, prompt: Option<Text<'_>>, emit: &mut Emit<'_>) {
        match self {
            Self::Unknown | Self::Over => {}
            Self::Runs => self.ends(Outcome::Cancelled, None, emit),
            Self::Answered => self.ends(Outcome::Success, None, emit),
        }
        *self = Self::Runs;
        emit.event(Kind::TurnStarted { prompt });
    }

    /// The agent did something; `answered` says that it was to speak, and that nothing else followed.
    pub(crate) fn goes_on(&mut self, answered: bool, emit: &mut Emit<'_>) {
        match self {
            Self::Unknown => return,
            Self::Over => emit.event(Kind::TurnStarted { prompt: None }),
            Self::Runs | Self::Answered => {}
        }
        *self = if answered { Self::Answered } else { Self::Runs };
    }

    /// It is over.
    pub(crate) fn ends(&mut self, status: Outcome, reason: Option<Text<'_>>, emit: &mut Emit<'_>) {
        if matches!(self, Self::Runs | Self::Answered) {
            *self = Self::Over;
            emit.event(Kind::TurnCompleted { status, reason });
        }
    }

    /// The source is over. A turn without an answer may go on elsewhere, or nobody knows how it ended.
    pub(crate) fn source_ends(&mut self, emit: &mut Emit<'_>) {
        if *self == Self::Answered {
            self.ends(Outcome::Success, None, emit);
        }
    }
}

//! Turns of sources that say when a turn starts, but hardly ever when it ends.
//!
//! A turn ends when something fails or is cancelled, when the next one starts, or when the source
//! ends after an answer. This file knows no agent.

use super::emit::Emit;
use crate::event::{Kind, Outcome, Text};

/// The state of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Turn {
    /// Unknown: the source may be read from its middle.
    #[default]
    Unknown,
    /// No turn runs.
    Over,
    /// A turn runs.
    Runs,
    /// A turn runs, and the last event was an answer.
    Answered,
}

impl Turn {
    /// Handles a prompt: ends the previous turn and starts a new one.
    pub(crate) fn starts(&mut self, prompt: Option<Text<'_>>, emit: &mut Emit<'_>) {
        match self {
            Self::Unknown | Self::Over => {}
            Self::Runs => self.ends(Outcome::Cancelled, None, emit),
            Self::Answered => self.ends(Outcome::Success, None, emit),
        }
        *self = Self::Runs;
        emit.event(Kind::TurnStarted { prompt, turn_id: None });
    }

    /// Handles an action of the agent; `answered` says that it was a text without a tool call.
    pub(crate) fn goes_on(&mut self, answered: bool, emit: &mut Emit<'_>) {
        match self {
            Self::Unknown => return,
            Self::Over => emit.event(Kind::TurnStarted { prompt: None, turn_id: None }),
            Self::Runs | Self::Answered => {}
        }
        *self = if answered { Self::Answered } else { Self::Runs };
    }

    /// Ends the turn.
    pub(crate) fn ends(&mut self, status: Outcome, reason: Option<Text<'_>>, emit: &mut Emit<'_>) {
        if matches!(self, Self::Runs | Self::Answered) {
            *self = Self::Over;
            emit.event(Kind::TurnCompleted { status, reason });
        }
    }

    /// Handles the end of the source. A turn without an answer may continue elsewhere, or its end
    /// is unknown.
    pub(crate) fn source_ends(&mut self, emit: &mut Emit<'_>) {
        if *self == Self::Answered {
            self.ends(Outcome::Success, None, emit);
        }
    }
}

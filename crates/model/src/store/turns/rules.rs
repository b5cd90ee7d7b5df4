//! What every store does the same way with conversations: who may record, what a filter matches, and
//! how precisely times are kept.

use jiff::Timestamp;
use serde_json::Value;

use super::{Conversation, ConversationFilter, ConversationState, Runner, Turn, Used};
use crate::id::ConversationId;
use crate::store::{Error, kept};

impl Conversation {
    /// The conversation as a store creates it: without turns.
    #[must_use]
    pub fn created(self) -> Self {
        Self {
            runner: self.runner.map(Runner::kept),
            state: self.state.kept(),
            stop_asked_at: self.stop_asked_at.map(kept),
            turns: 0,
            used: Used::default(),
            created_at: kept(self.created_at),
            changed_at: kept(self.changed_at),
            ..self
        }
    }

    /// Checks that this runner may hold the conversation: that nobody else's lease lasts at `now`,
    /// except the leases of runners in `gone`.
    pub fn check_may_hold(
        &self,
        runner: &str,
        now: Timestamp,
        gone: &[String],
    ) -> Result<(), Error> {
        match &self.runner {
            Some(it) if it.name != runner && it.until > now && !gone.contains(&it.name) => {
                Err(self.held())
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Checks that nobody's lease lasts at `now`.
    pub fn check_not_held(&self, now: Timestamp) -> Result<(), Error> {
        match &self.runner {
            Some(it) if it.until > now => Err(self.held()),
            Some(_) | None => Ok(()),
        }
    }

    /// Checks that this runner holds the conversation. Its lease may have ended if nobody else took it.
    pub fn check_held_by(&self, runner: &str) -> Result<(), Error> {
        match &self.runner {
            Some(it) if it.name == runner => Ok(()),
            Some(_) | None => Err(self.held()),
        }
    }

    fn held(&self) -> Error {
        let runner = self.runner.as_ref().map(|it| it.name.clone()).unwrap_or_default();
        Error::Held { id: self.id, runner }
    }
}

impl Runner {
    /// The runner as a store keeps it: its time to the millisecond.
    #[must_use]
    pub fn kept(self) -> Self {
        Self { until: kept(self.until), ..self }
    }
}

impl ConversationState {
    /// The state as a store keeps it: its time to the millisecond.
    #[must_use]
    pub fn kept(self) -> Self {
        match self {
            Self::Waiting { until, on } => Self::Waiting { until: until.map(kept), on },
            Self::Idle | Self::Working | Self::Asked => self,
        }
    }
}

impl Turn {
    /// The turn as a store keeps it: its times to the millisecond, with what its entries have used.
    #[must_use]
    pub fn kept(self, used: Used) -> Self {
        Self { began_at: kept(self.began_at), ended_at: self.ended_at.map(kept), used, ..self }
    }
}

impl ConversationFilter {
    /// Whether project, id and place of a conversation match. [`TextSearch`] matches the text.
    pub fn fits(&self, conversation: &Conversation) -> bool {
        let id = conversation.id;
        let (simple, hyphened) = (id.0.simple().to_string(), id.to_string());
        // The one that changed last comes first.
        let is_after = |(at, after): (Timestamp, ConversationId)| {
            (std::cmp::Reverse(conversation.changed_at), id) > (std::cmp::Reverse(at), after)
        };
        self.project.as_deref().is_none_or(|wanted| wanted == conversation.project)
            && self.after.is_none_or(is_after)
            && self.id.as_deref().is_none_or(|part| {
                simple.starts_with(part) || simple.ends_with(part) || hyphened.starts_with(part)
            })
    }

    /// How many conversations to return at most.
    pub fn limit(&self) -> usize {
        match self.most {
            0 => usize::MAX,
            most => usize::try_from(most).unwrap_or(usize::MAX),
        }
    }
}

/// A text to find, whatever its case.
pub struct TextSearch {
    lower_case: String,
}

impl TextSearch {
    /// Searches for this text. No character has a special meaning.
    pub fn new(text: &str) -> Self {
        Self { lower_case: text.to_lowercase() }
    }

    /// Whether the title contains the text.
    pub fn is_in_title(&self, title: &str) -> bool {
        title.to_lowercase().contains(&self.lower_case)
    }

    /// Whether one of an item's texts contains the text.
    pub fn is_in_item(&self, item: &crate::item::Item) -> bool {
        let texts = [&item.title, &item.context, &item.completion_criteria];
        texts.into_iter().chain(&item.outcome).any(|it| self.is_in_title(it))
    }

    /// Whether a string in the body of an entry contains the text. Names of JSON fields do not count.
    pub fn is_in_body(&self, body: &str) -> bool {
        match serde_json::from_str(body) {
            Ok(value) => self.is_in_json(&value),
            Err(_) => self.is_in_title(body),
        }
    }

    fn is_in_json(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.is_in_title(text),
            Value::Array(values) => values.iter().any(|it| self.is_in_json(it)),
            Value::Object(fields) => fields.values().any(|it| self.is_in_json(it)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}

//! What the lists of a stream are called, where their source has no name for them, and the telling of
//! them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::emit::Emit;
use super::todo::ListName;
use crate::event::{Item, Kind};
use crate::json::Str;

/// The most agents whose lists are kept apart.
pub(crate) const MOST_AGENTS: usize = 1_024;

/// The longest name of a session, thread or sub-agent.
pub(crate) const LONGEST_NAME: usize = 256;

/// A name, if it is short enough to be one.
pub(crate) fn name(literal: Str<'_>) -> Option<Cow<'_, str>> {
    (literal.literal().len() <= LONGEST_NAME).then(|| literal.cow())
}

/// A number for a text, to know it again without keeping it.
pub(crate) fn digest(texts: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
    hasher.finish()
}

/// The names of every agent's lists.
#[derive(Default, Debug)]
pub(crate) struct Names(BTreeMap<String, ListName>);

impl Names {
    /// Tells the list of whoever speaks.
    pub(crate) fn tell(&mut self, items: &mut [Item<'_>], unconfirmed: bool, emit: &mut Emit<'_>) {
        let agent_id = emit.agent_id().to_owned();
        if !self.0.contains_key(&agent_id) && self.0.len() >= MOST_AGENTS {
            self.0.pop_first();
        }
        let name = self.0.entry(agent_id.clone()).or_default();
        let todo_id = name.next(&agent_id, items.is_empty());
        tell(todo_id, items, unconfirmed, emit);
    }
}

/// Tells a list that has a name.
pub(crate) fn tell(
    todo_id: String,
    items: &mut [Item<'_>],
    unconfirmed: bool,
    emit: &mut Emit<'_>,
) {
    items.iter_mut().for_each(|it| it.unconfirmed = unconfirmed);
    emit.event(Kind::TodoList { todo_id: Cow::Owned(todo_id), items, unconfirmed });
}

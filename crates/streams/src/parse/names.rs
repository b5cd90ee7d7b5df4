//! Names the lists of a stream whose source has no names for them, and reports them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::emit::Emit;
use super::todo::ListName;
use crate::event::{Item, Kind};
use crate::json::Str;

/// Maximum of agents whose lists are kept apart.
pub(crate) const MOST_AGENTS: usize = 1_024;

/// Maximum length of the name of a session, thread or sub-agent.
pub(crate) const LONGEST_NAME: usize = 256;

/// A name, if it is not too long.
pub(crate) fn name(literal: Str<'_>) -> Option<Cow<'_, str>> {
    (literal.literal().len() <= LONGEST_NAME).then(|| literal.cow())
}

/// A digest of texts, to recognise them without storing them.
pub(crate) fn digest(texts: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
    hasher.finish()
}

/// The names of every agent's lists.
#[derive(Default, Debug)]
pub(crate) struct Names(BTreeMap<String, ListName>);

impl Names {
    /// Reports a list of the present agent.
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

/// Reports a list that has a name.
pub(crate) fn tell(
    todo_id: String,
    items: &mut [Item<'_>],
    unconfirmed: bool,
    emit: &mut Emit<'_>,
) {
    items.iter_mut().for_each(|it| it.unconfirmed = unconfirmed);
    emit.event(Kind::TodoList { todo_id: Cow::Owned(todo_id), items, unconfirmed });
}

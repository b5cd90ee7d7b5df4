//! What others changed since the caller was last shown the plan, item by item.
//!
//! A caller writes a whole list from memory. Where the list differs from what the caller was shown,
//! the caller made a change; where the plan differs from it, somebody else did. This file finds the
//! second kind.

use std::collections::BTreeMap;

use crate::event::{Delta, Event};
use crate::id::{Number, Revision};
use crate::item::{Item, Status};
use crate::store::Entry;

/// The changes since a revision, by item.
#[derive(Default)]
pub(super) struct History {
    items: BTreeMap<Number, Since>,
}

/// The changes to one item. The fields have the values that the caller was shown.
#[derive(Clone, Default)]
pub(super) struct Since {
    pub(super) added: bool,
    pub(super) removed: bool,
    pub(super) title: Option<String>,
    pub(super) active_form: Option<Option<String>>,
    pub(super) status: Option<Status>,
    pub(super) waiting_on: Option<Option<String>>,
    /// Who changed the item last.
    pub(super) by: String,
    pub(super) revision: Revision,
}

impl History {
    /// Reads journal entries, oldest first.
    pub(super) fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut history = Self::default();
        for entry in entries {
            for event in &entry.events {
                history.record(entry, event);
            }
        }
        history
    }

    pub(super) fn get(&self, number: Number) -> Option<&Since> {
        self.items.get(&number)
    }

    /// The items that have left the list.
    pub(super) fn removed(&self) -> impl Iterator<Item = (Number, &Since)> {
        self.items.iter().filter(|(_, it)| it.removed && !it.added).map(|(n, it)| (*n, it))
    }

    fn record(&mut self, entry: &Entry, event: &Event) {
        let Some(number) = event.number() else { return };
        let mut since = self.items.get(&number).cloned().unwrap_or_default();
        let matters = match event {
            Event::Added { .. } => {
                since.added = true;
                true
            }
            Event::Superseded { .. } => {
                since.removed = true;
                true
            }
            Event::Restored { .. } => {
                since.added |= !since.removed;
                since.removed = false;
                true
            }
            Event::Changed { deltas, .. } => {
                // `count` visits every delta; `any` would stop at the first match.
                deltas.iter().filter(|delta| since.record(delta)).count() > 0
            }
            Event::Moved { .. } | Event::PlanChanged { .. } | Event::Forgotten { .. } => false,
        };
        if matters {
            since.by.clone_from(&entry.actor.name);
            since.revision = entry.revision;
            self.items.insert(number, since);
        }
    }
}

impl Since {
    /// Keeps the oldest value of a field that whole lists contain. Returns whether it is such a
    /// field.
    fn record(&mut self, delta: &Delta) -> bool {
        match delta {
            Delta::Title { before, .. } => {
                self.title.get_or_insert_with(|| before.clone());
            }
            Delta::ActiveForm { before, .. } => {
                self.active_form.get_or_insert_with(|| before.clone());
            }
            Delta::Status { before, .. } => {
                self.status.get_or_insert(*before);
            }
            Delta::WaitingOn { before, .. } => {
                self.waiting_on.get_or_insert_with(|| before.clone());
            }
            Delta::Context { .. }
            | Delta::CompletionCriteria { .. }
            | Delta::AgentType { .. }
            | Delta::Owner { .. }
            | Delta::Priority { .. }
            | Delta::Outcome { .. }
            | Delta::DependsOn { .. }
            | Delta::Parent { .. }
            | Delta::Check { .. }
            | Delta::Run { .. }
            | Delta::Approve { .. }
            | Delta::Retry { .. }
            | Delta::Timeout { .. }
            | Delta::Evidence { .. }
            | Delta::Claim { .. }
            | Delta::Attempt { .. }
            | Delta::Marks { .. }
            | Delta::Metadata { .. }
            | Delta::StartedAt { .. }
            | Delta::CompletedAt { .. } => return false,
        }
        true
    }

    /// The title that the caller was shown.
    pub(super) fn shown_title<'a>(&'a self, item: &'a Item) -> &'a str {
        self.title.as_deref().unwrap_or(&item.title)
    }

    /// The status that the caller was shown.
    pub(super) fn shown_status(&self, item: &Item) -> Status {
        self.status.unwrap_or(item.status)
    }

    /// Whether the item now differs from what the caller was shown.
    pub(super) fn differs(&self, item: &Item) -> bool {
        self.title.as_ref().is_some_and(|it| *it != item.title)
            || self.status.is_some_and(|it| it != item.status)
            || self.active_form.as_ref().is_some_and(|it| *it != item.active_form)
            || self.waiting_on.as_ref().is_some_and(|it| *it != item.waiting_on)
    }
}

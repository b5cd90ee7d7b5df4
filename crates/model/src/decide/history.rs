//! What others did since a caller was last shown the plan, item by item.
//!
//! A whole list is written from memory. What it says differently from what its writer was shown is
//! the writer's change; what the plan has differently is somebody else's. This is the second half.

use std::collections::BTreeMap;

use crate::event::{Delta, Event};
use crate::id::{Number, Revision};
use crate::item::{Item, Status};
use crate::store::Entry;

/// Changes since a revision, by item.
#[derive(Default)]
pub(super) struct History {
    items: BTreeMap<Number, Since>,
}

/// What became of one item since. Values are those that the caller was shown.
#[derive(Clone, Default)]
pub(super) struct Since {
    pub(super) added: bool,
    pub(super) removed: bool,
    pub(super) title: Option<String>,
    pub(super) active_form: Option<Option<String>>,
    pub(super) status: Option<Status>,
    pub(super) waiting_on: Option<Option<String>>,
    /// Who changed it last, and when.
    pub(super) by: String,
    pub(super) revision: Revision,
}

impl History {
    /// Reads journal entries, oldest first.
    pub(super) fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut history = Self::default();
        for entry in entries {
            for event in &entry.events {
                history.note(entry, event);
            }
        }
        history
    }

    pub(super) fn get(&self, number: Number) -> Option<&Since> {
        self.items.get(&number)
    }

    /// The items that left the list since.
    pub(super) fn removed(&self) -> impl Iterator<Item = (Number, &Since)> {
        self.items.iter().filter(|(_, it)| it.removed && !it.added).map(|(n, it)| (*n, it))
    }

    fn note(&mut self, entry: &Entry, event: &Event) {
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
                // Every one is noted, whatever the ones before it were.
                deltas.iter().filter(|delta| since.note(delta)).count() > 0
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
    /// Keeps the first value of a field that a whole list can speak of.
    fn note(&mut self, delta: &Delta) -> bool {
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

    /// Whether somebody else left it other than the caller was shown it.
    pub(super) fn differs(&self, item: &Item) -> bool {
        self.title.as_ref().is_some_and(|it| *it != item.title)
            || self.status.is_some_and(|it| it != item.status)
            || self.active_form.as_ref().is_some_and(|it| *it != item.active_form)
            || self.waiting_on.as_ref().is_some_and(|it| *it != item.waiting_on)
    }
}

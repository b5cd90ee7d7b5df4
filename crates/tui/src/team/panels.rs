//! The lists of a team's members: when each is shown, dimmed and cleared. Pure.
//!
//! A new list replaces the member's list. A turn that ends well keeps it; items that were not reported as
//! done are assumed to be. The member's next turn dims it until a new list comes, or the turn ends without
//! one. An empty list, a cancelled turn, an error and the end of the conversation clear it. When members
//! begin, the lists of members that do not work are cleared: there is one panel when they take turns, and
//! one for each that works when they work side by side.

use std::collections::{BTreeMap, BTreeSet};

use punchlist_formats::view::team::Entry;
use punchlist_model::Status;
use punchlist_streams::event::owned;

/// How deep items are indented at most.
const DEEPEST: usize = 8;

/// The lists that are shown, in the order of the members.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Panels {
    panels: BTreeMap<usize, Panel>,
    /// The members that work.
    running: BTreeSet<usize>,
}

/// One member's list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Panel {
    items: Vec<PanelItem>,
    /// Whether the list is from the turn before.
    pub is_dim: bool,
    /// Whether its turn ended well.
    is_finished: bool,
}

/// One item of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
struct PanelItem {
    text: String,
    status: Status,
    depth: usize,
    is_assumed: bool,
}

impl Panels {
    /// These members begin a turn, all with one message.
    pub fn begin(&mut self, members: &[usize]) {
        self.running.extend(members);
        self.panels.retain(|member, _| self.running.contains(member));
        for member in members {
            if let Some(panel) = self.panels.get_mut(member) {
                panel.is_dim = true;
            }
        }
    }

    /// A member has a new list.
    pub fn list(&mut self, member: usize, items: &[owned::Item]) {
        if items.is_empty() {
            self.panels.remove(&member);
            return;
        }
        let items = items.iter().map(|it| item(it, items)).collect();
        self.panels.insert(member, Panel { items, is_dim: false, is_finished: false });
    }

    /// A member's turn has ended.
    pub fn end(&mut self, member: usize, is_well: bool) {
        self.running.remove(&member);
        if !is_well {
            self.panels.remove(&member);
        } else if let Some(panel) = self.panels.get_mut(&member) {
            (panel.is_dim, panel.is_finished) = (false, true);
        }
    }

    /// The conversation has ended.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The list of a member.
    pub fn get(&self, member: usize) -> Option<&Panel> {
        self.panels.get(&member)
    }

    /// The lists, with the numbers of their members.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Panel)> {
        self.panels.iter().map(|(member, panel)| (*member, panel))
    }

    /// Whether no list is shown.
    pub fn is_empty(&self) -> bool {
        self.panels.is_empty()
    }
}

impl Panel {
    /// The items as they are shown.
    pub fn entries(&self) -> Vec<Entry<'_>> {
        let entry = |it: &'_ PanelItem| (it.status, it.is_assumed || self.is_finished, it.depth);
        self.items
            .iter()
            .map(|it| {
                let (status, assumed, depth) = entry(it);
                Entry { text: &it.text, status, assumed, depth }
            })
            .collect()
    }
}

fn item(item: &owned::Item, all: &[owned::Item]) -> PanelItem {
    let status = match item.status {
        owned::Status::Pending => Status::Pending,
        owned::Status::InProgress => Status::InProgress,
        owned::Status::Completed => Status::Completed,
        owned::Status::Cancelled => Status::Cancelled,
    };
    let mut depth = 0;
    let mut parent = item.parent.as_deref();
    while let Some(id) = parent.filter(|_| depth < DEEPEST) {
        let Some(found) = all.iter().find(|it| it.id.as_deref() == Some(id)) else { break };
        depth += 1;
        parent = found.parent.as_deref();
    }
    PanelItem { text: item.text.clone(), status, depth, is_assumed: item.assumed }
}

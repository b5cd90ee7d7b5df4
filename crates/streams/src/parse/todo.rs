//! What the lists of all agents have in common: parsing items and naming lists.
//!
//! This file has no rules about plans: a list that an agent's program accepted is shown as it is.
//! Only entries that cannot be shown at all are left out, with a warning.

use super::emit::Emit;
use crate::event::{Item, Status, Text};
use crate::json::{Object, Str, Value};

/// Maximum of items of a list, far above any known program.
pub(crate) const MOST_ITEMS: usize = 10_000;

/// Maximum length of a quoted word in a warning.
const LONGEST_WORD: usize = 60;

/// The field names of an entry, and the meaning of its statuses.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// The field with the text.
    pub(crate) text: &'static str,
    /// The field with the status.
    pub(crate) status: &'static str,
    /// The field with the active form, if there is one.
    pub(crate) active_form: Option<&'static str>,
    /// The meaning of a status.
    pub(crate) read: fn(&str) -> Option<Meaning>,
}

/// The meaning of a source's status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
    /// One of our statuses.
    Is(Status),
    /// The item is blocked.
    Blocked,
    /// The item is not on the list any more.
    Gone,
}

/// The statuses that all sources share.
pub(crate) fn common(status: &str) -> Option<Meaning> {
    match status {
        "pending" => Some(Meaning::Is(Status::Pending)),
        "in_progress" => Some(Meaning::Is(Status::InProgress)),
        "completed" => Some(Meaning::Is(Status::Completed)),
        "cancelled" => Some(Meaning::Is(Status::Cancelled)),
        _ => None,
    }
}

/// Parses a whole list, with warnings about entries that cannot be shown.
pub(crate) fn whole<'a>(list: Value<'a>, shape: Shape, emit: &mut Emit<'_>) -> Vec<Item<'a>> {
    each(list, emit, |number, entry, emit| item(number, entry, shape, emit))
}

/// Parses a whole list. Each entry, numbered from 1, becomes an item, or none with a warning.
pub(crate) fn each<'a>(
    list: Value<'a>,
    emit: &mut Emit<'_>,
    read: impl Fn(usize, Value<'a>, &mut Emit<'_>) -> Option<Item<'a>>,
) -> Vec<Item<'a>> {
    let mut items = Vec::new();
    for (at, entry) in list.items().into_iter().enumerate() {
        if at >= MOST_ITEMS {
            emit.warn(format!("only the first {MOST_ITEMS} items of the list are read"));
            break;
        }
        items.extend(read(at + 1, entry, emit));
    }
    items
}

/// The text of an entry; `None` with a warning.
pub(crate) fn text<'a>(
    number: usize,
    literal: Option<Str<'a>>,
    emit: &mut Emit<'_>,
) -> Option<Text<'a>> {
    let text = literal.map(Text::raw).filter(|it| !it.is_blank());
    if text.is_none() {
        emit.warn(format!("item {number} has no text; it is left out"));
    }
    text
}

/// Parses one entry; `None` with a warning.
fn item<'a>(
    number: usize,
    entry: Value<'a>,
    shape: Shape,
    emit: &mut Emit<'_>,
) -> Option<Item<'a>> {
    let (mut text, mut status, mut active_form) = (None, None, None);
    for (key, value) in entry.object().iter().flat_map(Object::fields) {
        if key == shape.text {
            text = value.str();
        } else if key == shape.status {
            status = value.str();
        } else if shape.active_form == Some(key) {
            active_form = value.str();
        }
    }
    let text = self::text(number, text, emit)?;
    let Some(status) = status else {
        emit.warn(format!("item {number} has no status; it is left out"));
        return None;
    };
    let mut item = match (shape.read)(&status.cow()) {
        Some(Meaning::Is(status)) => Item::new(text, status),
        Some(Meaning::Blocked) => Item { blocked: true, ..Item::new(text, Status::Pending) },
        Some(Meaning::Gone) => return None,
        None => {
            emit.warn(format!(
                "item {number} has the unknown status {}; it is left out",
                word(status)
            ));
            return None;
        }
    };
    item.active_form = active_form.map(Text::raw).filter(|it| !it.is_blank());
    Some(item)
}

/// A word of the source, quoted and shortened.
pub(crate) fn word(literal: Str<'_>) -> String {
    let text = literal.cow();
    let short: String = text.chars().take(LONGEST_WORD).collect();
    if short.len() < text.len() { format!("{short:?}…") } else { format!("{short:?}") }
}

/// The names of one agent's lists, if the source has none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ListName {
    number: u64,
    is_open: bool,
}

impl ListName {
    /// The name of the list that is reported now: the agent and a running number, which increases
    /// after a list was cleared.
    pub(crate) fn next(&mut self, agent_id: &str, is_cleared: bool) -> String {
        if !self.is_open {
            self.number += 1;
        }
        self.is_open = !is_cleared;
        format!("{agent_id}#{}", self.number)
    }

    /// The next list gets another name.
    pub(crate) fn close(&mut self) {
        self.is_open = false;
    }
}

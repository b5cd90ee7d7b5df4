//! What the lists of all agents have in common: what makes an item, and what a list is called.
//!
//! It contains no rule about plans: what an agent's program took is shown as it is, and only what could
//! not be shown at all is left out, with a warning.

use super::emit::Emit;
use crate::event::{Item, Status, Text};
use crate::json::{Object, Str, Value};

/// The most items of one list. No program that we know comes near.
pub(crate) const MOST_ITEMS: usize = 10_000;

/// How much of a foreign word is repeated in a warning.
const LONGEST_WORD: usize = 60;

/// Which of an entry's fields is which, and what its statuses mean.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// The field with the text.
    pub(crate) text: &'static str,
    /// The field with the status.
    pub(crate) status: &'static str,
    /// The field with the active form, if there is one.
    pub(crate) active_form: Option<&'static str>,
    /// What the statuses mean.
    pub(crate) read: fn(&str) -> Option<Meaning>,
}

/// What a source's status means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
    /// One of ours.
    Is(Status),
    /// It cannot be worked on now.
    Blocked,
    /// It is not on the list any more.
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

/// The items of a whole list, and warnings about those that cannot be shown.
pub(crate) fn whole<'a>(list: Value<'a>, shape: Shape, emit: &mut Emit<'_>) -> Vec<Item<'a>> {
    each(list, emit, |number, entry, emit| item(number, entry, shape, emit))
}

/// The items of a whole list. Each entry, counted from 1, is read into one, or into none with a warning.
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

/// The text of an entry, or a warning.
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

/// One entry of a list as an item, or a warning.
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

/// A foreign word, quoted and cut.
pub(crate) fn word(literal: Str<'_>) -> String {
    let text = literal.cow();
    let short: String = text.chars().take(LONGEST_WORD).collect();
    if short.len() < text.len() { format!("{short:?}…") } else { format!("{short:?}") }
}

/// What the lists of one agent are called, where the source has no name for them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ListName {
    number: u64,
    is_open: bool,
}

impl ListName {
    /// The name for what is told now: the agent and a running number, which goes up after a list was
    /// cleared.
    pub(crate) fn next(&mut self, agent_id: &str, is_cleared: bool) -> String {
        if !self.is_open {
            self.number += 1;
        }
        self.is_open = !is_cleared;
        format!("{agent_id}#{}", self.number)
    }

    /// What is told next is another list.
    pub(crate) fn close(&mut self) {
        self.is_open = false;
    }
}

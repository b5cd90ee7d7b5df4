//! The plan as each of Codex's three forms writes it.

use super::super::emit::Emit;
use super::super::event::{Item, Status, Text};
use super::super::json::Value;
use super::super::todo::{self, MOST_ITEMS, Meaning, Shape};

/// As the model gives it to `update_plan`.
pub(super) const ARGUMENTS: Shape =
    Shape { text: "step", status: "status", active_form: None, read: todo::common };

/// As the app server tells it.
pub(super) const NOTIFIED: Shape =
    Shape { text: "step", status: "status", active_form: None, read: notified };

fn notified(status: &str) -> Option<Meaning> {
    match status {
        "inProgress" => Some(Meaning::Is(Status::InProgress)),
        other => todo::common(other),
    }
}

/// As `exec --json` prints it: what is in progress is lost.
pub(super) fn printed<'a>(list: Value<'a>, emit: &mut Emit<'_>) -> Vec<Item<'a>> {
    let mut items = Vec::new();
    for (at, entry) in list.items().enumerate() {
        let number = at + 1;
        if at >= MOST_ITEMS {
            emit.warn(format!("only the first {MOST_ITEMS} items of the list are read"));
            break;
        }
        let text = entry.text("text").map(Text::raw).filter(|it| !it.is_blank());
        let done = entry.get("completed").and_then(|it| it.bool());
        match (text, done) {
            (None, _) => emit.warn(format!("item {number} has no text; it is left out")),
            (Some(_), None) => emit.warn(format!("item {number} has no status; it is left out")),
            (Some(text), Some(true)) => items.push(Item::new(text, Status::Completed)),
            (Some(text), Some(false)) => items.push(Item::new(text, Status::Pending)),
        }
    }
    items
}

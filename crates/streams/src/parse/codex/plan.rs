//! The plan in each of Codex's three forms.

use crate::event::{Item, Status};
use crate::json::Value;
use crate::parse::emit::Emit;
use crate::parse::todo::{self, Meaning, Shape};

/// As the model passes it to `update_plan`.
pub(super) const ARGUMENTS: Shape =
    Shape { text: "step", status: "status", active_form: None, read: todo::common };

/// As the app server reports it.
pub(super) const NOTIFIED: Shape =
    Shape { text: "step", status: "status", active_form: None, read: notified };

fn notified(status: &str) -> Option<Meaning> {
    match status {
        "inProgress" => Some(Meaning::Is(Status::InProgress)),
        other => todo::common(other),
    }
}

/// As `exec --json` prints it: the status in progress is lost.
pub(super) fn printed<'a>(list: Value<'a>, emit: &mut Emit<'_>) -> Vec<Item<'a>> {
    todo::each(list, emit, |number, entry, emit| {
        let text = todo::text(number, entry.text("text"), emit)?;
        match entry.get("completed").and_then(Value::bool) {
            Some(true) => Some(Item::new(text, Status::Completed)),
            Some(false) => Some(Item::new(text, Status::Pending)),
            None => {
                emit.warn(format!("item {number} has no status; it is left out"));
                None
            }
        }
    })
}

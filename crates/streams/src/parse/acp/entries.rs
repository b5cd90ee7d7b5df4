//! The entries of a plan. The protocol allows unknown values: an entry with an unknown status is
//! kept.

use crate::event::{Item, Status, Text};
use crate::json::{Object, Value};
use crate::parse::emit::Emit;
use crate::parse::todo;

/// The entries of a plan.
pub(super) fn items<'a>(entries: Value<'a>, emit: &mut Emit<'_>) -> Vec<Item<'a>> {
    read(entries, "content", emit)
}

/// The steps that Codex was asked to plan.
pub(super) fn steps<'a>(plan: Value<'a>, emit: &mut Emit<'_>) -> Vec<Item<'a>> {
    read(plan, "step", emit)
}

fn read<'a>(entries: Value<'a>, field: &str, emit: &mut Emit<'_>) -> Vec<Item<'a>> {
    todo::each(entries, emit, |number, entry, emit| {
        let entry = entry.object().unwrap_or_default();
        let text = todo::text(number, entry.text(field), emit)?;
        Some(item(text, &entry))
    })
}

fn item<'a>(text: Text<'a>, entry: &Object<'a>) -> Item<'a> {
    let word = entry.text("status");
    let status = match word.map_or("", |it| it.literal()) {
        "\"pending\"" => Some(Status::Pending),
        "\"in_progress\"" => Some(Status::InProgress),
        "\"completed\"" => Some(Status::Completed),
        "\"cancelled\"" => Some(Status::Cancelled),
        _ => None,
    };
    let mut item = Item::new(text, status.unwrap_or(Status::Pending));
    if status.is_none() {
        item.source_status = word.map(Text::raw);
        item.blocked = word.is_some_and(|it| it.is("blocked"));
        // The entry has no status.
        item.assumed = word.is_none();
    }
    item
}

//! The result of a change: one line per item for people, an object for programs.

use punchlist_model::store::Applied;
use punchlist_model::{Event, Item, Number, What};
use serde_json::{Value, json};

use super::json;
use crate::text;

/// The items that changed or were picked, by number. A renewed claim does not count as a change,
/// because every write of the holder renews it.
pub fn changed(applied: &Applied) -> impl Iterator<Item = &Item> {
    let told = |number| {
        let about = |event: &&Event| event.number() == Some(number) && word(event).is_some();
        applied.decision.picked == Some(number)
            || applied.decision.events.iter().any(|it| about(&it))
    };
    applied.items().into_iter().filter(move |item| told(item.number))
}

/// A change for programs. The plan must contain the dependencies and the sub-items of the changed
/// items.
pub fn json(applied: &Applied) -> Value {
    let changed: Vec<Value> =
        changed(applied).map(|item| json::item(&applied.plan, item, false)).collect();
    json!({
        "revision": applied.revision(),
        "changed": changed,
        "warnings": warnings(applied),
    })
}

/// The warnings of a change.
pub fn warnings(applied: &Applied) -> Vec<String> {
    applied.warnings().iter().map(ToString::to_string).collect()
}

/// One line for each item that changed.
pub fn lines(applied: &Applied) -> String {
    let mut out = String::new();
    let mut told: Vec<(Number, &str)> = Vec::new();
    for event in &applied.decision.events {
        let (Some(number), Some(word)) = (event.number(), word(event)) else { continue };
        if !told.contains(&(number, word)) {
            told.push((number, word));
            out.push_str(&line(applied, number, word));
        }
    }
    if let Some(number) =
        applied.decision.picked.filter(|it| !told.iter().any(|told| told.0 == *it))
    {
        out.push_str(&line(applied, number, "in progress"));
    }
    if out.is_empty() {
        out.push_str("nothing changed\n");
    }
    out
}

fn line(applied: &Applied, number: Number, word: &str) -> String {
    let item = applied.plan.get(number);
    let title = item.map(|item| text::one_line(&item.title)).unwrap_or_default();
    let waiting = item.and_then(|item| item.waiting_on.as_deref()).filter(|_| word == "waiting");
    match waiting {
        Some(on) => format!("{word} {number}  {title}: {}\n", text::one_line(on)),
        None => format!("{word} {number}  {title}\n"),
    }
}

/// What happened to an item, in a word; `None` for events that only the journal shows.
fn word(event: &Event) -> Option<&'static str> {
    Some(match event {
        Event::Added { .. } => "added",
        Event::Moved { .. } => "moved",
        Event::Superseded { .. } => "dropped",
        Event::Restored { .. } => "restored",
        Event::Forgotten { .. } => "forgotten",
        Event::PlanChanged { .. } => return None,
        Event::Changed { what, .. } => match what {
            What::Started => "started",
            What::Completed => "completed",
            What::Cancelled => "cancelled",
            What::Released => "released",
            What::LeaseRanOut => "lease ran out on",
            What::Reopened => "reopened",
            What::Waiting => "waiting",
            What::Resumed => "no longer waiting",
            What::Edited => "edited",
            What::Evidence => "added evidence to",
            What::Parked => "parked",
            What::Undone => "undid a change of",
            What::Renewed | What::Unreadable => return None,
        },
    })
}

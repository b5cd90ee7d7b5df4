//! Events in the journal, as JSON. An unreadable event does not make the others unreadable.

use punchlist_model::{Event, Number, What};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::rows;

/// The events of a journal entry. An unreadable event is returned as [`What::Unreadable`].
pub(crate) fn read(text: &str) -> Vec<Event> {
    if let Ok(events) = rows::read_json(text) {
        return events;
    }
    let events: Vec<Box<RawValue>> = serde_json::from_str(text).unwrap_or_default();
    let read = |raw: &RawValue| rows::read_json(raw.get()).unwrap_or_else(|_| unreadable(raw));
    let events: Vec<Event> = events.iter().map(|raw| read(raw)).collect();
    // A change has at least one event.
    if events.is_empty() { vec![Event::PlanChanged { deltas: Vec::new() }] } else { events }
}

fn unreadable(raw: &RawValue) -> Event {
    #[derive(Deserialize)]
    struct About {
        number: Option<Number>,
        item: Option<Of>,
    }
    #[derive(Deserialize)]
    struct Of {
        number: Number,
    }
    let about = serde_json::from_str::<About>(raw.get()).ok();
    match about.and_then(|it| it.number.or(it.item.map(|it| it.number))) {
        Some(number) => Event::Changed { number, what: What::Unreadable, deltas: Vec::new() },
        None => Event::PlanChanged { deltas: Vec::new() },
    }
}

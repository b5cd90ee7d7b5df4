//! Events as the journal has them.
//!
//! They are what a serialiser writes; most changes add one item that has nothing but texts, and that
//! is written by hand.

use punchlist_model::json::Json;
use punchlist_model::{Event, Item, Number, What};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::rows;
use crate::save::is_plain;

/// The events of one change.
pub(crate) fn written(events: &[Event]) -> String {
    match events {
        [Event::Added { item }] if is_plain(item) => added(item),
        events => rows::json(&events),
    }
}

/// The events of a stored change. One that cannot be read says so, and the others are there.
pub(crate) fn read(text: &str) -> Vec<Event> {
    if let Ok(events) = rows::read_json(text) {
        return events;
    }
    let events: Vec<Box<RawValue>> = serde_json::from_str(text).unwrap_or_default();
    let read = |raw: &RawValue| rows::read_json(raw.get()).unwrap_or_else(|_| unreadable(raw));
    let events: Vec<Event> = events.iter().map(|raw| read(raw)).collect();
    // A change in which nothing happens is none.
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

fn added(item: &Item) -> String {
    let texts = [&item.title, &item.context, &item.completion_criteria];
    let mut json = Json::with_room(256 + texts.map(String::len).iter().sum::<usize>());
    json.raw("[{\"event\":\"added\",\"item\":{\"id\":\"").raw(item.id.spelt(&mut [0; 36]));
    json.raw("\",\"number\":").number(item.number.0).raw(",\"position\":");
    match item.position {
        Some(position) => json.number(position.0),
        None => json.raw("null"),
    };
    json.raw(",\"title\":").text(&item.title);
    if !item.context.is_empty() {
        json.raw(",\"context\":").text(&item.context);
    }
    if !item.completion_criteria.is_empty() {
        json.raw(",\"completion_criteria\":").text(&item.completion_criteria);
    }
    json.raw(",\"status\":\"pending\",\"created_at\":\"").raw(&item.created_at.to_string());
    json.raw("\"}}]");
    json.done()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use punchlist_model::{IdSource, Position, Status, Timestamp};

    use super::*;

    proptest! {
        #[test]
        fn they_are_what_a_serialiser_writes(
            number in 1_u32..,
            position in prop::option::of(1_u32..),
            texts in prop::array::uniform3(prop_oneof![Just(String::new()), any::<String>()]),
            at in 0_i64..4_000_000_000_000,
            is_done: bool,
        ) {
            let at = Timestamp::from_millisecond(at).unwrap();
            let [title, context, completion_criteria] = texts;
            let id = IdSource::fixed(at, 7).item(0, Number(number));
            let item = Item {
                position: position.map(Position),
                context,
                completion_criteria,
                status: if is_done { Status::Completed } else { Status::Pending },
                ..Item::new(id, Number(number), title, at)
            };
            let mut events = vec![Event::Added { item: Box::new(item) }];
            prop_assert_eq!(written(&events), serde_json::to_string(&events).unwrap());
            events.push(Event::Forgotten { number: None });
            prop_assert_eq!(written(&events), serde_json::to_string(&events).unwrap());
        }
    }
}

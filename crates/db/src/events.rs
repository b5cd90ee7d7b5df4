//! Events as the journal has them.
//!
//! They are what a serialiser writes; most changes add one item that has nothing but texts, and that
//! is written by hand.

use punchlist_model::json::Json;
use punchlist_model::{Event, Item};

use crate::rows;
use crate::save::is_plain;

/// The events of one change.
pub(crate) fn written(events: &[Event]) -> String {
    match events {
        [Event::Added { item }] if is_plain(item) => added(item),
        events => rows::json(&events),
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
    use punchlist_model::{IdSource, Number, Position, Status, Timestamp};

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

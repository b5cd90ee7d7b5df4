//! Messages that wait for an agent.

use punchlist_model::call::{BadMessage, Message, MessageOutcome, NewMessage, Take};
use punchlist_model::session::Store;
use punchlist_model::store::Error;

use super::World;
use crate::support::{at, message_id, wait};

fn new(n: u8, conversation: &str, steer: bool) -> NewMessage {
    NewMessage {
        id: message_id(n),
        conversation: conversation.to_owned(),
        text: format!("message {n}"),
        steer,
        at: at(i64::from(n)),
    }
}

fn queue(store: &dyn Store, messages: Vec<NewMessage>) {
    messages.into_iter().for_each(|message| wait(store.queue(message)).unwrap());
}

fn texts(store: &dyn Store, conversation: &str) -> String {
    let messages = wait(store.messages(conversation.to_owned())).unwrap();
    messages.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join(", ")
}

fn take(store: &dyn Store, take: Take) -> Option<String> {
    wait(store.take_message("c".to_owned(), take, at(50))).unwrap().map(|it| it.text)
}

pub(crate) fn messages_wait_in_the_order_in_which_they_came(world: &World) {
    let store = world.handle();
    // The order does not depend on ids or times.
    queue(&*store, vec![new(3, "c", false), new(1, "c", true), new(2, "d", false)]);
    let there = world.handle();
    assert_eq!(texts(&*there, "c"), "message 3, message 1");
    assert_eq!(texts(&*there, "d"), "message 2");
    assert_eq!(texts(&*there, "e"), "");
    let expected = Message::from(new(1, "c", true));
    assert_eq!(wait(there.messages("c".to_owned())).unwrap()[1], expected);
}

pub(crate) fn a_message_that_waits_can_be_changed_and_keeps_its_place(world: &World) {
    let store = world.handle();
    queue(&*store, vec![new(1, "c", false), new(2, "c", false)]);
    let edit = |n, text: &str| {
        wait(world.handle().edit_message(message_id(n), text.to_owned(), at(40))).unwrap()
    };
    assert_eq!(edit(1, "better \u{1b}[31m"), MessageOutcome::Done);
    assert_eq!(texts(&*store, "c"), "better \u{1b}[31m, message 2");
    assert_eq!(wait(store.messages("c".to_owned())).unwrap()[0].edited_at, Some(at(40)));
    assert_eq!(edit(9, "x"), MessageOutcome::Unknown);
    assert_eq!(take(&*store, Take::First).as_deref(), Some("better \u{1b}[31m"));
    assert_eq!(edit(1, "too late"), MessageOutcome::Taken(at(50)));
}

pub(crate) fn a_message_that_waits_can_be_removed(world: &World) {
    let store = world.handle();
    queue(&*store, vec![new(1, "c", false), new(2, "c", false)]);
    let remove = |n| wait(world.handle().remove_message(message_id(n))).unwrap();
    assert_eq!(remove(1), MessageOutcome::Done);
    assert_eq!(texts(&*store, "c"), "message 2");
    assert_eq!(remove(1), MessageOutcome::Unknown);
    take(&*store, Take::First);
    assert_eq!(remove(2), MessageOutcome::Taken(at(50)));
}

pub(crate) fn what_steers_can_be_taken_ahead_of_the_rest(world: &World) {
    let store = world.handle();
    queue(&*store, vec![new(1, "c", false), new(2, "c", true), new(3, "c", false)]);
    assert_eq!(take(&*store, Take::Steering).as_deref(), Some("message 2"));
    assert_eq!(take(&*store, Take::Steering), None);
    assert_eq!(take(&*store, Take::First).as_deref(), Some("message 1"));
    // A steering message whose work has ended comes first.
    queue(&*store, vec![new(4, "c", true)]);
    assert_eq!(take(&*store, Take::First).as_deref(), Some("message 4"));
    assert_eq!(take(&*store, Take::First).as_deref(), Some("message 3"));
    assert_eq!(take(&*store, Take::First), None);
}

pub(crate) fn that_a_message_steers_can_be_said_later(world: &World) {
    let store = world.handle();
    queue(&*store, vec![new(1, "c", false), new(2, "c", false), new(3, "c", true)]);
    let steer = |n, steer| wait(world.handle().steer_message(message_id(n), steer)).unwrap();
    assert_eq!(steer(2, true), MessageOutcome::Done);
    assert_eq!(steer(3, false), MessageOutcome::Done);
    assert_eq!(texts(&*store, "c"), "message 1, message 2, message 3");
    assert_eq!(take(&*store, Take::Steering).as_deref(), Some("message 2"));
    assert_eq!(take(&*store, Take::Steering), None);
    assert_eq!(steer(2, false), MessageOutcome::Taken(at(50)));
    assert_eq!(steer(9, false), MessageOutcome::Unknown);
}

pub(crate) fn a_message_that_waits_can_be_moved(world: &World) {
    let store = world.handle();
    queue(&*store, (1..=4).map(|n| new(n, "c", false)).collect());
    queue(&*store, vec![new(5, "d", false)]);
    let shift = |n, before: Option<u8>| {
        wait(world.handle().move_message(message_id(n), before.map(message_id))).unwrap()
    };
    assert_eq!(shift(3, Some(1)), MessageOutcome::Done);
    assert_eq!(texts(&*store, "c"), "message 3, message 1, message 2, message 4");
    assert_eq!(shift(1, None), MessageOutcome::Done);
    assert_eq!(texts(&*store, "c"), "message 3, message 2, message 4, message 1");
    // A message of another conversation is not in this queue.
    assert_eq!(shift(2, Some(5)), MessageOutcome::Done);
    assert_eq!(texts(&*store, "c"), "message 3, message 4, message 1, message 2");
    assert_eq!(texts(&*store, "d"), "message 5");
    assert_eq!(take(&*store, Take::First).as_deref(), Some("message 3"));
    assert_eq!(shift(3, None), MessageOutcome::Taken(at(50)));
    assert_eq!(shift(9, None), MessageOutcome::Unknown);
    queue(&*store, vec![new(6, "c", false)]);
    assert_eq!(texts(&*store, "c"), "message 4, message 1, message 2, message 6");
}

pub(crate) fn a_message_says_something_and_not_too_much(world: &World) {
    let store = world.handle();
    let says = |text: &str| {
        let message = NewMessage { text: text.to_owned(), ..new(1, "c", false) };
        wait(store.queue(message))
    };
    let long = "é".repeat(Message::LONGEST + 1);
    for (text, why) in [
        ("", BadMessage::Blank),
        (" \n\t", BadMessage::Blank),
        ("a\0b", BadMessage::Nul),
        (long.as_str(), BadMessage::TooLong { length: Message::LONGEST + 1 }),
    ] {
        assert!(matches!(says(text), Err(Error::Message(bad)) if bad == why), "{why}");
    }
    assert_eq!(texts(&*store, "c"), "");
    says(&long[..Message::LONGEST * 2]).unwrap();
    let edit = wait(store.edit_message(message_id(1), "  ".to_owned(), at(2)));
    assert!(matches!(edit, Err(Error::Message(BadMessage::Blank))));
    assert_eq!(wait(store.messages("c".to_owned())).unwrap()[0].edited_at, None);
}

pub(crate) fn no_more_messages_wait_than_anybody_reads(world: &World) {
    let store = world.handle();
    let most = u8::try_from(Message::MOST).unwrap();
    queue(&*store, (0..most).map(|n| new(n, "c", false)).collect());
    let full = wait(store.queue(new(most, "c", true)));
    assert!(matches!(full, Err(Error::Message(BadMessage::TooMany))));
    queue(&*store, vec![new(most, "d", false)]);
    take(&*store, Take::First);
    queue(&*store, vec![new(most + 1, "c", false)]);
}

pub(crate) fn of_many_takers_each_gets_another_message(world: &World) {
    let store = world.handle();
    queue(&*store, (1..=60).map(|n| new(n, "c", n % 2 == 0)).collect());
    let mut taken: Vec<String> = std::thread::scope(|scope| {
        let takers: Vec<_> = [Take::First, Take::Steering, Take::First, Take::Steering]
            .into_iter()
            .map(|kind| {
                scope.spawn(move || {
                    let store = world.handle();
                    std::iter::from_fn(|| take(&*store, kind)).collect::<Vec<_>>()
                })
            })
            .collect();
        takers.into_iter().flat_map(|it| it.join().unwrap()).collect()
    });
    taken.sort();
    let mut expected: Vec<String> = (1..=60).map(|n| format!("message {n}")).collect();
    expected.sort();
    assert_eq!(taken, expected, "each exactly once");
}

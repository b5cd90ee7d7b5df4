//! Messages that wait for an agent.

use punchlist_model::call::{Message, MessageOutcome, NewMessage, Take};
use punchlist_model::session::Store;

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
    // Neither ids nor times decide.
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
    // One that steers is not left behind when nobody asked for it in time.
    queue(&*store, vec![new(4, "c", true)]);
    assert_eq!(take(&*store, Take::First).as_deref(), Some("message 3"));
    assert_eq!(take(&*store, Take::First).as_deref(), Some("message 4"));
    assert_eq!(take(&*store, Take::First), None);
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

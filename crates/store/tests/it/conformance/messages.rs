//! Messages that wait for an agent.

use punchlist_model::call::{BadMessage, Message, MessageOutcome, NewMessage};
use punchlist_model::session::Store;
use punchlist_model::store::Error;
use punchlist_model::store::turns::{
    Conversation, ConversationState, EntryFilter, Turn, TurnRecord,
};

use super::World;
use super::conversations::{conversation, held, runner};
use super::turn_entries::{entry, record, turn};
use crate::support::{at, conversation_id, message_id, wait};

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

/// Which message to take.
#[derive(Clone, Copy)]
enum Take {
    First,
    Steering,
}

/// The name of the conversation that takes messages.
fn taker() -> String {
    conversation_id(1).to_string()
}

/// Takes a message with a record of a turn of [`taker`].
fn take(store: &dyn Store, take: Take) -> Option<String> {
    let id = conversation_id(1);
    let new = Conversation { runner: Some(runner("ann", 100)), ..conversation(1) };
    wait(store.create_conversation(new)).ok();
    loop {
        let waiting = wait(store.messages(taker())).unwrap();
        let message = match take {
            Take::First => Message::first(&waiting),
            Take::Steering => waiting.iter().find(|it| it.steer),
        };
        let message = message?.clone();
        let record = TurnRecord {
            taken: vec![message.clone()],
            ..record(turn(1), vec![entry(&message.text)], 50)
        };
        match wait(store.record_turn(id, "ann".to_owned(), record)) {
            Ok(_) => return Some(message.text),
            // Somebody else was faster.
            Err(Error::MessageChanged(changed)) => assert_eq!(changed, message.id),
            Err(why) => panic!("{why}"),
        }
    }
}

pub(crate) fn messages_wait_in_the_order_in_which_they_came(world: &World) {
    let store = world.handle();
    // The order does not depend on ids or times.
    queue(&*store, vec![new(3, &taker(), false), new(1, &taker(), true), new(2, "d", false)]);
    let there = world.handle();
    assert_eq!(texts(&*there, &taker()), "message 3, message 1");
    assert_eq!(texts(&*there, "d"), "message 2");
    assert_eq!(texts(&*there, "e"), "");
    let expected = Message::from(new(1, &taker(), true));
    assert_eq!(wait(there.messages(taker())).unwrap()[1], expected);
}

pub(crate) fn a_message_that_waits_can_be_changed_and_keeps_its_place(world: &World) {
    let store = world.handle();
    queue(&*store, vec![new(1, &taker(), false), new(2, &taker(), false)]);
    let edit = |n, text: &str| {
        wait(world.handle().edit_message(message_id(n), text.to_owned(), at(40))).unwrap()
    };
    assert_eq!(edit(1, "better \u{1b}[31m"), MessageOutcome::Done);
    assert_eq!(texts(&*store, &taker()), "better \u{1b}[31m, message 2");
    assert_eq!(wait(store.messages(taker())).unwrap()[0].edited_at, Some(at(40)));
    assert_eq!(edit(9, "x"), MessageOutcome::Unknown);
    assert_eq!(take(&*store, Take::First).as_deref(), Some("better \u{1b}[31m"));
    assert_eq!(edit(1, "too late"), MessageOutcome::Taken(at(50)));
}

pub(crate) fn a_message_that_waits_can_be_removed(world: &World) {
    let store = world.handle();
    queue(&*store, vec![new(1, &taker(), false), new(2, &taker(), false)]);
    let remove = |n| wait(world.handle().remove_message(message_id(n))).unwrap();
    assert_eq!(remove(1), MessageOutcome::Done);
    assert_eq!(texts(&*store, &taker()), "message 2");
    assert_eq!(remove(1), MessageOutcome::Unknown);
    take(&*store, Take::First);
    assert_eq!(remove(2), MessageOutcome::Taken(at(50)));
}

pub(crate) fn what_steers_can_be_taken_ahead_of_the_rest(world: &World) {
    let store = world.handle();
    queue(&*store, vec![new(1, &taker(), false), new(2, &taker(), true), new(3, &taker(), false)]);
    assert_eq!(take(&*store, Take::Steering).as_deref(), Some("message 2"));
    assert_eq!(take(&*store, Take::Steering), None);
    assert_eq!(take(&*store, Take::First).as_deref(), Some("message 1"));
    // A steering message whose work has ended comes first.
    queue(&*store, vec![new(4, &taker(), true)]);
    assert_eq!(take(&*store, Take::First).as_deref(), Some("message 4"));
    assert_eq!(take(&*store, Take::First).as_deref(), Some("message 3"));
    assert_eq!(take(&*store, Take::First), None);
}

pub(crate) fn that_a_message_steers_can_be_said_later(world: &World) {
    let store = world.handle();
    queue(&*store, vec![new(1, &taker(), false), new(2, &taker(), false), new(3, &taker(), true)]);
    let steer = |n, steer| wait(world.handle().steer_message(message_id(n), steer)).unwrap();
    assert_eq!(steer(2, true), MessageOutcome::Done);
    assert_eq!(steer(3, false), MessageOutcome::Done);
    assert_eq!(texts(&*store, &taker()), "message 1, message 2, message 3");
    assert_eq!(take(&*store, Take::Steering).as_deref(), Some("message 2"));
    assert_eq!(take(&*store, Take::Steering), None);
    assert_eq!(steer(2, false), MessageOutcome::Taken(at(50)));
    assert_eq!(steer(9, false), MessageOutcome::Unknown);
}

pub(crate) fn a_message_that_waits_can_be_moved(world: &World) {
    let store = world.handle();
    queue(&*store, (1..=4).map(|n| new(n, &taker(), false)).collect());
    queue(&*store, vec![new(5, "d", false)]);
    let shift = |n, before: Option<u8>| {
        wait(world.handle().move_message(message_id(n), before.map(message_id))).unwrap()
    };
    assert_eq!(shift(3, Some(1)), MessageOutcome::Done);
    assert_eq!(texts(&*store, &taker()), "message 3, message 1, message 2, message 4");
    assert_eq!(shift(1, None), MessageOutcome::Done);
    assert_eq!(texts(&*store, &taker()), "message 3, message 2, message 4, message 1");
    // A message of another conversation is not in this queue.
    assert_eq!(shift(2, Some(5)), MessageOutcome::Done);
    assert_eq!(texts(&*store, &taker()), "message 3, message 4, message 1, message 2");
    assert_eq!(texts(&*store, "d"), "message 5");
    assert_eq!(take(&*store, Take::First).as_deref(), Some("message 3"));
    assert_eq!(shift(3, None), MessageOutcome::Taken(at(50)));
    assert_eq!(shift(9, None), MessageOutcome::Unknown);
    queue(&*store, vec![new(6, &taker(), false)]);
    assert_eq!(texts(&*store, &taker()), "message 4, message 1, message 2, message 6");
}

pub(crate) fn a_message_says_something_and_not_too_much(world: &World) {
    let store = world.handle();
    let says = |text: &str| {
        let message = NewMessage { text: text.to_owned(), ..new(1, &taker(), false) };
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
    assert_eq!(texts(&*store, &taker()), "");
    says(&long[..Message::LONGEST * 2]).unwrap();
    let edit = wait(store.edit_message(message_id(1), "  ".to_owned(), at(2)));
    assert!(matches!(edit, Err(Error::Message(BadMessage::Blank))));
    assert_eq!(wait(store.messages(taker())).unwrap()[0].edited_at, None);
}

pub(crate) fn no_more_messages_wait_than_anybody_reads(world: &World) {
    let store = world.handle();
    let most = u8::try_from(Message::MOST).unwrap();
    queue(&*store, (0..most).map(|n| new(n, &taker(), false)).collect());
    let full = wait(store.queue(new(most, &taker(), true)));
    assert!(matches!(full, Err(Error::Message(BadMessage::TooMany))));
    queue(&*store, vec![new(most, "d", false)]);
    take(&*store, Take::First);
    queue(&*store, vec![new(most + 1, &taker(), false)]);
}

pub(crate) fn of_many_takers_each_gets_another_message(world: &World) {
    let store = world.handle();
    queue(&*store, (1..=60).map(|n| new(n, &taker(), n % 2 == 0)).collect());
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

pub(crate) fn a_message_is_taken_as_it_was_read_or_nothing_is_recorded(world: &World) {
    let store = world.handle();
    let id = held(&*store, 1, "ann");
    queue(&*store, (1..=4).map(|n| new(n, &taker(), false)).collect());
    queue(&*store, vec![new(5, "another", false)]);
    let read = |n| wait(store.message(message_id(n))).unwrap().unwrap();
    let [edited, removed, steers, waits, other] = [1, 2, 3, 4, 5].map(read);
    wait(world.handle().edit_message(message_id(1), "better".to_owned(), at(40))).unwrap();
    wait(world.handle().remove_message(message_id(2))).unwrap();
    wait(world.handle().steer_message(message_id(3), true)).unwrap();
    for changed in [edited, removed, steers, other] {
        let taken = vec![waits.clone(), changed.clone()];
        let record = TurnRecord { taken, ..record(turn(1), vec![entry("x")], 50) };
        let refused = wait(store.record_turn(id, "ann".to_owned(), record));
        assert!(
            matches!(refused, Err(Error::MessageChanged(it)) if it == changed.id),
            "{refused:?}"
        );
    }
    assert_eq!(texts(&*store, &taker()), "better, message 3, message 4");
    assert!(wait(store.entries(id, EntryFilter::default())).unwrap().is_empty());

    let record = || TurnRecord { taken: vec![waits.clone()], ..record(turn(1), Vec::new(), 50) };
    wait(store.record_turn(id, "ann".to_owned(), record())).unwrap();
    assert_eq!(wait(store.message(waits.id)).unwrap().unwrap().taken_at, Some(at(50)));
    let again = wait(store.record_turn(id, "ann".to_owned(), record()));
    assert!(matches!(again, Err(Error::MessageChanged(_))), "{again:?}");
    assert_eq!(wait(store.message(message_id(2))).unwrap(), None);
}

pub(crate) fn what_steers_no_longer_is_first_when_the_turn_has_ended(world: &World) {
    let store = world.handle();
    let id = held(&*store, 1, "ann");
    let steers = |n: u8| new(n, &taker(), n.is_multiple_of(2));
    queue(&*store, (1..=4).map(steers).collect());
    let write = |turn: Turn| wait(store.record_turn(id, "ann".to_owned(), record(turn, vec![], 9)));
    write(turn(1)).unwrap();
    assert_eq!(texts(&*store, &taker()), "message 1, message 2, message 3, message 4");
    write(Turn { ended_at: Some(at(9)), ..turn(1) }).unwrap();
    assert_eq!(texts(&*store, &taker()), "message 2, message 4, message 1, message 3");
    assert!(wait(store.messages(taker())).unwrap().iter().all(|it| !it.steer));
}

pub(crate) fn messages_from_before_a_question_are_marked(world: &World) {
    let store = world.handle();
    let id = held(&*store, 1, "ann");
    let marked = || {
        let waiting = wait(world.handle().messages(taker())).unwrap();
        waiting.iter().map(|it| it.is_from_before_question).collect::<Vec<_>>()
    };
    let write = |state| {
        let record = TurnRecord { state, ..record(turn(1), Vec::new(), 9) };
        wait(store.record_turn(id, "ann".to_owned(), record)).unwrap();
    };
    queue(&*store, vec![new(1, &taker(), false)]);
    write(ConversationState::Working);
    assert_eq!(marked(), [false]);
    write(ConversationState::Asked);
    // Times do not matter: this message has the time of the question.
    queue(&*store, vec![NewMessage { at: at(9), ..new(2, &taker(), false) }]);
    assert_eq!(marked(), [true, false]);
    write(ConversationState::Asked);
    assert_eq!(marked(), [true, true]);
}

pub(crate) fn a_paused_queue_stays_paused_until_somebody_says_otherwise(world: &World) {
    let store = world.handle();
    let id = held(&*store, 1, "ann");
    let is_paused = || wait(world.handle().conversation(id)).unwrap().queue_paused;
    let write = |queue_paused| {
        let record = TurnRecord { queue_paused, ..record(turn(1), Vec::new(), 9) };
        wait(store.record_turn(id, "ann".to_owned(), record)).unwrap();
    };
    assert!(!is_paused());
    wait(store.pause_queue(id, true)).unwrap();
    assert!(is_paused());
    write(None);
    assert!(is_paused());
    write(Some(false));
    assert!(!is_paused());
    write(Some(true));
    assert!(is_paused());
    wait(store.pause_queue(id, false)).unwrap();
    assert!(!is_paused());
    let unknown = wait(store.pause_queue(conversation_id(9), true));
    assert!(matches!(unknown, Err(Error::NoConversation(_))), "{unknown:?}");
}

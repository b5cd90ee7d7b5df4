//! The two ways in, one story each, and what must hold whatever people do.

use proptest::prelude::*;

use super::{Delivery, Gone, Inbox, Message, MessageId};

fn texts(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|it| it.text.as_str()).collect()
}

#[test]
fn queued_messages_wait_and_are_taken_one_by_one_the_oldest_first() {
    let mut inbox = Inbox::new();
    inbox.push("first", Delivery::Queue);
    inbox.push("second", Delivery::Queue);
    assert_eq!(inbox.take_steering(), [], "a call of the model does not take what is queued");
    assert_eq!(texts(inbox.waiting()), ["first", "second"]);
    assert_eq!(inbox.take_next().map(|it| it.text).as_deref(), Some("first"));
    assert_eq!(texts(inbox.waiting()), ["second"], "the other waits for the next batch");
    assert_eq!(inbox.take_next().map(|it| it.text).as_deref(), Some("second"));
    assert_eq!(inbox.take_next(), None);
}

#[test]
fn what_steers_goes_with_the_next_call_of_the_model_all_at_once() {
    let mut inbox = Inbox::new();
    inbox.push("queued", Delivery::Queue);
    inbox.push("left", Delivery::Steer);
    inbox.push("right", Delivery::Steer);
    assert_eq!(texts(&inbox.take_steering()), ["left", "right"]);
    assert_eq!(inbox.take_steering(), []);
    assert_eq!(texts(inbox.waiting()), ["queued"]);
}

#[test]
fn what_came_too_late_to_steer_is_the_next_thing_to_work_on() {
    let mut inbox = Inbox::new();
    inbox.push("queued", Delivery::Queue);
    inbox.push("left", Delivery::Steer);
    assert_eq!(inbox.take_next().map(|it| it.text).as_deref(), Some("left"));
    assert_eq!(inbox.take_next().map(|it| it.text).as_deref(), Some("queued"));
}

#[test]
fn a_message_can_be_changed_redirected_and_removed_until_it_is_taken() {
    let mut inbox = Inbox::new();
    let one = inbox.push("one", Delivery::Queue);
    let two = inbox.push("two", Delivery::Queue);
    inbox.edit(one, "uno").unwrap();
    inbox.redirect(two, Delivery::Steer).unwrap();
    assert_eq!(texts(&inbox.take_steering()), ["two"]);
    for gone in [inbox.edit(two, "due"), inbox.redirect(two, Delivery::Queue)] {
        assert_eq!(gone, Err(Gone(two)));
    }
    assert_eq!(inbox.remove(one).map(|it| it.text).as_deref(), Ok("uno"));
    let gone = inbox.remove(one).unwrap_err();
    assert_eq!(gone.to_string(), "message 0 does not wait any more: it was taken or removed");
}

#[test]
fn a_message_that_waits_can_be_moved() {
    let mut inbox = Inbox::new();
    let [one, two, three] = ["one", "two", "three"].map(|it| inbox.push(it, Delivery::Queue));
    inbox.move_before(three, Some(one)).unwrap();
    inbox.move_before(one, None).unwrap();
    let order: Vec<&str> = inbox.waiting().iter().map(|it| it.text.as_str()).collect();
    assert_eq!(order, ["three", "two", "one"]);
    inbox.remove(two).unwrap();
    assert_eq!(inbox.move_before(two, None), Err(Gone(two)));
}

#[test]
fn what_was_kept_goes_on_where_it_was_and_no_number_comes_twice() {
    let mut inbox = Inbox::new();
    inbox.push("one", Delivery::Queue);
    let two = inbox.push("two", Delivery::Queue);
    let mut restored = Inbox::restored(inbox.waiting().to_vec());
    assert_eq!(restored.waiting(), inbox.waiting());
    assert_eq!(restored.push("three", Delivery::Queue), MessageId(two.0 + 1));
}

proptest! {
    /// Every message is taken or removed once, and queued ones in the order in which they came.
    #[test]
    fn no_message_is_lost_or_delivered_twice(acts in prop::collection::vec((0..5_u8, 0..20_u64), 0..60)) {
        let mut inbox = Inbox::new();
        let (mut pushed, mut left) = (0, Vec::new());
        for (act, which) in acts {
            let id = MessageId(which);
            match act {
                0 => { inbox.push("q", Delivery::Queue); pushed += 1; }
                1 => { inbox.push("s", Delivery::Steer); pushed += 1; }
                2 => left.extend(inbox.take_next()),
                3 => left.extend(inbox.take_steering()),
                _ => left.extend(inbox.remove(id)),
            }
        }
        left.extend(inbox.waiting().iter().cloned());
        let mut ids: Vec<u64> = left.iter().map(|it| it.id.0).collect();
        ids.sort_unstable();
        prop_assert_eq!(ids, (0..pushed).collect::<Vec<u64>>());
    }
}

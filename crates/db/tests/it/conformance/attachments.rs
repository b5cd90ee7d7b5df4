//! Conversations and the plans that they are attached to.

use punchlist_model::Revision;
use punchlist_model::store::{Attachment, Error};

use super::World;
use crate::support::{at, key, new_plan, plan_id, wait};

pub(crate) fn a_conversation_finds_its_plan_again_from_another_handle(world: &World) {
    let store = world.handle();
    wait(store.create(new_plan(1))).unwrap();
    assert_eq!(wait(store.attachment(key("c", ""))).unwrap(), None);
    let attached = wait(store.attach(key("c", ""), plan_id(1), at(5))).unwrap();
    let expected =
        Attachment { key: key("c", ""), plan: plan_id(1), shown: Revision(0), at: at(5) };
    assert_eq!(attached, expected);
    assert_eq!(wait(world.handle().attachment(key("c", ""))).unwrap(), Some(expected));
    for other in [key("d", ""), key("c", "t")] {
        assert_eq!(wait(store.attachment(other)).unwrap(), None);
    }
}

pub(crate) fn attaching_to_the_same_plan_keeps_what_was_shown(world: &World) {
    let store = world.handle();
    wait(store.create(new_plan(1))).unwrap();
    wait(store.attach(key("c", ""), plan_id(1), at(1))).unwrap();
    wait(store.shown(key("c", ""), Revision(7))).unwrap();
    let again = wait(store.attach(key("c", ""), plan_id(1), at(2))).unwrap();
    assert_eq!((again.shown, again.at), (Revision(7), at(2)));
}

pub(crate) fn attaching_to_another_plan_begins_anew(world: &World) {
    let store = world.handle();
    wait(store.create(new_plan(1))).unwrap();
    wait(store.create(new_plan(2))).unwrap();
    wait(store.attach(key("c", ""), plan_id(1), at(1))).unwrap();
    wait(store.shown(key("c", ""), Revision(7))).unwrap();
    let moved = wait(store.attach(key("c", ""), plan_id(2), at(2))).unwrap();
    assert_eq!((moved.plan, moved.shown), (plan_id(2), Revision(0)));
    assert_eq!(wait(store.attachment(key("c", ""))).unwrap(), Some(moved));
}

pub(crate) fn what_was_shown_never_goes_back(world: &World) {
    let store = world.handle();
    wait(store.create(new_plan(1))).unwrap();
    wait(store.attach(key("c", ""), plan_id(1), at(1))).unwrap();
    for (show, then) in [(5, 5), (3, 5), (6, 6)] {
        wait(store.shown(key("c", ""), Revision(show))).unwrap();
        let attachment = wait(store.attachment(key("c", ""))).unwrap().unwrap();
        assert_eq!(attachment.shown, Revision(then));
    }
}

pub(crate) fn showing_to_nobody_is_nothing(world: &World) {
    let store = world.handle();
    wait(store.shown(key("nobody", ""), Revision(1))).unwrap();
    assert_eq!(wait(store.attachment(key("nobody", ""))).unwrap(), None);
}

pub(crate) fn attaching_to_an_unknown_plan_is_refused(world: &World) {
    let store = world.handle();
    let unknown = wait(store.attach(key("c", ""), plan_id(9), at(1)));
    assert!(matches!(unknown, Err(Error::NoPlan(id)) if id == plan_id(9)));
    assert_eq!(wait(store.attachment(key("c", ""))).unwrap(), None);
}

//! Conversations and the plans that they are attached to.

use punchlist_model::store::{Attachment, Change, Error};
use punchlist_model::{Ctx, Number, Op, Revision};

use super::World;
use crate::support::{Desk, add, at, ctx, key, new_plan, plan_id, wait};

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

pub(crate) fn the_plan_of_a_conversation_is_read_at_once(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    wait(desk.store.create(new_plan(2))).unwrap();
    desk.must(vec![add("a"), add("b")]);
    assert_eq!(wait(desk.store.attached(key("c", ""))).unwrap(), None);
    assert_eq!(wait(desk.store.whole_attached(key("c", ""))).unwrap(), None);
    for (plan, title) in [(plan_id(2), "Plan 2"), (desk.plan, "Plan 1")] {
        wait(desk.store.attach(key("c", ""), plan, at(5))).unwrap();
        assert_eq!(wait(world.handle().attached(key("c", ""))).unwrap(), Some(plan));
        let whole = wait(desk.store.whole(plan)).unwrap();
        assert_eq!(whole.title, title);
        assert_eq!(wait(desk.store.whole_attached(key("c", ""))).unwrap(), Some(whole));
    }
    for other in [key("d", ""), key("c", "t")] {
        assert_eq!(wait(desk.store.attached(other.clone())).unwrap(), None);
        assert_eq!(wait(desk.store.whole_attached(other)).unwrap(), None);
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

pub(crate) fn whoever_had_seen_all_has_seen_its_own_change(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    let shown =
        || wait(desk.store.attachment(key("c", ""))).unwrap().map(|attachment| attachment.shown);
    let write = |base: u64, op: Op| {
        let ctx = Ctx { base: Some(Revision(base)), ..desk.ctx() };
        let change = Change { seen_by: Some(key("c", "")), ..Change::new(vec![op], ctx) };
        wait(desk.store.change(desk.plan, change))
    };
    // A change alone attaches nobody.
    write(0, add("a")).unwrap();
    assert_eq!(shown(), None);
    wait(desk.store.attach(key("c", ""), desk.plan, at(1))).unwrap();
    write(1, add("b")).unwrap();
    assert_eq!(shown(), Some(Revision(2)));
    // Another worker's change came in between and was not shown to this conversation.
    desk.must(vec![add("c")]);
    write(2, add("d")).unwrap();
    assert_eq!(shown(), Some(Revision(2)));
    // A change without effect and a refused change show nothing.
    let patch = Box::default();
    write(3, Op::Edit { item: Number(1).into(), patch }).unwrap();
    assert_eq!(shown(), Some(Revision(2)));
    write(4, Op::Start(Number(99).into())).unwrap_err();
    assert_eq!(shown(), Some(Revision(2)));
}

pub(crate) fn what_was_seen_in_an_earlier_stay_does_not_count(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    let store = &desk.store;
    wait(store.create(new_plan(7))).unwrap();
    let shown = || wait(store.attachment(key("c", ""))).unwrap().unwrap().shown;
    wait(store.attach(key("c", ""), desk.plan, at(1))).unwrap();
    let ctx = Ctx { base: Some(Revision(0)), ..desk.ctx() };
    let change = Change { seen_by: Some(key("c", "")), ..Change::new(vec![add("a")], ctx) };
    wait(store.change(desk.plan, change)).unwrap();
    assert_eq!(shown(), Revision(1));
    // Changes of a plan that it has left do not concern it.
    wait(store.attach(key("c", ""), plan_id(7), at(2))).unwrap();
    assert_eq!(shown(), Revision(0));
    desk.must(vec![add("b")]);
    assert_eq!(shown(), Revision(0));
    wait(store.attach(key("c", ""), desk.plan, at(3))).unwrap();
    assert_eq!(shown(), Revision(0));
}

pub(crate) fn two_conversations_take_turns_and_each_knows_what_it_saw(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    let shown = |who: &str| wait(world.handle().attachment(key(who, ""))).unwrap().unwrap().shown;
    let write = |who: &str, base: u64| {
        let ctx = Ctx { base: Some(Revision(base)), ..desk.ctx() };
        let change = Change { seen_by: Some(key(who, "")), ..Change::new(vec![add("x")], ctx) };
        wait(desk.store.change(desk.plan, change)).unwrap();
    };
    for who in ["c", "d"] {
        wait(desk.store.attach(key(who, ""), desk.plan, at(1))).unwrap();
    }
    // Which conversation writes, what it was shown before, and what both were shown afterwards.
    for (who, base, c, d) in [
        ("c", 0, 1, 0),
        ("c", 1, 2, 0),
        ("d", 2, 2, 3),
        ("d", 3, 2, 4),
        ("c", 2, 2, 4),
        ("d", 5, 2, 6),
    ] {
        write(who, base);
        assert_eq!((shown("c"), shown("d")), (Revision(c), Revision(d)), "{who} after {base}");
    }
    wait(desk.store.undo(desk.plan, desk.ctx(), None)).unwrap();
    assert_eq!((shown("c"), shown("d")), (Revision(2), Revision(6)));
}

/// More calls than any warm-up of a store takes.
const LONG: i64 = 20;

pub(crate) fn who_stays_for_long_knows_what_others_did_meanwhile(world: &World) {
    let (desk, other) = (Desk::new(world.handle(), "ann"), world.handle());
    wait(other.create(new_plan(7))).unwrap();
    wait(other.attach(key("c", ""), desk.plan, at(1))).unwrap();
    let mut revision = 0;
    for n in 0..LONG {
        // Both write alternately, and each sees the other's changes.
        desk.must(vec![add("mine")]);
        let title = format!("theirs {n}");
        let change = Change::new(vec![add(&title)], ctx("bob", n));
        wait(other.change(desk.plan, change)).unwrap();
        revision += 2;
        let plan = wait(desk.store.whole(desk.plan)).unwrap();
        assert_eq!(plan, wait(world.handle().whole(desk.plan)).unwrap());
        assert_eq!(plan, wait(desk.store.whole(desk.plan)).unwrap());
        assert_eq!(plan.revision, Revision(revision));
        assert!(plan.items.values().any(|item| item.title == title));
        let plan = if n % 2 == 0 { plan_id(7) } else { desk.plan };
        wait(other.attach(key("c", ""), plan, at(1))).unwrap();
        let found = wait(desk.store.attachment(key("c", ""))).unwrap().unwrap();
        assert_eq!(found.plan, plan);
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

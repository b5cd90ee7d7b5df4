//! Following the journal.

use std::thread;

use punchlist_model::Revision;
use punchlist_model::store::{Change, Cursor, Entry, Following, Scope};

use super::World;
use crate::support::{Desk, add, ctx, follow, is_quiet, new_plan, next, plan_id, wait};

fn take(stream: &mut Following, n: usize) -> Vec<Entry> {
    (0..n).map(|_| next(stream).1).collect()
}

pub(crate) fn from_the_start_everything_comes_in_order(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    for title in ["a", "b", "c"] {
        desk.must(vec![add(title)]);
    }
    let mut stream = follow(&*desk.store, Cursor::Start, Scope::All);
    assert_eq!(take(&mut stream, 3), desk.journal());
    desk.must(vec![add("d")]);
    assert_eq!(next(&mut stream).1.revision, Revision(4));
    assert!(is_quiet(&mut stream));
}

pub(crate) fn from_now_on_only_what_is_new_comes(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    desk.must(vec![add("a")]);
    let mut stream = follow(&*desk.store, Cursor::Now, Scope::All);
    desk.must(vec![add("b")]);
    assert_eq!(next(&mut stream).1, desk.journal()[1]);
}

pub(crate) fn after_a_cursor_the_rest_comes(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    for title in ["a", "b", "c"] {
        desk.must(vec![add(title)]);
    }
    let mut stream = follow(&*desk.store, Cursor::Start, Scope::All);
    let (cursor, first) = next(&mut stream);
    assert_eq!(first.revision, Revision(1));
    drop(stream);
    // Another handle of the same store understands the cursor.
    let other = world.handle();
    let mut rest = follow(&*other, cursor, Scope::All);
    assert_eq!(take(&mut rest, 2), desk.journal()[1..]);
}

pub(crate) fn following_outlives_the_handle_that_began_it(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    let handle = world.handle();
    let mut stream = follow(&*handle, Cursor::Now, Scope::All);
    drop(handle);
    desk.must(vec![add("a")]);
    assert_eq!(next(&mut stream).1, desk.journal()[0]);
}

pub(crate) fn entries_of_another_handle_wake_a_waiting_follower(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    desk.must(vec![add("first")]);
    let follower = world.handle();
    let mut stream = follow(&*follower, Cursor::Start, Scope::All);
    next(&mut stream);
    thread::scope(|scope| {
        // Each change waits until the previous one was seen, so every change finds a follower that
        // is asleep or about to be: a lost wake-up would end the test.
        let (seen, was_seen) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || {
            let desk = Desk::at(world.handle(), plan_id(1), "bob");
            for n in 0..20 {
                desk.must(vec![add(&n.to_string())]);
                was_seen.recv().unwrap();
            }
        });
        for n in 2..22 {
            assert_eq!(next(&mut stream).1.revision, Revision(n));
            seen.send(()).unwrap();
        }
    });
}

pub(crate) fn one_plan_alone_can_be_followed(world: &World) {
    let store = world.handle();
    wait(store.create(new_plan(1))).unwrap();
    wait(store.create(new_plan(2))).unwrap();
    let mut stream = follow(&*store, Cursor::Start, Scope::Plan(plan_id(2)));
    for (second, plan) in [(1, 1), (2, 2), (3, 1), (4, 2)] {
        let change = Change::new(vec![add("x")], ctx("ann", second));
        wait(store.change(plan_id(plan), change)).unwrap();
    }
    let found: Vec<_> = take(&mut stream, 2).iter().map(|it| (it.plan, it.revision)).collect();
    assert_eq!(found, [(plan_id(2), Revision(1)), (plan_id(2), Revision(2))]);
}

pub(crate) fn more_than_a_batch_comes_whole(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    let rename = |n: i64| {
        let title = Some(n.to_string());
        let patch = punchlist_model::PlanPatch { title, ..Default::default() };
        vec![punchlist_model::Op::Plan(Box::new(patch))]
    };
    for n in 0..600 {
        desk.must(rename(n));
    }
    let mut stream = follow(&*desk.store, Cursor::Start, Scope::All);
    let revisions: Vec<u64> = take(&mut stream, 600).iter().map(|it| it.revision.0).collect();
    assert_eq!(revisions, (1..=600).collect::<Vec<u64>>());
}

pub(crate) fn an_imported_plan_is_news(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    desk.must(vec![add("a")]);
    let mut stream = follow(&*desk.store, Cursor::Now, Scope::All);
    let mut plan = desk.whole();
    plan.id = plan_id(2);
    let mut journal = desk.journal();
    journal[0].plan = plan_id(2);
    wait(desk.store.import(plan, journal.clone())).unwrap();
    assert_eq!(next(&mut stream).1, journal[0]);
}

pub(crate) fn what_exists_is_read_in_pages_without_waiting(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    for title in ["a", "b", "c"] {
        desk.must(vec![add(title)]);
    }
    let page = |after: Cursor, most| wait(desk.store.journal_since(after, most)).unwrap();
    let first = page(Cursor::Start, 2);
    let entries = |since: punchlist_model::store::Since| {
        since.entries.into_iter().map(|it| it.1).collect::<Vec<_>>()
    };
    assert_eq!(first.entries.last().unwrap().0, first.end);
    let second = page(first.end.clone(), 2);
    assert_eq!([entries(first), entries(second.clone())].concat(), desk.journal());
    let third = page(second.end.clone(), 2);
    assert_eq!((third.entries.len(), &third.end), (0, &second.end));
    let now = page(Cursor::Now, 5);
    assert_eq!(now.entries, []);
    desk.must(vec![add("d")]);
    assert_eq!(entries(page(now.end.clone(), 9)), desk.journal()[3..]);
    let mut stream = follow(&*desk.store, now.end, Scope::All);
    assert_eq!(next(&mut stream).1, desk.journal()[3]);
}

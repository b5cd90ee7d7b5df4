//! Overviews of plans.

use punchlist_model::store::{Change, Filter, NewPlan, Summary};
use punchlist_model::{End, ItemRef, NewItem, Number, Op, Progress, Revision};

use super::World;
use crate::support::{Desk, add, at, ctx, done, key, new_plan, plan_id, wait};

fn numbers(plans: &[Summary]) -> Vec<u8> {
    let all = (0..=u8::MAX).map(|n| (plan_id(n), n));
    let all: std::collections::BTreeMap<_, _> = all.collect();
    plans.iter().map(|plan| all[&plan.id]).collect()
}

pub(crate) fn the_most_recently_changed_comes_first(world: &World) {
    let store = world.handle();
    for n in 1..=3 {
        wait(store.create(NewPlan { at: at(i64::from(n)), ..new_plan(n) })).unwrap();
    }
    let list = || numbers(&wait(store.plans(Filter::default())).unwrap());
    assert_eq!(list(), [3, 2, 1]);
    wait(store.change(plan_id(1), Change::new(vec![add("a")], ctx("ann", 9)))).unwrap();
    assert_eq!(list(), [1, 3, 2]);
    wait(store.create(NewPlan { at: at(2), ..new_plan(0) })).unwrap();
    assert_eq!(list(), [1, 3, 0, 2], "of equals the older id comes first");
}

pub(crate) fn filters_by_project_name_and_either_end_of_the_id(world: &World) {
    let store = world.handle();
    for (n, project, name) in
        [(0x11, "/a", Some("x")), (0x22, "/a", None), (0x33, "/b", Some("x")), (0x44, "/b", None)]
    {
        let name = name.map(str::to_owned);
        wait(store.create(NewPlan { project: project.to_owned(), name, ..new_plan(n) })).unwrap();
    }
    let check = |project: Option<&str>, name: Option<&str>, id: Option<&str>, expected: &[u8]| {
        let own = |text: Option<&str>| text.map(str::to_owned);
        let filter = Filter { project: own(project), name: own(name), id: own(id) };
        assert_eq!(numbers(&wait(store.plans(filter.clone())).unwrap()), expected, "{filter:?}");
    };
    check(None, None, None, &[0x11, 0x22, 0x33, 0x44]);
    check(Some("/a"), None, None, &[0x11, 0x22]);
    check(None, Some("x"), None, &[0x11, 0x33]);
    check(Some("/b"), Some("x"), None, &[0x33]);
    check(Some("/c"), None, None, &[]);
    check(None, None, Some("2222"), &[0x22]);
    check(Some("/b"), None, Some("2222"), &[]);
    let whole = plan_id(0x33).to_string();
    check(None, None, Some(&whole), &[0x33]);
    check(None, None, Some(&whole[..8]), &[0x11, 0x22, 0x33, 0x44]);
    check(None, None, Some("%"), &[]);
}

pub(crate) fn progress_counts_the_leaves(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    let under = |title: &str, parent: u32| {
        let parent = Some(ItemRef::Number(Number(parent)));
        Op::Add(Box::new(NewItem { parent, ..NewItem::titled(title) }))
    };
    desk.must(vec![add("a"), add("b"), add("c"), add("d")]);
    desk.must(vec![under("b.1", 2), under("b.2", 2), done(1)]);
    let skip = Op::Cancel { item: Number(3).into(), reason: None };
    desk.must(vec![skip, done(5)]);
    let summary = || wait(desk.store.plans(Filter::default())).unwrap().remove(0);
    assert_eq!(summary().progress, Progress { completed: 2, total: 4, percent: 50 });
    assert_eq!(summary().progress, desk.whole().progress());
    assert_eq!((summary().open, summary().end, summary().revision), (3, End::Open, Revision(3)));
    // Items on a worker's own list do not count, completed or not.
    let worker = Some(serde_json::Map::from_iter([("worker".to_owned(), "codex".into())]));
    let entry = NewItem { metadata: worker, ..NewItem::titled("d.1") };
    let parent = Some(ItemRef::Number(Number(4)));
    desk.must(vec![Op::Add(Box::new(NewItem { parent, ..entry }))]);
    assert_eq!(summary().progress, Progress { completed: 2, total: 4, percent: 50 });
    // An item whose sub-items are all cancelled counts itself.
    desk.must(vec![Op::Cancel { item: Number(6).into(), reason: None }]);
    assert_eq!(summary().progress, Progress { completed: 2, total: 3, percent: 67 });
    desk.must(vec![Op::Reopen { item: Number(5).into(), start: false }]);
    desk.must(vec![Op::Cancel { item: Number(5).into(), reason: None }]);
    assert_eq!(summary().progress, Progress { completed: 1, total: 3, percent: 33 });
    // All sub-items are completed, but the item itself is open, so progress is below 100%.
    desk.must(vec![Op::Cancel { item: Number(4).into(), reason: None }]);
    desk.must(vec![Op::Reopen { item: Number(5).into(), start: false }, done(5)]);
    assert_eq!(summary().progress, Progress { completed: 2, total: 2, percent: 99 });
    assert_eq!(summary().progress, desk.whole().progress());
    desk.must(vec![Op::Supersede(Number(2).into())]);
    assert_eq!(summary().progress, Progress { completed: 2, total: 2, percent: 100 });
    assert_eq!(summary().progress, desk.whole().progress());
}

pub(crate) fn the_newest_conversation_is_named(world: &World) {
    let store = world.handle();
    wait(store.create(new_plan(1))).unwrap();
    let named = || wait(store.plans(Filter::default())).unwrap().remove(0).attachment;
    assert_eq!(named(), None);
    wait(store.attach(key("c", ""), plan_id(1), at(5))).unwrap();
    wait(store.attach(key("d", ""), plan_id(1), at(3))).unwrap();
    assert_eq!(named(), Some(key("c", "")));
    wait(store.attach(key("d", ""), plan_id(1), at(5))).unwrap();
    assert_eq!(named(), Some(key("d", "")), "of equals the last in order");
    wait(store.create(new_plan(2))).unwrap();
    wait(store.attach(key("d", ""), plan_id(2), at(6))).unwrap();
    let plans = wait(store.plans(Filter::default())).unwrap();
    let named: Vec<_> = plans.into_iter().map(|plan| (plan.id, plan.attachment)).collect();
    assert_eq!(named, [(plan_id(1), Some(key("c", ""))), (plan_id(2), Some(key("d", "")))]);
}

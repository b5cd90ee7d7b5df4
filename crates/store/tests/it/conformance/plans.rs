//! Overviews of plans.

use punchlist_model::store::{Change, Filter, ItemSearch, NewPlan, ProjectSums, Summary};
use punchlist_model::{End, ItemRef, NewItem, Number, Op, PlanPatch, Progress, Revision, Rules};

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
        let filter =
            Filter { project: own(project), name: own(name), id: own(id), ..Filter::default() };
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

fn archive() -> Op {
    let rules = Some(Rules { archived: true, ..Rules::default() });
    Op::Plan(Box::new(PlanPatch { rules, ..PlanPatch::default() }))
}

pub(crate) fn a_list_comes_in_pages(world: &World) {
    let store = world.handle();
    for n in 1..=5 {
        // The second and the third were changed at the same time.
        let time = if n == 3 { 2 } else { i64::from(n) };
        let title = format!("Plan {n}");
        wait(store.create(NewPlan { at: at(time), title, ..new_plan(n) })).unwrap();
    }
    wait(store.change(plan_id(4), Change::new(vec![archive()], ctx("ann", 4)))).unwrap();
    let list = |filter: Filter| wait(store.plans(filter)).unwrap();
    let (mut after, mut pages) = (None, Vec::new());
    loop {
        let page = list(Filter { after, most: Some(2), ..Filter::default() });
        let Some(last) = page.last() else { break };
        after = Some((last.updated_at, last.id));
        pages.push(numbers(&page));
    }
    assert_eq!(pages, [vec![5, 4], vec![2, 3], vec![1]]);
    let archived = |it| Filter { archived: Some(it), most: Some(3), ..Filter::default() };
    assert_eq!(numbers(&list(archived(true))), [4]);
    assert_eq!(numbers(&list(archived(false))), [5, 2, 3]);
    let text = |it: &str| Filter { text: Some(it.to_owned()), most: Some(2), ..Filter::default() };
    assert_eq!(numbers(&list(text("PLAN"))), [5, 4]);
    assert_eq!(numbers(&list(text("lan 1"))), [1], "those before it do not match");
    assert!(list(text("%")).is_empty());
    let one = Some(plan_id(3).to_string());
    assert_eq!(numbers(&list(Filter { id: one, most: Some(1), ..Filter::default() })), [3]);
}

pub(crate) fn the_plans_of_a_project_are_added_up(world: &World) {
    let store = world.handle();
    for (n, project) in [(1, "/b"), (2, "/a"), (3, "/a"), (4, "/a")] {
        let project = project.to_owned();
        wait(store.create(NewPlan { project, at: at(i64::from(n)), ..new_plan(n) })).unwrap();
    }
    let change = |n, ops, time| wait(store.change(plan_id(n), Change::new(ops, ctx("ann", time))));
    change(2, vec![add("x"), add("y")], 7).unwrap();
    change(3, vec![add("z"), archive()], 6).unwrap();
    let sums = |project: &str, plans, unfinished, archived, open, time| ProjectSums {
        project: project.to_owned(),
        plans,
        unfinished,
        archived,
        open,
        updated_at: at(time),
    };
    let (a, b) = (sums("/a", 3, 1, 1, 3, 7), sums("/b", 1, 0, 0, 0, 1));
    assert_eq!(wait(store.projects(None)).unwrap(), [a.clone(), b]);
    assert_eq!(wait(store.projects(Some("/a".to_owned()))).unwrap(), [a]);
    assert_eq!(wait(store.projects(Some("/c".to_owned()))).unwrap(), []);
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

pub(crate) fn items_are_found_by_their_texts_whatever_the_case(world: &World) {
    let store = world.handle();
    for (n, project) in [(1, "/a"), (2, "/b")] {
        let new = NewPlan { project: project.to_owned(), at: at(i64::from(n)), ..new_plan(n) };
        wait(store.create(new)).unwrap();
        let context = NewItem { context: "Über 100 %".to_owned(), ..NewItem::titled("Other") };
        let ops = vec![add("Write the README"), Op::Add(Box::new(context)), done(1)];
        wait(store.change(plan_id(n), Change::new(ops, ctx("ann", 9 + i64::from(n))))).unwrap();
    }
    let found = |text: &str, project: Option<&str>, most| {
        let search = ItemSearch {
            text: text.to_owned(),
            project: project.map(str::to_owned),
            after: None,
            most,
        };
        let found = wait(store.search(search)).unwrap();
        found.iter().map(|it| (it.project.clone(), it.at.number.0)).collect::<Vec<_>>()
    };
    let (a, b) = ("/a".to_owned(), "/b".to_owned());
    assert_eq!(found("readme", None, 9), [(b.clone(), 1), (a.clone(), 1)]);
    assert_eq!(found("über", Some("/a"), 9), [(a.clone(), 2)]);
    assert_eq!(found("0 %", None, 1), [(b, 2)], "no character has a meaning of its own");
    assert_eq!(found("_", None, 9), []);
    let search = ItemSearch { text: "WRITE".to_owned(), project: Some(a), after: None, most: 9 };
    let first = wait(store.search(search)).unwrap().remove(0);
    assert_eq!((first.at.plan, first.title.as_str()), (plan_id(1), "Write the README"));
    assert_eq!(first.status, punchlist_model::Status::Completed);
}

pub(crate) fn a_search_goes_on_after_any_item_that_was_found(world: &World) {
    let store = world.handle();
    // Plans 2 and 3 were changed at the same time, plan 1 before them.
    for (n, second) in [(1, 5), (2, 7), (3, 7)] {
        wait(store.create(new_plan(n))).unwrap();
        let ops = ["one", "two", "other"].map(add).to_vec();
        wait(store.change(plan_id(n), Change::new(ops, ctx("ann", second)))).unwrap();
    }
    let page = |after, most| {
        let search = ItemSearch { text: "o".to_owned(), project: None, after, most };
        wait(store.search(search)).unwrap().into_iter().map(|it| it.at).collect::<Vec<_>>()
    };
    let all = page(None, 99);
    let named: Vec<_> = all.iter().map(|it| (it.plan, it.number.0)).collect();
    let expected = [2, 3, 1].into_iter().flat_map(|n| [1, 2, 3].map(|item| (plan_id(n), item)));
    assert_eq!(named, expected.collect::<Vec<_>>());
    for (at, found) in all.iter().enumerate() {
        assert_eq!(page(Some(*found), 2), all[at + 1..(at + 3).min(all.len())], "{found:?}");
    }
}

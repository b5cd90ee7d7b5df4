//! Creating and changing plans.

use std::thread;

use punchlist_model::needs::Needs;
use punchlist_model::store::{Change, Error, Filter, Kind, NewPlan};
use punchlist_model::{
    Actor, Broken, Check, Evidence, ItemRef, Level, Mark, Mode, NewItem, Number, Op, Origin, Patch,
    Place, PlanPatch, Position, Revision, Run, Timestamp,
};

use super::World;
use crate::support::{Desk, add, at, ctx, done, key, new_plan, plan_id, start, wait};

pub(crate) fn an_empty_plan_is_at_revision_0_and_has_no_journal(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    let plan = desk.whole();
    assert_eq!((plan.revision, plan.placed, plan.open), (Revision(0), 0, 0));
    assert_eq!((plan.title.as_str(), plan.created_at), ("Plan 1", at(0)));
    assert_eq!(desk.journal(), []);
    let again = wait(desk.store.create(new_plan(1)));
    assert!(matches!(again, Err(Error::Exists(id)) if id == plan_id(1)));
}

pub(crate) fn each_change_adds_one_to_the_revision_and_one_entry_to_the_journal(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    assert_eq!(desk.must(vec![add("a"), add("b")]).revision(), Revision(1));
    assert_eq!(desk.must(vec![start(1)]).revision(), Revision(2));
    assert_eq!(desk.must(vec![done(1)]).revision(), Revision(3));
    let journal = desk.journal();
    let kinds: Vec<Kind> = journal.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [Kind::Add, Kind::Start, Kind::Done]);
    assert_eq!(journal[2].actor.name, "ann");
    assert_eq!((journal[2].at, desk.whole().updated_at), (at(3), at(3)));
    assert_eq!(desk.list(), "1:a completed, 2:b pending");
}

pub(crate) fn a_batch_with_bad_entries_changes_nothing_and_names_each_of_them(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    desk.must(vec![add("a")]);
    let before = desk.whole();
    let refused = desk.change(vec![add("b"), add(" "), start(9), start(1)]);
    let Err(Error::Refused(refusal)) = refused else { panic!("{refused:?}") };
    let entries: Vec<usize> = refusal.problems.iter().map(|it| it.entry).collect();
    assert_eq!(entries, [1, 2]);
    assert_eq!(desk.whole(), before);
    assert_eq!(desk.journal().len(), 1);
}

pub(crate) fn a_change_of_nothing_writes_nothing(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    desk.must(vec![add("a")]);
    let before = desk.whole();
    let patch = Box::new(Patch { title: Some("a".to_owned()), ..Patch::default() });
    let applied = desk.must(vec![Op::Edit { item: Number(1).into(), patch }]);
    assert_eq!(applied.revision(), Revision(1));
    assert_eq!(applied.decision.events, []);
    assert_eq!(desk.must(vec![]).revision(), Revision(1));
    assert_eq!(desk.whole(), before);
    assert_eq!(desk.journal().len(), 1);
}

pub(crate) fn a_revision_conflict_names_what_happened_since(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    desk.must(vec![add("a")]);
    desk.must(vec![add("b")]);
    desk.must(vec![add("c")]);
    let expecting = |revision| Change {
        expect: Some(Revision(revision)),
        ..Change::new(vec![add("d")], desk.ctx())
    };
    let late = wait(desk.store.change(desk.plan, expecting(1)));
    let Err(Error::Revision { plan, expected, actual, since }) = late else { panic!("{late:?}") };
    assert_eq!((plan, expected, actual), (desk.plan, Revision(1), Revision(3)));
    assert_eq!(since, desk.journal()[1..]);
    let early = wait(desk.store.change(desk.plan, expecting(9)));
    assert!(matches!(early, Err(Error::Revision { since, .. }) if since.is_empty()));
    assert_eq!(wait(desk.store.change(desk.plan, expecting(3))).unwrap().revision(), Revision(4));
}

pub(crate) fn a_name_is_unique_in_its_project(world: &World) {
    let store = world.handle();
    let named = |n, project: &str| NewPlan {
        name: Some("release".to_owned()),
        project: project.to_owned(),
        ..new_plan(n)
    };
    wait(store.create(named(1, "/here"))).unwrap();
    let taken = wait(store.create(named(2, "/here")));
    assert!(matches!(taken, Err(Error::NameTaken(name)) if name == "release"));
    wait(store.create(named(3, "/there"))).unwrap();
    wait(store.create(NewPlan { name: None, ..named(4, "/here") })).unwrap();
    wait(store.create(NewPlan { name: None, ..named(5, "/here") })).unwrap();

    let rename = |plan, name: Option<&str>, seconds| {
        let name = Some(name.map(str::to_owned));
        let op = Op::Plan(Box::new(PlanPatch { name, ..PlanPatch::default() }));
        wait(store.change(plan, Change::new(vec![op], ctx("ann", seconds))))
    };
    let taken = rename(plan_id(4), Some("release"), 1);
    assert!(matches!(taken, Err(Error::NameTaken(name)) if name == "release"));
    assert_eq!(wait(store.read(plan_id(4), Needs::header())).unwrap().revision, Revision(0));
    assert_eq!(wait(store.journal(plan_id(4), Revision(0), 9)).unwrap(), []);
    rename(plan_id(1), None, 2).unwrap();
    rename(plan_id(4), Some("release"), 3).unwrap();
}

pub(crate) fn an_unknown_plan_is_said_to_be_unknown(world: &World) {
    let store = world.handle();
    let id = plan_id(9);
    let unknown = |error: Error| assert!(matches!(error, Error::NoPlan(it) if it == id));
    unknown(wait(store.whole(id)).unwrap_err());
    unknown(wait(store.change(id, Change::new(vec![add("a")], ctx("ann", 1)))).unwrap_err());
    unknown(wait(store.undo(id, ctx("ann", 1), None)).unwrap_err());
    unknown(wait(store.forget(id, None, ctx("ann", 1))).unwrap_err());
    unknown(wait(store.journal(id, Revision(0), 1)).unwrap_err());
    unknown(wait(store.attach(key("c", ""), id, at(1))).unwrap_err());
}

pub(crate) fn every_field_of_an_item_is_kept(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    let metadata = serde_json::json!({"z": 1, "a": [null, 1.5, "é"], "deep": {"x": {}}});
    let new = NewItem {
        id: None,
        title: "Ship it".to_owned(),
        active_form: Some("Shipping it".to_owned()),
        context: "line\nline".to_owned(),
        completion_criteria: "it is there".to_owned(),
        agent_type: Some("coder".to_owned()),
        owner: Some("ann".to_owned()),
        priority: Some(u32::MAX),
        depends_on: vec![ItemRef::Batch(1), ItemRef::Batch(2)],
        parent: Some(ItemRef::Batch(1)),
        waiting_on: Some("the tide".to_owned()),
        check: Some(Check {
            command: "test -f x".to_owned(),
            covers: vec!["src/**".to_owned()],
            origin: Origin::Agent,
        }),
        run: Some(Run { command: "make".to_owned(), origin: Origin::Person }),
        approve: true,
        retry: Some(3),
        timeout: Some(60),
        metadata: metadata.as_object().cloned(),
        from_list: true,
        place: Place::Front,
    };
    let evidence = Evidence { level: Level::Approved, at: at(99), by: "bob".to_owned(), run: None };
    let ops = vec![add("a"), add("b"), Op::Add(Box::new(new))];
    let mut expected = desk.must(ops).plan.get(Number(3)).unwrap().clone();
    assert_eq!(desk.whole().get(Number(3)), Some(&expected));
    assert_eq!(expected.position, Some(Position(1)));

    let prove = Op::Prove { item: Number(3).into(), evidence: Box::new(evidence.clone()) };
    let bob = punchlist_model::Ctx { actor: Actor::person("bob"), ..desk.ctx() };
    wait(desk.store.change(desk.plan, Change::new(vec![prove], bob))).unwrap();
    expected.evidence.push(evidence);
    let recorded = punchlist_model::Ctx { mode: Mode::Recorded, ..desk.ctx() };
    let patch = Box::new(Patch { title: Some(" ".to_owned()), ..Patch::default() });
    let op = Op::Edit { item: Number(3).into(), patch };
    let applied = wait(desk.store.change(desk.plan, Change::new(vec![op], recorded))).unwrap();
    expected = applied.plan.get(Number(3)).unwrap().clone();
    assert!(expected.marks.contains(&Mark::EmptyTitle));
    let anyway = punchlist_model::Ctx { anyway: true, actor: Actor::person("ann"), ..desk.ctx() };
    wait(desk.store.change(desk.plan, Change::new(vec![start(3)], anyway))).unwrap();
    let plan = desk.whole();
    let item = plan.get(Number(3)).unwrap();
    assert_eq!((item.attempt.0, item.claim.is_some()), (1, true));
    assert_eq!((item.started_at, &item.waiting_on), (Some(at(4)), &None));
    assert_eq!((&item.marks, &item.evidence), (&expected.marks, &expected.evidence));
    assert_eq!(item.metadata, expected.metadata);
}

pub(crate) fn times_are_kept_to_the_millisecond(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    let now = Timestamp::from_nanosecond(1_800_000_000_123_456_789).unwrap();
    let kept = Timestamp::from_millisecond(1_800_000_000_123).unwrap();
    let ctx = punchlist_model::Ctx { now, ..desk.ctx() };
    let applied =
        wait(desk.store.change(desk.plan, Change::new(vec![add("a"), start(1)], ctx))).unwrap();
    assert_eq!(applied.plan.updated_at, kept);
    let plan = desk.whole();
    let item = plan.get(Number(1)).unwrap();
    assert_eq!((item.created_at, item.started_at), (kept, Some(kept)));
    assert_eq!((plan.updated_at, desk.journal()[0].at), (kept, kept));
    let attached = wait(desk.store.attach(key("c", ""), desk.plan, now)).unwrap();
    assert_eq!(attached.at, kept);
    assert_eq!(wait(desk.store.attachment(key("c", ""))).unwrap(), Some(attached));
}

pub(crate) fn next_takes_the_lowest_priority_then_the_first_place(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    let with = |title: &str, priority, depends_on| {
        let new = NewItem { priority, depends_on, ..NewItem::titled(title) };
        Op::Add(Box::new(new))
    };
    desk.must(vec![
        with("none", None, vec![]),
        with("late", Some(5), vec![]),
        with("first", Some(0), vec![ItemRef::Batch(2)]),
        with("waits", Some(0), vec![]),
        with("last of all", Some(u32::MAX), vec![]),
    ]);
    let wait_for = Op::Wait { item: Number(4).into(), on: "rain".to_owned() };
    desk.must(vec![wait_for]);
    let mut order = Vec::new();
    while let Some(number) = desk.must(vec![Op::Next]).decision.picked {
        order.push(number.0);
        desk.must(vec![done(number.0)]);
    }
    assert_eq!(order, [2, 3, 1, 5]);
}

pub(crate) fn items_are_found_by_number_id_prefix_and_position(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    desk.must(vec![add("a"), add("b"), add("c")]);
    let id = desk.whole().get(Number(2)).unwrap().id;
    let prefix = |text: &str| ItemRef::Prefix(text.to_owned());
    let all = id.to_string();
    for item in [
        ItemRef::Number(Number(2)),
        ItemRef::Id(id),
        ItemRef::Both(Number(2), id),
        ItemRef::Position(Position(2)),
        prefix(&all),
        prefix(&all[..all.len() - 1]),
    ] {
        let found = desk.must(vec![Op::Start(item.clone())]).decision.picked;
        assert_eq!(found, Some(Number(2)), "{item:?}");
        desk.must(vec![Op::Release(item)]);
    }
    let broken = |item: ItemRef| match desk.change(vec![Op::Start(item)]) {
        Err(Error::Refused(refusal)) => refusal.problems[0].broken.clone(),
        other => panic!("{other:?}"),
    };
    assert!(matches!(broken(prefix("zz")), Broken::NotFound { .. }));
    assert!(matches!(broken(ItemRef::Both(Number(1), id)), Broken::NotFound { .. }));
    assert!(matches!(broken(ItemRef::Both(Number(7), id)), Broken::NotFound { .. }));
    assert!(matches!(broken(prefix("%")), Broken::NotFound { .. }));
    assert!(matches!(broken(ItemRef::Position(Position(4))), Broken::NotFound { .. }));
    let Broken::Ambiguous { candidates, .. } = broken(prefix("")) else { panic!() };
    assert_eq!(candidates, [Number(1), Number(2)]);
}

pub(crate) fn order_is_dense_after_inserts_moves_and_removals(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    let at_place =
        |title: &str, place| Op::Add(Box::new(NewItem { place, ..NewItem::titled(title) }));
    let move_to = |n: u32, to| Op::Move { item: Number(n).into(), to };
    desk.must(vec![add("a"), add("b"), add("c"), add("d"), add("e")]);
    desk.must(vec![at_place("front", Place::Front)]);
    desk.must(vec![at_place("third", Place::At(Position(3))), move_to(5, Place::Front)]);
    desk.must(vec![Op::Supersede(Number(2).into())]);
    desk.must(vec![move_to(1, Place::After(Number(4).into())), add("end")]);
    let plan = desk.whole();
    let listed: Vec<(u32, u32)> =
        plan.listed().iter().map(|it| (it.position.unwrap().0, it.number.0)).collect();
    assert_eq!(listed, [(1, 5), (2, 6), (3, 7), (4, 3), (5, 4), (6, 1), (7, 8)]);
    assert_eq!(plan.get(Number(2)).unwrap().position, None);
    assert_eq!((plan.placed, plan.open), plan.recount());
}

pub(crate) fn handles_that_write_at_once_lose_nothing(world: &World) {
    let first = Desk::new(world.handle(), "ann");
    thread::scope(|scope| {
        for worker in 0..4 {
            scope.spawn(move || {
                let desk = Desk::at(world.handle(), plan_id(1), &format!("worker {worker}"));
                for n in 0..10 {
                    desk.must(vec![add(&format!("{worker}/{n}"))]);
                }
            });
        }
    });
    let plan = first.whole();
    assert_eq!((plan.items.len(), plan.revision), (40, Revision(40)));
    let ids: std::collections::BTreeSet<_> = plan.items.values().map(|it| it.id).collect();
    assert_eq!(ids.len(), 40);
    assert_eq!(wait(first.store.plans(Filter::default())).unwrap()[0].open, 40);
}

pub(crate) fn a_hostile_text_is_kept_as_it_is(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    let titles = [
        "'; DROP TABLE item; --",
        "\u{1b}[31mred\u{1b}[0m",
        "\u{202e}olleh",
        "]]><script>",
        "e\u{301}\u{1f3f3}\u{fe0f}",
        "\u{feff}\u{fffd}\u{7f}\t",
    ];
    desk.must(titles.iter().map(|it| add(it)).collect());
    let plan = desk.whole();
    let kept: Vec<&str> = plan.listed().iter().map(|it| it.title.as_str()).collect();
    assert_eq!(kept, titles);
}

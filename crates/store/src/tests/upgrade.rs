//! A database of the version before, with plans in it, is the same database afterwards; and what is no
//! longer in an index is still found.

use punchlist_model::needs::Reach;
use punchlist_model::store::{Change, Entry, Filter};
use punchlist_model::{ItemRef, NewItem, Op, Place, Revision};
use rusqlite::Connection;

use super::*;
use crate::migrate::{APPLICATION, STEPS};

/// The tables and columns of version 4 that a plan consists of.
const OLD: [(&str, &str); 3] = [
    (
        "plan",
        "key, id, project, name, title, revision, rules, goal, end, next_number, placed, open, \
         created_at, updated_at, seen_by",
    ),
    (
        "item",
        "plan, number, id, position, status, priority, unmet, parent, attempt, created_at, \
         started_at, completed_at, superseded_at, depends_on, waiting_on, claim, title, \
         active_form, agent_type, owner, outcome, context, completion_criteria, extra",
    ),
    ("journal", "seq, plan, revision, at, actor_kind, actor, kind, undoes, events"),
];

fn store_at(path: std::path::PathBuf) -> Sqlite {
    Sqlite::open(&Options { path, durability: Durability::Normal }).unwrap()
}

/// Two plans that were changed in turn, with items that were moved, dropped and renamed.
fn worked_on(store: &Sqlite) -> [PlanId; 2] {
    let plans = [4, 5].map(|seed| PlanId(IdSource::fixed(at(0), seed).nth(0)));
    for plan in plans {
        now(store.import(Plan::new(plan, "/project", at(0)), Vec::new())).unwrap();
    }
    for n in 0..120_u8 {
        let op = match n % 6 {
            0..=2 => Op::Add(Box::new(NewItem::titled(format!("item {n}")))),
            3 => Op::Move { item: ItemRef::Position(Position(1)), to: Place::Back },
            4 => Op::Add(Box::new(NewItem {
                place: Place::Front,
                ..NewItem::titled(format!("first {n}"))
            })),
            _ => Op::Start(ItemRef::Position(Position(2))),
        };
        let ctx = Ctx { ids: IdSource::fixed(at(n.into()), n), now: at(n.into()), ..ctx() };
        // Not every step is allowed, and none has to be.
        drop(now(store.change(plans[usize::from(n / 6 % 2)], Change::new(vec![op], ctx))));
    }
    plans
}

fn all(store: &Sqlite) -> Vec<(Plan, Vec<Entry>)> {
    let plans = now(store.plans(Filter::default())).unwrap();
    let whole = |plan: PlanId| {
        let journal = now(store.journal(plan, Revision(0), u32::MAX)).unwrap();
        (now(PlanStore::read(store, plan, Needs::whole())).unwrap(), journal)
    };
    plans.into_iter().map(|it| whole(it.id)).collect()
}

/// Every item can be meant by its number, its place and its id, in a slice.
#[track_caller]
fn check_found(store: &Sqlite, plan: &Plan) {
    for item in plan.items.values() {
        let mut meant = vec![ItemRef::Number(item.number), ItemRef::Id(item.id)];
        meant.extend(item.position.map(ItemRef::Position));
        meant.push(ItemRef::Prefix(item.id.to_string()));
        for reference in meant {
            let reach = Reach { item: reference.clone(), around: Vec::new() };
            let needs = Needs { items: vec![reach], ..Needs::default() };
            let slice = now(PlanStore::read(store, plan.id, needs)).unwrap();
            assert_eq!(slice.get(item.number), Some(item), "{reference:?}");
        }
    }
}

#[test]
fn a_database_of_the_version_before_keeps_its_plans_and_journals() {
    let directory = tempfile::TempDir::new().unwrap();
    let [new, old] = ["new.db", "old.db"].map(|name| directory.path().join(name));
    let store = store_at(new.clone());
    worked_on(&store);
    let expected = all(&store);
    assert!(expected.iter().all(|it| it.1.len() > 32), "too few changes to show anything");
    drop(store);
    let conn = Connection::open(&old).unwrap();
    conn.pragma_update(None, "journal_mode", "WAL").unwrap();
    STEPS.iter().take(4).for_each(|step| conn.execute_batch(step).unwrap());
    conn.execute("ATTACH DATABASE ?1 AS new", [new.to_string_lossy()]).unwrap();
    for (table, columns) in OLD {
        let copy = format!("INSERT INTO {table}({columns}) SELECT {columns} FROM new.{table}");
        conn.execute_batch(&copy).unwrap();
    }
    conn.pragma_update(None, "application_id", APPLICATION).unwrap();
    conn.pragma_update(None, "user_version", 4).unwrap();
    drop(conn);
    let store = store_at(old);
    assert_eq!(all(&store), expected);
    for (plan, _) in &expected {
        check_found(&store, plan);
        let op = Op::Add(Box::new(NewItem::titled("after the upgrade")));
        let applied = now(store.change(plan.id, Change::new(vec![op], ctx()))).unwrap();
        assert_eq!(applied.revision().0, plan.revision.0 + 1);
        let newest = now(store.journal(plan.id, plan.revision, 9)).unwrap();
        assert_eq!(newest.len(), 1);
    }
}

#[test]
fn items_are_found_whichever_way_they_are_meant() {
    let directory = tempfile::TempDir::new().unwrap();
    let store = store_at(directory.path().join("plans.db"));
    for plan in worked_on(&store) {
        let plan = now(PlanStore::read(&store, plan, Needs::whole())).unwrap();
        let moved =
            plan.items.values().filter(|it| it.position.map(|it| it.0) != Some(it.number.0));
        assert!(moved.count() > 5, "nothing was moved");
        check_found(&store, &plan);
    }
    let foreign = large_plan();
    now(store.import(foreign.clone(), Vec::new())).unwrap();
    let few = Plan { items: foreign.items.into_iter().take(20).collect(), ..foreign };
    check_found(&store, &few);
}

#[test]
fn any_part_of_a_journal_is_the_same_part_of_the_whole() {
    let directory = tempfile::TempDir::new().unwrap();
    let store = store_at(directory.path().join("plans.db"));
    for plan in worked_on(&store) {
        let whole = now(store.journal(plan, Revision(0), u32::MAX)).unwrap();
        for after in 0..=whole.len() + 1 {
            for most in [0, 1, 2, 15, 16, 17, 33, u32::MAX] {
                let part = now(store.journal(plan, Revision(after as u64), most)).unwrap();
                let expected = whole.iter().skip(after).take(most as usize);
                assert!(part.iter().eq(expected), "{most} after {after}");
            }
        }
    }
}

#[test]
fn a_journal_with_a_hole_is_an_error_and_not_a_short_journal() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("plans.db");
    let store = store_at(path.clone());
    let [plan, _] = worked_on(&store);
    let conn = Connection::open(&path).unwrap();
    conn.execute("DELETE FROM journal WHERE plan = 1 AND revision = 7", []).unwrap();
    let error = now(store.journal(plan, Revision(0), u32::MAX)).unwrap_err();
    assert!(error.to_string().contains("of the journal is missing"), "{error}");
    assert_eq!(now(store.journal(plan, Revision(7), u32::MAX)).unwrap()[0].revision, Revision(8));
}

/// A plan whose items stand under one another, with some that an agent's list has brought.
fn with_children_and_lists(store: &Sqlite) -> PlanId {
    use punchlist_model::{Actor, ListEntry, Status};
    let plan = PlanId(IdSource::fixed(at(0), 6).nth(0));
    now(store.import(Plan::new(plan, "/project", at(0)), Vec::new())).unwrap();
    let under = |title: &str, parent: u32| {
        let parent = Some(ItemRef::Number(Number(parent)));
        Op::Add(Box::new(NewItem { parent, ..NewItem::titled(title) }))
    };
    let entry = |title: &str| ListEntry::titled(title, Status::Pending);
    let steps = [
        vec![Op::Add(Box::new(NewItem::titled("house"))), under("walls", 1), under("roof", 1)],
        vec![Op::Replace(vec![entry("agent's own"), entry("and another")])],
        vec![Op::Complete {
            item: ItemRef::Number(Number(2)),
            outcome: None,
            with_children: false,
        }],
    ];
    for (n, ops) in (1..).zip(steps) {
        let ids = IdSource::fixed(at(n), u8::try_from(n).unwrap());
        let ctx = Ctx { ids, now: at(n), actor: Actor::agent("me"), ..ctx() };
        now(store.change(plan, Change::new(ops, ctx))).unwrap();
    }
    plan
}

#[test]
fn a_database_of_version_5_learns_what_is_under_an_item_and_where_it_came_from() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("plans.db");
    let store = store_at(path.clone());
    let plan = with_children_and_lists(&store);
    let expected = all(&store);
    assert_eq!(expected[0].0.items.values().filter(|it| it.from_list).count(), 2);
    drop(store);
    let conn = Connection::open(&path).unwrap();
    let before: u32 =
        conn.query_row("SELECT unmet FROM item WHERE number = 1", [], |row| row.get(0)).unwrap();
    assert_eq!(before, 1);
    conn.execute_batch(
        "UPDATE item SET unmet = 0, extra = json_remove(extra, '$.from_list'); \
         UPDATE item SET extra = NULL WHERE extra = '{}'; PRAGMA user_version = 5",
    )
    .unwrap();
    drop(conn);
    let store = store_at(path);
    assert_eq!(all(&store), expected);
    let next =
        now(PlanStore::read(&store, plan, Needs { next: true, ..Needs::default() })).unwrap();
    assert_eq!(next.next_ready().map(|it| it.title.as_str()), Some("agent's own"));
}

/// Metadata as deep as a reader went when it was taken in, with our own words around it when it is stored.
#[test]
fn what_was_taken_in_is_read_again_however_deep_it_is() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("plans.db");
    let store = store_at(path.clone());
    let [plan, _] = worked_on(&store);
    let conn = Connection::open(&path).unwrap();
    for levels in [100, 123, 125, 127] {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
        let row = format!("{{\"metadata\":{deep}}}");
        conn.execute("UPDATE item SET extra = ?1 WHERE plan = 1 AND number = 2", [row]).unwrap();
        let changed = format!(
            "[{{\"event\":\"changed\",\"number\":2,\"what\":\"edited\",\"deltas\":\
             [{{\"metadata\":{{\"before\":null,\"after\":{deep}}}}}]}}]"
        );
        conn.execute("UPDATE journal SET events = ?1 WHERE plan = 1 AND revision = 3", [changed])
            .unwrap();
        let whole = now(PlanStore::read(&store, plan, Needs::whole())).unwrap();
        let item = whole.get(Number(2)).unwrap();
        assert!(item.metadata.is_some() && item.marks.is_empty(), "{levels}: {item:?}");
        let journal = now(store.journal(plan, Revision(0), u32::MAX)).unwrap();
        let punchlist_model::Event::Changed { deltas, .. } = &journal[2].events[0] else {
            panic!("{:?}", journal[2]);
        };
        assert_eq!(deltas.len(), 1, "{levels}");
    }
}

#[test]
fn what_cannot_be_read_says_so_and_the_rest_is_there() {
    use punchlist_model::{Event, Mark, What};
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("plans.db");
    let store = store_at(path.clone());
    let [plan, other] = worked_on(&store);
    let good = now(PlanStore::read(&store, plan, Needs::whole())).unwrap();
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(
        "UPDATE item SET extra = '{\"marks\":17}', claim = 'x' WHERE plan = 1 AND number = 2; \
         UPDATE item SET status = 'asleep' WHERE plan = 1 AND number = 3; \
         UPDATE journal SET events = 'no JSON' WHERE plan = 1 AND revision = 2; \
         UPDATE journal SET events = '[{\"event\":\"added\",\"item\":{\"number\":3}}]' \
         WHERE plan = 1 AND revision = 3; \
         UPDATE plan SET goal = '[]', end = 'nowhere' WHERE key = 2",
    )
    .unwrap();
    let whole = now(PlanStore::read(&store, plan, Needs::whole())).unwrap();
    assert_eq!(whole.items.len(), good.items.len());
    for (number, item) in &whole.items {
        let is_bad = matches!(number.0, 2 | 3);
        assert_eq!(item.marks.contains(&Mark::Unreadable), is_bad, "{item:?}");
        assert_eq!(item.title, good.get(*number).unwrap().title);
    }
    let journal = now(store.journal(plan, Revision(0), u32::MAX)).unwrap();
    assert_eq!(journal[1].events, [Event::PlanChanged { deltas: Vec::new() }]);
    let unreadable =
        Event::Changed { number: Number(3), what: What::Unreadable, deltas: Vec::new() };
    assert_eq!(journal[2].events, [unreadable]);
    assert!(journal.len() > 30);
    let plans = now(store.plans(Filter::default())).unwrap();
    assert_eq!(plans.len(), 2);
    let bad = now(PlanStore::read(&store, other, Needs::whole())).unwrap();
    assert_eq!(bad.goal.unwrap().statement, "[unreadable]");
}

//! A migrated database of schema 5, 6, 7 or 8 has the same plans as before, and every item is found by
//! each kind of reference.

use punchlist_model::needs::{Needs, Reach};
use punchlist_model::store::{AttachmentKey, Change, Entry, Filter};
use punchlist_model::{ItemRef, MadeFor, NewItem, Op, Place, Revision};
use rusqlite::Connection;

use super::*;

/// Databases of older versions, as SQL.
const SCHEMA_5: &str = include_str!("../../tests/fixtures/schema_5.sql");
const SCHEMA_6: &str = include_str!("../../tests/fixtures/schema_6.sql");
const SCHEMA_7: &str = include_str!("../../tests/fixtures/schema_7.sql");

/// What a database of schema 8 has besides: a conversation with a turn, an entry and a message.
const CONVERSATION_8: &str = "\
    INSERT INTO conversation(key, id, project, directory, title, settings, state, turns, created_at, \
    changed_at) VALUES (1, '019a8f2c-1f3a-7000-8000-aaaaaaaaaaaa', '/tmp/shop', '/tmp/shop', \
    'Write it', '{}', 'idle', 1, 1767322860000, 1767323520000);
    INSERT INTO turn(conversation, number, id, plan, began_at, machine) \
    VALUES (1, 1, 'turn', NULL, 1767322860000, '{}');
    INSERT INTO turn_entry(conversation, number, turn, at, kind, body) \
    VALUES (1, 1, 1, 1767322860000, 'user', '{}');
    INSERT INTO message(conversation, seq, id, steer, at, text) VALUES \
    ('019a8f2c-1f3a-7000-8000-aaaaaaaaaaaa', 1, '019a8f2c-1f3a-7000-8000-bbbbbbbbbbbb', 0, \
    1767322860000, 'and then this');
    PRAGMA user_version = 8;";

/// A database of schema 8: what version 8 added to version 7, with a conversation.
fn schema_8() -> String {
    format!("{SCHEMA_7}{}{CONVERSATION_8}", crate::migrate::TO_8)
}

fn store_at(path: std::path::PathBuf) -> Sqlite {
    Sqlite::open(&Options { path, durability: Durability::Normal }).unwrap()
}

/// Two plans that were changed alternately, with items that were moved, dropped and renamed.
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
        // Some operations are refused, which is fine.
        drop(now(store.change(plans[usize::from(n / 6 % 2)], Change::new(vec![op], ctx))));
    }
    plans
}

fn all(store: &Sqlite) -> Vec<(Plan, Vec<Entry>)> {
    let plans = now(store.plans(Filter::default())).unwrap();
    let whole = |plan: PlanId| {
        let journal = now(store.journal(plan, Revision(0), u32::MAX)).unwrap();
        (now(PlanStore::whole(store, plan)).unwrap(), journal)
    };
    plans.into_iter().map(|it| whole(it.id)).collect()
}

/// Every item is found by its number, its position and its id, in a slice.
#[track_caller]
fn check_found(store: &Sqlite, plan: &Plan) {
    for item in plan.items.values() {
        let mut references = vec![ItemRef::Number(item.number), ItemRef::Id(item.id)];
        references.extend(item.position.map(ItemRef::Position));
        references.push(ItemRef::Prefix(item.id.to_string()));
        for reference in references {
            let reach = Reach { item: reference.clone(), around: Vec::new() };
            let needs = Needs { items: vec![reach], ..Needs::default() };
            let slice = now(PlanStore::read(store, plan.id, needs)).unwrap();
            assert_eq!(slice.get(item.number), Some(item), "{reference:?}");
        }
    }
}

/// A database of an older version, migrated.
fn upgraded(sql: &str) -> (tempfile::TempDir, Sqlite) {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("plans.db");
    let conn = Connection::open(&path).unwrap();
    conn.pragma_update(None, "journal_mode", "WAL").unwrap();
    conn.execute_batch(sql).unwrap();
    drop(conn);
    (directory, store_at(path))
}

fn conversation() -> AttachmentKey {
    AttachmentKey {
        project: "/tmp/shop".to_owned(),
        agent: "agent".to_owned(),
        conversation: "c1".to_owned(),
        sub_agent: String::new(),
        turn: String::new(),
    }
}

/// The item with a title.
fn titled_item<'a>(plan: &'a Plan, title: &str) -> &'a Item {
    plan.items.values().find(|it| it.title == title).unwrap()
}

#[test]
fn a_database_of_an_older_schema_keeps_its_plans_and_journals() {
    for sql in [SCHEMA_5, SCHEMA_6, SCHEMA_7, &schema_8()] {
        let (_directory, store) = upgraded(sql);
        let all = all(&store);
        let titles: Vec<&str> = all.iter().map(|(plan, _)| plan.title.as_str()).collect();
        assert_eq!(titles, ["", "Agent one", "Release"]);
        for (plan, journal) in &all {
            // Replaying the journal gives the rows.
            let mut again = Plan::new(plan.id, plan.project.clone(), plan.created_at);
            journal.iter().flat_map(|it| &it.events).for_each(|event| again.evolve(event));
            let changed = |plan: &Plan| -> Vec<Item> {
                let whole = plan.items.values().cloned();
                whole.map(|it| Item { from_list: false, ..it }).collect()
            };
            assert_eq!(changed(&again), changed(plan));
            assert_eq!(journal.len() as u64, plan.revision.0);
            check_found(&store, plan);
            let op = Op::Add(Box::new(NewItem::titled("after the upgrade")));
            let applied = now(store.change(plan.id, Change::new(vec![op], ctx()))).unwrap();
            assert_eq!(applied.revision().0, plan.revision.0 + 1);
        }
        let [(own, _), (agents, _), _] = <[_; 3]>::try_from(all).unwrap();
        let is_from_list = |title| titled_item(&agents, title).from_list;
        assert!(is_from_list("Agent one") && is_from_list("Agent three"));
        // The house depends on its roof, so the roof is next.
        let next =
            now(PlanStore::read(&store, own.id, Needs { next: true, ..Needs::default() })).unwrap();
        let ready = next.items.values().find(|it| it.status == Status::Pending).unwrap();
        assert_eq!(ready.title, "Roof");
        let shown = now(store.attachment(conversation())).unwrap().unwrap().shown;
        assert_eq!(shown, Revision(2), "it has seen the list that it wrote");
    }
}

#[test]
fn a_plan_that_was_found_by_a_hash_is_found_by_what_it_was_made_for() {
    for sql in [SCHEMA_5, SCHEMA_6, SCHEMA_7, &schema_8()] {
        let (_directory, store) = upgraded(sql);
        let title = |what: MadeFor| {
            let id = now(store.plan_for(what)).unwrap();
            id.map(|id| now(PlanStore::read(&store, id, Needs::header())).unwrap().title)
        };
        assert_eq!(title(MadeFor::Project("/tmp/shop".to_owned())).as_deref(), Some(""));
        let file = MadeFor::File("/tmp/shop/plan.md".to_owned());
        assert_eq!(title(file).as_deref(), Some("Release"));
        assert_eq!(title(MadeFor::Conversation(conversation())).as_deref(), Some("Agent one"));
        assert_eq!(title(MadeFor::Project("/tmp/other".to_owned())), None);
    }
}

#[test]
fn an_upgraded_schema_is_the_same_as_a_new_one() {
    let schema = |store: &Sqlite| -> Vec<(String, Option<String>)> {
        let database = store.database();
        let sql = "SELECT name, sql FROM sqlite_schema ORDER BY name";
        let mut select = database.conn.prepare(sql).unwrap();
        let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let directory = tempfile::TempDir::new().unwrap();
    let new = schema(&store_at(directory.path().join("new.db")));
    assert_eq!(schema(&upgraded(SCHEMA_5).1), new);
    assert_eq!(schema(&upgraded(SCHEMA_6).1), new);
    assert_eq!(schema(&upgraded(SCHEMA_7).1), new);
    assert_eq!(schema(&upgraded(&schema_8()).1), new);
}

#[test]
fn a_conversation_of_schema_8_keeps_its_turns_and_its_queue_and_is_not_paused() {
    use punchlist_model::call::CallStore;
    use punchlist_model::store::turns::{ConversationFilter, EntryFilter, TurnStore};
    let (_directory, store) = upgraded(&schema_8());
    let found = now(store.conversations(ConversationFilter::default())).unwrap().remove(0);
    assert_eq!((found.title.as_str(), found.turns, found.queue_paused), ("Write it", 1, false));
    assert_eq!(now(store.turns(found.id)).unwrap()[0].id, "turn");
    assert_eq!(now(store.entries(found.id, EntryFilter::default())).unwrap()[0].kind, "user");
    let waiting = now(store.messages(found.id.to_string())).unwrap();
    assert_eq!(waiting[0].text, "and then this");
}

#[test]
fn an_old_status_that_is_none_does_not_keep_a_database_from_being_upgraded() {
    let sql = format!("{SCHEMA_6} UPDATE item SET status = 'asleep' WHERE title = 'Roof';");
    let (_directory, store) = upgraded(&sql);
    let all = all(&store);
    assert_eq!(titled_item(&all[0].0, "Roof").status, Status::Pending);
}

#[test]
fn items_are_found_whichever_way_they_are_meant() {
    let directory = tempfile::TempDir::new().unwrap();
    let store = store_at(directory.path().join("plans.db"));
    for plan in worked_on(&store) {
        let plan = now(PlanStore::whole(&store, plan)).unwrap();
        let moved =
            plan.items.values().filter(|it| it.position.map(|it| it.0) != Some(it.number.0));
        assert!(moved.count() > 5, "nothing was moved");
        check_found(&store, &plan);
    }
    let foreign = large_plan();
    now(store.import(foreign.clone(), Vec::new())).unwrap();
    let mut few = foreign;
    few.items = std::mem::take(&mut few.items).into_iter().take(20).collect();
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
    assert!(error.to_string().contains("the entry after 6 of the journal is missing"), "{error}");
    assert_eq!(now(store.journal(plan, Revision(7), u32::MAX)).unwrap()[0].revision, Revision(8));
}

/// Metadata that was as deep as readers accept; in the store it is nested deeper.
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
        let whole = now(PlanStore::whole(&store, plan)).unwrap();
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
    let good = now(PlanStore::whole(&store, plan)).unwrap();
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(
        "PRAGMA ignore_check_constraints = ON; UPDATE item SET extra = '{\"marks\":17}', claim = 'x' WHERE plan = 1 AND number = 2; \
         UPDATE item SET status = 'asleep' WHERE plan = 1 AND number = 3; \
         UPDATE journal SET events = 'no JSON' WHERE plan = 1 AND revision = 2; \
         UPDATE journal SET events = '[{\"event\":\"added\",\"item\":{\"number\":3}}]' \
         WHERE plan = 1 AND revision = 3; \
         UPDATE plan SET goal = '[]', end = 'nowhere' WHERE key = 2",
    )
    .unwrap();
    let whole = now(PlanStore::whole(&store, plan)).unwrap();
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
    let bad = now(PlanStore::whole(&store, other)).unwrap();
    assert_eq!(bad.goal.as_ref().unwrap().statement, "[unreadable]");
}

//! Tests of internals: how many rows are written, and which index is used.

mod group;
mod upgrade;

use std::task::{Context, Poll, Waker};

use futures_core::future::BoxFuture;
use punchlist_model::store::{Change, Error, PlanStore};
use punchlist_model::{
    Actor, Ctx, Holder, IdSource, Item, ItemId, Limits, Mode, NewItem, Number, Op, Place, Plan,
    PlanId, Position, Status, Timestamp,
};

use crate::disk::Wal;
use crate::load::{IN_PROGRESS, NEXT_READY};
use crate::open::{self, Access, Database, Options};
use crate::{Durability, Sqlite, changes, journal, load, save, sessions};

const ITEMS: u32 = 10_000;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn ctx() -> Ctx {
    Ctx {
        now: at(1),
        ids: IdSource::fixed(at(1), 3),
        actor: Actor::person("ann"),
        holder: Holder::named("ann"),
        attempt: None,
        base: None,
        mode: Mode::Enforced,
        limits: Limits { open_items: u32::MAX, ..Limits::default() },
        gone: Vec::new(),
        anyway: false,
    }
}

/// Each item depends on the two before it; the first half is completed.
fn large_plan() -> Plan {
    let ids = IdSource::fixed(at(0), 1);
    let mut plan = Plan::new(PlanId(IdSource::fixed(at(0), 2).nth(0)), "/project", at(0));
    for n in 1..=ITEMS {
        let mut item = Item::new(ItemId(ids.nth(n)), Number(n), format!("item {n}"), at(0));
        item.position = Some(Position(n));
        item.depends_on = (n.saturating_sub(2).max(1)..n).map(Number).collect();
        if n <= ITEMS / 2 {
            item.status = Status::Completed;
        }
        plan.items.insert(item.number, item);
    }
    plan.next_number = Number(ITEMS + 1);
    (plan.placed, plan.open) = plan.recount();
    plan
}

fn database() -> (tempfile::TempDir, open::Database, Plan) {
    let directory = tempfile::TempDir::new().unwrap();
    let options =
        Options { path: directory.path().join("plans.db"), durability: Durability::Normal };
    let database = open::to_write(&options).unwrap();
    let plan = large_plan();
    let tx = database.conn.unchecked_transaction().unwrap();
    changes::import(&tx, &plan, &[]).unwrap();
    tx.commit().unwrap();
    (directory, database, plan)
}

#[test]
fn a_large_plan_is_changed_by_touching_what_changes() {
    let (_directory, database, plan) = database();
    let conn = &database.conn;
    // Rows written and items loaded by one operation.
    let check = |op: Op, rows: u64, items: usize| {
        let words = format!("{op:?}");
        let before = conn.total_changes();
        let applied = changes::change(conn, plan.id, Change::new(vec![op], ctx())).unwrap();
        assert_eq!(conn.total_changes() - before, rows, "rows of {words}");
        assert_eq!(applied.plan.items.len(), items, "items of {words}");
        applied.decision
    };
    let next = Number(ITEMS / 2 + 1);
    let last = Number(ITEMS);
    // Rows: the item, the plan, the journal entry.
    check(Op::Add(Box::new(NewItem::titled("append"))), 3, 1);
    let depends_on = vec![last.into()];
    // Also the dependency, and `unmet` of the item.
    check(Op::Add(Box::new(NewItem { depends_on, ..NewItem::titled("linked") })), 5, 2);
    // The next item. Its two dependencies are completed and are not loaded.
    let decision = check(Op::Next, 3, 1);
    assert_eq!(decision.picked, Some(next));
    // The item and its two dependants.
    check(Op::Complete { item: next.into(), outcome: None, with_children: false }, 5, 3);
    check(Op::Move { item: last.into(), to: Place::Back }, 5, 1);
}

#[test]
fn the_next_ready_item_is_one_seek_in_its_index() {
    let (_directory, database, plan) = database();
    let (key, _) = load::header(&database.conn, plan.id).unwrap();
    let mut explain = database.conn.prepare(&format!("EXPLAIN QUERY PLAN {NEXT_READY}")).unwrap();
    let steps: Vec<String> =
        explain.query_map([key.0], |row| row.get(3)).unwrap().map(Result::unwrap).collect();
    assert_eq!(steps, ["SEARCH item USING INDEX item_ready (plan=?)"]);
    let mut select = database.conn.prepare(NEXT_READY).unwrap();
    let number: u32 = select.query_row([key.0], |row| row.get(0)).unwrap();
    assert_eq!(number, ITEMS / 2 + 1);
    let steps = select.get_status(rusqlite::StatementStatus::VmStep);
    assert!(steps < 60, "{steps} steps of SQLite's machine");
}

#[test]
fn statements_are_parsed_once() {
    let (_directory, database, plan) = database();
    let (key, _) = load::header(&database.conn, plan.id).unwrap();
    assert_eq!(key.0, 1, "the value that SQLite would think about anew");
    for sql in [IN_PROGRESS, NEXT_READY] {
        let mut select = database.conn.prepare(sql).unwrap();
        for _ in 0..3 {
            let mut rows = select.query([key.0]).unwrap();
            while rows.next().unwrap().is_some() {}
            drop(rows);
            select.clear_bindings();
        }
        assert_eq!(select.get_status(rusqlite::StatementStatus::RePrepare), 0, "{sql}");
    }
}

#[test]
fn slices_are_read_through_indexes() {
    let (_directory, database, _) = database();
    for sql in [
        IN_PROGRESS,
        load::ITEMS,
        load::OF_IDS,
        load::AT_POSITIONS,
        load::DEPENDENCIES,
        load::DEPENDANTS,
        load::CHILDREN,
        load::ALL_DEPENDENCIES,
        load::ANCESTORS,
        save::SHIFT,
        save::RECOUNT,
        journal::AFTER,
        sessions::SEEN_IN,
    ] {
        let steps = steps_of(&database.conn, sql);
        assert!(steps.iter().any(|it| it.starts_with("SEARCH")), "{sql}: {steps:?}");
        let walks = |it: &String| {
            let is_table = |name| it.starts_with(&format!("SCAN {name}"));
            ["item", "dependency", "journal", "session", "plan"].into_iter().any(is_table)
                || it.ends_with("(plan=?)")
        };
        assert_eq!(steps.iter().find(|it| walks(it)), None, "{sql} walks the plan: {steps:?}");
    }
}

/// SQLite's query plan for a statement.
fn steps_of(conn: &rusqlite::Connection, sql: &str) -> Vec<String> {
    let mut explain = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    // No parameters are bound: the statement is not executed.
    let mut rows = explain.raw_query();
    let mut steps = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        steps.push(row.get(3).unwrap());
    }
    steps
}

#[test]
fn the_todos_of_a_turn_are_found_through_indexes() {
    let (_directory, database, _) = database();
    for (condition, index) in [
        ("turnId = 't' AND status = 'pending'", "attachment_turn (turn=?)"),
        (
            "conversationId = 'c' AND turnId = 't'",
            "attachment_conversation (conversation=? AND turn=?)",
        ),
    ] {
        let sql = format!("SELECT title FROM turn_todos WHERE {condition}");
        let steps = steps_of(&database.conn, &sql);
        assert!(steps.iter().any(|it| it.contains(index)), "{condition}: {steps:?}");
    }
}

#[test]
fn where_a_call_stands_is_found_without_walking_its_run() {
    let (_directory, database, _) = database();
    let sql = format!("EXPLAIN QUERY PLAN {}", crate::calls::BEFORE);
    let mut explain = database.conn.prepare(&sql).unwrap();
    let steps: Vec<String> = explain
        .query_map(rusqlite::params![1, 1, "{}"], |row| row.get(3))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let searches = steps.iter().filter(|it| it.ends_with("call_number (run=? AND number=?)"));
    assert_eq!(searches.count(), 2, "{steps:?}");
    assert!(!steps.iter().any(|it| it.contains("TEMP B-TREE")), "{steps:?}");
}

#[test]
fn entries_of_conversations_are_found_through_indexes() {
    use crate::turn_entries::{OF_ALL_TURNS, OF_TURN, USED_SINCE};
    let (_directory, database, _) = database();
    for (sql, step) in [
        (OF_TURN, "INDEX turn_entry_turn (conversation=? AND turn=? AND number>?)"),
        (OF_ALL_TURNS, "INDEX sqlite_autoindex_turn_entry_1 (conversation=? AND number>?)"),
        (USED_SINCE, "COVERING INDEX turn_entry_used (at>?)"),
    ] {
        let expected = [format!("SEARCH turn_entry USING {step}")];
        assert_eq!(steps_of(&database.conn, sql), expected, "{sql}");
    }
}

#[test]
fn settings_are_as_promised() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("plans.db");
    let read = |durability| {
        let options = Options { path: path.clone(), durability };
        let Database { conn, access, .. } = open::to_write(&options).unwrap();
        let waits = matches!(access, Access::Write { wal: Some(_), .. });
        let pragma = |name: &str| -> String {
            let value: rusqlite::types::Value =
                conn.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0)).unwrap();
            format!("{name}={value:?}")
        };
        ["journal_mode", "synchronous", "foreign_keys", "trusted_schema", "busy_timeout"]
            .map(pragma)
            .join(" ")
            + if waits { " and we sync the WAL" } else { "" }
    };
    let settings = || format!("{}\n{}", read(Durability::Full), read(Durability::Normal));
    let usual = settings();
    // Another program may have turned off the WAL for good: then SQLite itself waits for the disk.
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.pragma_update(None, "journal_mode", "DELETE").unwrap();
    insta::assert_snapshot!(format!("{usual}\n{}", settings()));
}

/// A store whose disk fails, with a plan in it.
fn failing_disk() -> (tempfile::TempDir, Sqlite, PlanId) {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("plans.db");
    let store = Sqlite::open(&Options { path, durability: Durability::Full }).unwrap();
    let plan = Plan::new(PlanId(IdSource::fixed(at(0), 2).nth(0)), "/project", at(0));
    now(store.import(plan.clone(), Vec::new())).unwrap();
    // `/dev/null` cannot be synced, so it stands for a failing disk.
    let nowhere = std::fs::File::open("/dev/null").unwrap();
    with_wal(&store, |wal| *wal = Some(Wal::at(nowhere)));
    (directory, store, plan.id)
}

fn with_wal(store: &Sqlite, work: impl FnOnce(&mut Option<Wal>)) {
    match &mut store.database().access {
        Access::Write { wal, .. } => work(wal),
        Access::Read { why, .. } => panic!("{why}"),
    }
}

fn titled(store: &Sqlite, plan: PlanId, title: &str) -> Result<(), Error> {
    let ops = vec![Op::Add(Box::new(NewItem::titled(title)))];
    now(store.change(plan, Change::new(ops, ctx()))).map(drop)
}

#[test]
fn what_the_disk_does_not_confirm_in_the_log_is_made_good_in_the_database() {
    let (directory, store, plan) = failing_disk();
    titled(&store, plan, "kept").unwrap();
    titled(&store, plan, "kept too").unwrap();
    // Without the WAL there is only what is in the database.
    let alone = directory.path().join("alone.db");
    std::fs::copy(directory.path().join("plans.db"), &alone).unwrap();
    let alone = rusqlite::Connection::open(&alone).unwrap();
    let count = alone.query_row("SELECT count(*) FROM item", [], |row| row.get::<_, u32>(0));
    assert_eq!(count, Ok(2));
}

#[test]
fn a_change_that_the_disk_does_not_confirm_at_all_is_told_as_such() {
    let (directory, store, plan) = failing_disk();
    let path = directory.path().join("plans.db");
    let bell = || std::fs::metadata(crate::bell::path_of(&path)).unwrap().modified().unwrap();
    titled(&store, plan, "before").unwrap();
    let reader = rusqlite::Connection::open(&path).unwrap();
    let reading = reader.unchecked_transaction().unwrap();
    reading.query_row("SELECT count(*) FROM item", [], |_| Ok(())).unwrap();
    // A reader of an old state keeps the WAL from being copied completely.
    store.database().conn.busy_timeout(std::time::Duration::ZERO).unwrap();
    let rung = bell();
    let error = titled(&store, plan, "in doubt").unwrap_err();
    let Error::Unconfirmed { what, source: Some(_) } = &error else { panic!("{error:?}") };
    assert!(what.starts_with("the change was made, but the disk"), "{what}");
    assert_eq!(bell(), rung, "nobody is told");
    let items = || now(PlanStore::whole(&store, plan)).unwrap().items.len();
    assert_eq!(items(), 2, "it is made");
    // A disk that works again still lacks what it failed to write.
    let sound = std::fs::File::open(&path).unwrap();
    with_wal(&store, |wal| wal.as_mut().unwrap().replace_file(sound));
    assert!(matches!(titled(&store, plan, "still").unwrap_err(), Error::Unconfirmed { .. }));
    drop(reading);
    titled(&store, plan, "after").unwrap();
    assert_eq!(items(), 4);
}

#[test]
fn the_schema_cannot_be_corrupted_by_sql() {
    let directory = tempfile::TempDir::new().unwrap();
    let options =
        Options { path: directory.path().join("plans.db"), durability: Durability::Normal };
    let conn = open::to_write(&options).unwrap().conn;
    conn.execute_batch("PRAGMA writable_schema = ON").unwrap();
    assert!(conn.execute("UPDATE sqlite_schema SET sql = ''", []).is_err());
}

#[test]
fn a_full_disk_is_said_and_nothing_is_half_written() {
    let directory = tempfile::TempDir::new().unwrap();
    let options =
        Options { path: directory.path().join("plans.db"), durability: Durability::Normal };
    let store = Sqlite::open(&options).unwrap();
    let plan = Plan::new(PlanId(IdSource::fixed(at(0), 2).nth(0)), "/project", at(0));
    now(store.import(plan.clone(), Vec::new())).unwrap();
    let pages = |most: i64| {
        let conn = &store.database().conn;
        let sql = format!("PRAGMA max_page_count = {most}");
        conn.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let most = pages(1);
    let add = |title: &str| {
        let new = NewItem { context: "x".repeat(15_000), ..NewItem::titled(title) };
        let ops = vec![Op::Add(Box::new(NewItem::titled("small"))), Op::Add(Box::new(new))];
        now(store.change(plan.id, Change::new(ops, ctx())))
    };
    let full = add("too much").unwrap_err();
    assert!(full.to_string().contains("is full; nothing was changed"), "{full}");
    assert!(std::error::Error::source(&full).is_none(), "a driver's words add nothing: {full:?}");
    assert_eq!(now(PlanStore::whole(&store, plan.id)).unwrap(), plan);
    assert!(pages(most * 100) > most);
    assert_eq!(add("enough room").unwrap().plan.items.len(), 2);
}

/// Runs an inline future: it is ready at the first poll.
fn now<T>(mut future: BoxFuture<'_, T>) -> T {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("not ready at the first poll"),
    }
}

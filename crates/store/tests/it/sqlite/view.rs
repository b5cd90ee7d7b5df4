//! The view for people who query the database with SQL.

use std::sync::Arc;

use punchlist_model::store::Change;
use punchlist_model::{Number, Op, Timestamp};
use punchlist_store::Sqlite;
use rusqlite::types::ValueRef;

use super::{outside, place};
use crate::support::{Desk, add, at, ctx, key, start, wait};

#[test]
fn turn_todos_has_the_columns_of_the_first_design() {
    let (_directory, options) = place();
    Sqlite::open(&options).unwrap();
    let conn = outside(&options);
    let select = conn.prepare("SELECT * FROM turn_todos").unwrap();
    assert_eq!(
        select.column_names().collect::<Vec<_>>(),
        [
            "id",
            "conversationId",
            "turnId",
            "title",
            "context",
            "completionCriteria",
            "agentType",
            "status",
            "priority",
            "outcome",
            "createdAt",
            "startedAt",
            "completedAt"
        ]
    );
}

#[test]
fn turn_todos_shows_one_row_for_each_listed_item() {
    let (_directory, options) = place();
    let desk = Desk::new(Arc::new(Sqlite::open(&options).unwrap()), "ann");
    let mut made = ctx("ann", 1);
    made.now = Timestamp::from_millisecond(1_800_000_001_007).unwrap();
    let ops = vec![add("a"), add("b"), add("gone"), add("c")];
    wait(desk.store.change(desk.plan, Change::new(ops, made))).unwrap();
    desk.must(vec![Op::Supersede(Number(3).into()), start(1)]);
    let outcome = Some("went well".to_owned());
    desk.must(vec![Op::Complete { item: Number(1).into(), outcome, with_children: false }]);
    let patch = punchlist_model::Patch { priority: Some(Some(7)), ..Default::default() };
    desk.must(vec![Op::Edit { item: Number(2).into(), patch: Box::new(patch) }]);
    wait(desk.store.attach(key("talk", "turn-1"), desk.plan, at(5))).unwrap();
    wait(desk.store.attach(key("later", ""), desk.plan, at(9))).unwrap();

    let conn = outside(&options);
    let mut select = conn
        .prepare(
            "SELECT title, conversationId, turnId, status, priority, outcome, createdAt, \
             startedAt, completedAt FROM turn_todos ORDER BY priority",
        )
        .unwrap();
    let rows = select.query_map([], |row| {
        let cells: Vec<String> = (0..9)
            .map(|n| match row.get_ref(n).unwrap() {
                ValueRef::Null => "-".to_owned(),
                ValueRef::Integer(value) => value.to_string(),
                ValueRef::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
                other @ (ValueRef::Real(_) | ValueRef::Blob(_)) => panic!("{other:?}"),
            })
            .collect();
        Ok(cells.join(" | "))
    });
    let rows: Vec<String> = rows.unwrap().map(Result::unwrap).collect();
    insta::assert_snapshot!(rows.join("\n"));
}

#[test]
fn turn_todos_of_a_plan_without_a_conversation_name_none() {
    let (_directory, options) = place();
    let desk = Desk::new(Arc::new(Sqlite::open(&options).unwrap()), "ann");
    desk.must(vec![add("a")]);
    let row: (String, String, String) = outside(&options)
        .query_row("SELECT id, conversationId, turnId FROM turn_todos", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .unwrap();
    let id = desk.whole().get(Number(1)).unwrap().id.to_string();
    assert_eq!(row, (id, String::new(), String::new()));
}

#[test]
fn turn_todos_cannot_be_written() {
    let (_directory, options) = place();
    Sqlite::open(&options).unwrap();
    let error = outside(&options).execute("DELETE FROM turn_todos", []).unwrap_err();
    assert!(error.to_string().contains("view"), "{error}");
}

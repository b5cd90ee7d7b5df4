//! Examines a database: integrity of the files, correct counters, and a journal that leads to the
//! rows.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use pollster::block_on;
use punchlist_model::session::Store;
use punchlist_model::store::{Entry, Filter};
use punchlist_model::{Number, Plan, Position, Revision};
use punchlist_store::{Durability, Options, Sqlite};

use super::{Tally, postgres};

/// A plan with its whole journal.
pub(super) struct Case {
    pub(super) plan: Plan,
    pub(super) journal: Vec<Entry>,
}

pub(super) fn store(db: &Path) -> Arc<dyn Store> {
    if let Some(address) = postgres::address(db) {
        return postgres::open(address);
    }
    let options = Options { path: db.to_owned(), durability: Durability::Full };
    Arc::new(Sqlite::open(&options).unwrap())
}

/// Every plan of a database, after all consistency checks.
pub(super) fn judge(db: &Path, tally: &mut Tally) -> Vec<Case> {
    match postgres::address(db) {
        Some(address) => {
            postgres::settle(address);
            postgres::indexes(address, tally);
        }
        None => files(db, tally),
    }
    let store = store(db);
    let plans = block_on(store.plans(Filter::default())).unwrap();
    let mut cases = Vec::new();
    let mut ids = BTreeSet::new();
    for summary in plans {
        let plan = block_on(store.whole(summary.id)).unwrap();
        let journal = match block_on(store.journal(summary.id, Revision(0), u32::MAX)) {
            Ok(journal) => journal,
            Err(error) => {
                tally.spoil(format!("the journal cannot be read: {error}"));
                continue;
            }
        };
        let case = Case { plan, journal };
        for item in case.plan.items.values() {
            if !ids.insert(item.id) {
                tally.double(format!("two items have the id {}", item.id));
            }
        }
        counters(&case, tally);
        replay(&case, tally);
        cases.push(case);
    }
    cases
}

/// The one plan of a database.
pub(super) fn only(db: &Path, tally: &mut Tally) -> Case {
    let mut cases = judge(db, tally);
    assert_eq!(cases.len(), 1, "one plan is meant to be there");
    cases.remove(0)
}

fn files(db: &Path, tally: &mut Tally) {
    let conn = rusqlite::Connection::open(db).unwrap();
    let said: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    if said != "ok" {
        tally.spoil(format!("integrity_check: {said}"));
    }
    let orphans = conn.prepare("PRAGMA foreign_key_check").unwrap().exists([]).unwrap();
    if orphans {
        tally.spoil("a row belongs to one that is not there");
    }
}

fn counters(case: &Case, tally: &mut Tally) {
    let plan = &case.plan;
    if (plan.placed, plan.open) != plan.recount() {
        let (counted, is) = ((plan.placed, plan.open), plan.recount());
        tally.spoil(format!("placed and open are said to be {counted:?} and are {is:?}"));
    }
    let numbers: Vec<Number> = plan.items.keys().copied().collect();
    let expected: Vec<Number> = (1..plan.next_number.0).map(Number).collect();
    if numbers != expected {
        tally.spoil(format!("numbers below {} have gaps", plan.next_number));
    }
    let places: Vec<Option<Position>> = plan.listed().iter().map(|it| it.position).collect();
    let dense: Vec<Option<Position>> = (1..=plan.placed).map(|n| Some(Position(n))).collect();
    if places != dense {
        tally.spoil("positions have gaps or repeat");
    }
    let revisions: Vec<u64> = case.journal.iter().map(|it| it.revision.0).collect();
    if revisions != (1..=plan.revision.0).collect::<Vec<u64>>() {
        tally.spoil(format!("the journal has not each revision up to {} once", plan.revision));
    }
}

/// Replaying the journal must give the rows. No scenario changes a plan's name, title, rules or
/// goal, so those are taken as they are.
fn replay(case: &Case, tally: &mut Tally) {
    let plan = &case.plan;
    let mut replayed = Plan::new(plan.id, plan.project.clone(), plan.created_at);
    replayed.name.clone_from(&plan.name);
    replayed.made_for.clone_from(&plan.made_for);
    replayed.title.clone_from(&plan.title);
    replayed.rules = plan.rules;
    replayed.goal.clone_from(&plan.goal);
    for entry in &case.journal {
        entry.events.iter().for_each(|event| replayed.evolve(event));
        replayed.revision = entry.revision;
        replayed.updated_at = entry.at;
    }
    for (number, item) in &plan.items {
        if replayed.get(*number) != Some(item) {
            tally.spoil(format!("item {number} is not what the journal leads to"));
        }
    }
    if replayed != *plan {
        tally.spoil("the plan is not what its journal leads to");
    }
}

#[test]
fn the_judge_notices_what_does_not_add_up() {
    for spoil in [
        "UPDATE item SET title = 'other' WHERE number = 2",
        "UPDATE item SET status = 'completed' WHERE number = 2",
        "UPDATE item SET position = 4 WHERE number = 3",
        "DELETE FROM item WHERE number = 3",
        "DELETE FROM journal WHERE revision = 2",
        "DELETE FROM journal WHERE revision = 3",
        "UPDATE plan SET open = open + 1",
        "UPDATE plan SET next_number = 9",
        "UPDATE plan SET revision = 2",
    ] {
        let place = super::place::Place::new();
        for title in ["A", "B", "C"] {
            place.run(&["add", title]).works();
        }
        let mut tally = Tally::default();
        judge(&place.db, &mut tally);
        assert_eq!(tally.problems, [""; 0]);
        rusqlite::Connection::open(&place.db).unwrap().execute_batch(spoil).unwrap();
        judge(&place.db, &mut tally);
        assert!(tally.corrupt > 0, "{spoil}: not noticed");
    }
}

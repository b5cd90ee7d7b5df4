//! Writes that are confirmed together.

use std::sync::mpsc::{self, Receiver, Sender};

use punchlist_model::store::{Error, PlanStore};
use punchlist_model::{Plan, PlanId};

use super::{at, failing_disk, now, titled};
use crate::threaded::Job;
use crate::{Durability, Options, Sqlite, group};

/// A write that reports its result.
fn job(
    plan: PlanId,
    title: &'static str,
    results: &Sender<(&'static str, Result<(), Error>)>,
) -> Job {
    let results = results.clone();
    Box::new(move |store| {
        let value = titled(store, plan, title);
        Box::new(move |confirmed| {
            let result = value.and_then(|it| group::told(it, confirmed));
            results.send((title, result)).unwrap();
        })
    })
}

/// Runs these writes as one group, and returns their results.
fn together(
    store: &Sqlite,
    plan: PlanId,
    titles: &[&'static str],
) -> Vec<(&'static str, Result<(), Error>)> {
    let (results, got) = mpsc::channel();
    let (jobs, queue): (Sender<Job>, Receiver<Job>) = mpsc::channel();
    let mut all = titles.iter().map(|title| job(plan, title, &results));
    let first = all.next().unwrap();
    all.for_each(|it| jobs.send(it).unwrap());
    group::run(store, &queue, first);
    drop(results);
    got.into_iter().collect()
}

#[test]
fn a_refused_write_of_a_group_concerns_itself_alone() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("plans.db");
    let store =
        Sqlite::open(&Options { path: path.clone(), durability: Durability::Full }).unwrap();
    let plan = Plan::new(PlanId::NIL, "/project", at(0));
    now(store.import(plan, Vec::new())).unwrap();
    let bell = || std::fs::metadata(crate::bell::path_of(&path)).unwrap().modified().unwrap();
    let before = bell();
    let results = together(&store, PlanId::NIL, &["a", " ", "b"]);
    let words: Vec<(&str, bool)> = results.iter().map(|it| (it.0, it.1.is_ok())).collect();
    assert_eq!(words, [("a", true), (" ", false), ("b", true)]);
    assert!(matches!(results[1].1, Err(Error::Refused(_))), "{:?}", results[1]);
    assert_eq!(now(PlanStore::whole(&store, PlanId::NIL)).unwrap().items.len(), 2);
    assert!(bell() >= before);
    // Afterwards a write alone is confirmed as ever.
    titled(&store, PlanId::NIL, "c").unwrap();
    assert!(store.database().group.is_none());
}

#[test]
fn what_the_disk_does_not_confirm_is_told_to_everybody_in_the_group() {
    let (directory, store, plan) = failing_disk();
    let path = directory.path().join("plans.db");
    // The disk fails, but the WAL can be copied into the database.
    assert!(together(&store, plan, &["a", "b"]).iter().all(|it| it.1.is_ok()));
    let reader = rusqlite::Connection::open(&path).unwrap();
    let reading = reader.unchecked_transaction().unwrap();
    reading.query_row("SELECT count(*) FROM item", [], |_| Ok(())).unwrap();
    // A reader of an old state keeps the WAL from being copied completely.
    store.database().conn.busy_timeout(std::time::Duration::ZERO).unwrap();
    let bell = || std::fs::metadata(crate::bell::path_of(&path)).unwrap().modified().unwrap();
    let rung = bell();
    for (title, result) in together(&store, plan, &["c", "d"]) {
        assert!(matches!(result, Err(Error::Unconfirmed { .. })), "{title}: {result:?}");
    }
    assert_eq!(bell(), rung, "nobody is told");
}

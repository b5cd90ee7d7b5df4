//! Files that are deleted, moved or replaced under a store that stays open.

use std::fs;
use std::path::{Path, PathBuf};

use punchlist_model::store::{Error, Filter, PlanStore};
use punchlist_store::{Options, Sqlite, Threaded};

use super::place;
use crate::support::{new_plan, plan_id, wait};

/// How many plans a process finds that opens the database now.
fn found(options: &Options) -> usize {
    let store = Sqlite::open_to_read(options).unwrap();
    store.map_or(0, |store| wait(store.plans(Filter::default())).unwrap().len())
}

fn with(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Moves all files of a database to another place.
fn move_away(path: &Path) {
    for ending in ["", "-wal", "-shm"] {
        let from = with(path, ending);
        if from.exists() {
            fs::rename(&from, with(&from, ".moved")).unwrap();
        }
    }
}

fn words<T: std::fmt::Debug>(refused: Result<T, Error>) -> String {
    refused.unwrap_err().to_string()
}

#[test]
fn a_change_is_not_acknowledged_into_a_database_that_was_deleted_or_moved() {
    for delete in [true, false] {
        let (_directory, options) = place();
        let store = Threaded::open(&options).unwrap();
        wait(store.create(new_plan(1))).unwrap();
        match delete {
            true => fs::remove_file(&options.path).unwrap(),
            false => move_away(&options.path),
        }
        let error = words(wait(store.create(new_plan(2))));
        assert!(error.contains("was moved or deleted; nothing was changed"), "{error}");
        // The next write goes to the file at the path.
        wait(store.create(new_plan(3))).unwrap();
        assert_eq!(found(&options), 1);
        assert!(wait(store.whole(plan_id(1))).is_err());
    }
}

#[test]
fn a_change_goes_to_the_database_that_took_the_place_of_the_old_one() {
    let (_directory, options) = place();
    let store = Threaded::open(&options).unwrap();
    wait(store.create(new_plan(1))).unwrap();
    move_away(&options.path);
    let other = Sqlite::open(&options).unwrap();
    wait(other.create(new_plan(2))).unwrap();
    let error = words(wait(store.plans(Filter::default())));
    assert!(error.contains("was replaced by another file"), "{error}");
    wait(store.create(new_plan(3))).unwrap();
    assert_eq!(found(&options), 2);
    assert_eq!(wait(store.plans(Filter::default())).unwrap().len(), 2);
}

#[test]
fn what_was_acknowledged_survives_a_wal_that_is_deleted_under_the_store() {
    for endings in [&["-wal"][..], &["-wal", "-shm"][..]] {
        let (_directory, options) = place();
        let store = Threaded::open(&options).unwrap();
        wait(store.create(new_plan(1))).unwrap();
        for ending in endings {
            fs::remove_file(with(&options.path, ending)).unwrap();
        }
        wait(store.create(new_plan(2))).unwrap();
        assert_eq!(found(&options), 2, "{endings:?}");
    }
}

#[test]
fn a_read_finds_what_was_acknowledged_after_the_wal_was_deleted() {
    let (_directory, options) = place();
    let store = Threaded::open(&options).unwrap();
    wait(store.create(new_plan(1))).unwrap();
    let plans = || wait(store.plans(Filter::default())).unwrap().len();
    assert_eq!(plans(), 1);
    fs::remove_file(with(&options.path, "-wal")).unwrap();
    assert_eq!(plans(), 1);
    wait(store.create(new_plan(2))).unwrap();
    assert_eq!(plans(), 2);
    assert_eq!(found(&options), 2);
}

#[test]
fn a_read_says_once_that_the_database_was_replaced_and_then_reads_the_new_one() {
    let (_directory, options) = place();
    let store = Threaded::open(&options).unwrap();
    for n in 1..=2 {
        wait(store.create(new_plan(n))).unwrap();
    }
    let plans = || wait(store.plans(Filter::default())).map(|it| it.len());
    assert_eq!(plans().unwrap(), 2);
    move_away(&options.path);
    wait(Sqlite::open(&options).unwrap().create(new_plan(3))).unwrap();
    let error = words(plans());
    assert!(error.contains("was replaced by another file"), "{error}");
    assert_eq!(plans().unwrap(), 1);
    // The writing connection notices it first.
    move_away(&options.path);
    let error = words(wait(store.create(new_plan(4))));
    assert!(error.contains("was moved or deleted; nothing was changed"), "{error}");
    assert_eq!(plans().unwrap(), 0);
}

#[test]
fn a_database_whose_directory_is_gone_is_not_made_anew() {
    let (directory, options) = place();
    let path = directory.path().join("project/.punchlist/plans.db");
    let options = Options { path, ..options };
    let store = Sqlite::open(&options).unwrap();
    wait(store.create(new_plan(1))).unwrap();
    fs::rename(directory.path().join("project"), directory.path().join("renamed")).unwrap();
    for _ in 0..2 {
        let error = words(wait(store.create(new_plan(2))));
        assert!(error.contains("was moved or deleted"), "{error}");
    }
    assert!(!directory.path().join("project").exists());
    // The directory is back, and the store works again.
    fs::rename(directory.path().join("renamed"), directory.path().join("project")).unwrap();
    wait(store.create(new_plan(3))).unwrap();
    assert_eq!(found(&options), 2);
}

//! The files: who may read them, which are refused, and what remains in them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use punchlist_model::Number;
use punchlist_model::call::{CallStore, NewMessage};
use punchlist_model::store::maintenance::MaintenanceStore;
use punchlist_model::store::turns::TurnStore;
use punchlist_model::store::{Error, PlanStore};
use punchlist_store::{Durability, Options, Sqlite};

use super::{outside, place};
use crate::conformance::conversations::held;
use crate::conformance::turn_entries::{entry, record, turn};
use crate::support::{Desk, add, at, conversation_id, key, message_id, new_plan, plan_id, wait};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_database_is_for_its_user_alone() {
    let (directory, mut options) = place();
    options.path = directory.path().join("new").join("deep").join("plans.db");
    let desk = Desk::new(Arc::new(Sqlite::open(&options).unwrap()), "ann");
    desk.must(vec![add("a")]);
    for part in ["new", "new/deep"] {
        assert_eq!(mode(&directory.path().join(part)), 0o700, "{part}");
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(options.path.parent().unwrap()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(mode(&entry.path()), 0o600, "{:?}", entry.path());
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(
        names,
        ["plans.db", "plans.db-bell", "plans.db-queue", "plans.db-shm", "plans.db-wal"]
    );
}

#[test]
fn a_directory_that_is_there_keeps_its_mode() {
    let (directory, options) = place();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    Sqlite::open(&options).unwrap();
    assert_eq!((mode(directory.path()), mode(&options.path)), (0o755, 0o600));
}

#[test]
fn a_newer_schema_is_refused_and_nothing_is_touched() {
    let (_directory, options) = place();
    Sqlite::open(&options).unwrap();
    outside(&options).execute_batch("PRAGMA user_version = 99; CREATE TABLE future(x)").unwrap();
    let newer = |error| matches!(error, Error::NewerSchema { found: 99, known: 6.. });
    assert!(newer(Sqlite::open(&options).err().unwrap()));
    assert!(newer(Sqlite::open_to_read(&options).err().unwrap()));
    let version: u32 =
        outside(&options).query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, 99);
}

#[track_caller]
fn check_unusable(options: &Options, words: &str) {
    let before = fs::read(&options.path).unwrap();
    for error in
        [Sqlite::open(options).err().unwrap(), Sqlite::open_to_read(options).err().unwrap()]
    {
        let Error::Unusable { what, .. } = &error else { panic!("{error:?}") };
        assert!(what.contains(words) && what.contains("plans.db"), "{what}");
    }
    assert_eq!(fs::read(&options.path).unwrap(), before);
}

#[test]
fn what_is_no_database_is_refused_by_name() {
    let (_directory, options) = place();
    fs::write(&options.path, "a letter to grandmother, long enough to be read\n".repeat(50))
        .unwrap();
    check_unusable(&options, "is not a Punchlist database");
}

#[test]
fn another_programs_database_is_refused_by_name() {
    let (_directory, options) = place();
    outside(&options).execute_batch("PRAGMA user_version = 1; CREATE TABLE theirs(x)").unwrap();
    check_unusable(&options, "is the database of another program");
}

#[test]
fn a_damaged_database_is_said_to_be_damaged() {
    let (_directory, options) = place();
    let desk = Desk::new(Arc::new(Sqlite::open(&options).unwrap()), "ann");
    desk.must((0..100).map(|n| add(&format!("item {n}"))).collect());
    drop(desk);
    outside(&options).execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let mut bytes = fs::read(&options.path).unwrap();
    bytes[4096..].fill(0x5a);
    fs::write(&options.path, &bytes).unwrap();
    // The damage may be noticed at once, or when the pages are read.
    let error = Sqlite::open(&options).and_then(|store| wait(PlanStore::whole(&store, plan_id(1))));
    let Err(Error::Unusable { what, .. }) = error else { panic!("{error:?}") };
    assert!(what.contains("is damaged"), "{what}");
}

#[test]
fn a_directory_in_its_place_is_refused() {
    let (directory, mut options) = place();
    options.path = directory.path().to_owned();
    let error = Sqlite::open(&options).err().unwrap();
    assert!(matches!(error, Error::Unusable { .. } | Error::ReadOnly(_)), "{error:?}");
}

#[test]
fn reading_makes_nothing() {
    let (directory, options) = place();
    assert!(Sqlite::open_to_read(&options).unwrap().is_none());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    fs::write(&options.path, "").unwrap();
    assert!(Sqlite::open_to_read(&options).unwrap().is_none(), "an empty file holds nothing");
}

#[test]
fn a_store_opened_to_read_sees_what_others_write_and_writes_nothing() {
    let (_directory, options) = place();
    let desk = Desk::new(Arc::new(Sqlite::open(&options).unwrap()), "ann");
    let reader = Sqlite::open_to_read(&options).unwrap().unwrap();
    desk.must(vec![add("a")]);
    let plan = wait(PlanStore::whole(&reader, plan_id(1)));
    assert_eq!(plan.unwrap(), desk.whole());
    let refused = wait(reader.create(new_plan(2)));
    let Err(Error::ReadOnly(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("plans.db"), "{why}");
    assert!(matches!(
        wait(reader.attach(key("c", ""), plan_id(1), crate::support::at(1))),
        Err(Error::ReadOnly(_))
    ));
}

#[test]
fn names_of_all_kinds_can_be_opened() {
    let (directory, mut options) = place();
    for name in ["with space.db", "100%.db", "what?.db", "#1.db", "file:x?immutable=1", "ä.db"] {
        options.path = directory.path().join(name);
        let desk = Desk::new(Arc::new(Sqlite::open(&options).unwrap()), "ann");
        desk.must(vec![add("a")]);
        assert!(options.path.is_file(), "{name}");
        assert!(Sqlite::open_to_read(&options).unwrap().is_some(), "{name}");
    }
}

#[test]
fn a_link_leads_to_the_same_bell() {
    let (directory, options) = place();
    drop(Desk::new(Arc::new(Sqlite::open(&options).unwrap()), "ann"));
    let link = directory.path().join("link.db");
    std::os::unix::fs::symlink(&options.path, &link).unwrap();
    let other = Options { path: link, durability: Durability::Normal };
    let desk = Desk::at(Arc::new(Sqlite::open(&other).unwrap()), plan_id(1), "ann");
    desk.must(vec![add("a")]);
    assert!(!directory.path().join("link.db-bell").exists());
}

#[test]
fn a_bell_that_leads_elsewhere_is_refused_and_what_it_leads_to_is_left_alone() {
    for ending in ["-bell", "-queue"] {
        let (directory, options) = place();
        drop(Sqlite::open(&options).unwrap());
        let (bell, letter) = (format!("plans.db{ending}"), directory.path().join("letter"));
        let bell = directory.path().join(bell);
        fs::write(&letter, "dear").unwrap();
        fs::remove_file(&bell).unwrap();
        std::os::unix::fs::symlink(&letter, &bell).unwrap();
        let store = Sqlite::open(&options).unwrap();
        let Err(Error::Unusable { source: Some(why), .. }) = wait(store.create(new_plan(1))) else {
            panic!("{ending} was followed");
        };
        assert!(why.to_string().ends_with("is not a plain file"), "{why}");
        assert_eq!(fs::read(&letter).unwrap(), b"dear");
    }
}

/// Whether any file of the store contains the text.
fn is_anywhere(directory: &Path, text: &str) -> bool {
    fs::read_dir(directory).unwrap().any(|entry| {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    })
}

#[test]
fn what_is_forgotten_is_in_no_file() {
    check_forgotten(Durability::Full);
    check_forgotten(Durability::Normal);
}

#[track_caller]
fn check_forgotten(durability: Durability) {
    let (directory, options) = place();
    let options = Options { durability, ..options };
    let desk = Desk::new(Arc::new(Sqlite::open(&options).unwrap()), "ann");
    // Long enough to need their own pages, and rewritten, so that old copies remain in the file.
    let long = |n: u32| {
        let context = format!("hunter2 {n} ").repeat(600);
        let patch = punchlist_model::Patch { context: Some(context), ..Default::default() };
        punchlist_model::Op::Edit { item: Number(1).into(), patch: Box::new(patch) }
    };
    desk.must(vec![add("the hunter2 password"), add("keep this")]);
    for n in 0..20 {
        desk.must(vec![long(n)]);
    }
    outside(&options).execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    desk.must(vec![long(99)]);
    assert!(is_anywhere(directory.path(), "hunter2"));
    wait(desk.store.forget(desk.plan, Some(Number(1).into()), desk.ctx())).unwrap();
    assert!(!is_anywhere(directory.path(), "hunter2"));
    assert!(is_anywhere(directory.path(), "keep this"));
    assert_eq!(desk.list(), "1:[forgotten] cancelled, 2:keep this pending");
}

#[test]
fn what_was_done_and_said_for_what_is_forgotten_is_in_no_file() {
    let (directory, options) = place();
    let desk = Desk::new(Arc::new(Sqlite::open(&options).unwrap()), "ann");
    desk.must(vec![add("one"), add("two")]);
    crate::conformance::forget::work(&*desk.store);
    assert!(is_anywhere(directory.path(), "secret second request"));
    wait(desk.store.forget(desk.plan, Some(Number(1).into()), desk.ctx())).unwrap();
    for text in ["title", "diff", "arguments", "request", "second", "detail", "reason"] {
        assert!(!is_anywhere(directory.path(), &format!("secret {text}")), "{text}");
    }
    assert!(is_anywhere(directory.path(), "secret message"), "said to the whole conversation");
    wait(desk.store.forget(desk.plan, None, desk.ctx())).unwrap();
    assert!(!is_anywhere(directory.path(), "secret"));
    assert!(is_anywhere(directory.path(), "plain message"));
}

#[test]
fn a_forgotten_conversation_is_in_no_file() {
    let (directory, options) = place();
    let store = Sqlite::open(&options).unwrap();
    for (n, text) in [(1, "hunter2"), (2, "keep this")] {
        let id = held(&store, n, "ann");
        for seconds in 1..20 {
            let mut turn = turn(1);
            turn.machine = text.repeat(500 * usize::from(n));
            let recorded = record(turn, vec![entry(&text.repeat(600))], seconds);
            wait(store.record_turn(id, "ann".to_owned(), recorded)).unwrap();
        }
        wait(store.queue(NewMessage {
            id: message_id(n),
            conversation: id.to_string(),
            text: text.to_owned(),
            steer: false,
            at: at(1),
        }))
        .unwrap();
    }
    outside(&options).execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    assert!(is_anywhere(directory.path(), "hunter2"));
    wait(store.forget_conversation(conversation_id(1), at(100))).unwrap();
    for trace in ["hunter2", "Request 1", &conversation_id(1).to_string()] {
        assert!(!is_anywhere(directory.path(), trace), "{trace}");
    }
    assert!(is_anywhere(directory.path(), "keep this"));
}

/// How many pages of the WAL the first process reads that opens the database.
fn pages_to_recover(options: &Options) -> u64 {
    let mut path = options.path.clone().into_os_string();
    path.push("-wal");
    let log = fs::read(path).unwrap();
    // The valid frames of the WAL have the two salts of its header.
    let Some((header, frames)) = log.split_at_checked(32) else { return 0 };
    let current = |frame: &&[u8]| frame[8..16] == header[16..24];
    let page = usize::from(header[10]) * 256 + usize::from(header[11]);
    u64::try_from(frames.chunks_exact(24 + page).take_while(current).count()).unwrap()
}

#[test]
fn the_log_stays_short_however_many_processes_write() {
    check_log(Durability::Full);
    check_log(Durability::Normal);
}

#[track_caller]
fn check_log(durability: Durability) {
    let (_directory, options) = place();
    let options = Options { durability, ..options };
    drop(Desk::new(Arc::new(Sqlite::open(&options).unwrap()), "ann"));
    let mut longest = 0;
    for n in 0..60 {
        let desk = Desk::at(Arc::new(Sqlite::open(&options).unwrap()), plan_id(1), "ann");
        desk.wait_seconds(n);
        desk.must(vec![add(&n.to_string())]);
        longest = longest.max(pages_to_recover(&options));
    }
    assert!((100..300).contains(&longest), "{longest} pages");
}

#[test]
fn a_server_leaves_no_long_log_behind() {
    let (_directory, options) = place();
    let desk = Desk::new(Arc::new(punchlist_store::Threaded::open(&options).unwrap()), "ann");
    for n in 0..60 {
        desk.must(vec![add(&n.to_string())]);
    }
    assert!(pages_to_recover(&options) > 200, "a server empties its log less often");
    drop(desk);
    let desk = Desk::at(Arc::new(Sqlite::open(&options).unwrap()), plan_id(1), "ann");
    desk.wait_seconds(100);
    desk.must(vec![add("after")]);
    let pages = pages_to_recover(&options);
    assert!(pages < 30, "{pages} pages");
}

#[test]
fn a_database_says_how_it_is_and_whether_it_can_be_written() {
    let (_directory, options) = place();
    let store = Sqlite::open(&options).unwrap();
    let health = wait(store.health()).unwrap();
    assert_eq!((health.plans, health.damage), (0, Vec::new()));
    assert!(health.bytes > 0 && health.schema > 0);
    wait(store.check_writable()).unwrap();
    drop(store);
    let desk = Desk::new(Arc::new(Sqlite::open(&options).unwrap()), "ann");
    desk.must(vec![add("a")]);
    let reader = Sqlite::open_to_read(&options).unwrap().unwrap();
    assert_eq!(wait(reader.health()).unwrap().plans, 1);
    assert!(matches!(wait(reader.check_writable()), Err(Error::ReadOnly(_))));
}

//! Read-only media.
//!
//! Permission bits do not bind root, so the directory is mounted read-only in a separate mount
//! namespace, in which this test runs itself once more. Without namespaces, permission bits are
//! used; if those do not bind either, nothing can be tested and the test ends.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use punchlist_model::store::{Cursor, Error, PlanStore, Scope};
use punchlist_store::{Durability, Options, Sqlite};

use super::outside;
use crate::support::{Desk, add, ctx, follow, new_plan, next, plan_id, wait};

const INSIDE: &str = "PUNCHLIST_TEST_READ_ONLY_DIRECTORY";
const NAME: &str = "sqlite::read_only::what_cannot_be_written_can_still_be_read";

#[test]
fn what_cannot_be_written_can_still_be_read() {
    if let Some(directory) = std::env::var_os(INSIDE) {
        return check(Path::new(&directory));
    }
    let directory = tempfile::TempDir::new().unwrap();
    prepare(directory.path());
    let script = "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\" \
                  && exec \"$@\"";
    let unshared = |program: &str, arguments: &[&str]| {
        Command::new("unshare")
            .args(["--map-root-user", "--mount", "sh", "-c", script])
            .arg(directory.path())
            .arg(program)
            .args(arguments)
            .env(INSIDE, directory.path())
            .output()
    };
    if unshared("true", &[]).is_ok_and(|output| output.status.success()) {
        let own = std::env::current_exe().unwrap();
        let output = unshared(own.to_str().unwrap(), &["--exact", NAME, "--nocapture"]).unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.contains("1 passed"), "{text}{errors}");
        return;
    }
    let bind = |mode| {
        for part in ["", "plain", "log", "shared", "empty"] {
            let path = directory.path().join(part);
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    bind(0o555);
    if fs::write(directory.path().join("probe"), "").is_err() {
        check(directory.path());
    }
    bind(0o755);
}

fn options(directory: &Path, part: &str) -> Options {
    Options { path: directory.join(part).join("plans.db"), durability: Durability::Full }
}

/// A database without a WAL, one with a WAL, one with a WAL and its index, and none.
fn prepare(directory: &Path) {
    fs::create_dir(directory.join("empty")).unwrap();
    for part in ["plain", "log", "shared"] {
        let options = options(directory, part);
        let desk = Desk::new(Arc::new(Sqlite::open(&options).unwrap()), "ann");
        desk.must(vec![add("a"), add("b")]);
        drop(desk);
        let beside = |end: &str| directory.join(part).join(format!("plans.db{end}"));
        if part == "plain" {
            outside(&options).execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
            assert!(!beside("-wal").exists(), "the last to leave removes the log");
        } else {
            assert!(fs::metadata(beside("-wal")).unwrap().len() > 0);
        }
        if part == "log" {
            fs::remove_file(beside("-shm")).unwrap();
            fs::remove_file(beside("-bell")).unwrap();
        }
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The number of private copies that still exist.
fn copies() -> usize {
    let mine = format!("punchlist-{}-", std::process::id());
    names(&std::env::temp_dir()).iter().filter(|name| name.starts_with(&mine)).count()
}

fn check(directory: &Path) {
    assert!(fs::write(directory.join("probe"), "").is_err(), "the directory can be written");
    for part in ["plain", "log", "shared"] {
        let options = options(directory, part);
        let before = names(&directory.join(part));
        let to_read = Sqlite::open_to_read(&options).unwrap().unwrap();
        let to_write = Sqlite::open(&options).unwrap();
        for store in [&to_read, &to_write] {
            let plan = wait(PlanStore::whole(store, plan_id(1))).unwrap();
            assert_eq!(plan.items.len(), 2, "{part}");
            let mut stream = follow(store, Cursor::Start, Scope::All);
            assert_eq!(next(&mut stream).1.plan, plan_id(1), "{part}");
            for refused in [
                wait(store.create(new_plan(2))).map(drop),
                wait(store.forget(plan_id(1), None, ctx("ann", 9))).map(drop),
            ] {
                let Err(Error::ReadOnly(why)) = refused else { panic!("{part}: {refused:?}") };
                assert!(why.contains("plans.db"), "{why}");
            }
        }
        drop((to_read, to_write));
        assert_eq!(names(&directory.join(part)), before, "{part}");
    }
    let nothing = options(directory, "empty");
    assert!(Sqlite::open_to_read(&nothing).unwrap().is_none());
    let refused = Sqlite::open(&nothing).err().unwrap();
    assert!(matches!(&refused, Error::ReadOnly(why) if why.contains("plans.db")), "{refused:?}");
    // A follower's thread removes its copy shortly after the stream is dropped.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while copies() > 0 {
        assert!(std::time::Instant::now() < deadline, "a private copy was left behind");
        std::thread::yield_now();
    }
}

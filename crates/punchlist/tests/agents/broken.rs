//! Punchlist is broken: the agent works and stops as if it were not installed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Model, Script};
use serde_json::json;

use crate::claude::refusals;
use crate::place::Place;
use crate::shown::shows;

/// Installs a copy of the program, breaks something, and lets a model work and stop with an open
/// item. Without Punchlist, nothing refuses the stop.
#[track_caller]
fn check(break_it: impl FnOnce(&Place)) {
    let mut place = Place::new();
    place.copied();
    place.install();
    break_it(&place);
    let script = Script::new()
        .calls("TaskCreate", json!({"subject": "Write the parser", "description": "of TOML"}))
        .calls("Bash", json!({"command": "echo it works", "description": "Try it"}))
        .stops("Done.");
    let model = Model::new(script).serve().unwrap();
    let run = place.claude(&model, "Build a parser").with_tasks();
    let ended = run.args(&["--allowedTools", "Bash"]).ends().well();
    assert_eq!((ended.answer(), model.left()), ("Done.", 0));
    let requests = model.requests();
    assert_eq!(refusals(&requests), [] as [String; 0]);
    assert_eq!(requests[1].results()[0].text, "Task #1 created successfully: Write the parser");
    assert_eq!(requests[2].results()[0].text, "it works");
}

impl Place {
    /// Uses a copy of the program, which may be broken.
    pub(crate) fn copied(&mut self) {
        let copy = self.path("home/bin/punchlist");
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        // Copied by another process: a file that this process writes may still be open in a child
        // of another test, and cannot be executed then.
        let mut cp = self.command(Path::new("cp"));
        assert!(cp.arg(&self.punchlist).arg(&copy).status().unwrap().success());
        self.punchlist = copy;
    }

    /// Replaces the program with a shell script.
    pub(crate) fn instead(&self, script: &str) {
        fs::remove_file(&self.punchlist).unwrap();
        fs::write(&self.punchlist, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&self.punchlist, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// The path of the database.
fn database(place: &Place) -> PathBuf {
    place.punchlist(&["add", "Something before"]);
    let mut found = Vec::new();
    databases(&place.path("home"), &mut found);
    let [only] = found.as_slice() else { panic!("not one database: {found:?}") };
    only.clone()
}

fn databases(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            databases(&path, found);
        } else if path.extension().is_some_and(|it| it == "db") {
            found.push(path);
        }
    }
}

/// Ways to break Punchlist.
pub(crate) mod ways {
    use super::{Place, database, fs};

    pub(crate) fn gone(place: &Place) {
        fs::remove_file(&place.punchlist).unwrap();
    }

    pub(crate) fn crashes(place: &Place) {
        place.instead("echo '{\"decision\": \"block\"'; kill -SEGV $$");
    }

    /// stdout has an answer, stderr a reason, and the exit code is one that some agents take for a
    /// refusal.
    pub(crate) fn fails(place: &Place) {
        let answer = "{\"decision\": \"block\", \"reason\": \"no\"}";
        place.instead(&format!("echo '{answer}'; echo no >&2; exit 2"));
    }

    pub(crate) fn hangs(place: &Place) {
        place.instead("exec sleep 100");
    }

    pub(crate) fn no_database(place: &Place) {
        let path = database(place);
        for suffix in ["-wal", "-shm"] {
            let mut name = path.clone().into_os_string();
            name.push(suffix);
            drop(fs::remove_file(name));
        }
        fs::write(path, "this is no database".repeat(500)).unwrap();
    }

    pub(crate) fn from_the_future(place: &Place) {
        let database = rusqlite::Connection::open(database(place)).unwrap();
        database.pragma_update(None, "user_version", 1_000_000).unwrap();
    }
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn the_binary_is_gone() {
    let _shows = shows(Agent::Claude, Feature::Broken, "gone");
    check(ways::gone);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn the_binary_crashes() {
    let _shows = shows(Agent::Claude, Feature::Broken, "crashing");
    check(ways::crashes);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn the_binary_says_something_and_fails() {
    let _shows = shows(Agent::Claude, Feature::Broken, "failing");
    check(ways::fails);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn the_binary_hangs() {
    let _shows = shows(Agent::Claude, Feature::Broken, "hanging");
    check(ways::hangs);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn the_database_is_no_database() {
    let _shows = shows(Agent::Claude, Feature::Broken, "without a sound database");
    check(ways::no_database);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn the_database_is_from_the_future() {
    let _shows = shows(Agent::Claude, Feature::Broken, "without a sound database");
    check(ways::from_the_future);
}

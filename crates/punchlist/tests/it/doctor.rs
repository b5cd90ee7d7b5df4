//! The findings of `doctor`, with the real hook.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::world::{Ran, World, finish};

/// Runs `doctor`, with an agent on the search path that only prints its version.
pub(crate) fn doctor(world: &World, arguments: &[&str]) -> Ran {
    doctor_in(world, "project", arguments)
}

fn doctor_in(world: &World, directory: &str, arguments: &[&str]) -> Ran {
    let bin = world.path("bin");
    if !bin.join("claude").exists() {
        program(world, "claude", "9.8.7 (Claude Code)");
    }
    let mut command = world.command(directory);
    command.arg("doctor").args(arguments).env("PATH", bin);
    finish(command, b"")
}

/// Puts a program on the search path that only prints its version.
pub(crate) fn program(world: &World, name: &str, says: &str) {
    let bin = world.path("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join("new"), format!("#!/bin/sh\necho '{says}'\n")).unwrap();
    fs::set_permissions(bin.join("new"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(bin.join("new"), bin.join(name)).unwrap();
}

/// The state of each finding: `hooks` → `ok`.
#[track_caller]
fn state(world: &World, about: &str) -> String {
    let ran = doctor(world, &["--json"]);
    let report: Value =
        serde_json::from_str(&ran.out).unwrap_or_else(|why| panic!("{why}: {}", ran.err));
    let findings = report["findings"].as_array().unwrap();
    let is_broken = findings.iter().any(|it| it["state"] == "broken");
    assert_eq!((ran.code, report["well"] == false), (i32::from(is_broken), is_broken));
    let found = findings.iter().find(|it| it["about"] == about);
    found.map_or_else(|| "absent".to_owned(), |it| it["state"].as_str().unwrap().to_owned())
}

#[test]
fn before_anything_is_set_up_the_doctor_says_what_to_do_and_makes_nothing() {
    let world = World::new();
    let ran = doctor(&world, &[]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    told!(ran.out.replace(&world.path("").display().to_string(), "/w/"));
    assert!(!world.path("home/.local").exists() && !world.path("home/.claude").exists());
}

#[test]
fn the_real_hook_is_called_and_the_real_server_started() {
    let world = World::new();
    world.typed("install claude --yes").works();
    for about in ["program", "entries", "binary", "permission", "hooks", "mcp", "gate", "database"]
    {
        assert_eq!(state(&world, about), "ok", "{about}");
    }
    assert_eq!(state(&world, "failures"), "absent");
}

#[test]
fn what_is_amiss_is_found() {
    let world = World::new();
    world.typed("install claude --yes").works();
    world.typed("add A").works();
    let settings = world.path("home/.claude/settings.json");
    let good = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, good.replace("\"timeout\": 3", "\"timeout\": 4")).unwrap();
    assert_eq!(state(&world, "entries"), "broken");
    fs::write(
        &settings,
        good.replace("bin/punchlist", "bin/nothing").replace("debug/punchlist", "debug/nothing"),
    )
    .unwrap();
    assert_eq!(state(&world, "hooks"), "broken");
    fs::write(&settings, &good).unwrap();
    let data = world.path("home/.local/share/punchlist");
    let line =
        r#"{"at":"2026-01-02T03:00:00Z","agent":"claude","event":"Stop","what":"no answer"}"#;
    fs::write(data.join("hook-failures.jsonl"), format!("{line}\nnonsense\n")).unwrap();
    assert_eq!(state(&world, "failures"), "note");
    world.write("home/.config/punchlist/config.toml", "gate = 'off'\n");
    assert_eq!(state(&world, "gate"), "note");
    let text = doctor(&world, &[]).out;
    assert!(text.contains("! failures    1 call of hooks failed"), "{text}");
    for log in ["punchlist.db-wal", "punchlist.db-shm"] {
        fs::remove_file(data.join(log)).ok();
    }
    fs::write(data.join("punchlist.db"), "this is no database, and long enough to be looked at")
        .unwrap();
    assert_eq!(state(&world, "database"), "broken");
}

/// The hint must install for this project only: an installation for every project would send all of
/// them to this database.
#[test]
fn a_project_with_another_database_is_told_how_the_agent_uses_it_there_and_nowhere_else() {
    let world = World::new();
    world.repository("other/.git");
    world.typed("install claude --yes").works();
    world.typed("init").works();
    let other = doctor_in(&world, "other", &["--json"]).json();
    let users = fs::read(world.path("home/.claude.json")).unwrap();
    let text = doctor(&world, &[]).out;
    assert!(text.contains("! database    verbs here use"), "{text}");
    let fix = text.lines().find_map(|it| it.split_once("fix: punchlist ")).unwrap().1;
    assert!(fix.starts_with("install claude --project --db '"), "{fix}");

    world.typed(&format!("{fix} --yes")).works();
    assert_eq!(fs::read(world.path("home/.claude.json")).unwrap(), users);
    let amiss = |ran: &Ran| {
        let lines = ran.out.lines();
        lines.filter(|line| ["! ", "✗ "].iter().any(|it| line.contains(it))).count()
    };
    // A project's server needs the user's consent, in Claude Code itself.
    let ran = doctor(&world, &[]);
    assert!(ran.out.contains("! mcp") && ran.out.contains("is not approved yet"), "{}", ran.out);
    assert_eq!((ran.code, amiss(&ran)), (0, 1), "{}", ran.out);
    let given = "{\"enabledMcpjsonServers\": [\"punchlist\"]}";
    world.write("project/.claude/settings.local.json", given);
    let mut servers: Value = serde_json::from_slice(&users).unwrap();
    servers["projects"][world.path("project").to_str().unwrap()]["hasTrustDialogAccepted"] =
        true.into();
    world.write("home/.claude.json", servers.to_string());
    let ran = doctor(&world, &[]);
    assert_eq!((ran.code, amiss(&ran)), (0, 0), "{}", ran.out);
    let findings = |report: &Value| -> Vec<String> {
        let timeless = |it: &Value| format!("{} {} {}", it["of"], it["about"], it["state"]);
        report["findings"].as_array().unwrap().iter().map(timeless).collect()
    };
    let now = doctor_in(&world, "other", &["--json"]).json();
    assert_eq!(findings(&now), findings(&other));
}

/// New terminals open in the home directory.
#[test]
fn in_the_home_directory_a_good_installation_is_good() {
    let world = World::new();
    let before = world.path("home").read_dir().unwrap().count();
    world.typed_in("home", "install claude --yes").works();
    let ran = doctor_in(&world, "home", &[]);
    assert!(ran.code == 0 && !ran.out.contains("✗"), "{}", ran.out);
    for line in ["install claude --project --yes", "uninstall claude --project"] {
        let ran = world.typed_in("home", line);
        assert_eq!(ran.code, 2, "{line}: {}", ran.out);
        assert!(ran.err.contains("is both this project's and your own"), "{}", ran.err);
    }
    world.typed_in("home", "uninstall claude").works();
    assert_eq!(world.path("home").read_dir().unwrap().count(), before);
    // An installation for every project does not use the database in the home directory either.
    world.typed_in("home", "install claude --yes").works();
    world.typed_in("home", "init").works();
    let text = doctor_in(&world, "home", &[]).out;
    assert!(
        text.contains("to verbs that are about the agent's plans")
            && !text.contains("fix: punchlist"),
        "{text}"
    );
}

/// Hooks fail silently then, so the doctor must report it.
#[test]
fn a_configuration_that_cannot_be_read_is_a_fault_among_the_others() {
    let world = World::new();
    world.typed("install claude --yes").works();
    let path = "home/.config/punchlist/config.toml";
    world.write(path, "gate = \"offf\"\n");
    let ran = doctor(&world, &[]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let text = ran.out.replace(&world.path("").display().to_string(), "/w/");
    let said = "✗ config      /w/home/.config/punchlist/config.toml: gate = \"offf\" is not off, once \
                or full; hooks do nothing until that is fixed\n";
    assert!(text.contains(said), "{text}");
    assert!(text.contains("✓ database") && !text.contains("fix: punchlist"), "{text}");
    assert_eq!([state(&world, "config"), state(&world, "hooks")], ["broken"; 2].map(str::to_owned));
    // An error in the call itself is reported as usual.
    fs::remove_file(world.path(path)).unwrap();
    let ran = doctor(&world, &["-c", "gate=offf"]);
    assert!(ran.code == 2 && ran.out.is_empty(), "{}", ran.out);
}

/// An unreadable database is reported as such, not as a broken binary; and the doctor's own test
/// call is not logged as a failure.
#[test]
fn a_broken_database_is_told_as_such_and_being_asked_is_no_failure() {
    let world = World::new();
    world.typed("install claude --yes").works();
    world.typed("add A").works();
    let data = world.path("home/.local/share/punchlist");
    for ending in ["-wal", "-shm"] {
        drop(fs::remove_file(data.join(format!("punchlist.db{ending}"))));
    }
    fs::write(data.join("punchlist.db"), "rubbish ".repeat(1000)).unwrap();
    let ran = doctor(&world, &[]);
    assert_eq!(ran.code, 1);
    let hooks = ran.out.lines().find(|it| it.contains("reports a problem")).unwrap();
    assert!(hooks.contains("not a database"), "{hooks}");
    assert!(!ran.out.contains("binary is missing"), "{}", ran.out);
    assert_eq!(
        [state(&world, "hooks"), state(&world, "database")],
        ["broken"; 2].map(str::to_owned)
    );
    assert!(!data.join("hook-failures.jsonl").exists());
}

#[test]
fn an_agent_that_works_is_not_sent_to_a_database_that_does_not() {
    let world = World::new();
    world.typed("install claude --yes").works();
    world.typed("add A").works();
    fs::write(world.path("x.db"), "rubbish ".repeat(1000)).unwrap();
    let ran = doctor(&world, &["--db", "../x.db"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.out.contains("✗ database") || ran.out.contains("x database"), "{}", ran.out);
    assert!(!ran.out.contains("install claude --db"), "{}", ran.out);
}

#[test]
fn where_no_database_can_be_made_that_is_a_fault() {
    let world = World::new();
    let closed = world.path("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    let path = closed.join("in/x.db");
    let ran = doctor(&world, &["--db", path.to_str().unwrap()]);
    // root can write everywhere, so this part needs another user.
    if fs::write(closed.join("probe"), "").is_err() {
        assert_eq!(ran.code, 1);
        assert!(ran.out.contains("cannot be created"), "{}", ran.out);
    }
    world.write("file", "");
    let ran = doctor(&world, &["--db", "../file/in/x.db"]);
    assert!(ran.code == 1 && ran.out.contains("file is not a directory"), "{}", ran.out);
}

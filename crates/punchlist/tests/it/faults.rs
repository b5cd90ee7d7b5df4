//! Ten faults, each created, found by the doctor, and repaired by the fix that the doctor names.

use std::fs::{self, File};

use serde_json::Value;

use crate::doctor::{doctor, program};
use crate::world::World;

/// A fault, and its repair if the doctor's fix is no command of ours.
struct Fault {
    name: &'static str,
    /// The area and the subject of the finding.
    of: &'static str,
    about: &'static str,
    state: &'static str,
    plant: fn(&World) -> Option<File>,
    /// The beginning of the fix.
    fix: &'static str,
    mend: Option<fn(&World)>,
}

const DATABASE: &str = "home/.local/share/punchlist/punchlist.db";

fn edit(world: &World, path: &str, change: impl Fn(String) -> String) {
    let text = fs::read_to_string(world.path(path)).unwrap();
    let new = change(text.clone());
    assert_ne!(new, text, "nothing was planted in {path}");
    fs::write(world.path(path), new).unwrap();
}

fn without_line(text: &str, sign: &str) -> String {
    text.lines().filter(|it| !it.contains(sign)).map(|it| format!("{it}\n")).collect()
}

fn schema(world: &World, version: i64) {
    let database = rusqlite::Connection::open(world.path(DATABASE)).unwrap();
    database.pragma_update(None, "user_version", version).unwrap();
}

fn schema_now(world: &World) -> i64 {
    let database = rusqlite::Connection::open(world.path(DATABASE)).unwrap();
    database.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

const ROLLOUT: &str = "home/.codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-x.jsonl";

fn rollout(arguments: &str) -> String {
    let call = serde_json::json!({"timestamp": "2026-01-02T03:04:05Z", "type": "response_item",
        "payload": {"type": "function_call", "name": "update_plan", "arguments": arguments,
            "call_id": "c1"}});
    let output = serde_json::json!({"timestamp": "2026-01-02T03:04:06Z", "type": "response_item",
        "payload": {"type": "function_call_output", "call_id": "c1", "output": "Plan updated"}});
    format!("{call}\n{output}\n")
}

const FAULTS: [Fault; 10] = [
    Fault {
        name: "an untrusted hook",
        of: "codex",
        about: "trust",
        state: "broken",
        plant: |world| {
            world.typed("uninstall codex").works();
            world.typed("install codex --yes --without-trust").works();
            None
        },
        fix: "punchlist install codex",
        mend: None,
    },
    Fault {
        name: "a missing binary",
        of: "claude",
        about: "binary",
        state: "broken",
        plant: |world| {
            edit(world, "home/.claude.json", |it| it.replace("/punchlist\"", "/gone/punchlist\""));
            None
        },
        fix: "punchlist install claude",
        mend: None,
    },
    Fault {
        name: "the wrong database",
        of: "store",
        about: "database",
        state: "note",
        plant: |world| {
            world.typed("install gemini --yes --db ../other.db").works();
            None
        },
        fix: "punchlist install gemini --db ",
        mend: None,
    },
    Fault {
        name: "an old entry",
        of: "gemini",
        about: "entries",
        state: "broken",
        plant: |world| {
            edit(world, "home/.gemini/settings.json", |it| it.replace("3000", "60000"));
            None
        },
        fix: "punchlist install gemini",
        mend: None,
    },
    Fault {
        name: "deferred tools",
        of: "codex",
        about: "tools",
        state: "broken",
        plant: |world| {
            edit(world, "home/.codex/config.toml", |it| without_line(&it, "omit_tools_from"));
            None
        },
        fix: "punchlist install codex",
        mend: None,
    },
    Fault {
        name: "a gate that is off",
        of: "hooks",
        about: "gate",
        state: "note",
        plant: |world| {
            world.write("home/.config/punchlist/config.toml", "gate = 'off'\n");
            None
        },
        fix: "take `gate` out of the configuration",
        mend: Some(|world| {
            fs::remove_file(world.path("home/.config/punchlist/config.toml")).unwrap();
        }),
    },
    Fault {
        name: "a transcript that is not understood",
        of: "codex",
        about: "transcripts",
        state: "broken",
        plant: |world| {
            world.write(ROLLOUT, rollout(r#"{"steps":[{"label":"A","state":"open"}]}"#));
            None
        },
        fix: "install a newer Punchlist",
        // A newer version would understand it; here the file is set back.
        mend: Some(|world| {
            world.write(ROLLOUT, rollout(r#"{"plan":[{"step":"A","status":"pending"}]}"#));
        }),
    },
    Fault {
        name: "a stale lock",
        of: "store",
        about: "lock",
        state: "broken",
        plant: |world| {
            let file = File::open(world.path(&format!("{DATABASE}-bell"))).unwrap();
            file.lock().unwrap();
            Some(file)
        },
        fix: "see what process ",
        // The lock ends with its holder, which is this test.
        mend: Some(|_| {}),
    },
    Fault {
        name: "a schema from the future",
        of: "store",
        about: "database",
        state: "broken",
        plant: |world| {
            schema(world, 10_000 + schema_now(world));
            None
        },
        fix: "",
        // A newer Punchlist would help; here the schema is set back.
        mend: Some(|world| schema(world, schema_now(world) - 10_000)),
    },
    Fault {
        name: "a foreign database in the tree",
        of: "store",
        about: "database",
        state: "note",
        plant: |world| {
            fs::create_dir_all(world.path("project/.punchlist")).unwrap();
            fs::copy(world.path(DATABASE), world.path("project/.punchlist/punchlist.db")).unwrap();
            None
        },
        fix: "`punchlist init` if it is yours, else `rm ",
        mend: Some(|world| fs::remove_file(world.path("project/.punchlist/punchlist.db")).unwrap()),
    },
];

/// The findings about a subject that are not ok: their states and fixes.
fn found(world: &World, fault: &Fault) -> Vec<(String, String, String)> {
    let ran = doctor(world, &["--json"]);
    let report: Value =
        serde_json::from_str(&ran.out).unwrap_or_else(|why| panic!("{why}: {}", ran.err));
    let findings = report["findings"].as_array().unwrap().iter();
    let is_it =
        |it: &&Value| it["of"] == fault.of && it["about"] == fault.about && it["state"] != "ok";
    let text = |it: &Value, name: &str| it[name].as_str().unwrap_or_default().to_owned();
    findings
        .filter(is_it)
        .map(|it| (text(it, "state"), text(it, "fix"), text(it, "said")))
        .collect()
}

/// The first command of a fix.
fn typed(fix: &str) -> String {
    let command = fix.split(", or").next().unwrap().strip_prefix("punchlist ").unwrap();
    format!("{command} --yes")
}

#[test]
fn every_planted_fault_is_found_and_the_fix_that_is_named_mends_it() {
    for fault in FAULTS {
        let world = World::new();
        for name in ["claude", "codex", "gemini"] {
            program(&world, name, "1.2.3");
            world.typed(&format!("install {name} --yes")).works();
        }
        world.typed("add A").works();
        assert_eq!(found(&world, &fault), [], "{}: nothing is wrong yet", fault.name);
        let held = (fault.plant)(&world);
        let findings = found(&world, &fault);
        let [(state, fix, said)] = findings.as_slice() else {
            panic!("{}: {findings:?}", fault.name)
        };
        assert_eq!(state, fault.state, "{}: {said}", fault.name);
        assert!(fix.starts_with(fault.fix) && !fix.is_empty(), "{}: {fix}", fault.name);
        if held.is_some() {
            assert!(fix.contains(&format!("kill {}", std::process::id())), "{fix}");
        }
        drop(held);
        match fault.mend {
            Some(mend) => mend(&world),
            None => drop(world.typed(&typed(fix)).ok()),
        }
        assert_eq!(found(&world, &fault), [], "{}: it is mended", fault.name);
    }
}

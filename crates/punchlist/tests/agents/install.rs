//! What `install` and `uninstall` leave behind: no entry of ours, before and after runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Model, Script};
use serde_json::{Value, json};

use crate::place::Place;
use crate::shown::shows;

/// Settings in a person's own formatting.
const SETTINGS: &str = "{\n   \"model\": \"claude-opus-4-5\",\n   \"hooks\": {\n      \
    \"Stop\": [ { \"hooks\": [ {\"type\": \"command\", \"command\": \"true\"} ] } ]\n   },\n\n   \
    \"permissions\": {\"allow\": [\"Bash(ls)\"]}\n}";

const STATE: &str = "{\"theme\":\"dark\",\"mcpServers\":{\"other\":{\"command\":\"false\"}}}\n";

/// Every file and directory below a directory, with its content.
pub(crate) fn tree(directory: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(tree(&path));
            found.insert(path, None);
        } else {
            let bytes = fs::read(&path).unwrap();
            found.insert(path, Some(bytes));
        }
    }
    found
}

fn write_settings(place: &Place) {
    fs::create_dir_all(place.path("home/.claude")).unwrap();
    fs::write(place.path("home/.claude/settings.json"), SETTINGS).unwrap();
    fs::write(place.path("home/.claude.json"), STATE).unwrap();
}

fn json(place: &Place, path: &str) -> Value {
    let text = fs::read_to_string(place.path(path)).unwrap_or_else(|why| panic!("{path}: {why}"));
    serde_json::from_str(&text).unwrap_or_else(|why| panic!("{path}: {why}: {text}"))
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn without_a_run_the_home_is_as_it_was() {
    let _shows = shows(Agent::Claude, Feature::Uninstall, "every byte as it was");
    for prepare in [|_: &Place| {}, write_settings] {
        let place = Place::new();
        prepare(&place);
        let before = tree(&place.path("home"));
        place.punchlist(&["install", "claude", "--yes"]);
        assert_ne!(tree(&place.path("home")), before);
        place.punchlist(&["uninstall", "claude"]);
        assert_eq!(tree(&place.path("home")), before);
    }
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn after_a_run_only_our_entries_are_gone() {
    let _shows = shows(Agent::Claude, Feature::Uninstall, "after runs all that is not ours");
    let place = Place::new();
    write_settings(&place);
    place.punchlist(&["install", "claude", "--yes"]);
    let model = Model::new(Script::new().stops("Done.")).serve().unwrap();
    place.claude(&model, "Hello").ends().well();
    assert!(model.requests()[0].tools().iter().any(|it| it.starts_with("mcp__punchlist__")));
    let state = json(&place, "home/.claude.json");
    assert!(state["mcpServers"]["punchlist"].is_object(), "{state:#}");

    place.punchlist(&["uninstall", "claude"]);
    let settings = fs::read_to_string(place.path("home/.claude/settings.json")).unwrap();
    assert_eq!(settings, SETTINGS);
    // What the program has written meanwhile is still there.
    let mut without = state;
    without["mcpServers"].as_object_mut().unwrap().remove("punchlist");
    assert_eq!(json(&place, "home/.claude.json"), without);
    let model = Model::new(Script::new().stops("Done.")).serve().unwrap();
    place.claude(&model, "Hello again").ends().well();
    assert!(!model.requests()[0].tools().iter().any(|it| it.starts_with("mcp__punchlist__")));
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn doctor_finds_nothing_wrong_after_a_run() {
    let place = Place::installed();
    let model = Model::new(Script::new().stops("Done.")).serve().unwrap();
    let ended = place.claude(&model, "Hello").ends().well();
    let said = place.punchlist(&["doctor"]);
    let is_amiss = |it: &&str| it.contains(" ! ") || it.contains(" ✗ ");
    let found: Vec<&str> = said.lines().filter(is_amiss).collect();
    assert_eq!(found, [] as [&str; 0], "{said}\n{}", ended.errors);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn the_agent_gives_no_consent_in_the_users_place_and_takes_nothing_out() {
    let _shows = shows(Agent::Claude, Feature::Consents, "");
    let place = Place::installed();
    let before = tree(&place.path("home/.claude"));
    let calls =
        ["uninstall claude", "install claude --yes --db /tmp/other.db", "install codex --yes"];
    let calls = calls.map(|it| format!("'{}' {it}", place.punchlist.display())).join("; ");
    let script = Script::new()
        .calls("Bash", json!({"command": calls, "description": "Be free"}))
        .stops("Well.");
    let model = Model::new(script).serve().unwrap();
    let run = place.claude(&model, "Hello");
    run.args(&["--allowedTools", "Bash"]).ends().well();
    let told = &model.requests()[1].results()[0].text;
    assert_eq!(told.matches("by people, and this call is made by claude").count(), 3, "{told}");
    assert!(!place.path("home/.codex").exists());
    let settings = place.path("home/.claude/settings.json");
    assert_eq!(fs::read(&settings).ok(), before[&settings]);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn the_users_own_rules_and_hooks_hold_beside_ours() {
    let _shows = shows(Agent::Claude, Feature::Beside, "");
    let place = Place::new();
    let heard = place.path("tmp/heard");
    let own = json!({
        "permissions": {"deny": ["Bash(touch:*)"]},
        "hooks": {"Stop": [{"hooks": [
            {"type": "command", "command": format!("cat >> '{}'", heard.display())},
        ]}]},
    });
    fs::create_dir_all(place.path("home/.claude")).unwrap();
    fs::write(place.path("home/.claude/settings.json"), own.to_string()).unwrap();
    place.install();
    let forbidden = place.path("project/forbidden");
    let touch = format!("touch '{}'", forbidden.display());
    let script = Script::new()
        .calls("Bash", json!({"command": touch, "description": "Do it all the same"}))
        .calls("mcp__punchlist__create_todo", json!({"items": [{"title": "Write it"}]}))
        .calls("mcp__punchlist__complete_todo", json!({"todoId": "1", "outcome": "written"}))
        .stops("Done.");
    let model = Model::new(script).serve().unwrap();
    let ended = place.claude(&model, "Try it").args(&["--allowedTools", "Bash"]).ends();
    assert_eq!((ended.answer(), model.left()), ("Done.", 0), "{}", ended.errors);
    let told = &model.requests()[1].results()[0];
    assert!(told.is_error && !forbidden.exists(), "{told:?}");
    assert!(fs::read_to_string(&heard).unwrap().contains("\"Stop\""));
    assert_eq!(place.plan_of(&ended.session()).list(), "1 completed: Write it\n");
    let doctor = place.punchlist(&["doctor"]);
    assert!(doctor.contains("server and hooks for you in every project"), "{doctor}");
}

//! What programs rely on: JSON formats, exit codes, and only results on stdout.

use serde_json::Value;

use crate::world::World;

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn list_has_the_specified_shape() {
    let world = World::new();
    world.typed("add A B").works();
    let list = world.run(&["list", "--json"]).json();
    assert_eq!(keys(&list), ["plan", "items", "progress"]);
    assert_eq!(
        keys(&list["plan"]),
        ["id", "title", "revision", "project", "conversation", "turn", "agent"]
    );
    assert_eq!(list["progress"], serde_json::json!({"completed": 0, "total": 2, "percent": 0}));
    let item = &list["items"][0];
    for key in "id number position title activeForm context completionCriteria agentType owner \
                status priority outcome dependsOn parent waitingOn check run approve retry \
                timeout evidence claim marks metadata createdAt startedAt completedAt \
                supersededAt ready blocked verification"
        .split_whitespace()
    {
        assert!(item.get(key).is_some(), "{key}");
    }
    assert_eq!(item["createdAt"], "2026-01-02T03:01:00.000Z");
}

#[test]
fn a_list_says_whose_it_is_and_a_plan_made_by_hand_is_nobodys() {
    let world = World::new();
    world.typed("add A").works();
    let plan = |line: &str| world.typed(line).json()["plan"].clone();
    let own = plan("list --json");
    assert_eq!(own["project"], world.path("project").to_str().unwrap());
    for key in ["conversation", "turn", "agent"] {
        assert_eq!(own[key], Value::Null, "{key}");
    }
    let call = "{\"action\": \"add_multiple\", \"todos\": [\"B\"]}";
    let context = "--conversation c1 --turn t1 --agent claude";
    world.typed(&format!("tool manager todo_manager {context} < {call}")).works();
    let plans = world.typed("plans --json").json();
    let of_c1 = plans["plans"].as_array().unwrap().iter().find(|it| it["turn"] == "t1").unwrap();
    let id = of_c1["id"].as_str().unwrap();
    let shown = plan(&format!("list --json --plan {id}"));
    let whose = ["conversation", "turn", "agent"].map(|key| shown[key].as_str().unwrap());
    assert_eq!(whose, ["c1", "t1", "claude"]);
}

/// Every text in a value whose key names a time.
fn times(key: &str, value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| times(key, value, found)),
        Value::Array(values) => values.iter().for_each(|value| times(key, value, found)),
        Value::String(text) if key == "at" || key.ends_with("_at") || key.ends_with("At") => {
            found.push((key.to_owned(), text.clone()));
        }
        // The old and new values of a field with a time.
        Value::String(text) if matches!(key, "before" | "after") && text.starts_with("2026-") => {
            found.push((key.to_owned(), text.clone()));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn times_are_rfc_3339_in_utc_with_milliseconds() {
    let world = World::new();
    let mut found = Vec::new();
    for line in [
        "add A B --json",
        "start 1 --json",
        "done 1 --json",
        "next --claim --json",
        "replace --json < - [x] A\n",
        "undo --json",
        "list --json --all",
        "show 1 --json",
        "show --json",
        "plans --json",
        "log --json",
    ] {
        for line in world.typed(line).ok_with_warnings().lines() {
            times("", &serde_json::from_str(line).unwrap(), &mut found);
        }
    }
    for (key, text) in &found {
        let shape: String =
            text.chars().map(|ch| if ch.is_ascii_digit() { '0' } else { ch }).collect();
        assert_eq!(shape, "0000-00-00T00:00:00.000Z", "{key}");
    }
    for key in "at createdAt startedAt completedAt supersededAt updatedAt expiresAt after"
        .split_whitespace()
    {
        assert!(found.iter().any(|it| it.0 == key), "{key}");
    }
}

#[test]
fn every_change_answers_with_revision_items_and_warnings() {
    let world = World::new();
    for (n, line) in (1_u64..).zip([
        "add A B C --json",
        "start 1 --json",
        "release 1 --json",
        "next --claim --json",
        "done 1 --json",
        "reopen 1 --json",
        "skip 1 --json",
        "wait 2 legal --json",
        "wait 2 --over --json",
        "edit 2 --title BB --json",
        "move 2 --last --json",
        "undo --json",
        "replace --json < - [ ] C\n",
        "forget 3 --json",
    ]) {
        let answer = world.typed(line).json();
        assert_eq!(keys(&answer), ["revision", "changed", "warnings"], "{line}");
        assert_eq!(answer["revision"], n, "{line}");
        assert!(!answer["changed"].as_array().unwrap().is_empty(), "{line}");
    }
}

#[test]
fn warnings_are_strings_in_json_and_lines_on_stderr() {
    let world = World::new();
    world.typed("add A B C").works();
    let answer = world.typed("replace --json < - [ ] A\n").json();
    assert_eq!(
        answer["warnings"],
        serde_json::json!(["Dropped while open: #2 B", "Dropped while open: #3 C"])
    );
    world.typed("add D").works();
    let ran = world.typed("replace < - [ ] A\n");
    assert_eq!((ran.code, ran.err.as_str()), (0, "warning: Dropped while open: #4 D\n"));
}

#[test]
fn whether_an_item_is_ready_is_right_in_every_answer() {
    let world = World::new();
    world.typed("add A").works();
    let answer = world.typed("add B --after 1 --json").json();
    assert_eq!(answer["changed"][0]["blocked"], true);
    // Moving an item does not load its dependencies.
    let answer = world.typed("move 2 --first --json").json();
    assert_eq!(answer["changed"][0]["blocked"], true);
    assert_eq!(answer["changed"][0]["ready"], false);
    world.typed("done 1").works();
    let answer = world.typed("move 2 --last --json").json();
    assert_eq!(answer["changed"][0]["ready"], true);
    // Nor its sub-items.
    world.typed("add C --under 2").works();
    let answer = world.typed("move 2 --first --json").json();
    assert_eq!(answer["changed"][0]["ready"], false);
    world.typed("done 3").works();
    let answer = world.typed("move 2 --last --json").json();
    assert_eq!(answer["changed"][0]["ready"], true);
}

#[test]
fn errors_are_one_object_on_stderr() {
    let world = World::new();
    world.typed("add A B").works();
    world.typed("add C --under 1").works();
    for (line, code, word, items) in [
        ("frobnicate", 2, "usage", vec![]),
        ("add", 2, "usage", vec![]),
        ("list --view pie", 2, "usage", vec![]),
        ("list -c nonsense=1", 2, "usage", vec![]),
        ("done 1", 3, "refused", vec![1]),
        ("done 1 --plan nothing", 4, "not_found", vec![]),
        ("done 99", 4, "not_found", vec![]),
        ("done 2 --expect 1", 5, "conflict", vec![]),
        ("approve 1", 3, "refused", vec![]),
        ("list --db /dev/null/x", 8, "unusable", vec![]),
    ] {
        let ran = world.typed(&format!("{line} --json"));
        assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{line}: {}", ran.err);
        let error: Value = serde_json::from_str(&ran.err).unwrap();
        assert_eq!(keys(&error["error"]), ["code", "message", "items", "hint"], "{line}");
        assert_eq!(error["error"]["code"], word, "{line}");
        assert_eq!(error["error"]["items"], serde_json::json!(items), "{line}");
        assert!(error["error"]["hint"].is_string(), "{line}: {error}");
    }
}

#[test]
fn the_journal_is_one_object_a_line() {
    let world = World::new();
    world.typed("add A").works();
    world.typed("done 1").works();
    let out = world.typed("log --json").ok();
    let entries: Vec<Value> = out.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0]["kind"], "add");
    assert_eq!(entries[1]["events"][0]["changes"]["status"]["after"], "completed");
    assert_eq!(entries[1]["actor"]["name"], "me@host");
    assert_eq!(world.typed("log --json -n 1").ok().lines().count(), 1);
}

#[test]
fn titles_reach_no_terminal_raw() {
    let world = World::new();
    let title = "a\u{1b}[31mb\u{202e}c\u{9b}2J\rd]]>";
    world.run(&["add", title]).works();
    world.run(&["edit", "1", "--context", title, "--owner", title]).works();
    world.run(&["start", "1", "--as", title]).works();
    let own: [&[&str]; 19] = [
        &["list"],
        &["list", "--view", "list"],
        &["list", "--view", "box"],
        &["list", "--view", "text"],
        &["list", "--view", "markdown"],
        &["list", "--view", "xml"],
        &["list", "--view", "dot"],
        &["list", "--view", "mermaid"],
        &["list", "--json"],
        &["show", "1"],
        &["log"],
        &["log", "--json"],
        &["plans"],
        &["start", "1", "--as", "ann"],
        &["start", "1", "--as", "ann", "--json"],
        &["frobnicate\u{202e}\u{9b}", "--json"],
        &["done", "9", "--plan", "\u{202e}\u{feff}", "--json"],
        &["done", "1"],
        &["done", "1", "--json"],
    ];
    for arguments in own {
        let ran = world.run(arguments);
        for text in [ran.out, ran.err] {
            let bad = |ch: char| (ch.is_control() && ch != '\n') || ch == '\u{202e}';
            assert!(!text.contains(bad), "{arguments:?}: {text:?}");
        }
    }
}

#[test]
fn texts_are_kept_as_they_were_sent() {
    let world = World::new();
    for title in [
        "a\u{1b}[31mb",
        "\u{202e}right to left",
        "日本語 👩‍👩‍👧 e\u{301}",
        "\"quotes\" \\ '",
        "=1+1",
        "a\tb",
    ] {
        let added = world.run(&["add", title, "--json"]).json();
        assert_eq!(added["changed"][0]["title"], title);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let world = World::new();
    world.typed("add A").works();
    let mut command = world.command("project");
    command.args(["completions", "bash"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

//! Export and import: exact, and accepted only if the journal matches the items.

use serde_json::Value;

use crate::world::World;

/// A plan with a varied history.
fn exported() -> (World, String) {
    exported_after(0)
}

/// The same after this many other calls: ids depend on the number of the call.
fn exported_after(calls: usize) -> (World, String) {
    let world = World::new();
    (0..calls).for_each(|_| drop(world.typed("plans")));
    for line in [
        "add A B C --context why",
        "add \"Naughty \u{1b}[31m \u{9b}2J \u{202e} 日本\" --under 1 --meta '{\"a\": [1, null]}'",
        "edit 3 --after 2 --priority 4",
        "start 1 --as ann",
        "release 1",
        "done 4 --outcome well",
        "move 3 --first",
        "replace < - [ ] C\\n- [x] A\\n- [ ] New\\n",
        "undo",
        "wait 3 legal",
        "forget 2",
        "skip 3 --reason no",
    ] {
        let ran = world.typed(line);
        assert_eq!(ran.code, 0, "{line}: {}", ran.err);
    }
    let text = world.typed("export").ok();
    (world, text)
}

#[test]
fn what_is_imported_is_what_was_exported() {
    let (world, text) = exported();
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{9b}']));
    let run = |line: &str, input: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        world.run_with(&words, input.as_bytes())
    };
    let ran = run("import - --db ../other.db", &text);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(run("export --db ../other.db", "").ok(), text);
    let strip = |line: &str| world.typed(line).ok().replace("me@host", "");
    assert_eq!(strip("list --all --json --db ../other.db"), strip("list --all --json"));
    assert_eq!(strip("log -n 0 --json --db ../other.db"), strip("log -n 0 --json"));
    // Work continues on the imported plan.
    world.typed("reopen 3 --db ../other.db").works();
    let ran = run("import - --db ../other.db", &text);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.contains("is here already, with all"), "{}", ran.out);
    assert!(world.typed("list --db ../other.db").ok().contains("[ ] 3"));
    // A plan that has diverged here is not overwritten.
    world.typed("edit 3 --title Elsewhere").works();
    let newer = world.typed("export").ok();
    let ran = run("import - --db ../other.db", &newer);
    assert_eq!(ran.code, 3, "{}", ran.out);
    assert!(ran.err.contains("in this store already"));
}

#[test]
fn what_the_readme_shows_works_here_elsewhere_and_through_a_pipe() {
    let (world, text) = exported();
    world.write("project/plan.jsonl", &text);
    let before = world.list();
    let ran = world.typed("import plan.jsonl --keep-project");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.contains("is here already"), "{}", ran.out);
    let ran = world.run_with(&["import", "-", "--keep-project"], text.as_bytes());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let ran = world.run_with(&["import", "-"], text.as_bytes());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(world.list(), before);
    world.typed("import plan.jsonl --keep-project --db ../other.db").works();
    assert_eq!(world.typed("export --db ../other.db").ok(), text);
}

#[test]
fn all_plans_go_into_one_file_and_come_back_where_they_belong() {
    let (world, _) = exported();
    world.repository("second/.git");
    world.typed_in("second", "add Here").works();
    world.typed("add Named --plan release").works();
    let text = world.typed("export --all").ok();
    assert_eq!(text.matches("\"version\"").count(), 3);
    let ran = world.run_with(&["import", "-", "--db", "../other.db"], text.as_bytes());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(ran.out.lines().count(), 3, "{}", ran.out);
    assert_eq!(world.typed("export --all --db ../other.db").ok(), text);
    assert!(world.typed_in("second", "list --db ../other.db").ok().contains("Here"));
    // A plan that cannot be read does not block the others.
    let conn = rusqlite::Connection::open(world.path("other.db")).unwrap();
    conn.execute_batch("DELETE FROM journal WHERE seq = (SELECT min(seq) FROM journal)").unwrap();
    let ran = world.typed("export --all --db ../other.db");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.out.matches("\"version\"").count(), 2);
    assert!(ran.err.contains("cannot be read and is left out"), "{}", ran.err);
    assert_eq!(
        world.typed("plans --all --json --db ../other.db").json()["plans"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
}

#[test]
fn metadata_that_is_too_deep_is_not_taken_in() {
    let world = World::new();
    let meta = format!("{{\"a\":{}1{}}}", "[".repeat(31), "]".repeat(31));
    world.run(&["add", "A", "--meta", &meta]).works();
    let text = world.typed("export").ok();
    let deeper = text.replace("[[1]]", "[[[1]]]");
    assert_ne!(deeper, text);
    let ran = world.run_with(&["import", "-", "--db", "../other.db"], deeper.as_bytes());
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.contains("nested more than 32 levels deep"), "{}", ran.err);
    assert_eq!(world.run_with(&["import", "-", "--db", "../other.db"], text.as_bytes()).code, 0);
}

#[test]
fn an_imported_plan_becomes_this_projects() {
    let (world, text) = exported();
    world.repository("second/.git");
    world.write("plan.jsonl", &text);
    let ran = world.typed_in("second", "import ../plan.jsonl --db ../second.db");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(world.typed_in("second", "list --db ../second.db").ok().contains("[x] 4"));
    world.typed_in("second", "add More --db ../second.db").works();
    assert!(world.typed_in("second", "list --db ../second.db").ok().contains("6 More"));
    let ran = world.typed_in("second", "import ../plan.jsonl --keep-project --db ../third.db");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(world.typed_in("second", "list --db ../third.db").ok().contains("No plan here yet"));
}

#[test]
fn several_plans_that_could_be_meant_are_listed() {
    let (first, one) = exported();
    let (_second, two) = exported_after(1);
    first.repository("third/.git");
    first.write("one.jsonl", one);
    first.write("two.jsonl", two);
    let run = |line: &str| first.typed_in("third", &format!("{line} --db ../third.db"));
    assert_eq!(run("import ../one.jsonl").code, 0);
    assert_eq!(run("import ../two.jsonl").code, 0);
    for line in ["list", "add X", "done 1"] {
        let ran = run(line);
        assert_eq!(ran.code, 2, "{line}: {}", ran.err);
        assert!(ran.err.starts_with("error: several plans could be meant\n  "), "{}", ran.err);
        assert_eq!(ran.err.lines().count(), 4, "{}", ran.err);
    }
    // One plan, by the end of its id.
    let plans = run("plans --json").json();
    let id = plans["plans"][0]["id"].as_str().unwrap();
    assert_eq!(run(&format!("list --plan {}", &id[30..])).code, 0);
    assert_eq!(run(&format!("list --plan {}", &id[..9].to_uppercase())).code, 0);
}

#[test]
fn an_imported_plan_can_be_given_a_name() {
    let (world, text) = exported();
    world.write("plan.jsonl", text);
    world.typed("import ../plan.jsonl --plan copy --db ../other.db").works();
    assert!(world.typed("list --plan copy --db ../other.db").ok().contains("[x] 4"));
    let again = world.typed("export --plan copy --db ../other.db").ok();
    let ran = world.run_with(&["import", "-", "--db", "../third.db"], again.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.err);
}

/// Changes one line of a valid file; the result must be refused, and nothing imported.
#[test]
fn a_file_that_was_tampered_with_is_refused() {
    let (world, text) = exported();
    let lines: Vec<Value> = text.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let first_entry = lines.iter().position(|it| it.get("entry").is_some()).unwrap();
    let max = u64::from(u32::MAX);
    let edits: Vec<(&str, usize, &str, Value)> = vec![
        ("version", 0, "/plan/version", 2.into()),
        ("id", 0, "/plan/id", "not an id".into()),
        ("another id", 0, "/plan/id", "01a1e0cf-5879-7120-a2f5-e86b4d54fe15".into()),
        ("revision", 0, "/plan/revision", 99.into()),
        ("next number", 0, "/plan/next_number", 99.into()),
        ("end", 0, "/plan/end", "stopped".into()),
        ("time", 0, "/plan/updated_at", "2020-01-01T00:00:00Z".into()),
        ("unknown field", 0, "/plan/more", 1.into()),
        ("item title", 1, "/item/title", "Changed".into()),
        ("item status", 1, "/item/status", "flying".into()),
        ("item position", 1, "/item/position", 77.into()),
        ("item number", 1, "/item/number", 77.into()),
        ("nul", 1, "/item/context", "a\0b".into()),
        ("entry plan", first_entry, "/entry/plan", "01a1e0cf-5879-7120-a2f5-e86b4d54fe15".into()),
        ("entry revision", first_entry, "/entry/revision", 7.into()),
        ("entry revision", first_entry, "/entry/revision", u64::MAX.into()),
        ("no events", first_entry, "/entry/events", Value::Array(vec![])),
        ("number", first_entry, "/entry/events/0/item/number", max.into()),
        ("position", first_entry, "/entry/events/0/item/position", max.into()),
        ("position 0", first_entry, "/entry/events/0/item/position", 0.into()),
        ("no position", first_entry, "/entry/events/0/item/position", Value::Null),
        ("same id", first_entry, "/entry/events/1/item/id", lines[1]["item"]["id"].clone()),
        ("self", first_entry, "/entry/events/0/item/depends_on", serde_json::json!([1])),
        ("parent", first_entry, "/entry/events/0/item/parent", 1.into()),
        ("unknown event", first_entry, "/entry/events/0/event", "exploded".into()),
    ];
    for (what, line, pointer, value) in edits {
        let mut lines = lines.clone();
        set(&mut lines[line], pointer, value);
        refused(&world, what, &lines);
    }
    let mut cut = lines.clone();
    cut.pop();
    refused(&world, "the last entry is gone", &cut);
    let mut cut = lines.clone();
    cut.remove(1);
    refused(&world, "an item is gone", &cut);
    let mut twice = lines.clone();
    twice.insert(1, lines[1].clone());
    refused(&world, "an item twice", &twice);
    let mut twice = lines.clone();
    twice.insert(1, lines[0].clone());
    refused(&world, "two headers", &twice);
    refused(&world, "no header", &lines[1..]);
    refused(&world, "nothing", &[]);
    let mut swapped = lines;
    swapped.swap(first_entry, first_entry + 1);
    refused(&world, "entries in the wrong order", &swapped);
}

/// Moves to impossible positions, after a valid history.
#[test]
fn events_that_cannot_happen_are_refused_with_their_line() {
    let (world, text) = exported();
    let lines: Vec<Value> = text.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let last = lines.len() - 1;
    let max = u32::MAX;
    for event in [
        serde_json::json!({"event": "moved", "number": 1, "from": max, "to": 1}),
        serde_json::json!({"event": "moved", "number": 1, "from": 1, "to": max}),
        serde_json::json!({"event": "superseded", "number": 1, "from": max, "at": "2026-01-01T00:00:00Z"}),
        serde_json::json!({"event": "superseded", "number": 88, "from": 1, "at": "2026-01-01T00:00:00Z"}),
        serde_json::json!({"event": "restored", "number": 1, "to": max, "superseded_at": "2026-01-01T00:00:00Z"}),
        serde_json::json!({"event": "forgotten", "number": 88}),
        serde_json::json!({"event": "changed", "number": 88, "what": "edited", "deltas": []}),
        serde_json::json!({"event": "changed", "number": 1, "what": "edited",
            "deltas": [{"title": {"before": "never", "after": "b"}}]}),
    ] {
        let mut lines = lines.clone();
        lines[last]["entry"]["events"] = Value::Array(vec![event.clone()]);
        let err = refused(&world, &event.to_string(), &lines);
        assert!(err.contains(&format!("line {}", last + 1)), "{event}: {err}");
    }
}

fn set(value: &mut Value, pointer: &str, new: Value) {
    if let Some(place) = value.pointer_mut(pointer) {
        *place = new;
    } else {
        let (above, key) = pointer.rsplit_once('/').unwrap();
        value.pointer_mut(above).unwrap()[key] = new;
    }
}

#[track_caller]
fn refused(world: &World, what: &str, lines: &[Value]) -> String {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let ran = world.run_with(&["import", "-", "--db", "../fresh.db"], text.as_bytes());
    assert_eq!(ran.code, 2, "{what}: {} {}", ran.out, ran.err);
    assert!(ran.err.starts_with("error: "), "{what}: {}", ran.err);
    assert!(!world.path("project/fresh.db").exists(), "{what}");
    ran.err
}

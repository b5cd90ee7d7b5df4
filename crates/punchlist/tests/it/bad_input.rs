//! Any invalid input gets a clear error and changes nothing.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use punchlist_testkit::{dangers, naughty};

use crate::world::World;

const MB10: usize = 10 * 1024 * 1024;

fn world() -> World {
    let world = World::new();
    world.typed("add A B C").works();
    world.typed("start 1").works();
    world
}

/// Runs the program and checks: a refusal with a message, nothing changed, no panic.
#[track_caller]
fn check(world: &World, arguments: &[&OsStr], stdin: &[u8]) {
    let before = world.list();
    let ran = world.run_with(arguments, stdin);
    assert!(matches!(ran.code, 2..=4), "{arguments:?}: exit {} {}", ran.code, ran.err);
    assert!(ran.err.starts_with("error: "), "{arguments:?}: {}", ran.err);
    assert!(ran.err.len() < 5000, "{arguments:?}: {} bytes of message", ran.err.len());
    assert!(!ran.err.contains("panicked"), "{arguments:?}: {}", ran.err);
    assert_eq!(ran.out, "", "{arguments:?}");
    assert_eq!(world.list(), before, "{arguments:?}");
}

fn split(line: &str) -> Vec<&OsStr> {
    line.split_whitespace().map(OsStr::new).collect()
}

#[test]
fn missing_and_wrong_arguments() {
    let world = world();
    for line in [
        "add",
        "start",
        "start x",
        "start 1 2",
        "start 2 --pid x",
        "start 2 --pid 4294967294",
        "done",
        "done -1",
        "done 1.5",
        "done 99999999999",
        "done 1 --attempt x",
        "done 1 --attempt 7",
        "skip",
        "skip 99",
        "wait",
        "wait 1",
        "release",
        "release 2",
        "reopen",
        "reopen 1",
        "edit",
        "edit 1",
        "edit 1 --nonsense",
        "move",
        "move 1 --to 0",
        "move 1 --to -1",
        "replace extra",
        "undo extra",
        "undo --as nobody",
        "forget --whole-plan 1",
        "show x",
        "show 99",
        "log -n x",
        "log -n -1",
        "plans extra",
        "export extra",
        "export --plan nothing",
        "import",
        "import /nowhere/at/all",
        "import /",
        "tools",
        "tools klingon",
        "tools turn --surface wide",
        "tool",
        "tool turn",
        "tool klingon x",
        "init extra",
        "init --db x",
        "completions",
        "completions tcsh",
        "completions bash --dir x",
        "reference nothing",
        "list --db postgres://host:port/db",
        "list -C /nowhere/at/all",
        "list -c",
        "list -c limits",
        "list -c limits.title=x",
        "list -c =",
        "list --color sometimes",
        "list --as",
        "add x --as=",
        "frobnicate",
        "--frobnicate",
        "--json=x",
        "--db",
        "-- list",
        "--frobnicate --json=x",
        "--plan",
        "--color never --db",
        "-- add x",
        "help frobnicate",
    ] {
        check(&world, &split(line), b"");
    }
}

#[test]
fn texts_that_are_too_long() {
    let world = world();
    let long = "x".repeat(100_000);
    let long = OsStr::new(&long);
    let of = |words: &str| -> Vec<OsString> {
        words
            .split_whitespace()
            .map(|it| if it == "LONG" { long.into() } else { it.into() })
            .collect()
    };
    for words in [
        "add LONG",
        "add x --context LONG",
        "add x --criteria LONG",
        "add x --active LONG",
        "add x --owner LONG",
        "add x --agent LONG",
        "add x --wait LONG",
        "add x --meta LONG",
        "add x --after LONG",
        "add x --plan LONG",
        "add x --as LONG",
        "add x -c LONG",
        "add x -C LONG",
        "done LONG",
        "done 1 --outcome LONG",
        "skip 1 --reason LONG",
        "wait 2 LONG",
        "edit 2 --title LONG",
        "show LONG",
        "import LONG",
        "tool LONG x",
        "tools LONG",
        "completions LONG",
        "LONG",
        "add x --LONG",
    ] {
        let arguments = of(words);
        let arguments: Vec<&OsStr> = arguments.iter().map(OsString::as_os_str).collect();
        check(&world, &arguments, b"");
    }
}

#[test]
fn ten_megabytes_on_stdin() {
    let world = world();
    let one_line = vec![b'x'; MB10];
    let many_lines = b"x\n".repeat(MB10 / 2);
    let deep = b"[".repeat(MB10);
    for input in [&one_line, &many_lines, &deep] {
        check(&world, &split("add -"), input);
        check(&world, &split("replace"), input);
        check(&world, &split("import -"), input);
    }
    let long_title = [b"- [ ] ".as_slice(), &one_line].concat();
    check(&world, &split("replace"), &long_title);
    let many = b"- [ ] x\n".repeat(200_000);
    check(&world, &split("replace"), &many);
}

#[test]
fn bytes_that_are_not_utf8() {
    let world = world();
    let bad = OsStr::from_bytes(b"a\xff\xfe");
    for words in [
        "add BAD",
        "add x --context BAD",
        "add x --plan BAD",
        "add x --as BAD",
        "add x -c BAD",
        "add x -C BAD",
        "done BAD",
        "done 1 --outcome BAD",
        "skip 1 --reason BAD",
        "wait 2 BAD",
        "edit 2 --title BAD",
        "show BAD",
        "log -n BAD",
        "tools BAD",
        "tool BAD x",
        "tool turn BAD",
        "import BAD",
        "completions BAD",
        "BAD",
        "help BAD",
    ] {
        let arguments: Vec<&OsStr> = words
            .split_whitespace()
            .map(|it| if it == "BAD" { bad } else { OsStr::new(it) })
            .collect();
        check(&world, &arguments, b"");
    }
    for words in ["add -", "replace", "import -"] {
        check(&world, &split(words), b"fine\n\xff\xfe\n");
    }
}

#[test]
fn nul_is_refused_wherever_it_comes_from() {
    let world = world();
    for (words, stdin) in [
        ("add -", "fine\na\0b\n"),
        ("add x --meta {\"a\":\"\\u0000\"}", ""),
        ("add x --meta {\"\\u0000\":1}", ""),
        ("edit 1 --meta {\"a\":[{\"b\":\"\\u0000\"}]}", ""),
        ("replace", "- [ ] a\0b\n"),
        ("replace", "[{\"title\": \"a\\u0000b\"}]"),
        ("replace", "[{\"title\": \"a\", \"activeForm\": \"\\u0000b\"}]"),
    ] {
        check(&world, &split(words), stdin.as_bytes());
    }
    let plan = world.run(&["show", "--json"]).json()["plan"]["id"].as_str().unwrap().to_owned();
    for (tool, arguments) in [
        ("turn create_todo", r#"{"items": [{"title": "a\u0000b"}]}"#),
        ("turn create_todo", r#"{"items": [{"title": "a", "context": "\u0000"}]}"#),
        ("turn complete_todo", r#"{"todoId": "3", "outcome": "a\u0000"}"#),
        ("turn update_todo", r#"{"todoId": "3", "waitingOn": "a\u0000"}"#),
        ("manager todo_manager", r#"{"action": "add_multiple", "todos": ["a\u0000b"]}"#),
        ("manager todo_manager", r#"{"action": "skip", "ids": [3], "reason": "a\u0000"}"#),
        (
            "todowrite TodoWrite",
            r#"{"todos": [{"content": "\u0000", "status": "pending", "activeForm": "x"}]}"#,
        ),
    ] {
        let before = world.list();
        let ran = world.typed(&format!("tool {tool} --plan {plan} < {arguments}"));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{arguments}");
        assert!(ran.out.contains("contains a NUL character"), "{arguments}: {}", ran.out);
        assert_eq!(world.list(), before, "{arguments}");
    }
}

#[test]
fn naughty_strings_are_kept_or_refused_but_never_acted_on() {
    let world = world();
    // Texts that a command line cannot contain are tested through stdin elsewhere.
    let fits = |text: &str| !text.contains('\0') && text.len() < 100_000;
    let mut kept = 0;
    for naughty in naughty().into_iter().filter(|it| fits(&it.text)) {
        let (name, text) = (naughty.name, naughty.text.as_str());
        let added = world.run(&["add", "--json", "--", text]);
        if added.code != 0 {
            let why = if text == "-" { 2 } else { 3 };
            assert_eq!((added.code, dangers(&added.err)), (why, vec![]), "{name}: {}", added.err);
            continue;
        }
        let number = added.json()["changed"][0]["number"].to_string();
        let shown = world.run(&["show", &number, "--json"]).json();
        assert_eq!(shown["item"]["title"], text, "{name}");
        let drawn = world.run(&["show", &number]).ok() + &world.run(&["list"]).ok();
        // Right-to-left text is inside our own isolates, which come in pairs.
        let count = |sign: char| drawn.matches(sign).count();
        assert_eq!(count('\u{2068}'), count('\u{2069}'), "{name}: {drawn}");
        let drawn = drawn.replace(['\u{2068}', '\u{2069}'], "");
        assert_eq!(dangers(&drawn), Vec::<char>::new(), "{name}: {drawn}");
        world.run(&["skip", &number, &format!("--reason={text}")]).works();
        kept += 1;
    }
    assert!(kept > 30, "{kept}");
}

#[test]
fn a_refused_first_change_leaves_no_plan_behind() {
    let world = World::new();
    for line in [
        "add \"\"",
        "add x --after 7",
        "replace < [{\"title\": \"\"}]",
        "done 1",
        "undo",
        "wait 1 x",
    ] {
        let ran = world.typed(line);
        assert!(matches!(ran.code, 3 | 4), "{line}: {}", ran.err);
    }
    for line in ["add x --expect 5", "replace --expect 5 < - [ ] x", "add x --expect 1 --plan p"] {
        let ran = world.typed(line);
        assert_eq!(ran.code, 5, "{line}: {}", ran.err);
    }
    assert_eq!(world.typed("plans --json").json()["plans"], serde_json::json!([]));
    assert!(world.typed("list").ok().starts_with("No plan here yet"));
    world.typed("add x --expect 0").works();
}

#[test]
fn a_result_that_cannot_be_written_is_told_apart_from_a_change_that_was_not_made() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let world = World::new();
    let mut command = world.command("project");
    let ran = command.args(["add", "x"]).stdout(full).output().unwrap();
    let err = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(1));
    assert!(
        err.starts_with("error: the change was made, but its result cannot be written"),
        "{err}"
    );
    assert!(world.typed("list").ok().contains("1 x"));
}

#[test]
fn every_bad_entry_is_named_by_its_place() {
    let world = world();
    let ran = world.run(&["add", " ", &"x".repeat(501), "ok"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(
        ran.err.starts_with(
            "error: the title of entry 1 is empty\n\
             error: the title of entry 2 has 501 characters; at most 500 are allowed\n"
        ),
        "{}",
        ran.err
    );
}

#[test]
fn a_title_in_an_error_is_shown_as_lists_show_it() {
    let world = World::new();
    let title = "tab\tand \"quote\" and back\\slash \u{1b}[31mred\u{1b}[0m";
    world.run(&["add", title]).works();
    world.typed("done 1").works();
    let ran = world.typed("start 1");
    let shown = "error: item 1 \"tab and \"quote\" and back\\slash red\" is completed";
    assert!(ran.err.starts_with(shown), "{}", ran.err);
}

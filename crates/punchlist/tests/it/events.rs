//! `punchlist events`: streams of agents from files and pipes.

use std::io::{Read as _, Write as _};
use std::process::Stdio;

use crate::world::World;

/// A recording of Claude Code.
const TASKS: &[u8] = include_bytes!("../../../../fixtures/claude/stream-tasks.jsonl");
const TODOS: &[u8] = include_bytes!("../../../../fixtures/claude/transcript-todowrite.jsonl");

#[test]
fn a_stream_on_stdin_is_recognised_and_counted() {
    let world = World::new();
    for arguments in [&["events"][..], &["events", "-"], &["events", "--from", "claude"]] {
        let ran = world.run_with(arguments, TASKS);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert_eq!(ran.err, "36 lines, 11 lists, 0 warnings, 0 unknown kinds\n");
        assert_eq!(ran.out.lines().count(), 30);
        assert!(ran.out.lines().all(|it| it.contains("\"agentType\":\"claude-code\"")));
    }
}

#[test]
fn only_what_is_asked_for_is_written_and_it_is_the_same() {
    let world = World::new();
    let all = world.run_with(&["events"], TASKS).out;
    let of = |kinds: &[&str]| -> Vec<String> {
        let is_one =
            |it: &&str| kinds.iter().any(|kind| it.contains(&format!("\"type\":\"{kind}\"")));
        all.lines().filter(is_one).map(str::to_owned).collect()
    };
    let lists = world.run_with(&["events", "--only", "todo_list"], TASKS).out;
    assert_eq!(lists.lines().collect::<Vec<_>>(), of(&["todo_list"]));
    let some =
        world.run_with(&["events", "--only", "text,usage", "--only", "turn.started"], TASKS).out;
    assert_eq!(some.lines().collect::<Vec<_>>(), of(&["text", "usage", "turn.started"]));
}

#[test]
fn files_are_read_side_by_side_and_written_one_after_the_other() {
    let world = World::new();
    let mut expected = String::new();
    for n in 0..40 {
        let bytes = [TASKS, TODOS][n % 2];
        world.write(&format!("project/logs/{}/{n:02}.jsonl", n % 3), bytes);
    }
    for directory in 0..3 {
        for n in (directory..40).step_by(3) {
            expected.push_str(&world.run_with(&["events"], [TASKS, TODOS][n % 2]).out);
        }
    }
    for jobs in ["1", "8"] {
        let ran = world.run(&["events", "-j", jobs, "logs/**/*.jsonl"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.out == expected, "another order with {jobs}");
        assert!(ran.err.starts_with("40 files, "), "{}", ran.err);
    }
    let named = world.run(&["events", "logs/1/01.jsonl", "logs/0/00.jsonl"]);
    let (first, second) =
        (world.run_with(&["events"], TODOS).out, world.run_with(&["events"], TASKS).out);
    assert_eq!(named.out, first + &second);
}

#[test]
fn what_cannot_be_read_is_told_with_what_to_do() {
    let world = World::new();
    world.write("project/what.jsonl", "{\"type\":\"moon\"}\n");
    world.write("project/good.jsonl", TODOS);
    world.write("project/bad\u{1b}[31m.jsonl", "plain\n");
    told!(world.story(
        "
        events missing.jsonl
        events none/*.jsonl
        events .
        events - -
        events what.jsonl
        events --from moon what.jsonl
        events --only moon what.jsonl
        events --from claude what.jsonl
        events --from claude --json what.jsonl
        events --only usage good.jsonl what.jsonl bad*
        "
    ));
}

#[test]
fn bad_lines_become_warnings_and_the_rest_is_read() {
    let world = World::new();
    let mut bytes = b"not json\n\xff\xfe\n\0\n".to_vec();
    bytes.extend_from_slice(TASKS);
    bytes.extend_from_slice(&b"[".repeat(100_000));
    let ran = world.run_with(&["events"], &bytes);
    assert_eq!(ran.err, "40 lines, 11 lists, 4 warnings, 0 unknown kinds\n");
    let warnings: Vec<&str> =
        ran.out.lines().filter(|it| it.contains("\"type\":\"warning\"")).collect();
    let lines: Vec<&str> = warnings.iter().filter_map(|it| it.split("\"line\":").nth(1)).collect();
    assert_eq!(
        lines,
        [
            "1,\"why\":\"not JSON at byte 2: expected ident\"}",
            "2,\"why\":\"not UTF-8 at byte 1\"}",
            "3,\"why\":\"not JSON at byte 1: expected value\"}",
            "40,\"why\":\"not JSON at byte 121: nested deeper than 120 levels\"}",
        ]
    );
}

#[test]
fn a_thousand_sessions_at_once_are_told_apart() {
    let world = World::new();
    for n in 0..1_000 {
        let todos =
            serde_json::json!({"todos": [{"content": format!("do {n}"), "status": "pending"}]});
        let call = serde_json::json!({"type": "assistant", "session_id": format!("s{n:03}"), "message":
            {"content": [{"type": "tool_use", "id": "1", "name": "TodoWrite", "input": todos}]}});
        world.write(&format!("project/logs/{n:03}.jsonl"), format!("{call}\n"));
    }
    let ran = world.run(&["events", "--only", "todo_list", "-j", "64", "logs/*.jsonl"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.err, "1000 files, 1000 lines, 1000 lists, 0 warnings, 0 unknown kinds\n");
    for (n, line) in ran.out.lines().enumerate() {
        assert!(line.contains(&format!("\"todoId\":\"s{n:03}#1\"")), "{n}: {line}");
        assert!(line.contains(&format!("\"text\":\"do {n}\"")), "{n}: {line}");
    }
}

/// A line is dropped as it arrives once it is too long: here five times as long as the limit; for a
/// line of a gigabyte see `cargo xtask fuzz streams`.
#[test]
#[cfg(target_os = "linux")]
fn a_line_without_end_is_not_kept_and_the_next_one_is_read() {
    let world = World::new();
    let mut command = world.command("project");
    command.args(["events", "--from", "claude", "--only", "todo_list,warning"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"type\":\"assistant\",\"message\":\"").unwrap();
    for _ in 0..160 {
        stdin.write_all(&[b'x'; 1 << 20]).unwrap();
    }
    stdin.write_all(b"\n").unwrap();
    stdin.write_all(TASKS).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|it| it.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    // The longest line that is read, while its buffer doubles, and the program itself.
    assert!(peak < 160 << 10, "{peak} kB");
    // No line break at the very end either.
    stdin.write_all(b"no end").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let warnings: Vec<&str> = out.lines().filter_map(|it| it.split("\"why\":").nth(1)).collect();
    assert_eq!(
        warnings,
        [
            "\"a line of 167772191 bytes; at most 33554432 are read\"}",
            "\"not JSON at byte 2: expected ident\"}",
        ]
    );
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(told, "38 lines, 11 lists, 2 warnings, 0 unknown kinds\n");
}

#[test]
fn a_live_stream_is_passed_on_line_by_line() {
    let world = World::new();
    let mut command = world.command("project");
    command.arg("events").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    for text in ["one", "two"] {
        let line = serde_json::json!({"type": "assistant", "session_id": "s",
            "message": {"content": [{"type": "text", "text": text}]}});
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
        // The event arrives while the stream is still open.
        let mut seen = String::new();
        while !seen.ends_with('\n') {
            let mut byte = [0];
            stdout.read_exact(&mut byte).unwrap();
            seen.push(char::from(byte[0]));
        }
        assert!(seen.contains(&format!("\"text\":\"{text}\"")), "{seen}");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let world = World::new();
    world.write("project/many.jsonl", TASKS.repeat(400));
    let mut command = world.command("project");
    command.args(["events", "many.jsonl", "many.jsonl", "many.jsonl"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut first = [0; 100];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// The first line that this format was designed for: no session, no result.
const FIRST: &str = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"toolu_01ABC","name":"TodoWrite","input":{"todos":[{"content":"Research existing metrics","status":"in_progress","activeForm":"Researching..."},{"content":"Design the system","status":"pending","activeForm":"Designing..."}]}}]}}"#;

#[test]
fn a_message_of_claude_codes_without_a_session_is_recognised_in_one_line_and_in_many() {
    let world = World::new();
    let pretty: serde_json::Value = serde_json::from_str(FIRST).unwrap();
    let pretty = serde_json::to_string_pretty(&pretty).unwrap();
    for text in [FIRST, &pretty] {
        let ran = world.run_with(&["events", "--only", "todo_list"], text.as_bytes());
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.out.contains("\"text\":\"Research existing metrics\""), "{}", ran.out);
        assert!(ran.out.contains("\"unconfirmed\":true"), "{}", ran.out);
    }
}

#[test]
fn what_is_not_supported_says_so_with_the_version_and_is_a_failure() {
    let world = World::new();
    for (text, expected) in [
        (
            r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/p"}"#,
            "error: stdin was written by Pi (session format 3), which is not supported",
        ),
        (
            r#"{"type":"system","subtype":"init","session_id":"s","qwen_code_version":"0.5.0"}"#,
            "error: stdin was written by Qwen Code (0.5.0), which is not supported",
        ),
        (
            r#"{"type":"tool_use","timestamp":1,"sessionID":"ses_1","part":{"tool":"todowrite"}}"#,
            "error: stdin was written by OpenCode, which is not supported",
        ),
    ] {
        let ran = world.run_with(&["events"], text.as_bytes());
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{}", ran.err);
        assert!(ran.err.contains(expected), "{}", ran.err);
        assert!(ran.err.contains("punchlist "), "{}", ran.err);
    }
    let strange = r#"{"type":"moonrise","version":"9.9.9","sessionId":"s"}"#;
    let ran = world.run_with(&["events", "--from", "claude"], strange.as_bytes());
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains("written by version 9.9.9"), "{}", ran.err);
    assert!(ran.err.contains("(moonrise)"), "{}", ran.err);
}

#[test]
fn sessions_of_older_versions_are_read() {
    let world = World::new();
    let chat = serde_json::json!({"sessionId": "s", "projectHash": "h",
        "startTime": "2025-12-01T10:00:00.000Z", "messages": [
        {"id": "a", "timestamp": "2025-12-01T10:00:01.000Z", "type": "user", "content": "Do it"},
        {"id": "b", "timestamp": "2025-12-01T10:00:02.000Z", "type": "gemini", "content": "Done."}]});
    world.write("project/session-old.json", serde_json::to_string_pretty(&chat).unwrap());
    let ran = world.run(&["events", "session-old.json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("\"prompt\":\"Do it\"") && ran.out.contains("turn.completed"),
        "{}",
        ran.out
    );
    let bare = "{\"id\":\"t\",\"timestamp\":\"2025-08-01T10:00:00Z\",\"instructions\":null}\n\
        {\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"Leap\"}]}\n";
    let ran = world.run_with(&["events"], bare.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("\"prompt\":\"Leap\""), "{}", ran.out);
}

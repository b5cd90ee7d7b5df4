//! Lines and results that cannot be parsed, unknown kinds of lines, and bounded memory.

use serde_json::{Value, json};

use super::{CLAUDE, call, check, create, result, stream_line, todos};
use crate::tests::lines::{bytes, check_warnings, tally};
use crate::tests::{in_short, parse, read};
use crate::{Options, Source};

#[test]
fn items_that_cannot_be_shown_are_left_out_with_a_warning() {
    let bad = json!([
        {"content": "good", "status": "pending"},
        {"content": " \n\t", "status": "pending"},
        {"content": "x", "status": "blocked"},
        {"content": "x"},
        {"status": "pending"},
        "text",
    ]);
    let lines = [
        call("1", "TodoWrite", json!({"todos": bad})),
        result("1", "ok", json!({"newTodos": bad})),
    ];
    check(&lines, "s#1: [ ] good");
    check_warnings(
        CLAUDE,
        &lines,
        &[
            "2: item 2 has no text; it is left out",
            "2: item 3 has the unknown status \"blocked\"; it is left out",
            "2: item 4 has no status; it is left out",
            "2: item 5 has no text; it is left out",
            "2: item 6 has no text; it is left out",
        ],
    );
}

#[test]
fn malformed_lines_are_told_and_the_next_is_read() {
    let good = call("1", "TodoWrite", json!({"todos": todos(&[("a", "pending")])}));
    let mut all = b"stray text\n\n[1]\n{\"type\":\n".to_vec();
    all.extend(bytes(&[good]));
    let lines = crate::tests::check(CLAUDE, &all);
    let whys: Vec<String> = lines.lines().map(|it| in_short(&parse(it))).collect();
    assert_eq!(
        whys,
        [
            "Warning { line: 1, why: \"not JSON at byte 1: expected value\" }",
            "Warning { line: 3, why: \"not a JSON object\" }",
            "Warning { line: 4, why: \"not JSON at byte 8: EOF while parsing a value\" }",
            "s#1 unconfirmed: [ ] a",
        ]
    );
}

#[test]
fn results_that_are_not_understood_or_never_come_are_never_silence() {
    let calls = |lines: &[Value]| {
        let tally = tally(CLAUDE, lines);
        (tally.todo_calls, tally.lists)
    };
    let asked = |id: &str, tool: &str| {
        let mut line = call(id, tool, json!({"taskId": "1", "subject": "a"}));
        line["message"]["id"] = json!(id);
        line
    };
    let odd = json!({"state": "fine"});
    let lines = [
        asked("1", "TaskCreate"),
        result("1", "Made it", odd.clone()),
        asked("2", "TaskUpdate"),
        result("2", "Changed it", odd),
    ];
    check_warnings(
        CLAUDE,
        &lines,
        &[
            "2: a task was created, but its result has no id",
            "4: a task was changed, but its result cannot be parsed",
        ],
    );
    assert_eq!(calls(&lines), (2, 0));
    let lost = [asked("1", "TaskCreate"), asked("2", "TaskUpdate"), asked("3", "TaskList")];
    assert_eq!(calls(&lost), (2, 0), "the results were called otherwise");
    let no = json!({"success": false, "taskId": "1", "updatedFields": [], "error": "no"});
    let refused = [asked("1", "TaskUpdate"), result("1", "no", no)];
    assert_eq!(calls(&refused), (0, 0), "a refusal is no drift");
}

#[test]
fn unknown_kinds_are_counted_by_name() {
    let lines = [
        json!({"type": "moon", "session_id": "s"}),
        json!({"type": "moon", "session_id": "s"}),
        json!({"type": "system", "subtype": "tide", "session_id": "s"}),
        stream_line("assistant", json!({"type": "poem"}), None),
    ];
    let (events, tally) = read(CLAUDE, Options::default(), &bytes(&lines), 100);
    assert_eq!(events, "");
    let unknown: Vec<String> =
        tally.unknown.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
    assert_eq!(unknown, ["assistant/poem 1", "moon 2", "system/tide 1"]);
}

#[test]
fn state_is_bounded_whatever_comes() {
    let mut lines = Vec::new();
    for session in 0..2_000 {
        for mut line in create("1", "1", "a") {
            line["session_id"] = json!(format!("session {session}"));
            lines.push(line);
        }
        lines.push(json!({"type": "system", "subtype": "task_started", "session_id": "s",
                          "task_id": format!("a{session}"), "tool_use_id": format!("t{session}")}));
        lines.push(call(&format!("open {session}"), "TaskList", json!({})));
    }
    let (_, tally) = read(CLAUDE, Options::default(), &bytes(&lines), 1 << 16);
    assert_eq!(tally.lists, 2_000);
    let mut long = create("1", "1", "a").to_vec();
    let text = "x".repeat(3 << 20);
    long.extend(create("2", "2", &text));
    long.extend(create("3", "3", &text));
    let (events, _) = read(CLAUDE, Options::default(), &bytes(&long), 1 << 16);
    let why = "\"line\":6,\"why\":\"the list is too long; it is not complete\"";
    assert!(events.contains(why), "the third is not kept");
}

#[test]
fn what_newer_versions_keep_for_themselves_is_known() {
    let of = |kind: &str, more: Value| {
        let mut line = json!({"type": kind, "sessionId": "s", "version": "2.1.325"});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line
    };
    let mut lines = Vec::new();
    for kind in ["api-request", "api-request-blob", "api-request-shape", "atis-latch", "cost-state"]
    {
        lines.push(of(kind, json!({"params": {}})));
    }
    lines.push(of("tools-used", json!({"tools": ["TaskCreate"]})));
    for kind in [
        "date",
        "environment",
        "model",
        "prompt_snapshot",
        "remote_session_change",
        "session_context",
        "silent_turn_reminder",
    ] {
        lines.push(of("attachment", json!({"attachment": {"type": kind}})));
    }
    for subtype in ["background_tasks_changed", "permission_denied"] {
        lines.push(of("system", json!({"subtype": subtype})));
    }
    let bytes = bytes(&lines);
    let (_, tally) = read(Source::ClaudeCode, Options::default(), &bytes, bytes.len());
    assert_eq!(tally.unknown, std::collections::BTreeMap::new());
}

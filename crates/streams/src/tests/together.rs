//! The files of one session of Claude Code, which share one task list and are read in any order.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{in_short, parse, recordings};
use crate::event::{Event, KindName, KindSet};
use crate::{Options, Shared, Source, Stream};

/// The lists of files that share a state: `(file, line)` in the order in which they are read.
fn shared(lines: &[(usize, String)]) -> Vec<String> {
    let mut out = Vec::new();
    let mut shared = Shared::default();
    let only = KindSet::of([KindName::TodoList]);
    let new = || Stream::new(Source::ClaudeCode, Options { only, ..Options::default() });
    let mut streams = [new(), new(), new()];
    for (file, line) in lines {
        let bytes = format!("{line}\n");
        streams[*file].push_sharing(bytes.as_bytes(), &mut shared, &mut |event: &Event<'_>| {
            event.write_json(&mut out);
        });
    }
    String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
}

/// The last list of the session itself.
fn last(told: &[String]) -> String {
    let all: Vec<String> = told.iter().map(|it| in_short(&parse(it))).collect();
    let mut own = all.iter().filter(|it| !it.split('#').next().unwrap_or_default().contains('/'));
    own.next_back().cloned().unwrap_or_default()
}

fn recorded(names: [&str; 2]) -> Vec<(usize, String)> {
    let all = recordings("claude");
    let mut lines = Vec::new();
    for (n, name) in names.into_iter().enumerate() {
        let (_, bytes) = all.iter().find(|it| it.0 == name).unwrap();
        let text = String::from_utf8(bytes.clone()).unwrap();
        lines.extend(text.lines().map(|it| (n, it.to_owned())));
    }
    lines
}

fn time(line: &str) -> String {
    let value: Value = serde_json::from_str(line).unwrap();
    value["timestamp"].as_str().unwrap_or("9").to_owned()
}

#[test]
fn the_files_of_a_session_come_to_one_list_whichever_is_read_first() {
    let mut lines = recorded(["transcript-subagent-tasks", "transcript-subagent-tasks-agent"]);
    let expected = "[x] #1 Delegate research, [x] #2 Sub: list files";
    let session = "35b2a8f5-dff5-436c-9502-b2d7c5d318e0";
    let mut ids = BTreeSet::new();
    for _ in 0..2 {
        let told = shared(&lines);
        assert_eq!(last(&told), format!("{session}#1: {expected}"));
        let end = parse(told.last().unwrap());
        // The list has the time of its last change, whichever line reported it.
        let at = end.timestamp.unwrap();
        assert!(at >= 1_794_854_231_229, "{at}");
        assert!(ids.insert(end.event_id), "another line told it");
        lines.sort_by_key(|it| std::cmp::Reverse(it.0));
    }
    // Read in the order of time, every reported list was correct at its time.
    lines.sort_by_key(|it| time(&it.1));
    let told = shared(&lines);
    let short: Vec<String> = told.iter().map(|it| in_short(&parse(it))).collect();
    insta::assert_snapshot!(short.join("\n"));
    let ids: BTreeSet<_> = told.iter().map(|it| parse(it).event_id).collect();
    assert_eq!(ids.len(), told.len(), "no two events have one id");
}

#[test]
fn a_sub_agents_own_list_is_not_the_sessions() {
    let lines = recorded(["transcript-subagent-todowrite", "transcript-subagent-todowrite-one"]);
    let own = last(&shared(&lines[..]));
    assert!(own.contains("[x] Read the parser") && !own.contains("Sub one"), "{own}");
}

#[test]
fn a_sub_agent_that_was_interrupted_has_ended_its_turn() {
    let line = |text: &str| {
        json!({
            "type": "user", "sessionId": "s", "isSidechain": true, "agentId": "a",
            "timestamp": "2026-11-15T12:00:00.000Z", "message": {"role": "user", "content": text},
        })
        .to_string()
            + "\n"
    };
    let bytes = line("Look into it") + &line("[Request interrupted by user]");
    let told = super::events(Source::ClaudeCode, bytes.as_bytes());
    let told: Vec<Value> = told.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let kinds: Vec<&Value> = told.iter().map(|it| &it["type"]).collect();
    assert_eq!(kinds, ["turn.started", "turn.completed"]);
    assert_eq!((&told[1]["agentId"], &told[1]["status"]), (&json!("s/a"), &json!("cancelled")));
}

/// An action of one agent on a task.
#[derive(Clone, Copy, Debug)]
enum Does {
    Create,
    Begin(usize),
    Finish(usize),
    Rename(usize),
    Delete(usize),
    List,
}

fn does() -> impl Strategy<Value = Does> {
    prop_oneof![
        3 => Just(Does::Create),
        2 => (0_usize..9).prop_map(Does::Begin),
        2 => (0_usize..9).prop_map(Does::Finish),
        1 => (0_usize..9).prop_map(Does::Rename),
        1 => (0_usize..9).prop_map(Does::Delete),
        1 => Just(Does::List),
    ]
}

/// Writes the lines that a program would write for such actions.
#[derive(Default)]
struct Program {
    lines: Vec<(usize, String)>,
    tasks: Vec<(usize, String, &'static str)>,
    made: usize,
    seconds: usize,
}

impl Program {
    fn line(&mut self, file: usize, kind: &str, content: Value, kept: Option<Value>) {
        self.seconds += 1;
        let time = format!("2026-11-15T12:{:02}:{:02}.000Z", self.seconds / 60, self.seconds % 60);
        let message = json!({"role": kind, "id": self.seconds.to_string(), "content": [content]});
        let mut line = json!({
            "type": kind, "sessionId": "s", "timestamp": time, "message": message,
            "isSidechain": file > 0,
        });
        if file > 0 {
            line["agentId"] = json!(format!("a{file}"));
        } else if let Some(kept) = kept {
            line["toolUseResult"] = kept;
        }
        self.lines.push((file, line.to_string()));
    }

    fn call(&mut self, file: usize, tool: &str, input: &Value, said: &str, kept: Value) {
        let id = format!("c{}", self.seconds);
        let call = json!({"type": "tool_use", "id": id, "name": tool, "input": input});
        self.line(file, "assistant", call, None);
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": said});
        self.line(file, "user", result, Some(kept));
    }

    fn update(&mut self, file: usize, n: usize, field: &str, value: &str) {
        let id = self.tasks[n].0.to_string();
        let told = if value == "deleted" { "deleted" } else { field };
        let said = format!("Updated task #{id} {told}");
        let kept = json!({"success": true, "taskId": id, "updatedFields": [told]});
        self.call(file, "TaskUpdate", &json!({"taskId": id, field: value}), &said, kept);
    }

    fn does(&mut self, file: usize, does: Does) {
        let there = |n: usize| (!self.tasks.is_empty()).then(|| n % self.tasks.len().max(1));
        match does {
            Does::Create => {
                self.made += 1;
                let (id, subject) = (self.made, format!("task {}", self.made));
                let said = format!("Task #{id} created successfully: {subject}");
                let kept = json!({"task": {"id": id.to_string(), "subject": subject}});
                self.call(file, "TaskCreate", &json!({"subject": subject}), &said, kept);
                self.tasks.push((id, subject, "pending"));
            }
            Does::Begin(n) | Does::Finish(n) => {
                let Some(n) = there(n) else { return };
                let done = matches!(does, Does::Finish(_));
                let status = if done { "completed" } else { "in_progress" };
                self.update(file, n, "status", status);
                self.tasks[n].2 = status;
            }
            Does::Rename(n) => {
                let Some(n) = there(n) else { return };
                let subject = format!("renamed {}", self.seconds);
                self.update(file, n, "subject", &subject);
                self.tasks[n].1 = subject;
            }
            Does::Delete(n) => {
                let Some(n) = there(n) else { return };
                self.update(file, n, "status", "deleted");
                self.tasks.remove(n);
            }
            Does::List => {
                let task = |(id, subject, status): &(usize, String, &str)| json!({"id": id.to_string(), "subject": subject, "status": status, "blockedBy": []});
                let tasks: Vec<Value> = self.tasks.iter().map(task).collect();
                self.call(file, "TaskList", &json!({}), "…", json!({"tasks": tasks}));
            }
        }
    }

    fn truth(&self) -> String {
        let task = |(id, subject, status): &(usize, String, &str)| {
            let sign = match *status {
                "completed" => "x",
                "in_progress" => ">",
                _ => " ",
            };
            format!("[{sign}] #{id} {subject}")
        };
        self.tasks.iter().map(task).collect::<Vec<_>>().join(", ")
    }
}

proptest! {
    #[test]
    fn whatever_agents_do_their_list_is_true_in_whatever_order_their_files_are_read(
        history in prop::collection::vec((0_usize..3, does()), 1..40),
        order in prop::sample::select(vec![[0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 1, 0]]),
    ) {
        let mut program = Program::default();
        for (file, does) in history {
            program.does(file, does);
        }
        let truth = program.truth();
        let items = |told: &[String]| {
            last(told).split_once(": ").map(|it| it.1.to_owned()).unwrap_or_default()
        };
        prop_assert_eq!(&items(&shared(&program.lines)), &truth);
        let mut lines = program.lines.clone();
        lines.sort_by_key(|it| order.iter().position(|file| *file == it.0));
        prop_assert_eq!(&items(&shared(&lines)), &truth);
    }
}

//! Claude Code, Codex and Gemini CLI at the same time in one project, with one model that
//! distinguishes them by their prompts.

mod delegating;
mod shared;
mod team;

use std::collections::BTreeMap;

use punchlist_testkit::model::{Api, Model, Script, Server};
use serde_json::{Value, json};

use crate::codex::DIRECT;
use crate::gemini::WITH_TODOS;
use crate::lists::list;
use crate::place::Place;
use crate::run::{Ended, Run};

impl Place {
    /// All three, each asked for its own part.
    fn all(&self, model: &Server) -> [Run; 3] {
        self.codex_settings(model, DIRECT);
        self.gemini_settings(&json!({}));
        [
            self.claude(model, "PARSER: write it").with_tasks(),
            self.codex(&["TESTS: write them"]),
            self.gemini(model, "DOCS: write them").args(&["-m", WITH_TODOS]),
        ]
    }
}

/// Each agent creates its own list and finishes it.
fn model() -> Model {
    let claude = Script::new()
        .calls("TaskCreate", json!({"subject": "Write the parser", "description": "so"}))
        .calls("TaskUpdate", json!({"taskId": "1", "status": "completed"}))
        .stops("Done.");
    let plan = |status: &str| json!({"plan": [{"step": "Write the tests", "status": status}]});
    let codex = Script::new()
        .calls("update_plan", plan("in_progress"))
        .calls("update_plan", plan("completed"))
        .stops("Done.");
    let todos =
        |status: &str| json!({"todos": [{"description": "Write the docs", "status": status}]});
    let gemini = Script::new()
        .calls("write_todos", todos("in_progress"))
        .calls("write_todos", todos("completed"))
        .stops("Done.");
    Model::new(Script::new())
        .conversation("PARSER", claude)
        .conversation("TESTS", codex)
        .conversation("DOCS", gemini)
}

#[test]
#[ignore = "needs all agents: cargo xtask test agents"]
fn what_three_agents_keep_becomes_one_stream() {
    let place = Place::new();
    let model = model().serve().unwrap();
    let running = place.all(&model).map(Run::begin);
    let [claude, codex, gemini]: [Ended; 3] = running.map(|it| it.ends());
    let sessions =
        [claude.well().session(), codex.completed().session(), gemini.succeeded().session()];
    assert_eq!(model.left(), 0);
    for (conversation, api) in
        [("PARSER", Api::Anthropic), ("TESTS", Api::OpenAi), ("DOCS", Api::Gemini)]
    {
        assert!(model.requests_of(conversation).iter().all(|it| it.api == api), "{conversation}");
    }

    let files = ["home/.claude/projects", "home/.codex/sessions", "home/.gemini/tmp"];
    let globs = files.map(|it| format!("{}/**/*.jsonl", place.path(it).display()));
    let mut arguments = vec!["events", "--only", "todo_list"];
    arguments.extend(globs.iter().map(String::as_str));
    let lines = place.punchlist(&arguments);
    let mut last = BTreeMap::new();
    for line in lines.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let item = &event["items"][0];
        let list =
            format!("{} {}", item["status"].as_str().unwrap(), item["text"].as_str().unwrap());
        last.insert(event["agentId"].as_str().unwrap().to_owned(), list);
    }
    let titles = ["Write the parser", "Write the tests", "Write the docs"];
    let expected = sessions.into_iter().zip(titles.map(|it| format!("completed {it}")));
    assert_eq!(last, expected.collect());
}

#[test]
#[ignore = "needs all agents: cargo xtask test agents"]
fn one_watcher_finds_and_follows_all_three() {
    let place = Place::new();
    let watcher = place.watch();
    let model = model().serve().unwrap();
    let running = place.all(&model).map(Run::begin);
    let mut last: BTreeMap<String, String> = BTreeMap::new();
    while last.values().filter(|it| it.starts_with("[x]")).count() < 3 {
        let told = watcher.next("todo_list");
        last.insert(told["agentType"].as_str().unwrap().to_owned(), list(&told));
    }
    let expected = [
        ("claude-code", "[x] Write the parser"),
        ("google-gemini", "[x] Write the docs"),
        ("openai-codex", "[x] Write the tests"),
    ];
    let last: Vec<(&str, &str)> = last.iter().map(|(agent, list)| (&**agent, &**list)).collect();
    assert_eq!(last, expected);
    let [claude, codex, gemini]: [Ended; 3] = running.map(|it| it.ends());
    drop((claude.well(), codex.completed(), gemini.succeeded()));
}

//! Whole turns of `punchlist do` over every API, with aimock as the model: a mock server that others
//! wrote.

use std::fmt::Write as _;
use std::path::Path;

use punchlist_testkit::aimock::Aimock;
use serde_json::{Value, json};

use crate::world::{World, finish};

/// The kinds of providers, and where aimock has their APIs.
const KINDS: [(&str, &str); 5] = [
    ("anthropic", "/v1"),
    ("openai", "/v1"),
    ("openai-chat", "/v1"),
    ("gemini", "/v1beta"),
    ("ollama", ""),
];

const KEY: &str = "key-of-the-tests";

/// What the model of a kind answers: it plans two items, completes both at once, and answers.
fn fixtures(kind: &str) -> Vec<Value> {
    let complete = |id: &str| json!({"name": "complete_todo", "arguments": {"todoId": id, "outcome": "as it should be"}});
    let items = json!({"items": [{"title": "Write the note"}, {"title": "Check the note"}]});
    let responses = [
        json!({"toolCalls": [{"name": "create_todo", "arguments": items}]}),
        json!({"content": "Now I do both.", "toolCalls": [complete("1"), complete("2")]}),
        json!({"content": "The note is written and checked."}),
    ];
    let fixture = |(at, response): (usize, Value)| {
        json!({"match": {"model": format!("model-of-{kind}"), "sequenceIndex": at},
            "response": response})
    };
    responses.into_iter().enumerate().map(fixture).collect()
}

#[test]
#[ignore = "needs aimock: cargo xtask test providers"]
fn a_turn_is_done_over_every_api() {
    let place =
        std::env::var("PUNCHLIST_TEST_AIMOCK").expect("run by `cargo xtask test providers`");
    let world = World::new();
    let fixtures: Vec<Value> = KINDS.iter().flat_map(|(kind, _)| fixtures(kind)).collect();
    let server = Aimock::start(Path::new(&place), &world.path(""), &fixtures, Some(KEY)).unwrap();
    let mut config = String::new();
    for (kind, path) in KINDS {
        let url = format!("{}{path}", server.url());
        writeln!(config, "[providers.my-{kind}]\nkind = '{kind}'\nbase_url = '{url}'").unwrap();
        config.push_str("key = '$TEST_KEY'\n");
    }
    world.write("home/.config/punchlist/config.toml", config);
    for (kind, _) in KINDS {
        let mut command = world.command("project");
        let model = format!("my-{kind}/model-of-{kind}");
        command.env("TEST_KEY", KEY).args(["do", "--model", &model, "Write a note"]);
        let ran = finish(command, b"");
        assert_eq!(ran.code, 0, "{kind}: {}\n{}", ran.out, ran.err);
        let shown = format!("{}{}", ran.out, ran.err);
        for expected in ["Write the note", "The note is written and checked.", "3 model calls"] {
            assert!(shown.contains(expected), "{kind}: {expected}:\n{shown}");
        }
        assert!(!shown.contains(KEY), "{kind}: {shown}");
    }
}

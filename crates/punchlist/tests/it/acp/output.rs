//! The output of a call, while it runs.

use std::time::Instant;

use serde_json::{Value, json};

use super::client::Client;
use crate::world::World;

fn shell(line: &str) -> Value {
    json!({"answers": [
        {"calls": [{"tool": "shell", "arguments": {"command": line}}]},
        {"text": "Done."},
    ]})
}

/// Whether a message shows output of a call that still runs.
fn is_output(message: &Value) -> bool {
    let update = &message["params"]["update"];
    update["sessionUpdate"] == "tool_call_update"
        && update.get("status").is_none()
        && update["content"].is_array()
}

#[test]
fn the_output_of_a_call_is_shown_while_it_runs() {
    let world = World::new();
    let scenario = shell("echo begun; while [ ! -e go ]; do sleep 0.05; done; echo ended");
    let (mut client, session) = Client::playing(&world, &scenario);
    let id = client.begin(&session, "Go");
    let question = client.wait(|it| it["method"] == "session/request_permission");
    client.choose(&question, "once");
    let shown = client.wait(is_output);
    let content = &shown["params"]["update"]["content"];
    assert_eq!(content[0]["content"]["text"], "```text\nbegun\n```");
    world.write("project/go", "");
    let done = client.until(id, &[]);
    assert_eq!(done.stop(), "end_turn");
    let last = done.of_kind("tool_call_update").pop().unwrap();
    assert_eq!(last["status"], "completed");
    let whole = last["content"][0]["content"]["text"].as_str().unwrap();
    assert!(whole.contains("begun\nended"), "{whole}");
}

#[test]
fn a_fast_call_is_shown_at_most_ten_times_a_second() {
    let world = World::new();
    let scenario = shell("for i in 1 2 3 4 5 6; do seq 1 20000; sleep 0.2; done");
    let (mut client, session) = Client::playing(&world, &scenario);
    let began = Instant::now();
    let id = client.begin(&session, "Go");
    let question = client.wait(|it| it["method"] == "session/request_permission");
    client.choose(&question, "once");
    let mut outputs = 0;
    loop {
        let message = client.next();
        if message["id"] == id && message.get("method").is_none() {
            break;
        }
        if is_output(&message) {
            outputs += 1;
            assert!(message.to_string().len() < 20_000, "{}", message.to_string().len());
        }
    }
    let most = began.elapsed().as_millis() / 100 + 1;
    assert!((1..=most).contains(&outputs), "{outputs} of at most {most}");
}

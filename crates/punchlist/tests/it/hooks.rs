//! `punchlist hook codex` and `punchlist hook gemini` with the real program.

use serde_json::{Value, json};

use crate::world::{Ran, World, finish};

fn hook(world: &World, agent: &str, event: &Value) -> Ran {
    let mut command = world.command("home");
    command.args(["hook", agent]);
    let mut event = event.clone();
    event["session_id"] = json!("12345678-aaaa-bbbb");
    event["cwd"] = json!(world.path("project"));
    finish(command, event.to_string().as_bytes())
}

fn list(world: &World) -> Vec<String> {
    let plans = world.run(&["plans", "--all", "--json"]).json();
    let id = plans["plans"][0]["id"].as_str().unwrap();
    let list = world.run(&["list", "--all", "--json", "--plan", id]).json();
    let line = |it: &Value| {
        format!("{} {}", it["status"].as_str().unwrap(), it["title"].as_str().unwrap())
    };
    list["items"].as_array().unwrap().iter().map(line).collect()
}

#[test]
fn both_are_mirrored_refused_and_let_go() {
    for (agent, wrote, stop, no) in [
        (
            "codex",
            json!({"hook_event_name": "PostToolUse", "tool_name": "update_plan",
                "tool_input": {"plan": [{"step": "A", "status": "pending"}]},
                "tool_response": "Plan updated"}),
            json!({"hook_event_name": "Stop", "last_assistant_message": "Done."}),
            "block",
        ),
        (
            "gemini",
            json!({"hook_event_name": "AfterTool", "tool_name": "write_todos",
                "tool_input": {"todos": [{"description": "A", "status": "pending"}]},
                "tool_response": {"llmContent": "ok", "returnDisplay": {"todos": [
                    {"description": "A", "status": "pending"}]}}}),
            json!({"hook_event_name": "AfterAgent", "prompt": "x", "prompt_response": "Done."}),
            "deny",
        ),
    ] {
        let world = World::new();
        hook(&world, agent, &wrote).works();
        assert_eq!(list(&world), ["pending A"], "{agent}");
        let answer = hook(&world, agent, &stop).json();
        assert_eq!(answer["decision"], no, "{agent}");
        assert_eq!(answer.as_object().unwrap().len(), 2, "{agent}: {answer}");
        // It is unknown whether the session is interactive, so one refusal is enough.
        hook(&world, agent, &stop).works();
    }
}

#[test]
fn whatever_comes_the_agent_goes_on() {
    let world = World::new();
    for agent in ["codex", "gemini", "vim", ""] {
        for input in
            [&b""[..], b"null", b"{", b"{}", b"\xff\xfe", b"{\"hook_event_name\":\"Stop\"}"]
        {
            let mut command = world.command("project");
            command.args(["hook", agent]);
            let ran = finish(command, input);
            assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{agent} {input:?}");
        }
    }
    world.write("home/.local/share/punchlist/punchlist.db", "no database at all, but long enough");
    for (agent, event) in [("codex", "Stop"), ("gemini", "AfterAgent")] {
        let ran = hook(&world, agent, &json!({"hook_event_name": event}));
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{agent}");
    }
    let failures =
        std::fs::read_to_string(world.path("home/.local/share/punchlist/hook-failures.jsonl"));
    assert!(failures.unwrap().contains("\"agent\":\"gemini\",\"event\":\"AfterAgent\""));
}

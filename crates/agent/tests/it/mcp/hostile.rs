//! Servers that hang, die, talk rubbish, flood or lie: each is a line in the report, and the others
//! work.

use std::time::{Duration, Instant};

use punchlist_agent::mcp::{Options, Status};
use punchlist_sched::Tools;
use serde_json::json;

use super::{World, server};

fn impatient(options: Options) -> Options {
    Options { start_timeout: Duration::from_secs(3), ..options }
}

#[tokio::test]
async fn a_server_that_cannot_be_used_is_one_line_and_the_others_work() {
    let kinds = ["hangs", "deaf", "dies", "rubbish", "endless", "good"];
    let token = json!({"env": {"TOKEN": "$CANARY"}});
    let configs = kinds.iter().map(|kind| server(kind, kind, &token));
    let world = World::with(configs.collect(), impatient);
    assert_eq!(world.call("mcp__good__echo", json!({})).await, "{}");
    insta::assert_snapshot!(world.report(), @r#"
    MCP server hangs: failed: it did not answer within 3 s
    MCP server deaf: failed: it did not answer within 3 s
    MCP server dies: failed: it ended: exit code 3; its last words: "no such database; the token is [key]"
    MCP server rubbish: failed: it did not answer within 3 s; it printed "Welcome to the server!", which is no message
    MCP server endless: failed: it sent a message of more than 8388608 bytes
    MCP server good: connected, 12 tools
    "#);
}

#[tokio::test]
async fn a_slow_server_does_not_hold_up_the_others() {
    let configs = vec![server("hangs", "hangs", &json!({})), server("good", "good", &json!({}))];
    let world = World::with(configs, |it| Options { first_wait: Duration::from_secs(2), ..it });
    let begin = Instant::now();
    assert_eq!(world.call("mcp__good__echo", json!({})).await, "{}");
    assert!(begin.elapsed() < Duration::from_secs(20), "it waited for the server that hangs");
    assert_eq!(world.servers.report()[0].status, Status::Waiting);
    world.servers.shut_down().await;
    assert_eq!(world.servers.report()[0].status, Status::Off);
}

#[tokio::test]
async fn a_message_that_is_too_large_ends_the_call_and_not_the_session() {
    let world = World::new(vec![server("small", "good", &json!({}))]);
    assert_eq!(
        world.call("mcp__small__flood", json!({})).await,
        "failed: MCP server small: it sent a message of more than 8388608 bytes; the call may have \
         happened"
    );
    assert_eq!(world.call("mcp__small__echo", json!({})).await, "{}");
}

#[tokio::test]
async fn of_too_many_tools_the_first_are_used() {
    let world = World::new(vec![server("many", "many", &json!({}))]);
    assert_eq!(world.names().await.len(), 128);
    let said = "MCP server many: connected, 128 tools: only its first 128 tools are used";
    assert_eq!(world.report(), said);
}

#[tokio::test]
async fn hostile_tools_are_cleaned_or_left_out() {
    let world = World::new(vec![server("evil", "hostile", &json!({}))]);
    let mut lines = Vec::new();
    let mut all = Tools::new();
    for tool in world.servers.tools().await {
        lines.push(format!("{}: {:?} {}", tool.name(), tool.description(), tool.schema()));
        all.add(tool).unwrap();
    }
    insta::assert_snapshot!(lines.join("\n"));
    insta::assert_snapshot!("left_out", world.report());
}

//! Servers that are programs: what they get, what they may ask, and how they end.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use punchlist_agent::mcp::Status;
use punchlist_sched::policy::{Policy, Verdict};
use punchlist_sched::{Batch, Decision, Rule, Run, Tools};
use serde_json::json;

use super::{World, example, run, server, until};

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|it| !it.is_empty() && !it.starts_with(" Z"))
}

#[tokio::test]
async fn a_program_is_started_called_and_ended() {
    let world = World::new(vec![server("small", "good", &json!({}))]);
    assert_eq!(world.report(), "MCP server small: starting");
    assert_eq!(world.call("mcp__small__echo", json!({"a": 1})).await, r#"{"a":1}"#);
    assert_eq!(world.report(), "MCP server small: connected, 12 tools");
    let tool = world.tool("mcp__small__echo").await;
    assert_eq!(tool.description(), "[MCP server small]");
    assert_eq!(tool.server(), Some("small"));
    assert_eq!(
        world.call("mcp__small__fail", json!({})).await,
        "failed: the tool reports an error: no such page"
    );
    insta::assert_snapshot!(world.call("mcp__small__image", json!({})).await, @r#"
    first
    [image image/png, 3 bytes, not shown]
    [resource file:///a]
    inside
    [link to resource file:///b: b]
    {"pages":3}
    "#);
    let pid = world.call("mcp__small__pid", json!({})).await;
    assert!(is_alive(&pid));
    world.servers.shut_down().await;
    assert!(!is_alive(&pid));
    assert_eq!(run(&tool, json!({})).await, "failed: MCP server small: the session is over");
    assert!(world.servers.tools().await.is_empty());
    assert_eq!(world.report(), "MCP server small: not started: the session is over");
}

#[tokio::test]
async fn a_program_gets_few_variables_and_those_of_its_entry() {
    let env = json!({"env": {"TOKEN": "$CANARY", "KEY": "!print-key", "MODE": "${NONE:-plain}"}});
    let world = World::new(vec![server("small", "good", &env)]);
    let said = world.call("mcp__small__env", json!({})).await;
    let root = world.root.path().canonicalize().unwrap();
    let lines: Vec<&str> = said.lines().collect();
    let (place, all) = lines.split_first().unwrap();
    assert_eq!(*place, root.to_str().unwrap());
    let all: Vec<&&str> = all.iter().filter(|it| !it.starts_with("PUNCHLIST_CALL=")).collect();
    assert_eq!(
        all,
        [&"KEY=[key]", &"LANG=C", &"MODE=plain", &"PATH=/usr/bin:/bin", &"TOKEN=[key]"]
    );
    assert_eq!(world.call("mcp__small__print", json!({})).await, "printed");
    until(|| world.servers.log("small").unwrap().contains("told")).await;
    assert_eq!(world.servers.log("small").unwrap(), "told: [key]\n");
}

#[tokio::test]
async fn a_value_that_is_missing_is_named_and_nothing_is_started() {
    let world = World::new(vec![
        server("a", "good", &json!({"env": {"X": "$MISSING"}})),
        server("b", "good", &json!({"env": {"X": "!no-such"}})),
        server("c", "good", &json!({"enabled": false})),
        server("d", "good", &json!({"cwd": "nowhere"})),
        server("d", "good", &json!({})),
    ]);
    assert!(world.servers.tools().await.is_empty());
    let root = world.root.path().to_str().unwrap();
    insta::assert_snapshot!(world.report().replace(root, "/w"), @"
    MCP server a: failed: the variable MISSING is not set
    MCP server b: failed: the command `no-such` failed: there is no no-such
    MCP server c: not started: switched off in your settings
    MCP server d: failed: it cannot work in /w/nowhere: No such file or directory (os error 2)
    MCP server d: not started: another server has that name already
    ");
}

#[tokio::test]
async fn a_server_is_told_the_root_and_gets_nothing_else() {
    let world = World::new(vec![server("small", "good", &json!({}))]);
    let roots = world.call("mcp__small__roots", json!({})).await;
    let root = world.root.path().display();
    assert_eq!(roots, format!(r#"{{"roots":[{{"uri":"file://{root}/"}}]}}"#));
    let model = world.call("mcp__small__model", json!({})).await;
    assert!(model.contains("punchlist does not call its model for servers"), "{model}");
}

#[tokio::test]
async fn tools_that_changed_are_there_the_next_time() {
    let world = World::new(vec![server("small", "good", &json!({}))]);
    assert!(!world.names().await.contains(&"mcp__small__more".to_owned()));
    assert_eq!(world.call("mcp__small__grow", json!({})).await, "grown");
    assert!(world.names().await.contains(&"mcp__small__more".to_owned()));
}

#[tokio::test]
async fn a_server_without_the_handshake_is_used_too() {
    let world = World::new(vec![server("small", "modern", &json!({}))]);
    assert_eq!(world.call("mcp__small__echo", json!({"a": 1})).await, r#"{"a":1}"#);
    // It does not say that its tools have changed, so it is asked each time.
    assert_eq!(world.call("mcp__small__grow", json!({})).await, "grown");
    assert!(world.names().await.contains(&"mcp__small__more".to_owned()));
}

#[tokio::test]
async fn only_the_wanted_tools_are_used() {
    let wanted = json!({"tools": ["echo", "fly"]});
    let world = World::new(vec![server("small", "good", &wanted)]);
    assert_eq!(world.names().await, ["mcp__small__echo"]);
    let said = r#"MCP server small: connected, 1 tool: it has no usable tool "fly""#;
    assert_eq!(world.report(), said);
}

#[tokio::test]
async fn a_program_that_ended_between_calls_is_started_again() {
    let world = World::new(vec![server("small", "good", &json!({}))]);
    let echo = world.tool("mcp__small__echo").await;
    let pid = world.call("mcp__small__pid", json!({})).await;
    let number = pid.parse().ok().and_then(rustix::process::Pid::from_raw).unwrap();
    rustix::process::kill_process(number, rustix::process::Signal::KILL).unwrap();
    until(|| !is_alive(&pid)).await;
    // The end of its output has to be seen too.
    for _ in 0..500 {
        world.servers.tools().await;
        if world.servers.report()[0].status == Status::Failed {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(
        world.report(),
        "MCP server small: failed: it has ended; the next call starts it again"
    );
    assert_eq!(run(&echo, json!({"b": 2})).await, r#"{"b":2}"#);
    assert_eq!(world.names().await.len(), 12);
    assert_eq!(world.report(), "MCP server small: connected, 12 tools");
}

#[tokio::test]
async fn a_call_during_which_the_program_ended_is_not_made_again() {
    let world = World::new(vec![server("small", "good", &json!({}))]);
    assert_eq!(
        world.call("mcp__small__die", json!({})).await,
        "failed: MCP server small: it ended: exit code 4; the call may have happened"
    );
    assert_eq!(world.report(), "MCP server small: failed: it ended: exit code 4");
    assert_eq!(world.call("mcp__small__echo", json!({})).await, "{}");
}

#[tokio::test]
async fn every_call_asks_unless_a_rule_allows_it() {
    let world = World::new(vec![server("small", "hostile", &json!({}))]);
    // The server calls it read-only.
    let shell = world.tool("mcp__small__shell").await;
    let subject = shell.check(&json!({"page": "1"})).unwrap().subject;
    let verdict = |rules: Vec<Rule>| match Policy::new(rules, Vec::new()).verdict(&subject) {
        Verdict::Allow => "allow",
        Verdict::Ask(_) => "ask",
        Verdict::Deny(_) => "deny",
    };
    assert_eq!(verdict(Vec::new()), "ask");
    assert_eq!(verdict(vec![Rule::tool(Decision::Allow, "shell")]), "ask");
    assert_eq!(verdict(vec![Rule::server(Decision::Allow, "other")]), "ask");
    assert_eq!(verdict(vec![Rule::server(Decision::Allow, "small")]), "allow");
    assert_eq!(verdict(vec![Rule::tool(Decision::Allow, "mcp__small__*")]), "allow");
    assert_eq!(verdict(vec![Rule::argument(Decision::Deny, "mcp__*", "page", "1")]), "deny");
    assert_eq!(
        shell.preview(&json!({"page": "1"})).what,
        r#"call "shell" of MCP server small with {"page":"1"}"#
    );
}

#[tokio::test]
async fn a_stopped_call_is_cancelled_at_the_server() {
    let world = World::new(vec![server("small", "good", &json!({}))]);
    let mut tools = Tools::new();
    for tool in world.servers.tools().await {
        tools.add(tool).unwrap();
    }
    let policy = Policy::new(vec![Rule::server(Decision::Allow, "small")], Vec::new());
    let running = Run::builder(tools).policy(policy).start();
    let mut batch = Batch::new();
    let slow = batch.call("mcp__small__slow", json!({}));
    let going = running.schedule(batch).await.unwrap();
    let called = world.root.path().join("called");
    until(|| called.exists()).await;
    going.cancel(slow, "enough").await.unwrap();
    let outcomes = going.outcomes().await.unwrap();
    assert!(outcomes[0].for_model().contains("enough"), "{}", outcomes[0].for_model());
    let file = world.root.path().join("cancelled");
    until(|| file.exists()).await;
    // The server still serves.
    assert_eq!(world.call("mcp__small__echo", json!({})).await, "{}");
}

#[tokio::test]
async fn a_call_that_takes_too_long_fails_and_is_cancelled() {
    let world = World::new(vec![server("small", "good", &json!({"timeout": "1s"}))]);
    assert_eq!(
        world.call("mcp__small__slow", json!({})).await,
        "failed: MCP server small: it did not answer in time"
    );
    let file = world.root.path().join("cancelled");
    until(|| file.exists()).await;
}

#[tokio::test]
async fn a_server_ends_with_its_client_even_if_that_is_killed() {
    let mut client = Command::new(example())
        .arg("use")
        .current_dir(Path::new("/"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(client.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pid = line.trim();
    assert!(is_alive(pid), "{line:?}");
    client.kill().unwrap();
    client.wait().unwrap();
    until(|| !is_alive(pid)).await;
}

//! Agents that speak the Agent Client Protocol, played by scripts that answer line by line.

use std::sync::Arc;

use punchlist_agent::workers::acp::ByPolicy;
use punchlist_agent::workers::{Outcome, WorkerEnd};
use punchlist_sched::{Decision, Policy, Rule};
use serde_json::{Value, json};

use super::Place;

/// The beginning of every conversation: three requests, of which the last is kept.
const BEGIN: &str = r#"
say() { printf '%s\n' "$1"; }
read hello; say '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{}}}'
read new; say '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s-1"}}'
read prompt; printf '%s\n' "$hello" "$new" "$prompt" > told.jsonl
"#;

/// The end of a turn.
const END: &str = r#"
say '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn","usage":{"inputTokens":7,"outputTokens":2}}}'
read rest
"#;

fn update(update: &Value) -> String {
    let params = json!({"sessionId": "s-1", "update": update});
    let message = json!({"jsonrpc": "2.0", "method": "session/update", "params": params});
    format!("say '{message}'\n")
}

fn chunk(text: &str) -> String {
    let content = json!({"type": "text", "text": text});
    update(&json!({"sessionUpdate": "agent_message_chunk", "content": content}))
}

fn permission(kind: &str, command: &str) -> String {
    let options =
        json!([{"optionId": "y", "kind": "allow_once"}, {"optionId": "n", "kind": "reject_once"}]);
    let call =
        json!({"toolCallId": "c", "title": "t", "kind": kind, "rawInput": {"command": command}});
    let params = json!({"sessionId": "s-1", "toolCall": call, "options": options});
    let message = json!({"jsonrpc": "2.0", "id": "p", "method": "session/request_permission", "params": params});
    format!("say '{message}'; read answer; printf '%s\\n' \"$answer\" >> answers.jsonl\n")
}

async fn play(place: &Place, script: &str, timeout: u32) -> (Outcome, Vec<String>) {
    place.program("agent", script);
    place.run(json!({"kind": "acp", "command": ["agent", "--acp"], "timeout": timeout})).await
}

#[tokio::test]
async fn an_agent_plans_works_and_answers() {
    let place = Place::new();
    let entry = |content: &str, status: &str| json!({"content": content, "status": status, "priority": "medium"});
    let plan = |first: &str| {
        let entries = json!([entry("Look", first), entry("Write", "pending")]);
        update(&json!({"sessionUpdate": "plan", "entries": entries}))
    };
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Read a.md",
                      "kind": "read", "status": "pending"});
    let script = [
        BEGIN.to_owned(),
        plan("in_progress"),
        chunk("I look at it."),
        update(&call),
        plan("completed"),
        chunk("It is "),
        chunk("done."),
        END.to_owned(),
    ];
    let (outcome, heard) = play(&place, &script.concat(), 60).await;
    assert_eq!((outcome.end, outcome.text.as_str()), (WorkerEnd::Well, "It is done."));
    assert_eq!(outcome.session.as_deref(), Some("s-1"));
    assert_eq!((outcome.usage.input, outcome.usage.output), (7, 2));
    assert_eq!(outcome.list.len(), 2);
    assert!(heard.contains(&"completed Look, pending Write".to_owned()), "{heard:?}");
    let told = place.text("project/told.jsonl");
    assert!(told.contains("Keep them short.") && told.contains("\"mcpServers\":[]"), "{told}");
}

#[tokio::test]
async fn what_the_agent_asks_for_is_decided_by_the_policy() {
    let place = Place::new();
    let file = r#"say '{"jsonrpc":"2.0","id":"f","method":"fs/read_text_file","params":{"path":"/etc/passwd"}}'
read answer; printf '%s\n' "$answer" >> answers.jsonl
"#;
    let asks = [permission("execute", "make test"), permission("execute", "rm -rf x")].concat();
    place.program("agent", &format!("{BEGIN}{asks}{file}{END}"));
    let make =
        Rule { command: Some(vec!["make".to_owned()]), ..Rule::tool(Decision::Allow, "shell") };
    let policy = Policy::new(vec![make], Vec::new());
    let config = json!({"kind": "acp", "command": ["agent"]});
    let workers = place.workers_with(config, Arc::new(ByPolicy(policy)));
    let (outcome, _) = place.run_workers(&workers).await;
    assert_eq!(outcome.end, WorkerEnd::Well, "{outcome:?}");
    let answers = place.text("project/answers.jsonl");
    let answers: Vec<Value> = answers.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let chosen = |at: usize| answers[at]["result"]["outcome"]["optionId"].as_str();
    assert_eq!((chosen(0), chosen(1)), (Some("y"), Some("n")));
    assert_eq!(answers[2]["error"]["code"], -32601);
    // Without a policy everything is refused.
    let place = Place::new();
    let script = format!("{BEGIN}{}{END}", permission("execute", "make test"));
    play(&place, &script, 60).await;
    assert!(place.text("project/answers.jsonl").contains("\"n\""));
}

#[tokio::test]
async fn an_agent_that_takes_too_long_is_told_to_end_and_then_ended() {
    let obeys = r#"read cancel; printf '%s' "$cancel" > cancel.json
say '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"cancelled"}}'; read rest"#;
    let place = Place::new();
    let (outcome, _) = play(&place, &format!("{BEGIN}{}{obeys}", chunk("Half.")), 1).await;
    assert_eq!(outcome.end, WorkerEnd::TimedOut(1));
    assert_eq!(outcome.text, "Half.");
    let cancel: Value = serde_json::from_str(&place.text("project/cancel.json")).unwrap();
    assert_eq!(cancel["method"], "session/cancel");
    assert_eq!(cancel["params"]["sessionId"], "s-1");
    let place = Place::new();
    let ignores = "echo $$ > pid; trap '' TERM; sleep 300";
    let (outcome, _) = play(&place, &format!("{BEGIN}{ignores}"), 1).await;
    assert_eq!(outcome.end, WorkerEnd::TimedOut(1));
    super::assert_gone(&place.text("project/pid"));
    // An agent that does not even begin.
    let (outcome, _) = play(&Place::new(), "sleep 300", 1).await;
    assert_eq!(outcome.end, WorkerEnd::TimedOut(1));
}

#[tokio::test]
async fn an_agent_that_does_not_end_after_its_turn_is_ended() {
    let place = Place::new();
    let stays = "echo $$ > pid; sleep 300";
    let (outcome, _) = play(&place, &format!("{BEGIN}{}{END}{stays}", chunk("Done.")), 60).await;
    assert_eq!((outcome.end, outcome.text.as_str()), (WorkerEnd::Well, "Done."));
    super::assert_gone(&place.text("project/pid"));
}

#[tokio::test]
async fn an_agent_that_dies_fails_or_talks_nonsense_is_a_failure() {
    let check = async |script: &str, expected: &str| {
        let (outcome, _) = play(&Place::new(), script, 30).await;
        let WorkerEnd::Failed(why) = &outcome.end else { panic!("{outcome:?}") };
        assert!(why.contains(expected), "{script}: {why}");
    };
    check("exit 3", "it ended before it answered (exit code 3)").await;
    check(&format!("{BEGIN}kill -9 $$"), "it ended before it answered (ended by signal 9").await;
    check("head -c 300000 /dev/urandom", "it ended before it answered").await;
    let error = |id: u8, code: i32, message: &str| json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
    let login = format!("read hello; printf '%s\\n' '{}'", error(0, -32000, "Not logged in"));
    check(&login, "Not logged in; start it once by hand").await;
    let refusal = r#"say '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"refusal"}}'"#;
    check(&format!("{BEGIN}{refusal}"), "it stopped: refusal").await;
    // It asks and asks, and never reads.
    let ask =
        r#"{"jsonrpc":"2.0","id":"x","method":"fs/read_text_file","params":{"path":"aaaaaaaa"}}"#;
    let flood = format!("{BEGIN}yes '{ask}' | head -n 100000; sleep 300");
    check(&flood, "it asks and does not read the answers").await;
    let quota = format!("{BEGIN}say '{}'", error(2, -32603, "usage limit, try again in 1h"));
    let (outcome, _) = play(&Place::new(), &quota, 30).await;
    let until = Some("2026-11-17T19:00:00Z".parse().unwrap());
    assert_eq!(outcome.end, WorkerEnd::UsageLimit { until });
}

#[tokio::test]
async fn a_message_of_100_megabytes_is_dropped_and_the_next_is_read() {
    let long = "head -c 104857600 /dev/zero | tr '\\0' x; echo";
    let script = format!("{BEGIN}{long}\n{}{END}", chunk("Done."));
    let (outcome, _) = play(&Place::new(), &script, 120).await;
    assert_eq!((outcome.end, outcome.text.as_str()), (WorkerEnd::Well, "Done."));
}

//! Items that need a person's approval: who is asked, and what each answer does.

use serde_json::{Value, json};

use super::client::{Client, OLDER, text};
use crate::world::World;

/// A plan whose items need a person's approval.
fn strict() -> World {
    let world = World::new();
    world.typed("add \"Publish \u{1b}[31mit\" Tell --plan strict").works();
    let archive = world.run(&["export", "--plan", "strict"]).ok();
    let mut lines: Vec<Value> =
        archive.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let header = lines[0].as_object_mut().unwrap();
    let header = header.values_mut().next().and_then(Value::as_object_mut).unwrap_or_else(|| {
        panic!("the header is one object: {archive}");
    });
    header["rules"]["demand"] = json!("approved");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(world.path("strict.jsonl"), text).unwrap();
    let other = World::new();
    other.run(&["import", world.path("strict.jsonl").to_str().unwrap()]).works();
    other
}

const DONE: [(&str, &str); 2] = [("todoId", "1"), ("outcome", "uploaded")];

fn complete() -> Value {
    json!({"name": "complete_todo", "arguments": DONE.into_iter().collect::<std::collections::BTreeMap<_, _>>()})
}

fn evidence(world: &World) -> Value {
    world.run(&["show", "1", "--plan", "strict", "--json"]).json()["item"].clone()
}

#[test]
fn an_older_client_is_asked_while_the_call_waits() {
    for (version, action) in
        OLDER.iter().flat_map(|it| [(it, "accept"), (it, "decline"), (it, "cancel")])
    {
        let world = strict();
        let mut client = Client::silent(&world, &["--plan", "strict"]);
        client.shake_hands(version, &json!({"elicitation": {}}));
        let id = client.send("tools/call", complete());
        let question = client.wait(|it| it["method"] == "elicitation/create");
        let message = question["params"]["message"].as_str().unwrap();
        assert!(message.contains("Publish") && !message.contains('\u{1b}'), "{message}");
        // Other requests are served meanwhile.
        assert_eq!(client.titles().len(), 2);
        let mut answer = json!({"action": action});
        if action == "accept" {
            answer["content"] = json!({});
        }
        client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
        let result = client.answer(id)["result"].clone();
        let item = evidence(&world);
        match action {
            "accept" => {
                assert_eq!(result["structuredContent"]["status"], "completed", "{result}");
                assert_eq!(item["evidence"][0]["level"], "approved", "{item}");
                assert_eq!(item["evidence"][0]["by"], "me@host via test", "{item}");
            }
            "decline" => {
                assert_eq!(result["isError"], true);
                assert!(text(&result).contains("did not approve"), "{result}");
            }
            _ => {
                assert_eq!(result["isError"], true);
                assert!(text(&result).contains("approved"), "{result}");
                assert!(!text(&result).contains("did not approve"), "{result}");
            }
        }
        let open = if action == "accept" { "completed" } else { "pending" };
        assert_eq!(item["status"], open, "{version} {action}");
        // A no is an answer; a cancellation by the client is not.
        assert_eq!(item["waitingOn"] == "a person's approval", action == "cancel", "{item}");
    }
}

#[test]
fn a_client_that_cannot_ask_gets_the_refusal() {
    let world = strict();
    let mut client = Client::older(&world, &["--plan", "strict"]);
    let newer = Client::newer(&world, &["--plan", "strict"], &json!({}));
    for client in [&mut client, &mut { newer }] {
        let result = client.ask("tools/call", complete())["result"].clone();
        assert_eq!(result["isError"], true, "{result}");
        assert!(text(&result).contains("approved"), "{result}");
        assert_eq!(evidence(&world)["waitingOn"], "a person's approval");
    }
}

/// The question to a client of the newer revision: its name, and the state to return.
fn asked(client: &mut Client) -> (String, Value) {
    let result = client.ask("tools/call", complete())["result"].clone();
    assert_eq!(result["resultType"], "input_required", "{result}");
    let (name, question) = result["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(question["method"], "elicitation/create");
    assert!(question["params"]["message"].as_str().unwrap().contains("Publish"), "{question}");
    (name.clone(), result["requestState"].clone())
}

fn answered(name: &str, state: &Value, action: &str) -> Value {
    let mut params = complete();
    params["requestState"] = state.clone();
    params["inputResponses"] = json!({name: {"action": action, "content": {}}});
    params
}

#[test]
fn a_newer_client_brings_the_answer_with_its_next_call() {
    for (action, status) in [("accept", "completed"), ("decline", "pending"), ("cancel", "pending")]
    {
        let world = strict();
        let mut client = Client::newer(&world, &["--plan", "strict"], &json!({"elicitation": {}}));
        let (name, state) = asked(&mut client);
        assert_eq!(evidence(&world)["status"], "pending", "nothing has happened yet");
        let result = client.ask("tools/call", answered(&name, &state, action))["result"].clone();
        assert_eq!(evidence(&world)["status"], status, "{action}: {result}");
        let waits = evidence(&world)["waitingOn"] == "a person's approval";
        assert_eq!(waits, action == "cancel", "{action}");
        assert_eq!(result["isError"] == true, action != "accept", "{action}: {result}");
        assert_eq!(text(&result).contains("did not approve"), action == "decline", "{result}");
    }
}

#[test]
fn an_answer_counts_only_for_the_call_that_was_asked_about() {
    let world = strict();
    let mut client = Client::newer(&world, &["--plan", "strict"], &json!({"elicitation": {}}));
    let (name, state) = asked(&mut client);
    let mut another = answered(&name, &state, "accept");
    another["arguments"]["todoId"] = json!("2");
    let mut forged = answered(&name, &state, "accept");
    let text = state.as_str().unwrap();
    forged["requestState"] = json!(format!("{}x", &text[..text.len() - 1]));
    let mut made_up = answered(&name, &state, "accept");
    made_up["requestState"] = json!("yes");
    for params in [another, forged, made_up] {
        let answer = client.ask("tools/call", params);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    // An answer without the question's state does not count: the user is asked again.
    let mut stateless = answered(&name, &state, "accept");
    stateless.as_object_mut().unwrap().remove("requestState");
    let result = client.ask("tools/call", stateless)["result"].clone();
    assert_eq!(result["resultType"], "input_required", "{result}");
    assert_eq!(evidence(&world)["status"], "pending");
}

#[test]
fn an_approval_is_refused_where_an_agent_plays_the_client_and_else_names_the_client() {
    for (variables, is_heard) in [
        (&[][..], true),
        (&[("CLAUDECODE", "1")], false),
        (&[("AGENT", "amp")], false),
        (&[("PUNCHLIST_RUN", "0199")], false),
    ] {
        let world = strict();
        let mut command = world.command("project");
        command.envs(variables.iter().copied());
        let mut client = Client::of(command, &["--plan", "strict"]);
        client.shake_hands(OLDER[3], &json!({"elicitation": {}}));
        let id = client.send("tools/call", complete());
        if is_heard {
            let question = client.wait(|it| it["method"] == "elicitation/create");
            let yes = json!({"action": "accept", "content": {}});
            client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": yes}));
            assert!(client.answer(id)["result"]["isError"].is_null());
            assert_eq!(evidence(&world)["evidence"][0]["by"], "me@host via test");
        } else {
            let result = client.answer(id)["result"].clone();
            assert_eq!(result["isError"], true, "{variables:?}: {result}");
            assert_eq!(evidence(&world)["evidence"], json!([]), "{variables:?}");
            assert_eq!(evidence(&world)["waitingOn"], "a person's approval", "{variables:?}");
        }
    }
}

//! Edge cases of the protocol: batches, invalid ids, methods that a revision lacks, lone
//! surrogates.

use serde_json::{Value, json};

use super::client::{Client, OLDER};
use crate::world::World;

fn with_batches(world: &World) -> Client {
    let mut client = Client::silent(world, &[]);
    client.shake_hands(OLDER[1], &json!({}));
    client
}

fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

fn create(id: &str, title: &str) -> Value {
    let arguments = json!({"items": [{"title": title}]});
    request(id, "tools/call", json!({"name": "create_todo", "arguments": arguments}))
}

/// The answers of a batch by id.
fn by_id<'a>(answers: &'a Value, id: &str) -> &'a Value {
    let answers = answers.as_array().unwrap_or_else(|| panic!("a batch: {answers}"));
    answers.iter().find(|it| it["id"] == id).unwrap_or_else(|| panic!("{id}: {answers:?}"))
}

#[test]
fn a_batch_is_answered_as_a_batch() {
    let world = World::new();
    let mut client = with_batches(&world);
    client.say(&json!([
        create("a", "First"),
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
        create("b", "Second"),
        request("c", "moon/rise", json!({})),
        {"jsonrpc": "2.0", "id": "d", "method": 5},
        7,
        request("e", "ping", json!({})),
    ]));
    let answers = client.next();
    assert_eq!(answers.as_array().map(Vec::len), Some(6), "{answers}");
    let title = |id: &str| {
        by_id(&answers, id)["result"]["structuredContent"]["created"][0]["title"].clone()
    };
    assert_eq!((title("a"), title("b")), (json!("First"), json!("Second")));
    assert_eq!(by_id(&answers, "c")["error"]["code"], -32601);
    assert_eq!(by_id(&answers, "d")["error"]["code"], -32600);
    assert_eq!(by_id(&answers, "e")["result"], json!({}));
    let nobody = answers.as_array().unwrap().iter().find(|it| it["id"].is_null()).unwrap();
    assert_eq!(nobody["error"]["code"], -32600, "{nobody}");
    assert_eq!(client.titles(), ["First", "Second"]);
    assert!(client.end().0.success());
}

#[test]
fn a_batch_of_notifications_is_not_answered_and_an_empty_one_is_no_batch() {
    let world = World::new();
    let mut client = with_batches(&world);
    client.say(&json!([{"jsonrpc": "2.0", "method": "notifications/moon"}]));
    client.say(&json!([]));
    let answer = client.next();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&Value::Null, &json!(-32600)),
        "{answer}"
    );
    let hello = json!({"protocolVersion": OLDER[1], "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    client.say(&json!([request("i", "initialize", hello), create("a", "A"), create("a", "B")]));
    let answers = client.next();
    assert_eq!(by_id(&answers, "i")["error"]["code"], -32600, "{answers}");
    assert!(by_id(&answers, "a").get("result").is_some(), "{answers}");
    assert_eq!(client.titles(), ["A"]);
    assert!(client.end().0.success());
}

#[test]
fn where_a_revision_has_no_batches_a_list_of_messages_is_refused_and_does_nothing() {
    for version in [OLDER[0], OLDER[2], OLDER[3]] {
        let world = World::new();
        let mut client = Client::silent(&world, &[]);
        client.shake_hands(version, &json!({}));
        client.say(&json!([create("a", "A")]));
        let answer = client.next();
        assert_eq!(answer["error"]["code"], -32600, "{version}: {answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("2025-03-26"), "{answer}");
        assert_eq!(client.titles(), [""; 0], "{version}");
    }
}

#[test]
fn a_line_whose_id_cannot_be_read_is_answered_with_the_id_null() {
    let world = World::new();
    let mut client = Client::older(&world, &[]);
    for (line, code) in [
        ("nonsense", -32700),
        (r#"{"jsonrpc":"2.0","id":"#, -32700),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
        ("{}", -32600),
    ] {
        client.write(line.as_bytes());
        let answer = client.next();
        assert_eq!(answer.get("id"), Some(&Value::Null), "{line}: {answer}");
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
    }
    assert!(client.end().0.success());
}

#[test]
fn a_completion_is_no_method_of_a_server_that_does_not_declare_it() {
    let world = World::new();
    let asked = json!({"ref": {"type": "ref/prompt", "name": "plan"},
        "argument": {"name": "task", "value": "a"}});
    let mut older = Client::older(&world, &[]);
    assert_eq!(older.ask("completion/complete", asked.clone())["error"]["code"], -32601);
    let mut newer = Client::newer(&world, &[], &json!({}));
    assert_eq!(newer.ask("completion/complete", asked)["error"]["code"], -32601);
    assert_eq!(newer.ask("completion/complete", json!({}))["error"]["code"], -32601);
}

#[test]
fn what_a_revision_has_not_is_no_method_whatever_its_parameters() {
    let world = World::new();
    let mut newer = Client::newer(&world, &[], &json!({}));
    newer.create(&["A"]);
    let uri = newer.ask("resources/list", json!({}))["result"]["resources"][0]["uri"].clone();
    for method in ["resources/subscribe", "resources/unsubscribe", "ping", "initialize"] {
        for params in [json!({"uri": uri}), json!({}), json!({"uri": 5})] {
            let answer = newer.ask(method, params);
            assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
        }
    }
    let mut older = Client::older(&world, &[]);
    for params in [json!({}), json!({"notifications": 5})] {
        let answer = older.ask("subscriptions/listen", params);
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
    }
    assert_eq!(older.ask("resources/subscribe", json!({"uri": 5}))["error"]["code"], -32602);
}

#[test]
fn a_notification_before_initialize_does_not_end_the_server() {
    let world = World::new();
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let answered = json!({"jsonrpc": "2.0", "id": 4, "result": {}});
    let mut client = Client::silent(&world, &[]);
    client.say(&told);
    client.say(&answered);
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    client.say(&told);
    // A request before the handshake is refused, and does not replace the handshake.
    assert!(client.ask("tools/list", json!({})).get("error").is_some());
    client.say(&told);
    client.say(&answered);
    client.shake_hands(OLDER[3], &json!({}));
    client.create(&["A"]);
    assert_eq!(client.titles(), ["A"]);
    assert!(client.end().0.success());
}

#[test]
fn half_a_character_is_taken_as_the_replacement_character() {
    let world = World::new();
    let mut client = Client::older(&world, &[]);
    let call = create("x", "Cut HERE").to_string().replace("HERE", "\\ud83d");
    client.write(call.as_bytes());
    let answer = client.next();
    assert_eq!(answer["id"], "x", "{answer}");
    assert_eq!(answer["result"]["structuredContent"]["created"][0]["title"], "Cut \u{fffd}");
    assert_eq!(client.titles(), ["Cut \u{fffd}"]);
    // Here the id has an escape.
    let call = create("\\u0079", "Low HERE").to_string().replace("HERE", "\\udE00");
    client.write(call.replace("\\\\u", "\\u").as_bytes());
    assert_eq!(client.next()["id"], "y");
    assert_eq!(client.titles(), ["Cut \u{fffd}", "Low \u{fffd}"]);
    assert!(client.end().0.success());
}

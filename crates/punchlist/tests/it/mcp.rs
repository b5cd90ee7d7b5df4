//! The MCP server as clients use it: the real program over pipes, message by message.

mod approval;
pub(crate) mod client;
mod edges;
mod gemini;
mod inspector;
mod many;
mod replaced;
mod resources;
mod tools;

use punchlist_testkit::naughty::naughty;
use serde_json::{Value, json};

use crate::world::World;
use client::{Client, NEWER, OLDER, fields, text};

#[test]
fn every_revision_with_a_handshake_is_spoken() {
    for version in OLDER {
        let world = World::new();
        let mut client = Client::silent(&world, &[]);
        let hello = client.shake_hands(version, &json!({}))["result"].clone();
        assert_eq!(hello["protocolVersion"], version);
        assert_eq!(hello["serverInfo"]["name"], "punchlist");
        assert!(hello["instructions"].as_str().unwrap().contains("create_todo"), "{hello}");
        assert_eq!(
            client.ask("tools/list", json!({}))["result"]["tools"][0]["name"],
            "create_todo"
        );
        let created = client.create(&["A"]);
        assert_eq!(created["created"][0]["title"], "A", "{version}");
        let answer = client.ask("ping", json!({}));
        assert_eq!(answer["result"], json!({}), "{version}");
        // Features of a later revision are not sent to an earlier one.
        let list = client.ask("tools/list", json!({}));
        assert!(!fields(&list["result"]).contains_key("resultType"), "{version}: {list}");
        assert!(client.end().0.success());
    }
}

#[test]
fn the_revision_without_a_handshake_is_spoken() {
    let world = World::new();
    let mut client = Client::newer(&world, &[], &json!({}));
    let found = client.ask("server/discover", json!({}))["result"].clone();
    let versions: Vec<&str> =
        found["supportedVersions"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(versions, [&OLDER[..], &[NEWER]].concat());
    assert!(found["instructions"].as_str().unwrap().contains("create_todo"), "{found}");
    let tools = client.ask("tools/list", json!({}))["result"].clone();
    assert_eq!(tools["resultType"], "complete", "{tools}");
    assert_eq!(client.create(&["A", "B"])["created"][1]["order"], 2);
    assert_eq!(client.titles(), ["A", "B"]);
    assert!(client.end().0.success());
}

#[test]
fn a_revision_that_nobody_knows_is_answered_with_one_that_both_may_know() {
    let world = World::new();
    for version in ["1999-01-01", "2099-01-01", NEWER, ""] {
        let mut client = Client::silent(&world, &[]);
        let hello = client.shake_hands(version, &json!({}));
        assert_eq!(hello["result"]["protocolVersion"], OLDER[3], "{version}: {hello}");
        assert_eq!(client.ask("tools/list", json!({}))["id"], 2);
    }
}

#[test]
fn looking_makes_nothing() {
    let world = World::new();
    let mut client = Client::older(&world, &[]);
    assert_eq!(client.titles(), [""; 0]);
    client.ask("resources/list", json!({}));
    let read = client.ask("resources/read", json!({"uri": "punchlist://plan/current"}));
    assert_eq!(read["result"]["contents"][0]["text"], "Nothing is planned yet.\n");
    client.ask("prompts/get", json!({"name": "review"}));
    assert!(client.end().0.success());
    assert!(!world.path("home/.local").exists());
}

#[test]
fn what_is_no_message_is_passed_over() {
    let world = World::new();
    let mut client = Client::silent(&world, &[]);
    let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    let long = format!("{{\"jsonrpc\":\"2.0\",\"x\":\"{}\"}}", "x".repeat(1024 * 1024));
    let garbage: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"hello".to_vec(),
        b"\xff\xfe\x00".to_vec(),
        b"null".to_vec(),
        b"[]".to_vec(),
        b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]".to_vec(),
        b"{\"jsonrpc\":\"2.0\"}".to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}".to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":9}}"
            .to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}".to_vec(),
        b"{\"id\":1".to_vec(),
        deep,
        long.into_bytes(),
    ];
    for line in &garbage {
        client.write(line);
    }
    client.shake_hands(OLDER[3], &json!({}));
    for line in &garbage {
        client.write(line);
    }
    client.create(&["A"]);
    for hostile in naughty().into_iter().filter(|it| it.text.len() < 1024 * 1024) {
        let item = json!({"title": hostile.text, "context": hostile.text});
        client.call("create_todo", json!({"items": [item]}));
    }
    assert!(client.titles().contains(&"A".to_owned()));
    assert!(client.end().0.success());
}

#[test]
fn a_request_that_does_not_fit_is_told_so_and_an_unknown_one_that_it_is_unknown() {
    let world = World::new();
    let mut client = Client::older(&world, &[]);
    for (method, params, code) in [
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({"name": 7}), -32602),
        ("tools/call", json!({"name": "list_todo", "arguments": [1]}), -32602),
        ("tools/call", json!({"name": "nope"}), -32602),
        ("prompts/get", json!({"name": []}), -32602),
        ("resources/read", json!({}), -32602),
        ("resources/subscribe", json!({"uri": 7}), -32602),
        ("tools/nope", json!({}), -32601),
    ] {
        let answer = client.ask(method, params.clone());
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
        let told = answer["error"]["message"].as_str().unwrap();
        assert_eq!(
            told.contains("invalid parameters for"),
            code == -32602 && !told.contains("nope"),
            "{told}"
        );
    }
    assert_eq!(client.titles(), [""; 0]);
}

#[test]
fn a_message_that_is_too_long_is_passed_over_and_the_next_is_answered() {
    let world = World::new();
    let mut client = Client::older(&world, &[]);
    let title = "x".repeat(17 * 1024 * 1024);
    client.send(
        "tools/call",
        json!({"name": "create_todo", "arguments": {"items": [{"title": title}]}}),
    );
    let title = "x".repeat(10 * 1024 * 1024);
    let result = client.call("create_todo", json!({"items": [{"title": title}]}));
    assert_eq!(result["isError"], true);
    assert!(text(&result).len() < 2000, "a refusal does not repeat it all");
    client.create(&["A"]);
    assert_eq!(client.titles(), ["A"]);
}

#[test]
fn a_store_that_cannot_be_used_is_told_in_band_and_used_once_it_can() {
    let world = World::new();
    let file = world.path("broken.db");
    std::fs::write(&file, "this is no database, and it is long enough to be looked at").unwrap();
    let mut client = Client::older(&world, &["--db", file.to_str().unwrap()]);
    for (tool, arguments) in
        [("create_todo", json!({"items": [{"title": "A"}]})), ("list_todo", json!({}))]
    {
        let result = client.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        assert!(text(&result).contains("Tell the user"), "{result}");
    }
    let listed = client.ask("resources/list", json!({}));
    assert_eq!(listed["error"]["code"], -32603, "{listed}");
    std::fs::remove_file(&file).unwrap();
    client.create(&["A"]);
    assert_eq!(client.titles(), ["A"]);
}

#[test]
fn a_session_that_the_environment_names_finds_its_plan_again() {
    let world = World::new();
    let of = |session: &str| {
        let mut command = world.command("project");
        command.env("CLAUDE_CODE_SESSION_ID", session).env("PUNCHLIST_ANCESTORS", "0");
        let mut client = Client::of(command, &[]);
        client.shake_hands(OLDER[3], &json!({}));
        client
    };
    let mut first = of("0123456789abcdef");
    first.create(&["A"]);
    first.end();
    assert_eq!(of("0123456789abcdef").titles(), ["A"]);
    assert_eq!(of("another").titles(), [""; 0]);
    let plans = world.run(&["plans", "--json"]).json();
    assert_eq!(plans["plans"][0]["conversation"], "0123456789abcdef", "{plans}");
    let plan = plans["plans"][0]["id"].as_str().unwrap().to_owned();
    let log = world.run(&["log", "--plan", &plan]).ok();
    assert!(log.contains("claude:01234567"), "{log}");
}

#[test]
fn a_session_that_the_client_names_with_a_call_is_the_one_if_a_hook_has_seen_it() {
    let world = World::new();
    let hook = |session: &str, event: &str| {
        let told = json!({"session_id": session, "cwd": world.path("project"),
            "hook_event_name": event, "source": "startup"});
        let mut command = world.command("project");
        command.args(["hook", "claude"]).env("PUNCHLIST_ANCESTORS", "0");
        crate::world::finish(command, told.to_string().as_bytes()).works();
    };
    for session in ["one", "two"] {
        hook(session, "SessionStart");
    }
    let mut command = world.command("project");
    command.env("CLAUDE_CODE_SESSION_ID", "one").env("PUNCHLIST_ANCESTORS", "0");
    let mut client = Client::of(command, &[]);
    client.shake_hands(OLDER[3], &json!({}));
    let mut create = |title: &str, meta: Value| {
        let arguments = json!({"items": [{"title": title}]});
        let call = json!({"name": "create_todo", "arguments": arguments, "_meta": meta});
        assert_eq!(client.ask("tools/call", call)["result"]["isError"], Value::Null);
    };
    create("A", json!({"claudecode/toolUseId": "toolu_1"}));
    create("B", json!({"sessionId": "two"}));
    create("C", json!({"sessionId": "nobody"}));
    create("D", json!({"sessionId": 7}));
    hook("two", "SessionEnd");
    create("E", json!({"sessionId": "two"}));
    let plans = world.run(&["plans", "--json"]).json();
    let count = |session: &str| {
        let plans = plans["plans"].as_array().unwrap();
        let plan = plans.iter().find(|it| it["conversation"] == session);
        plan.unwrap_or_else(|| panic!("{plans:?}"))["progress"]["total"].clone()
    };
    assert_eq!((count("one"), count("two")), (json!(4), json!(1)));
}

#[test]
fn a_connection_of_which_nothing_is_known_has_a_plan_of_its_own() {
    let world = World::new();
    let mut first = Client::older(&world, &[]);
    let mut second = Client::older(&world, &[]);
    first.create(&["A"]);
    second.create(&["B"]);
    assert_eq!(first.titles(), ["A"]);
    assert_eq!(second.titles(), ["B"]);
}

#[test]
fn prompts_are_for_planning_and_review() {
    let world = World::new();
    let mut client = Client::older(&world, &[]);
    let listed = client.ask("prompts/list", json!({}))["result"].clone();
    let names: Vec<&str> =
        listed["prompts"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["plan", "review"]);
    let get = |client: &mut Client, params: Value| {
        let answer = client.ask("prompts/get", params);
        answer["result"]["messages"][0]["content"]["text"].as_str().unwrap().to_owned()
    };
    let empty = get(&mut client, json!({"name": "review"}));
    client.create(&["Fix <the> parser", "Write tests"]);
    let story = format!(
        "plan:\n{}\n\nreview, nothing open:\n{empty}\n\nreview:\n{}\n",
        get(&mut client, json!({"name": "plan", "arguments": {"task": "Ship 1.2"}})),
        get(&mut client, json!({"name": "review"})),
    );
    told!(story);
    for params in [
        json!({"name": "plan"}),
        json!({"name": "plan", "arguments": {"task": "  "}}),
        json!({"name": "nope"}),
    ] {
        assert_eq!(client.ask("prompts/get", params.clone())["error"]["code"], -32602, "{params}");
    }
}

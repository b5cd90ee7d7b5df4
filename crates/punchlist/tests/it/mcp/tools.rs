//! Tools: their definitions, results and errors.

use serde_json::{Value, json};

use super::client::{Client, fields, text};
use crate::world::World;

const DIALECTS: [&str; 6] = ["manager", "turn", "todowrite", "write_todos", "update_plan", "tasks"];

fn offered(world: &World, dialect: &str, surface: &str) -> Vec<Value> {
    let mut client = Client::older(world, &["--dialect", dialect, "--surface", surface]);
    let answer = client.ask("tools/list", json!({}));
    answer["result"]["tools"].as_array().unwrap().clone()
}

#[test]
fn every_tool_says_what_it_may_do() {
    let world = World::new();
    let reading = ["list_todo", "TaskGet", "TaskList"];
    for dialect in DIALECTS {
        let tools = offered(&world, dialect, "full");
        assert!((1..=7).contains(&tools.len()), "{dialect}");
        for tool in tools {
            let name = tool["name"].as_str().unwrap();
            let hints = &tool["annotations"];
            let reads = reading.contains(&name);
            assert_eq!(hints["readOnlyHint"], reads, "{name}");
            assert_eq!(hints["openWorldHint"], false, "{name}");
            if !reads {
                assert_eq!(hints["destructiveHint"], false, "{name}");
            }
            assert!(tool["title"].as_str().is_some_and(|it| !it.is_empty()), "{name}");
            assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
        }
    }
    assert_eq!(offered(&world, "turn", "off"), [Value::Null; 0]);
}

#[test]
fn what_a_client_sees_stays_small() {
    let world = World::new();
    for dialect in DIALECTS {
        let mut client = Client::older(&world, &["--dialect", dialect]);
        let tools = client.ask("tools/list", json!({}))["result"]["tools"].clone();
        // What reaches a model: names, descriptions and schemas of arguments.
        let seen: Vec<Value> = tools
            .as_array()
            .unwrap()
            .iter()
            .map(|it| json!([it["name"], it["description"], it["inputSchema"]]))
            .collect();
        let tokens = Value::from(seen).to_string().len().div_ceil(4);
        let all = tools.to_string().len().div_ceil(4);
        assert!(tokens <= 600, "{dialect}: {tokens} tokens reach the model");
        assert!(all <= 1500, "{dialect}: {all} tokens in all");
    }
}

#[test]
fn each_tool_of_the_usual_dialect_answers_alike_in_text_and_structure() {
    let world = World::new();
    let mut client = Client::older(&world, &[]);
    let mut story = String::new();
    let calls = [
        (
            "create_todo",
            json!({"items": [{"title": "A"}, {"title": "B", "context": "c"}, {"title": "C"}]}),
        ),
        ("next_todo", json!({})),
        ("complete_todo", json!({"todoId": "1", "outcome": "done"})),
        ("update_todo", json!({"todoId": "2", "status": "in_progress"})),
        ("update_todo", json!({"todoId": "3", "waitingOn": "the review"})),
        ("complete_todo", json!({"todoId": "3", "outcome": "not needed", "status": "cancelled"})),
        ("list_todo", json!({})),
        ("list_todo", json!({"status": "all"})),
    ];
    for (tool, arguments) in calls {
        let result = client.call(tool, arguments.clone());
        assert_ne!(result["isError"], true, "{tool}: {result}");
        let said: Value = serde_json::from_str(text(&result)).unwrap();
        assert_eq!(said, result["structuredContent"], "{tool}");
        assert_eq!(result["content"].as_array().unwrap().len(), 1, "{tool}");
        story.push_str(&format!("{tool} {arguments}\n{}\n\n", text(&result)));
    }
    told!(without_ids(&story));
}

/// Removes ids and times, which differ between runs.
fn without_ids(story: &str) -> String {
    let mut out = String::new();
    for line in story.lines() {
        let mut rest = line;
        while let Some(at) = rest.find("\"01") {
            out.push_str(&rest[..at]);
            out.push_str("\"[id]\"");
            rest = rest[at + 1..].split_once('"').map_or("", |it| it.1);
        }
        out.push_str(rest);
        out.push('\n');
    }
    out
}

#[test]
fn warnings_reach_those_who_see_the_structure_alone() {
    let world = World::new();
    let mut client = Client::older(&world, &["--surface", "full"]);
    let items = json!([{"title": "A"}, {"title": "B", "dependsOn": ["1"]}]);
    client.works("create_todo", json!({"items": items}));
    let cancel = json!({"todoId": "1", "outcome": "x", "status": "cancelled"});
    let done = client.works("complete_todo", cancel);
    assert!(done["warnings"][0].as_str().unwrap().starts_with("Depends on"), "{done}");
}

#[test]
fn results_fit_the_schemas_that_were_promised() {
    let world = World::new();
    let mut client = Client::older(&world, &[]);
    let tools = client.ask("tools/list", json!({}))["result"]["tools"].clone();
    for (tool, arguments) in [
        ("create_todo", json!({"items": [{"title": "A"}]})),
        ("next_todo", json!({})),
        ("update_todo", json!({"todoId": "1", "title": "B"})),
        ("list_todo", json!({})),
        ("complete_todo", json!({"todoId": "1", "outcome": "x"})),
        ("next_todo", json!({})),
    ] {
        let spec = tools.as_array().unwrap().iter().find(|it| it["name"] == tool).unwrap();
        let result = client.works(tool, arguments);
        let schema = &spec["outputSchema"];
        for name in schema["required"].as_array().unwrap() {
            assert!(!result[name.as_str().unwrap()].is_null() || name == "item", "{tool}: {name}");
        }
        for (name, value) in fields(&result) {
            let allowed = &schema["properties"][name]["type"];
            let kind = match value {
                Value::Null => "null",
                Value::Bool(_) => "boolean",
                Value::Number(_) => "integer",
                Value::String(_) => "string",
                Value::Array(_) => "array",
                Value::Object(_) => "object",
            };
            let fits = allowed == kind
                || allowed.as_array().is_some_and(|all| all.iter().any(|it| it == kind));
            assert!(fits, "{tool}: {name} is {kind}, {allowed} was promised");
        }
    }
}

#[test]
fn the_managers_list_follows_each_change() {
    let world = World::new();
    let mut client = Client::older(&world, &["--dialect", "manager"]);
    let result =
        client.call("todo_manager", json!({"action": "add_multiple", "todos": ["One", "<Two>"]}));
    assert_eq!(text(&result), r#"{"ok":true,"output":"Added 2 TODOs"}"#);
    let list = result["content"][1]["text"].as_str().unwrap();
    assert!(list.starts_with("<browser-state>TODO list updated."), "{list}");
    assert!(list.contains("&lt;Two&gt;"), "{list}");
    assert_eq!(result["structuredContent"]["reminder"], list);
    let result = client.call("todo_manager", json!({"action": "list"}));
    assert_eq!(result["content"].as_array().unwrap().len(), 1, "{result}");
    let result = client.call("todo_manager", json!({"action": "start", "ids": [9]}));
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(result["structuredContent"]["ok"], false);
}

#[test]
fn every_dialect_works() {
    let world = World::new();
    for (dialect, tool, arguments, answer) in [
        (
            "todowrite",
            "TodoWrite",
            json!({"todos": [{"content": "A", "status": "pending", "activeForm": "Doing A"}]}),
            "[ ] A\n\n(0/1 completed)",
        ),
        (
            "write_todos",
            "write_todos",
            json!({"todos": [{"description": "A", "status": "pending"}]}),
            "1. [pending] A",
        ),
        (
            "update_plan",
            "update_plan",
            json!({"plan": [{"step": "A", "status": "pending"}]}),
            "Plan updated",
        ),
        (
            "tasks",
            "TaskCreate",
            json!({"subject": "A", "description": "a"}),
            "Task #1 created successfully: A",
        ),
    ] {
        let mut client = Client::older(&world, &["--dialect", dialect]);
        let result = client.call(tool, arguments);
        assert_ne!(result["isError"], true, "{result}");
        assert!(text(&result).contains(answer), "{dialect}: {result}");
        assert!(!fields(&result).contains_key("structuredContent"), "{dialect}: {result}");
        let result = client.call(tool, json!({"nonsense": 1}));
        assert_eq!(result["isError"], true, "{dialect}: {result}");
    }
}

#[test]
fn a_mistake_of_the_model_is_a_result_and_leaves_nothing() {
    let world = World::new();
    let mut client = Client::older(&world, &[]);
    for (tool, arguments, says) in [
        ("complete_todo", json!({}), "todoId"),
        ("complete_todo", json!({"todoId": "1", "outcome": "x"}), "not found"),
        ("create_todo", json!({"items": [{"title": " "}]}), "title"),
        ("create_todo", json!({"items": [{"title": "a\u{0}b"}]}), "NUL"),
        ("create_todo", json!({"items": 3}), "items"),
        ("list_todo", json!({"status": "lost"}), "status"),
    ] {
        let result = client.call(tool, arguments.clone());
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        assert!(text(&result).contains(says), "{tool} {arguments}: {result}");
        // A sentence, because clients validate JSON against the result schema, and reject an error.
        let as_json = serde_json::from_str::<serde_json::Value>(text(&result));
        assert!(as_json.is_err(), "{tool} {arguments}: {result}");
    }
    let plans = world.run(&["plans", "--all", "--json"]).json();
    assert_eq!(plans["plans"], json!([]));
}

#[test]
fn a_tool_that_there_is_not_is_an_error_of_the_protocol() {
    let world = World::new();
    let mut client = Client::older(&world, &[]);
    for params in [
        json!({"name": "TodoWrite"}),
        json!({"name": "", "arguments": {}}),
        json!({"name": "\u{1b}[31m", "arguments": {}}),
    ] {
        let answer = client.ask("tools/call", params.clone());
        assert_eq!(answer["error"]["code"], -32602, "{params}: {answer}");
    }
    assert_eq!(client.ask("no/such/method", json!({}))["error"]["code"], -32601);
}

#[test]
fn the_dialects_cap_holds_unless_the_user_chose_one() {
    let world = World::new();
    let todos: Vec<String> = (0..31).map(|n| format!("Item {n}")).collect();
    let call = json!({"action": "add_multiple", "todos": todos});
    let mut client = Client::older(&world, &["--dialect", "manager"]);
    assert_eq!(client.call("todo_manager", call.clone())["isError"], true);
    let mut client = Client::older(&world, &["--dialect", "manager", "-c", "limits.open_items=50"]);
    assert_ne!(client.call("todo_manager", call)["isError"], true);
}

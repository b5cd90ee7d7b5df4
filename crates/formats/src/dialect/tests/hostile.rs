//! Any bytes as arguments give a short, clear error or a valid call, never a panic or a partial
//! change.

use proptest::prelude::*;
use punchlist_model::{NewItem, Op};
use serde_json::{Map, Value, json};

use super::Caller;
use crate::dialect::{Dialect, Surface};

/// Every tool of every dialect, and an unknown one.
fn tools() -> Vec<(Dialect, &'static str)> {
    let of = |dialect: Dialect| {
        let tools = dialect.tools(Surface::Full).into_iter();
        tools.map(move |tool| (dialect, tool.name)).chain([(dialect, "no_such_tool")])
    };
    Dialect::ALL.into_iter().flat_map(of).collect()
}

/// Makes a call that must fail with a short error and change nothing.
fn check(dialect: Dialect, tool: &str, arguments: &[u8]) -> String {
    let mut caller = Caller::new(dialect);
    caller.beside(vec![Op::Add(Box::new(NewItem::titled("One")))]);
    let before = caller.whole();
    let reply = caller.raw(tool, arguments);
    assert!(reply.is_error && !reply.changed, "{tool}: {}", reply.text);
    assert!(reply.text.len() < 1_000, "{tool}: {} bytes", reply.text.len());
    assert!(!reply.text.contains(['\u{1b}', '\u{202e}', '\0']), "{tool}: {:?}", reply.text);
    assert_eq!(caller.whole(), before);
    reply.text
}

#[test]
fn what_is_not_a_json_object_is_said_to_be_so() {
    let deep = "[".repeat(200_000);
    let mut table = String::new();
    for (name, bytes) in [
        ("not JSON", &b"{\"action\": list}"[..]),
        ("cut short", b"{\"action\":"),
        ("an array", b"[1]"),
        ("a string", b"\"list\""),
        ("not UTF-8", b"{\"action\": \"\xff\xfe\"}"),
        ("200,000 deep", deep.as_bytes()),
        ("NUL", b"\0"),
    ] {
        for (dialect, tool) in tools() {
            let text = check(dialect, tool, bytes);
            let one_each = ["todo_manager", "list_todo", "TodoWrite", "write_todos", "update_plan"];
            if one_each.contains(&tool) || tool == "TaskCreate" {
                table.push_str(&format!("{name}: {text}\n"));
            }
        }
    }
    insta::assert_snapshot!("not_an_object", table);
}

#[test]
fn an_unknown_tool_is_answered_with_those_that_there_are() {
    for (dialect, error) in [
        (
            Dialect::Manager,
            r#"{"ok":false,"error":"Unknown tool \"no_such_tool\": use todo_manager"}"#,
        ),
        (
            Dialect::Turn,
            "unknown tool \"no_such_tool\": use create_todo, list_todo, complete_todo, update_todo or next_todo",
        ),
        (Dialect::TodoWrite, "Unknown tool \"no_such_tool\": use TodoWrite."),
        (Dialect::WriteTodos, "Tool \"no_such_tool\" not found. Did you mean \"write_todos\"?"),
        (Dialect::UpdatePlan, "unsupported call: no_such_tool. Use update_plan."),
        (
            Dialect::Tasks,
            "<tool_use_error>Error: No such tool available: no_such_tool. Use one of the available \
             tools instead: TaskCreate, TaskGet, TaskUpdate or TaskList.</tool_use_error>",
        ),
    ] {
        assert_eq!(check(dialect, "no_such_tool", b"{}"), error);
    }
}

#[test]
fn ten_megabytes_are_refused_shortly_wherever_they_stand() {
    // Built as text, because serialising it for each call would take longer than the calls.
    let huge = format!("\\u001b\u{202e}{}", "x".repeat(10_000_000));
    for (dialect, tool, arguments) in [
        (Dialect::Manager, "todo_manager", json!({"action": "HUGE"})),
        (Dialect::Manager, "todo_manager", json!({"action": "add_multiple", "todos": ["HUGE"]})),
        (Dialect::Manager, "todo_manager", json!({"action": "skip", "ids": ["HUGE"]})),
        (Dialect::Turn, "create_todo", json!({"items": [{"title": "HUGE"}]})),
        (Dialect::Turn, "create_todo", json!({"items": [{"title": "A", "context": "HUGE"}]})),
        (Dialect::Turn, "create_todo", json!({"items": [{"title": "A", "dependsOn": ["HUGE"]}]})),
        (Dialect::Turn, "list_todo", json!({"status": "HUGE"})),
        (Dialect::Turn, "complete_todo", json!({"todoId": "HUGE", "outcome": "x"})),
        (Dialect::Turn, "complete_todo", json!({"todoId": "1", "outcome": "HUGE"})),
        (Dialect::Turn, "update_todo", json!({"todoId": "1", "waitingOn": "HUGE"})),
        (
            Dialect::TodoWrite,
            "TodoWrite",
            json!({"todos": [{"content": "HUGE", "status": "pending", "activeForm": "x"}]}),
        ),
        (
            Dialect::TodoWrite,
            "TodoWrite",
            json!({"todos": [{"content": "x", "status": "HUGE", "activeForm": "x"}]}),
        ),
        (
            Dialect::WriteTodos,
            "write_todos",
            json!({"todos": [{"description": "x", "status": "HUGE"}]}),
        ),
        (
            Dialect::UpdatePlan,
            "update_plan",
            json!({"plan": [{"step": "HUGE", "status": "pending"}]}),
        ),
        (Dialect::UpdatePlan, "update_plan", json!({"plan": [{"step": "x", "status": "HUGE"}]})),
        (Dialect::Tasks, "TaskCreate", json!({"subject": "x", "description": "HUGE"})),
        (Dialect::Tasks, "TaskCreate", json!({"subject": "x", "metadata": {"k": "HUGE"}})),
        (Dialect::Tasks, "TaskUpdate", json!({"taskId": "HUGE"})),
        (Dialect::Tasks, "TaskUpdate", json!({"taskId": "1", "status": "HUGE"})),
        (Dialect::Tasks, "TaskUpdate", json!({"taskId": "1", "addBlocks": ["HUGE"]})),
    ] {
        check(dialect, tool, arguments.to_string().replace("HUGE", &huge).as_bytes());
    }
    for dialect in Dialect::ALL {
        check(dialect, &huge, b"{}");
    }
}

#[test]
fn very_many_entries_are_refused_in_one_line() {
    let many = format!("[0{}]", ",0".repeat(999_999));
    for (dialect, tool, arguments) in [
        (Dialect::Manager, "todo_manager", json!({"action": "add_multiple", "todos": "MANY"})),
        (Dialect::Manager, "todo_manager", json!({"action": "complete_multiple", "ids": "MANY"})),
        (Dialect::Turn, "create_todo", json!({"items": "MANY"})),
        (Dialect::TodoWrite, "TodoWrite", json!({"todos": "MANY"})),
    ] {
        let text =
            check(dialect, tool, arguments.to_string().replace("\"MANY\"", &many).as_bytes());
        assert!(text.contains("has 1000000 entries; at most"), "{text}");
    }
    for (dialect, tool, before, after, error) in [
        (
            Dialect::WriteTodos,
            "write_todos",
            "{\"todos\": ",
            "}",
            "params/todos must NOT have more than 1000 items",
        ),
        (
            Dialect::Tasks,
            "TaskUpdate",
            "{\"taskId\": \"1\", \"addBlocks\": ",
            "}",
            "<tool_use_error>InputValidationError: TaskUpdate failed due to the following \
             issue:\nThe parameter `addBlocks` has 1000000 entries; at most 1000 are allowed in \
             one call</tool_use_error>",
        ),
    ] {
        assert_eq!(check(dialect, tool, format!("{before}{many}{after}").as_bytes()), error);
    }
    let step = r#"{"step": "A", "status": "pending"}"#;
    let plan = format!("{{\"plan\": [{step}{}]}}", format!(",{step}").repeat(99_999));
    assert_eq!(
        check(Dialect::UpdatePlan, "update_plan", plan.as_bytes()),
        "failed to parse function arguments: plan has 100000 entries; at most 1000 are allowed in \
         one call"
    );
}

#[test]
fn an_error_about_very_many_entries_is_cut() {
    let mut caller = Caller::new(Dialect::Turn);
    let text = caller.err("create_todo", json!({"items": vec![0; 1000]}));
    assert!(text.contains("entry 100: ") && !text.contains("entry 101: "));
    assert!(text.contains("… and 900 more"));
    let blank: Vec<Value> = (0..200).map(|_| json!({"title": "\u{0}"})).collect();
    caller.limits.open_items = 1000;
    let text = caller.err("create_todo", json!({"items": blank}));
    assert!(text.contains("entry 100: ") && text.contains("… and 100 more"), "{text}");
    caller.dialect = Dialect::WriteTodos;
    let text = caller.err("write_todos", json!({"todos": vec![0; 1000]}));
    assert!(text.ends_with("params/todos/99 must be object, … and 900 more"), "{text}");
    let running = vec![json!({"description": "A", "status": "in_progress"}); 1000];
    let text = caller.err("write_todos", json!({"todos": running}));
    assert!(text.contains("10 \"A\" and 990 more.") && text.len() < 400, "{text}");
    caller.dialect = Dialect::UpdatePlan;
    let text = caller.err("update_plan", json!({"plan": vec![json!({}); 1000]}));
    assert!(text.ends_with("plan[99]: missing field `step`\n… and 900 more"), "{text}");
    caller.dialect = Dialect::Tasks;
    caller.ok("TaskCreate", json!({"subject": "A"}));
    let ids = vec!["x"; 1000];
    let text = caller.err("TaskUpdate", json!({"taskId": "1", "addBlockedBy": ids}));
    assert!(text.starts_with("Task not found: \"x\", ") && text.len() < 200, "{text}");
}

/// Values that are nearly what the tools expect.
fn near() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "list",
        "add_multiple",
        "skip_todo",
        "replace_all",
        "next",
        "pending",
        "in_progress",
        "completed",
        "cancelled",
        "blocked",
        "deleted",
        "all",
        "1",
        "#1",
        "2",
        "",
        " ",
        "x",
        "0190",
        "\u{0}",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2i64..4).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "action",
        "todos",
        "ids",
        "id",
        "position",
        "reason",
        "content",
        "items",
        "title",
        "context",
        "order",
        "dependsOn",
        "parent",
        "todoId",
        "outcome",
        "status",
        "waitingOn",
        "activeForm",
        "agentType",
        "completionCriteria",
        "description",
        "plan",
        "step",
        "explanation",
        "taskId",
        "subject",
        "owner",
        "metadata",
        "addBlocks",
        "addBlockedBy",
    ]);
    leaf.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..7).prop_map(|fields| {
                let fields = fields.into_iter().map(|(key, value)| (key.to_owned(), value));
                Value::Object(fields.collect::<Map<_, _>>())
            }),
        ]
    })
}

/// Arguments that the tool's schema and the tool's own checks allow.
fn allowed() -> impl Strategy<Value = (Dialect, &'static str, Value)> {
    let text = || "[a-z<&é]{1,12}";
    let todos = || {
        prop::collection::vec(text().prop_map(|text| json!({"content": text})), 1..5)
            .prop_map(Value::from)
    };
    let ids = || prop::collection::vec(1u32..9, 1..4).prop_map(|ids| json!(ids));
    let manager = prop_oneof![
        Just(json!({"action": "list"})),
        Just(json!({"action": "next"})),
        todos().prop_map(|todos| json!({"action": "add_multiple", "todos": todos})),
        todos().prop_map(|todos| json!({"action": "replace_all", "todos": todos})),
        (todos(), 0u32..9).prop_map(
            |(todos, at)| json!({"action": "add_after_position", "todos": todos, "position": at})
        ),
        (1u32..9).prop_map(|id| json!({"action": "start", "ids": [id]})),
        ids().prop_map(|ids| json!({"action": "complete_multiple", "ids": ids})),
        (1u32..9, text())
            .prop_map(|(id, why)| json!({"action": "skip", "ids": [id], "reason": why})),
    ];
    let items = prop::collection::vec(
        (text(), text(), prop::option::of(1u32..9)).prop_map(|(title, context, order)| {
            let mut item = json!({"title": title, "context": context, "dependsOn": ["1"]});
            if let Some(order) = order {
                item["order"] = order.into();
            }
            item
        }),
        1..5,
    );
    let statuses = prop::sample::select(vec!["pending", "in_progress", "completed", "cancelled"]);
    let entries =
        prop::collection::vec((text(), statuses.clone(), text()), 0..20).prop_map(|all| {
            let mut running = false;
            let entry = |(content, status, active): (String, &str, String)| {
                let second = status == "in_progress" && std::mem::replace(&mut running, true);
                let status = if second { "pending" } else { status };
                json!({"content": content, "status": status, "activeForm": active, "id": content})
            };
            json!({"todos": all.into_iter().map(entry).collect::<Vec<_>>()})
        });
    let words = ["pending", "in_progress", "completed", "cancelled", "blocked"];
    let todos = prop::collection::vec((text(), prop::sample::select(words.to_vec())), 0..20)
        .prop_map(|all| {
            let mut running = false;
            let entry = |(description, status): (String, &str)| {
                let second = status == "in_progress" && std::mem::replace(&mut running, true);
                let status = if second { "blocked" } else { status };
                json!({"description": description, "status": status})
            };
            json!({"todos": all.into_iter().map(entry).collect::<Vec<_>>()})
        });
    let step = (text(), prop::sample::select(words[..3].to_vec()))
        .prop_map(|(step, status)| json!({"step": step, "status": status}));
    let plan = (prop::option::of(text()), prop::collection::vec(step, 0..20)).prop_map(
        |(explanation, plan)| match explanation {
            Some(explanation) => json!({"explanation": explanation, "plan": plan}),
            None => json!({"plan": plan}),
        },
    );
    let id = || (1u32..9).prop_map(|id| id.to_string());
    let statuses_of_tasks =
        prop::sample::select(vec!["pending", "in_progress", "completed", "deleted"]);
    let update = (id(), statuses_of_tasks, prop::collection::vec(id(), 0..3), text()).prop_map(
        |(id, status, ids, text)| {
            json!({
                "taskId": id, "status": status, "addBlockedBy": ids, "addBlocks": ids,
                "owner": text, "metadata": {"gone": null, "k": text},
            })
        },
    );
    let new = text().prop_map(|it| json!({"subject": it, "description": it, "metadata": {}}));
    let tasks = prop_oneof![
        new.prop_map(|it| ("TaskCreate", it)),
        update.prop_map(|it| ("TaskUpdate", it)),
        id().prop_map(|it| ("TaskGet", json!({"taskId": it}))),
        Just(("TaskList", json!({}))),
    ];
    prop_oneof![
        todos.prop_map(|it| (Dialect::WriteTodos, "write_todos", it)),
        plan.prop_map(|it| (Dialect::UpdatePlan, "update_plan", it)),
        tasks.prop_map(|(tool, it)| (Dialect::Tasks, tool, it)),
        manager.prop_map(|it| (Dialect::Manager, "todo_manager", it)),
        items.prop_map(|it| (Dialect::Turn, "create_todo", json!({"items": it}))),
        statuses.prop_map(|it| (Dialect::Turn, "list_todo", json!({"status": it}))),
        (1u32..9, text()).prop_map(|(id, why)| (
            Dialect::Turn,
            "complete_todo",
            json!({"todoId": id.to_string(), "outcome": why, "status": "cancelled"})
        )),
        (1u32..9, text(), "[a-z]{0,3}").prop_map(|(id, title, on)| (
            Dialect::Turn,
            "update_todo",
            json!({"todoId": id.to_string(), "title": title, "waitingOn": on, "status": "pending"})
        )),
        Just((Dialect::Turn, "next_todo", json!({}))),
        entries.prop_map(|it| (Dialect::TodoWrite, "TodoWrite", it)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_make_a_call_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        for (dialect, tool) in tools() {
            let _ = dialect.call(tool, &bytes).is_ok();
        }
    }

    #[test]
    fn no_json_makes_a_call_panic_and_an_error_changes_nothing(all in prop::collection::vec(near(), 1..4)) {
        for (dialect, tool) in tools() {
            let mut caller = Caller::new(dialect);
            for arguments in &all {
                let before = caller.whole();
                let reply = caller.call(tool, arguments.clone());
                let same = caller.whole() == before;
                prop_assert!(!reply.is_error || same, "{}", reply.text);
                prop_assert_eq!(reply.changed, !same, "{}", reply.text);
            }
        }
    }

    #[test]
    fn what_a_schema_allows_is_understood(calls in prop::collection::vec(allowed(), 1..6)) {
        let mut caller = Caller::new(Dialect::Turn);
        for (dialect, tool, arguments) in calls {
            caller.dialect = dialect;
            let spec = dialect.tools(Surface::Full).into_iter().find(|it| it.name == tool).unwrap();
            let validator = jsonschema::draft202012::new(&spec.input_schema).unwrap();
            prop_assert!(validator.is_valid(&arguments), "{}", arguments);
            let understood = dialect.call(tool, arguments.to_string().as_bytes());
            prop_assert!(understood.is_ok(), "{:?}", understood);
            // The plan may still refuse; the reply must be well-formed in any case.
            caller.call(tool, arguments);
            let (placed, open) = caller.whole().recount();
            prop_assert_eq!((caller.whole().placed, caller.whole().open), (placed, open));
        }
    }

    #[test]
    fn the_xml_is_well_formed_and_gives_every_title_back_as_it_may_be_shown(titles in prop::collection::vec(any::<String>(), 0..4)) {
        let mut caller = Caller::new(Dialect::Manager);
        let titles: Vec<String> = titles.into_iter().filter(|it| !it.trim().is_empty() && !it.contains('\0')).collect();
        if !titles.is_empty() {
            caller.ok("todo_manager", json!({"action": "add_multiple", "todos": titles}));
        }
        let value = super::json(&caller.ok("todo_manager", json!({"action": "list"})));
        let xml = value["output"].as_str().unwrap();
        let mut reader = quick_xml::Reader::from_str(xml);
        let mut elements = 0;
        loop {
            let event = reader.read_event().unwrap();
            if matches!(event, quick_xml::events::Event::Eof) {
                break;
            }
            elements += usize::from(matches!(event, quick_xml::events::Event::Start(_)));
        }
        prop_assert_eq!(elements, titles.len() + 1);
        let texts = xml.split("<todo ").skip(1).map(|it| it.split_once('>').unwrap().1);
        for (text, title) in texts.zip(&titles) {
            let text = text.split_once('<').unwrap().0;
            let shown = crate::text::one_line(title).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
            prop_assert_eq!(quick_xml::escape::unescape(text).unwrap(), shown);
        }
        prop_assert!(!xml.chars().any(char::is_control));
    }
}

//! Reading a hook's input, and writing its answer.

use punchlist_model::Status;
use serde_json::{Value, json};

use super::*;

fn read(name: &str, fields: Value) -> Option<What> {
    let mut event = json!({"session_id": "s", "cwd": "/p", "hook_event_name": name});
    event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    claude::read(event.to_string().as_bytes(), None).map(|event| event.what)
}

fn used(tool: &str, call: Value, result: Value) -> Option<Write> {
    let fields = json!({"tool_name": tool, "tool_input": call, "tool_response": result});
    let what = read("PostToolUse", fields)?;
    let What::Wrote(write) = what else { panic!("{what:?}") };
    Some(write)
}

#[test]
fn who_and_where_is_read_and_an_event_without_a_session_is_none() {
    let bytes = json!({
        "session_id": " abc ", "cwd": "/p", "hook_event_name": "Stop", "agent_id": "a1",
        "permission_mode": "plan", "effort": {"level": "high"}, "unheard of": [1],
    });
    let event = claude::read(bytes.to_string().as_bytes(), None).unwrap();
    assert_eq!((event.session.as_str(), event.directory.as_str()), ("abc", "/p"));
    assert_eq!((event.sub_agent.as_deref(), event.plan_mode), (Some("a1"), true));
    let odd: String = "x".repeat(201);
    for id in [json!(null), json!(7), json!(""), json!("  "), json!("a\u{0}b"), json!(odd)] {
        assert_eq!(read("Stop", json!({"session_id": id})), None, "{id}");
    }
    assert_eq!(read("PunchlistDoctor", json!({"session_id": null})), Some(What::Doctor));
}

#[test]
fn events_are_known_in_any_case_and_the_caller_may_name_them() {
    for (name, expected) in [
        ("SessionEnd", Some(What::Ends)),
        ("session_end", Some(What::Ends)),
        ("SESSION-END", Some(What::Ends)),
        ("userPromptSubmit", Some(What::Prompt)),
        ("SubagentStart", Some(What::SubBegins)),
        ("PreToolUse", None),
        ("StopFailure", None),
        ("", None),
    ] {
        assert_eq!(read(name, json!({})), expected, "{name}");
        let named = claude::read(br#"{"session_id":"s"}"#, Some(name));
        assert_eq!(named.map(|it| it.what), expected, "{name}");
    }
    for (source, expected) in [
        ("startup", Source::Startup),
        ("resume", Source::Resume),
        ("clear", Source::Clear),
        ("compact", Source::Compact),
        ("something new", Source::Startup),
    ] {
        let read = read("SessionStart", json!({"source": source}));
        assert_eq!(read, Some(What::Begins(expected)), "{source}");
    }
}

#[test]
fn a_wake_up_by_background_work_is_no_prompt_of_the_users() {
    let prompt = |text: &str| read("UserPromptSubmit", json!({"prompt": text}));
    assert_eq!(prompt("<task-notification>\n<task-id>a1</task-id>"), None);
    assert_eq!(prompt("Go on."), Some(What::Prompt));
    assert_eq!(prompt("What does <task-notification> mean?"), Some(What::Prompt));
}

#[test]
fn the_agent_is_woken_by_background_agents_and_a_sub_agent_by_none() {
    let running = json!([{"id": "a1", "type": "subagent", "status": "running"}]);
    let background = |event: &str, agent: Value| {
        let fields = json!({"background_tasks": running.clone(), "agent_id": agent});
        match read(event, fields) {
            Some(What::Stop(stop) | What::SubStop(stop)) => stop.background,
            other => panic!("{other:?}"),
        }
    };
    assert!(background("Stop", Value::Null));
    assert!(!background("SubagentStop", json!("a2")));
    assert!(!background("SubagentStop", json!("a1")));
}

/// Background tasks in the form in which Claude Code reports them, one of each kind.
#[test]
fn only_what_ends_by_itself_and_wakes_the_agent_lets_it_pause() {
    let serve = json!({"id": "bdovyqdn0", "type": "shell", "status": "running",
        "description": "Serve", "command": "npm run dev"});
    let helper = json!({"id": "a685", "type": "subagent", "status": "running",
        "description": "Look around", "agent_type": "general-purpose"});
    let kind = |it: &str| json!({"id": "x", "type": it, "status": "running", "description": "d"});
    for (task, waits) in [
        (serve, false),
        (helper.clone(), true),
        (kind("workflow"), true),
        (kind("teammate"), true),
        (kind("cloud session"), true),
        (kind("MCP task"), true),
        (kind("monitor"), false),
        (kind("dream"), false),
        (kind("auto-mode scan"), false),
        (kind("memory import"), false),
        (kind("memory save"), false),
        (kind("local_agent"), true),
        (kind("local_bash"), false),
        (kind("what comes next year"), false),
        (json!({"id": "x", "status": "running"}), false),
    ] {
        let stop = |tasks: Value| match read("Stop", json!({"background_tasks": tasks})) {
            Some(What::Stop(stop)) => stop.background,
            other => panic!("{other:?}"),
        };
        assert_eq!(stop(json!([task.clone()])), waits, "{task}");
        // A development server does not hide a working task.
        assert!(stop(json!([task, helper.clone()])));
    }
}

#[test]
fn results_are_believed_and_calls_are_not() {
    let call = json!({"subject": "A", "description": "d", "activeForm": "Doing", "status": "odd"});
    assert_eq!(used("TaskCreate", call.clone(), json!("refused")), None);
    assert_eq!(used("TaskCreate", call.clone(), json!({"task": {"subject": "A"}})), None);
    let Some(Write::Created(task)) =
        used("TaskCreate", call, json!({"task": {"id": "3", "subject": "B"}}))
    else {
        panic!("a task was created");
    };
    assert_eq!((task.id.as_str(), task.subject.as_deref()), ("3", Some("B")));
    assert_eq!((task.status, task.description.as_deref()), (None, Some("d")));
    let done = json!({"taskId": "3", "status": "completed", "addBlocks": ["4", 5, ""]});
    for result in [json!(null), json!("x"), json!({}), json!({"success": false, "taskId": "3"})] {
        assert_eq!(used("TaskUpdate", done.clone(), result), None);
    }
    let result = json!({"success": true, "taskId": "3", "statusChange": {"to": "in_progress"}});
    let Some(Write::Updated(task)) = used("TaskUpdate", done, result) else {
        panic!("a task was updated");
    };
    assert_eq!((task.status, task.blocks), (Some(Status::InProgress), vec!["4".to_owned()]));
    let gone =
        used("TaskUpdate", json!({"taskId": "3", "status": "deleted"}), json!({"success": true}));
    assert_eq!(gone, Some(Write::Deleted("3".to_owned())));
    let absent = Some(Write::Absent("3".to_owned()));
    assert_eq!(used("TaskGet", json!({"taskId": "3"}), json!({"task": null})), absent);
    assert_eq!(used("TaskGet", json!({"taskId": "3"}), json!({})), None);
    let not_found = json!({"success": false, "taskId": "3", "error": "Task not found"});
    assert_eq!(
        used("TaskUpdate", json!({"taskId": "3", "status": "completed"}), not_found),
        absent
    );
    assert_eq!(used("TodoWrite", json!({"todos": 7}), json!({})), None);
    assert_eq!(used("Bash", json!({"command": "ls"}), json!({"stdout": "x"})), None);
}

#[test]
fn an_answer_has_only_keys_that_the_event_knows() {
    let stop = Stop::default();
    let task = Task::default();
    let all = [
        What::Begins(Source::Startup),
        What::Ends,
        What::Prompt,
        What::Compacted,
        What::Wrote(Write::Seen(Vec::new())),
        What::NotCreated(task.clone()),
        What::Creating(task.clone()),
        What::Completing(task),
        What::Turn(Vec::new()),
        What::Planning(true),
        What::Stop(stop.clone()),
        What::SubBegins,
        What::SubStop(stop),
        What::Doctor,
    ];
    let answers = [
        Answer::Nothing,
        Answer::Context("c \"q\" \n é".to_owned()),
        Answer::Refuse("r".to_owned()),
        Answer::Message("m".to_owned()),
    ];
    let mut table = String::new();
    for agent in Agent::ALL {
        table.push_str(&format!("{}\n", agent.as_str()));
        for what in &all {
            for answer in &answers {
                if let Some(text) = agent.write(answer, what, None) {
                    assert!(!text.contains('\n'), "{text}");
                    table.push_str(&format!("  {:<17} {text}\n", agent.event(what)));
                }
            }
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn a_list_of_any_length_and_depth_is_read_or_passed_over() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let event = format!(r#"{{"session_id":"s","hook_event_name":"Stop","x":{deep}}}"#);
    // Values that are too deep are removed; the stop is still read.
    assert!(claude::read(event.as_bytes(), None).is_some());
    let todos: Vec<Value> = (0..20_000).map(|n| json!({"content": n.to_string()})).collect();
    let Some(Write::List(list)) = used("TodoWrite", json!({}), json!({"newTodos": todos})) else {
        panic!("a list was written");
    };
    assert_eq!(list.len(), 10_000);
}

#[test]
fn agents_are_known_by_name_in_any_case() {
    for agent in Agent::ALL {
        assert_eq!(Agent::named(&agent.as_str().to_uppercase()), Some(agent));
    }
    assert_eq!(Agent::named("cursor"), None);
    assert_eq!(Agent::named(""), None);
}

#[test]
fn tools_of_ours_are_known_by_each_agents_name_for_them_and_by_what_they_answered() {
    let id = "01987654-3210-7abc-8def-0123456789ab";
    let answer = json!({"created": [{"id": id}], "remaining": 1});
    let called = |agent: Agent, event: &str, tool: &str, result: Value| {
        let event = json!({"session_id": "s", "hook_event_name": event, "tool_name": tool,
            "tool_input": {}, "tool_response": result});
        let what = agent.read(event.to_string().as_bytes(), None).unwrap().what;
        let What::Turn(called) = what else { panic!("{what:?}") };
        (called[0].ours.clone(), called[0].took.len())
    };
    let text = answer.to_string();
    let ours = || Some("create_todo".to_owned());
    for result in [
        json!(text),
        answer.clone(),
        json!({"content": [{"type": "text", "text": text}], "structuredContent": answer}),
        json!({"content": [{"type": "text", "text": text}], "isError": false}),
        json!([{"type": "text", "text": text}]),
    ] {
        let tool = "mcp__punchlist__create_todo";
        assert_eq!(
            called(Agent::Codex, "PostToolUse", tool, result.clone()),
            (ours(), 1),
            "{result}"
        );
    }
    let wrapped = json!([{"text": format!("<untrusted_context>\n{text}\n</untrusted_context>")}]);
    let result = json!({"llmContent": wrapped, "returnDisplay": text});
    let tool = "mcp_punchlist_create_todo";
    assert_eq!(called(Agent::Gemini, "AfterTool", tool, result.clone()), (ours(), 1));
    assert_eq!(called(Agent::Gemini, "AfterTool", "mcp_other_create_todo", result), (None, 0));
    let refused = json!({"llmContent": "no", "error": {"message": "no"}});
    assert_eq!(called(Agent::Gemini, "AfterTool", tool, refused), (ours(), 0));
}

#[test]
fn gemini_has_a_tag_and_marks_of_its_own_for_what_hooks_say() {
    let said = "<reminder>One line.</reminder>\n<reminder>\nYour <b>list</b>:\n[>] 1. <reminder>\n</reminder>";
    let context = Answer::Context(said.to_owned());
    let text = Agent::Gemini.write(&context, &What::Prompt, None).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let shown = value["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert_eq!(shown, "One line.\nYour <b>list</b>:\n[in_progress] 1. <reminder>");
}

#[test]
fn a_version_that_goes_on_for_context_is_told_once_and_older_ones_as_before() {
    let refusal = Answer::Refuse("Not finished.".to_owned());
    let blocked = r#"{"decision":"block","reason":"Not finished."}"#;
    let context = |event: &str| {
        let said = json!({"hookEventName": event, "additionalContext": "Not finished."});
        json!({"hookSpecificOutput": said}).to_string()
    };
    let (stop, sub_stop) = (What::Stop(Stop::default()), What::SubStop(Stop::default()));
    let completing = What::Completing(Task::default());
    let new = Some(Version(2, 1, 197));
    for (what, version, expected) in [
        (&stop, new, context("Stop")),
        (&sub_stop, new, context("SubagentStop")),
        (&stop, Some(Version(2, 1, 196)), blocked.to_owned()),
        (&stop, None, blocked.to_owned()),
        // A completion is refused with a block, because context would not stop it.
        (&completing, new, blocked.to_owned()),
    ] {
        assert_eq!(Agent::Claude.write(&refusal, what, version), Some(expected), "{version:?}");
    }
    assert_eq!(Agent::Codex.write(&refusal, &stop, new).as_deref(), Some(blocked));
}

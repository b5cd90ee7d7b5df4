//! Gemini CLI: both of its lists, its stops, and prompts that do not come from the user.

use punchlist_formats::hook::Agent;
use punchlist_model::{End, Number};
use serde_json::{Value, json};

use super::{Desk, lines};

fn desk() -> Desk {
    Desk::with(Agent::Gemini)
}

impl Desk {
    fn tool(&self, tool: &str, call: Value, result: Value) -> Option<String> {
        let fields = json!({"tool_name": tool, "tool_input": call, "tool_response": result});
        let answer = self.event("AfterTool", fields)?;
        assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "AfterTool");
        Some(answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned())
    }

    /// `write_todos` with `"status description"` lines.
    fn writes(&self, todos: &[&str]) -> Option<String> {
        let todo = |line: &&str| {
            let (status, description) = line.split_once(' ').unwrap();
            json!({"description": description, "status": status})
        };
        let todos: Vec<Value> = todos.iter().map(todo).collect();
        let result = json!({"llmContent": "Successfully updated the todo list.",
            "returnDisplay": {"todos": todos}});
        self.tool("write_todos", json!({"todos": todos}), result)
    }

    /// Calls a tool of the tracker that answers with a text.
    fn tracks(&self, tool: &str, call: Value, said: &str) {
        let result = json!({"llmContent": said, "returnDisplay": {"todos": []}});
        assert_eq!(self.tool(&format!("tracker_{tool}"), call, result), None);
    }

    fn ends(&self, answer: &str) -> Option<String> {
        let fields =
            json!({"prompt": "Do it", "prompt_response": answer, "stop_hook_active": false});
        let answer = self.event("AfterAgent", fields)?;
        assert_eq!(answer["decision"], "deny");
        assert_eq!(answer.as_object().unwrap().len(), 2, "{answer}");
        Some(answer["reason"].as_str().unwrap().to_owned())
    }

    fn before(&self, prompt: &str) -> Option<Value> {
        self.event("BeforeAgent", json!({"prompt": prompt}))
    }
}

#[test]
fn a_recorded_run_gives_its_list() {
    let events = include_str!("../../../../../fixtures/gemini/hook-events.json");
    let events: Vec<Value> = serde_json::from_str(events).unwrap();
    let desk = desk();
    let mut refused = 0;
    for event in &events {
        let answer = desk.hook(event);
        refused += usize::from(answer.is_some_and(|it| it["decision"] == "deny"));
    }
    let session = events[0]["session_id"].as_str().unwrap();
    let list = lines(&desk.plan_of(session, "").unwrap());
    assert_eq!(list, ["[x] 1 one", "[x] 2 two"]);
    // Other hooks refused too, and prompts from those refusals are not recognised.
    assert_eq!(refused, 3);
}

#[test]
fn a_stop_is_refused_in_the_words_of_write_todos_and_its_own_prompt_counts_nothing_afresh() {
    let desk = desk();
    desk.before("Do it");
    desk.writes(&["completed Read", "in_progress Write", "pending Test"]);
    let first = desk.ends("I stop here.").unwrap();
    insta::assert_snapshot!(first);
    let mut refusals = 1;
    let mut said = first;
    // The agent passes the refusal to the model as if it were a prompt of the user.
    for _ in 0..30 {
        assert_eq!(desk.before(&said), None);
        let Some(next) = desk.ends("I stop here.\nI stop here.") else { break };
        (said, refusals) = (next, refusals + 1);
    }
    assert_eq!(refusals, 3);
    assert_eq!(desk.plan().end, End::Stopped);
    // A prompt of the user starts a new count.
    desk.writes(&["completed Read", "pending Write", "pending Test", "pending More"]);
    desk.before("Go on");
    assert!(desk.ends("Done.").is_some());
}

#[test]
fn a_refusal_that_others_stand_around_is_still_known() {
    let desk = desk();
    desk.before("Do it");
    desk.writes(&["pending Write"]);
    let said = desk.ends("Done.").unwrap();
    for around in [
        format!("Another hook says no.\n{said}"),
        format!("{said}\nAnother hook says no."),
        format!("<hook_context>x</hook_context>\n\n{said}"),
    ] {
        assert_eq!(desk.before(&around), None);
    }
    assert_eq!((0..30).take_while(|_| desk.ends("Done.").is_some()).count(), 2);
}

#[test]
fn what_is_blocked_waits_and_holds_no_stop() {
    let desk = desk();
    desk.writes(&["completed Read", "blocked Ask the owner", "cancelled Old"]);
    assert_eq!(desk.ends("Done."), None);
    let plan = desk.plan();
    assert_eq!(plan.get(Number(2)).unwrap().waiting_on.as_deref(), Some("blocked"));
    assert_eq!(lines(&plan), ["[x] 1 Read", "[ ] 2 Ask the owner", "[-] 3 Old"]);
    desk.writes(&["completed Read", "pending Ask the owner", "cancelled Old"]);
    assert!(desk.ends("Done.").is_some());
}

#[test]
fn a_list_that_failed_changes_nothing_and_one_that_was_rewritten_is_taken_as_it_became() {
    let desk = desk();
    desk.writes(&["in_progress Write"]);
    let two = json!([{"description": "A", "status": "in_progress"},
        {"description": "B", "status": "in_progress"}]);
    let failed = json!({"llmContent": "Invalid parameters", "returnDisplay": "x",
        "error": {"type": "invalid_tool_params", "message": "Only one task can be in_progress"}});
    assert_eq!(desk.tool("write_todos", json!({"todos": two}), failed), None);
    desk.check(&["[>] 1 Write"]);
    assert_eq!(
        desk.event(
            "BeforeTool",
            json!({"tool_name": "write_todos",
        "tool_input": {"todos": two}})
        ),
        None
    );
    desk.check(&["[>] 1 Write"]);
    let became = json!({"llmContent": "ok", "returnDisplay": {"todos": [
        {"description": "Write", "status": "completed"}]}});
    desk.tool("write_todos", json!({"todos": two}), became);
    desk.check(&["[x] 1 Write"]);
}

#[test]
fn tasks_of_the_tracker_are_kept_with_their_parents_and_what_they_wait_for() {
    let desk = desk();
    let task = |title: &str| json!({"title": title, "description": "d", "type": "task"});
    desk.tracks("create_task", task("Ship"), "Created task 60dc40: Ship");
    let mut code = task("Code: all of it");
    code["parentId"] = json!("60dc40");
    desk.tracks("create_task", code.clone(), "Created task 10e943: Code: all of it");
    let mut test = task("Test");
    test["parentId"] = json!("60dc40");
    test["dependencies"] = json!(["10e943"]);
    desk.tracks("create_task", test, "Created task 2dd24b: Test");
    desk.tracks("create_task", task("Docs"), "Created task aaaaaa: Docs");
    let link = json!({"taskId": "aaaaaa", "dependencyId": "2dd24b"});
    desk.tracks("add_dependency", link, "Linked aaaaaa -> 2dd24b.");
    desk.check(&[
        "[ ] 1 Ship",
        "[ ] 2 Code: all of it",
        "[ ] 3 Test after 2",
        "[ ] 4 Docs after 3",
    ]);
    assert_eq!(desk.plan().get(Number(2)).unwrap().parent, Some(Number(1)));
    let update = |id: &str, status: &str| {
        let said = format!("Updated task {id}. Status: {status}");
        desk.tracks("update_task", json!({"id": id, "status": status}), &said);
    };
    update("10e943", "in_progress");
    let refused = json!({"llmContent": "Error", "returnDisplay": "x",
        "error": {"message": "Cannot close task 2dd24b because dependency 10e943 is still open."}});
    let call = json!({"id": "2dd24b", "status": "closed"});
    assert_eq!(desk.tool("tracker_update_task", call, refused), None);
    update("2dd24b", "blocked");
    desk.check(&[
        "[ ] 1 Ship",
        "[>] 2 Code: all of it",
        "[ ] 3 Test after 2",
        "[ ] 4 Docs after 3",
    ]);
    assert!(desk.plan().get(Number(3)).unwrap().waiting_on.is_some());
    insta::assert_snapshot!(desk.ends("Done.").unwrap());
    update("10e943", "closed");
    update("2dd24b", "open");
    assert_eq!(desk.plan().get(Number(3)).unwrap().waiting_on, None);
    // Reading a list adds unknown tasks and does not update known ones.
    let list = "- [10e943] Code: all of it (open)\n- [ffffff] Unheard (of) (in_progress)\nnonsense";
    desk.tracks("list_tasks", json!({}), list);
    desk.check(&[
        "[ ] 1 Ship",
        "[x] 2 Code: all of it",
        "[ ] 3 Test after 2",
        "[ ] 4 Docs after 3",
        "[>] 5 Unheard (of)",
    ]);
}

#[test]
fn a_task_that_nobody_told_of_is_read_from_the_agents_own_file() {
    let mut desk = desk();
    let file = json!({"id": "abc123", "title": "From a file", "description": "d", "type": "bug",
        "status": "open", "dependencies": []});
    let task = punchlist_formats::hook::gemini::task_file(file.to_string().as_bytes()).unwrap();
    desk.files.insert("abc123".to_owned(), task);
    desk.tracks(
        "update_task",
        json!({"id": "abc123", "status": "in_progress"}),
        "Updated task abc123. Status: in_progress",
    );
    desk.check(&["[>] 1 From a file"]);
    desk.tracks(
        "update_task",
        json!({"id": "ffffff", "title": "New name"}),
        "Updated task ffffff. Status: open",
    );
    desk.check(&["[>] 1 From a file", "[ ] 2 New name"]);
}

#[test]
fn in_plan_mode_no_stop_is_held() {
    let desk = desk();
    desk.writes(&["pending Write"]);
    let said = |text: &str| json!({"llmContent": text, "returnDisplay": text});
    desk.tool("enter_plan_mode", json!({}), said("User cancelled entering Plan Mode."));
    assert!(desk.ends("Done.").is_some());
    desk.tool("enter_plan_mode", json!({"reason": "r"}), said("Switching to Plan mode."));
    desk.before("Plan it");
    assert_eq!(desk.ends("Here is the plan."), None);
    desk.tool("exit_plan_mode", json!({}), said("Plan approved. Switching to Default mode."));
    assert!(desk.ends("Done.").is_some());
    let parked = desk.ends("All of it?").expect("nobody is there to answer");
    let words = parked.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("holding you: write_todos with status \"blocked\""), "{parked}");
}

#[test]
fn a_session_that_begins_or_resumes_is_told_in_its_own_words() {
    let desk = desk();
    assert!(desk.starts("s1", "startup").unwrap().contains("Use mcp_punchlist_create_todo "));
    desk.writes(&["in_progress Write"]);
    assert!(desk.starts("s1", "resume").unwrap().contains("Write"));
    // Compression is announced before every model turn, even if it does not happen.
    assert_eq!(desk.event("PreCompress", json!({"trigger": "auto"})), None);
    assert_eq!(desk.before("Go on"), None);
}

#[test]
fn tools_of_our_server_count_as_writing_and_others_as_work() {
    let desk = desk();
    desk.writes(&["in_progress Write"]);
    let shell = || desk.tool("run_shell_command", json!({}), json!({"llmContent": "x"}));
    assert!((0..9).all(|_| shell().is_none()));
    let wrapped = "<untrusted_context>\n{\"status\":\"in_progress\"}\n</untrusted_context>";
    let ours = json!({"llmContent": [{"text": wrapped}], "returnDisplay": "x"});
    assert_eq!(desk.tool("mcp_punchlist_update_todo", json!({}), ours), None);
    assert!((0..9).all(|_| shell().is_none()));
    assert!(shell().unwrap().contains("write_todos"));
}

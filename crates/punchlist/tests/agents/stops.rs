//! The model stops with open items: it is told which, closes them, and may stop.

use std::fs;

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Message, Model, Request, Script};
use serde_json::{Value, json};

use crate::claude::refusals;
use crate::place::Place;
use crate::run::assert_says;
use crate::shown::shows;

fn create(subject: &str) -> (&'static str, Value) {
    ("TaskCreate", json!({"subject": subject, "description": "as it says"}))
}

fn set(task: &str, status: &str) -> (&'static str, Value) {
    ("TaskUpdate", json!({"taskId": task, "status": status}))
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn with_its_own_tasks() {
    let _shows = [
        shows(Agent::Claude, Feature::Gate, ""),
        shows(Agent::Claude, Feature::OwnList, "`Task…`"),
    ];
    let place = Place::installed();
    let script = Script::new()
        .says("Let me plan.")
        .calls_all([create("Write the parser"), create("Test the parser"), create("Print it")])
        .calls_all([set("1", "in_progress")])
        .calls_all([set("1", "completed")])
        .stops("All done!")
        .calls_all([set("2", "completed")])
        .calls_all([set("3", "deleted")])
        .stops("Now all is done.");
    let model = Model::new(script).serve().unwrap();
    let ended = place.claude(&model, "Build a parser").with_tasks().ends().well();
    assert_eq!((ended.answer(), model.left()), ("Now all is done.", 0));

    // Refused once; the refusal names both open items by the agent's ids, and the agent's own tool.
    let refused = refusals(&model.requests());
    assert_eq!(refused.len(), 1, "{refused:#?}");
    let both = ["2. Test the parser", "3. Print it", "TaskUpdate"];
    assert_says(&refused[0], &both, &["Write the parser", "mcp__punchlist"]);

    // The store has the whole history.
    let session = ended.session();
    let plan = place.plan_of(&session);
    assert_eq!(plan.end, "drained");
    let list =
        "1 completed: Write the parser\n2 completed: Test the parser\n3 superseded: Print it\n";
    assert_eq!(plan.list(), list);
    assert_eq!(plan.happened("added"), 3);
    assert_eq!(plan.actors(), [format!("claude:{}", &session[24..])]);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn with_todo_write() {
    let _shows = [
        shows(Agent::Claude, Feature::Gate, ""),
        shows(Agent::Claude, Feature::OwnList, "`TodoWrite`"),
    ];
    let todos = |states: [&str; 3]| {
        let titles = ["Write the parser", "Test the parser", "Print it"];
        let entry = |(title, status): (&str, &str)| json!({"content": title, "status": status, "activeForm": "Working"});
        json!({"todos": titles.into_iter().zip(states).map(entry).collect::<Vec<_>>()})
    };
    let place = Place::installed();
    let script = Script::new()
        .calls("TodoWrite", todos(["in_progress", "pending", "pending"]))
        .calls("TodoWrite", todos(["completed", "pending", "pending"]))
        .stops("All done!")
        .calls("TodoWrite", todos(["completed", "completed", "in_progress"]))
        .calls("TodoWrite", todos(["completed", "completed", "completed"]))
        .stops("Now all is done.");
    let model = Model::new(script).serve().unwrap();
    let ended = place.claude(&model, "Build a parser").with_todo_write().ends().well();
    assert_eq!((ended.answer(), model.left()), ("Now all is done.", 0));

    let refused = refusals(&model.requests());
    assert_eq!(refused.len(), 1, "{refused:#?}");
    let both = ["Test the parser", "Print it", "TodoWrite"];
    assert_says(&refused[0], &both, &["Write the parser", "TaskUpdate", "mcp__punchlist"]);

    let plan = place.plan_of(&ended.session());
    let list =
        "1 completed: Write the parser\n2 completed: Test the parser\n3 completed: Print it\n";
    assert_eq!((plan.end.as_str(), plan.list().as_str()), ("drained", list));
    assert_eq!(plan.happened("added"), 3);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn with_our_tools() {
    let _shows =
        [shows(Agent::Claude, Feature::Gate, ""), shows(Agent::Claude, Feature::PlanTools, "")];
    let place = Place::installed();
    let items = json!({"items": [{"title": "Write the parser"}, {"title": "Test the parser"},
        {"title": "Print it"}]});
    let script = Script::new()
        .calls("mcp__punchlist__create_todo", items)
        .then(|request| complete(request, "Write the parser", "completed"))
        .stops("All done!")
        .calls("mcp__punchlist__list_todo", json!({}))
        .then(|request| complete(request, "Test the parser", "completed"))
        .calls("mcp__punchlist__list_todo", json!({}))
        .then(|request| complete(request, "Print it", "cancelled"))
        .stops("Now all is done.");
    let model = Model::new(script).serve().unwrap();
    // With default settings: whatever this version defers, our tools are loaded.
    let ended = place.claude(&model, "Build a parser").ends().well();
    assert_eq!((ended.answer(), model.left()), ("Now all is done.", 0));

    let requests = model.requests();
    assert!(
        requests[0].tools().iter().any(|it| it == "mcp__punchlist__create_todo"),
        "{:?}",
        requests[0].tools()
    );
    let refused = refusals(&requests);
    assert_eq!(refused.len(), 1, "{refused:#?}");
    let both = ["Test the parser", "Print it", "complete_todo"];
    assert_says(&refused[0], &both, &["Write the parser", "TaskUpdate", "TodoWrite"]);
    for request in &requests {
        assert!(request.results().iter().all(|it| !it.is_error), "{:?}", request.results());
    }

    let session = ended.session();
    let plan = place.plan_of(&session);
    let list =
        "1 completed: Write the parser\n2 completed: Test the parser\n3 cancelled: Print it\n";
    assert_eq!((plan.end.as_str(), plan.list().as_str()), ("drained", list));
    assert_eq!(plan.actors(), [format!("claude:{}", &session[24..])]);
}

/// Completes the item of this title, whose id is in the last result.
fn complete(request: &Request, title: &str, status: &str) -> Message {
    let result = request.results().remove(0);
    let value: Value = serde_json::from_str(&result.text).unwrap_or_default();
    let lists = ["created", "items"].map(|it| value[it].as_array().cloned().unwrap_or_default());
    let item = lists.iter().flatten().find(|it| it["title"] == title).cloned().unwrap_or_default();
    let input = json!({"todoId": item["id"], "outcome": "as told", "status": status});
    Message::new().calls("mcp__punchlist__complete_todo", input)
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn what_a_whole_list_leaves_out_while_open_is_named() {
    let place = Place::installed();
    let todo = |title: &str, status: &str| json!({"content": title, "status": status, "activeForm": "Working"});
    let script = Script::new()
        .calls("TodoWrite", json!({"todos": [todo("Write the parser", "in_progress"), todo("Update the docs", "pending")]}))
        .calls("TodoWrite", json!({"todos": [todo("Write the parser", "completed")]}))
        .stops("All done!");
    let model = Model::new(script).serve().unwrap();
    let ended = place.claude(&model, "Build a parser").with_todo_write().ends().well();
    let told = model.requests()[2].news();
    assert_says(
        &told,
        &["Dropped while open", "Update the docs", "TodoWrite"],
        &["Write the parser"],
    );
    let list = "1 completed: Write the parser\n2 superseded: Update the docs\n";
    assert_eq!(place.plan_of(&ended.session()).list(), list);
}

/// A development server runs for ever: it must not disable the gate.
#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn while_a_shell_runs_in_the_background() {
    let place = Place::installed();
    // A hook of the user beside ours, which stores the program's stop event.
    let told = place.path("tmp/told");
    let keep = json!({"type": "command", "command": format!("cat >>'{}'", told.display())});
    let settings = json!({"hooks": {"Stop": [{"hooks": [keep]}]}});
    fs::create_dir_all(place.path("project/.claude")).unwrap();
    fs::write(place.path("project/.claude/settings.json"), settings.to_string()).unwrap();
    // The server ends when told to, or soon after this test ends.
    let over = place.path("tmp/over");
    let command =
        format!("for _ in $(seq 300); do [ -e '{}' ] && exit; sleep 0.1; done", over.display());
    let serve = json!({"command": command, "description": "Serve", "run_in_background": true});
    let script = Script::new()
        .calls_all([create("Write the parser")])
        .calls("Bash", serve)
        .stops("All done!")
        .then(move |_| {
            fs::write(&over, "").unwrap();
            let (tool, input) = set("1", "completed");
            Message::new().calls(tool, input)
        })
        // Newer versions wake the model when the shell has ended.
        .always(|_| Message::new().says("Now all is done."));
    let model = Model::new(script).serve().unwrap();
    let run = place.claude(&model, "Build a parser").with_tasks();
    let ended = run.args(&["--allowedTools", "Bash"]).ends().well();
    assert_eq!((ended.answer(), model.left()), ("Now all is done.", 0));

    let told = fs::read(&told).unwrap();
    let mut told = serde_json::Deserializer::from_slice(&told).into_iter::<Value>();
    let told = told.next().unwrap().unwrap();
    let task = &told["background_tasks"][0];
    assert_eq!((&task["type"], &task["status"]), (&json!("shell"), &json!("running")), "{told:#}");
    let refused = refusals(&model.requests());
    assert_eq!(refused.len(), 1, "{refused:#?}");
    assert_says(&refused[0], &["1. Write the parser"], &[]);
    let plan = place.plan_of(&ended.session());
    let list = "1 completed: Write the parser\n";
    assert_eq!((plan.end.as_str(), plan.list().as_str()), ("drained", list));
}

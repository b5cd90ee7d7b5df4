//! The program defers tools, so that the model has to search for them: ours are loaded from the
//! start, and its own list is stored anyway.

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Model, Request, Script};
use serde_json::{Value, json};

use crate::claude::refusals;
use crate::place::Place;
use crate::run::{Run, assert_says};
use crate::shown::shows;

/// The deferred tools of its own list.
const TASKS: [&str; 4] = ["TaskCreate", "TaskUpdate", "TaskList", "TaskGet"];

impl Run {
    /// Offers the agent's own task tools, deferred.
    fn with_tasks_deferred(self) -> Self {
        self.with_tasks().env("ENABLE_TOOL_SEARCH", "true")
    }
}

/// Whether the model gets the tool with its schema.
fn is_loaded(request: &Request, tool: &str) -> bool {
    let tools = request.body["tools"].as_array().into_iter().flatten();
    let mut named = tools.filter(|it| it["name"] == tool);
    named.any(|it| it["defer_loading"] != true)
}

fn create(subject: &str) -> (&'static str, Value) {
    ("TaskCreate", json!({"subject": subject, "description": "as it says"}))
}

fn done(task: &str) -> (&'static str, Value) {
    ("TaskUpdate", json!({"taskId": task, "status": "completed"}))
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn its_own_tasks_are_kept_once_the_model_has_found_them() {
    let _shows = [
        shows(Agent::Claude, Feature::Gate, ""),
        shows(Agent::Claude, Feature::OwnList, "`Task…`"),
    ];
    let place = Place::installed();
    let script = Script::new()
        .calls("ToolSearch", json!({"query": "select:TaskCreate,TaskUpdate", "max_results": 5}))
        .calls_all([create("Write the parser"), create("Test the parser")])
        .calls_all([done("1")])
        .stops("All done!")
        .calls_all([done("2")])
        .stops("Now all is done.");
    let model = Model::new(script).serve().unwrap();
    let run = place.claude(&model, "Build a parser").with_tasks_deferred();
    let ended = run.ends().well();
    assert_eq!((ended.answer(), model.left()), ("Now all is done.", 0));

    // The model had to search: it had only the names.
    let requests = model.requests();
    let told = requests[0].text();
    for tool in TASKS {
        assert_says(&told, &[&format!("\n{tool}\n")], &[]);
        assert!(!requests[0].tools().iter().any(|it| it == tool), "{tool}");
    }
    for request in &requests {
        assert!(request.results().iter().all(|it| !it.is_error), "{:?}", request.results());
    }
    let refused = refusals(&requests);
    assert_eq!(refused.len(), 1, "{refused:#?}");
    assert_says(&refused[0], &["2. Test the parser", "TaskUpdate"], &["Write the parser"]);

    let session = ended.session();
    let plan = place.plan_of(&session);
    let list = "1 completed: Write the parser\n2 completed: Test the parser\n";
    assert_eq!((plan.end.as_str(), plan.list().as_str()), ("drained", list));
    assert_eq!(plan.happened("added"), 2);
    assert_eq!(plan.actors(), [format!("claude:{}", &session[24..])]);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn our_tools_are_never_deferred() {
    let _shows = shows(Agent::Claude, Feature::PlanTools, "");
    let place = Place::installed();
    let script = Script::new()
        .calls("mcp__punchlist__create_todo", json!({"items": [{"title": "Write the parser"}]}))
        .calls("mcp__punchlist__complete_todo", json!({"todoId": "1", "outcome": "it parses"}))
        .stops("Done.");
    let model = Model::new(script).serve().unwrap();
    let run = place.claude(&model, "Build a parser").with_tasks_deferred();
    let ended = run.ends().well();
    assert_eq!((ended.answer(), model.left()), ("Done.", 0));
    for request in model.requests() {
        for tool in ["create_todo", "list_todo", "complete_todo", "update_todo", "next_todo"] {
            let tool = format!("mcp__punchlist__{tool}");
            assert!(is_loaded(&request, &tool), "{tool}: {:?}", request.tools());
        }
        assert!(TASKS.iter().all(|it| !is_loaded(&request, it)), "{:?}", request.tools());
    }
    let plan = place.plan_of(&ended.session());
    assert_eq!(plan.list(), "1 completed: Write the parser\n");
}

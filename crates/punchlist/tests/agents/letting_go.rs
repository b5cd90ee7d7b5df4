//! Models that ignore refusals: each turn ends within the limit, and the plan records how.

use std::sync::Arc;

use punchlist_model::guard::Bounds;
use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Message, Model, Request, Script};
use serde_json::{Value, json};

use crate::claude::{refusal, refusals};
use crate::place::Place;
use crate::run::assert_says;
use crate::shown::shows;

/// Two tasks, and then the given action for ever.
fn after_two_tasks(then: impl FnMut(&Request) -> Message + Send + 'static) -> Script {
    let create = |it: &str| ("TaskCreate", json!({"subject": it, "description": "as it says"}));
    Script::new().calls_all([create("Write the parser"), create("Test the parser")]).always(then)
}

/// Runs the script; returns the refusals, how the plan ended, and its list.
fn outcome(script: Script) -> (Vec<String>, String, String) {
    let place = Place::installed();
    let model = Model::new(script).serve().unwrap();
    let ended = place.claude(&model, "Build a parser").with_tasks().ends().well();
    let plan = place.plan_of(&ended.session());
    (refusals(&model.requests()), plan.end.clone(), plan.list())
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn one_that_never_resolves_anything() {
    let _shows = shows(Agent::Claude, Feature::Bounds, "settles nothing");
    let (refused, end, list) = outcome(after_two_tasks(|_| Message::new().says("Done.")));
    assert_eq!(refused.len(), 3, "{refused:#?}");
    assert_eq!(end, "stopped");
    assert_eq!(list, "1 pending: Write the parser\n2 pending: Test the parser\n");
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn one_that_adds_and_completes_trivia_for_ever() {
    let _shows = shows(Agent::Claude, Feature::Bounds, "adds trivia for ever");
    let script = after_two_tasks(|request| {
        let result = request.results().into_iter().next();
        match result.as_ref().map(|it| (it.tool.as_str(), it.text.as_str())) {
            Some(("TaskCreate", text)) if text.contains("Breathe") => {
                let id = text.trim_start_matches("Task #").split(' ').next().unwrap_or_default();
                Message::new().calls("TaskUpdate", json!({"taskId": id, "status": "completed"}))
            }
            None => Message::new()
                .calls("TaskCreate", json!({"subject": "Breathe", "description": "in and out"})),
            Some(_) => Message::new().says("Look how busy I was."),
        }
    });
    let (refused, end, list) = outcome(script);
    assert!((1..=8).contains(&refused.len()), "{refused:#?}");
    assert_eq!(end, "stopped");
    let open: Vec<&str> = list.lines().filter(|it| it.contains(" pending: ")).collect();
    assert_eq!(open, ["1 pending: Write the parser", "2 pending: Test the parser"]);
    assert_says(&list, &["completed: Breathe"], &[]);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn one_that_deletes_its_way_out() {
    let _shows = shows(Agent::Claude, Feature::Bounds, "deletes");
    let script = after_two_tasks(|request| {
        if refusal(&request.news()).is_none() {
            return Message::new().says("Done.");
        }
        ["1", "2"].iter().fold(Message::new(), |message, task| {
            message.calls("TaskUpdate", json!({"taskId": task, "status": "deleted"}))
        })
    });
    let (refused, end, list) = outcome(script);
    assert_eq!(refused.len(), 1, "{refused:#?}");
    assert_eq!(end, "drained");
    // The items left the list, and the journal still has them.
    assert_eq!(list, "1 superseded: Write the parser\n2 superseded: Test the parser\n");
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn one_that_cancels_its_way_out() {
    let _shows = shows(Agent::Claude, Feature::Bounds, "cancels");
    let place = Place::installed();
    let items = json!({"items": [{"title": "Write the parser"}, {"title": "Test the parser"}]});
    let script = Script::new().calls("mcp__punchlist__create_todo", items).always(|request| {
        let list = request.results().into_iter().find(|it| it.tool.ends_with("list_todo"));
        if let Some(list) = list {
            let list: Value = serde_json::from_str(&list.text).unwrap_or_default();
            let ids = list["items"].as_array().into_iter().flatten().map(|it| it["id"].clone());
            return ids.fold(Message::new(), |message, id| {
                let input = json!({"todoId": id, "status": "cancelled", "outcome": "no time"});
                message.calls("mcp__punchlist__complete_todo", input)
            });
        }
        if refusal(&request.news()).is_some() {
            return Message::new().calls("mcp__punchlist__list_todo", json!({}));
        }
        Message::new().says("Done.")
    });
    let model = Model::new(script).serve().unwrap();
    let ended = place.claude(&model, "Build a parser").ends().well();
    assert_eq!(refusals(&model.requests()).len(), 1);
    let plan = place.plan_of(&ended.session());
    let list = "1 cancelled: Write the parser\n2 cancelled: Test the parser\n";
    assert_eq!((plan.end.as_str(), plan.list().as_str()), ("drained", list));
    assert!(plan.items.iter().all(|it| it["outcome"] == "no time"), "{:#?}", plan.items);
}

/// After this many refusals in a row, Claude Code ends the turn itself, without asking the hook. A
/// tool call resets its count.
const CAP: u32 = 8;

/// Ten tasks, of which `between` completes one after each refusal: our limit is reached before the
/// program's.
#[track_caller]
fn one_task_per_refusal(between: impl Fn(&Place, u32) -> Message + Send + 'static) {
    const { assert!(Bounds::FULL.in_all <= CAP, "the program lets go before we do") };
    let most = usize::try_from(Bounds::FULL.in_all).unwrap();
    let place = Arc::new(Place::installed());
    let create = |at: usize| {
        ("TaskCreate", json!({"subject": format!("Part {at}"), "description": "as it says"}))
    };
    let mut task = 0;
    let inside = Arc::clone(&place);
    let script = Script::new().calls_all((1..=10).map(create)).always(move |request: &Request| {
        if refusal(&request.news()).is_none() {
            return Message::new().says("Done.");
        }
        task += 1;
        between(&inside, task)
    });
    let model = Model::new(script).serve().unwrap();
    let ended = place.claude(&model, "Build it all").with_tasks().ends().well();
    let refused = refusals(&model.requests());
    assert_eq!(refused.len(), most, "{refused:#?}");
    assert_eq!(ended.answer(), "Done.");
    let plan = place.plan_of(&ended.session());
    assert_eq!(plan.end, "stopped");
    let done = |it: &&str| it.contains(" completed: ");
    assert_eq!(plan.list().lines().filter(done).count(), most, "{}", plan.list());
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn one_that_gets_on_slowly_is_let_go_by_us() {
    one_task_per_refusal(|_, task| {
        let done = json!({"taskId": task.to_string(), "status": "completed"});
        Message::new().calls("TaskUpdate", done)
    });
}

/// Somebody else completes the tasks, so that no tool is called between two refusals, and the
/// program's count equals ours.
#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn one_that_only_waits_is_let_go_by_us_and_not_by_the_program() {
    one_task_per_refusal(|place, task| {
        let plan = place.plans()[0]["id"].as_str().unwrap().to_owned();
        place.punchlist(&["done", &task.to_string(), "--plan", &plan]);
        Message::new().says("Done.")
    });
}

//! `punchlist do --agent` with the real program: it gets the plan tools and the hooks for this run, is held
//! once, and finishes. Claude Code's tests are at the end, the others' in their modules.

use std::ffi::OsString;
use std::fs;
use std::sync::Arc;

use punchlist_testkit::model::{Message, Model, Request, Script, Server};
use serde_json::{Value, json};

use crate::place::Place;
use crate::run::{Ended, Run, assert_says};
use crate::workers::{CLAUDE, Kind};

/// The name of a plan tool, as the agent's model calls it.
pub(crate) type Called = fn(&str) -> String;

/// `punchlist do --agent`, with the agent's environment.
fn leads(kind: &Kind, place: &Place, model: &Server, more: &[&str]) -> Ended {
    let mut command = place.command(&place.punchlist);
    let named: Vec<(OsString, OsString)> = (kind.program)(place, model)
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    command.envs(named).args(["do", "--agent", kind.agent.as_str(), "Build a parser"]).args(more);
    Run::new(command).ends()
}

/// A model that stops too early, is told what is open, and completes it.
fn held_once(called: Called) -> Script {
    let items = json!({"items": [{"title": "Write the parser"}, {"title": "Test the parser"}]});
    Script::new()
        .calls(called("create_todo"), items)
        .stops("All done!")
        .calls(called("list_todo"), json!({}))
        .then(move |request| complete(request, "Write the parser", called))
        .calls(called("list_todo"), json!({}))
        .then(move |request| complete(request, "Test the parser", called))
        .stops("Now all is done.")
}

/// Completes the item of this title, whose id is in the last result.
fn complete(request: &Request, title: &str, called: Called) -> Message {
    let text = request.results().remove(0).text;
    // Some agents wrap the result.
    let json = text.find('{').and_then(|from| text.get(from..=text.rfind('}')?));
    let value: Value = serde_json::from_str(json.unwrap_or_default()).unwrap_or_default();
    let items = value["items"].as_array().cloned().unwrap_or_default();
    let item = items.iter().find(|it| it["title"] == title).cloned().unwrap_or_default();
    let input = json!({"todoId": item["id"], "outcome": "as told", "status": "completed"});
    Message::new().calls(called("complete_todo"), input)
}

/// Where nothing is installed, the run brings what it needs, and leaves the user's files as they are. With
/// Punchlist installed, nothing happens twice.
#[track_caller]
pub(crate) fn is_held_once_and_finishes(
    kind: &Kind,
    called: Called,
    files: &[&str],
    installed: &[bool],
) {
    for is_installed in installed.iter().copied() {
        let model = Model::new(held_once(called)).serve().unwrap();
        let place = Place::new();
        (kind.set_up)(&place, &model);
        if is_installed {
            place.punchlist(&["install", kind.agent.as_str(), "--yes"]);
        }
        let read = || files.iter().map(|it| fs::read(place.path(it)).ok()).collect::<Vec<_>>();
        let before = read();
        let ended = leads(kind, &place, &model, &[]);
        let Ended { status, printed, errors, .. } = &ended;
        let story = format!("installed {is_installed}:\n{printed}\n{errors}");
        assert_eq!((status.code(), model.left()), (Some(0), 0), "{story}");
        assert_says(
            printed,
            &["📋 Todo list updated:", "Write the parser", "All done!", "Now all is done."],
            &["create_todo", "list_todo"],
        );
        assert_says(printed, &["not accepted yet: 2 items are open"], &[]);
        assert_eq!(printed.matches("Now all is done.").count(), 1, "{story}");
        assert_eq!(printed.matches("not accepted yet").count(), 1, "{story}");
        assert_says(errors, &["answered"], &[]);
        // The model is told of the plan tools, and has each of them once.
        let first = &model.requests()[0];
        assert_says(&first.text(), &["Build a parser", "three or more steps"], &[]);
        let tools = first.tools();
        let ours = tools.iter().filter(|it| it.ends_with("create_todo")).count();
        assert_eq!(ours, 1, "{tools:?}");
        let plan = place.only_plan();
        assert_eq!(plan.end, "drained");
        assert_eq!(plan.list(), "1 completed: Write the parser\n2 completed: Test the parser\n");
        assert_eq!(plan.actors().len(), 1, "{:?}", plan.actors());
        assert_eq!(read(), before, "{story}");
    }
}

/// How often the list of plans is read until the goal is there.
const TRIES: usize = 500;

/// The goal is told with the task and set on the plan. A settled list does not end the turn: the model is
/// told the goal once, and its answer to that counts.
#[track_caller]
pub(crate) fn is_held_to_its_goal(kind: &Kind, called: Called, is_installed: bool) {
    const GOAL: &str = "It parses a megabyte in a second";
    let place = Arc::new(Place::new());
    let inside = Arc::clone(&place);
    let model = Script::new()
        .calls(called("create_todo"), json!({"items": [{"title": "Write the parser"}]}))
        .calls(called("list_todo"), json!({}))
        .then(move |request| {
            // The goal is set when the run sees the plan, while the agent works.
            let plans = inside.plans();
            let id = plans[0]["id"].as_str().unwrap();
            let is_set = |_| inside.punchlist(&["show", "--plan", id, "--json"]).contains(GOAL);
            assert!((0..TRIES).any(is_set), "the plan has no goal: {plans:?}");
            complete(request, "Write the parser", called)
        })
        .stops("All done!")
        .stops("I measured it: half a second.");
    let model = Model::new(model).serve().unwrap();
    (kind.set_up)(&place, &model);
    if is_installed {
        place.punchlist(&["install", kind.agent.as_str(), "--yes"]);
    }
    let ended = leads(kind, &place, &model, &["--goal", GOAL]);
    let Ended { status, printed, errors, .. } = &ended;
    let story = format!("{printed}\n{errors}");
    assert_eq!((status.code(), model.left()), (Some(0), 0), "{story}");
    assert_says(printed, &["All done!", "I measured it: half a second."], &[]);
    let requests = model.requests();
    assert_says(&requests[0].text(), &["Build a parser", GOAL], &["the goal is not met yet"]);
    let told = requests.last().unwrap().news();
    assert_says(&told, &["the goal is not met yet", GOAL], &[]);
    let plan = place.only_plan();
    assert_eq!(
        (plan.list().as_str(), plan.end.as_str()),
        ("1 completed: Write the parser\n", "drained")
    );
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn a_task_with_a_goal_does_not_end_before_the_goal_was_considered() {
    let called = |tool: &str| format!("mcp__punchlist__{tool}");
    is_held_to_its_goal(&CLAUDE, called, false);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn a_task_that_it_leads_is_held_once_and_finishes() {
    let called = |tool: &str| format!("mcp__punchlist__{tool}");
    is_held_once_and_finishes(&CLAUDE, called, &["home/.claude/settings.json"], &[false, true]);
}

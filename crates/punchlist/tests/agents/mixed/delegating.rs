//! `punchlist do` delegates to all three programs at once.

use std::fs;

use punchlist_testkit::model::{Model, Script};
use serde_json::{Value, json};

use crate::codex::workers::CODEX;
use crate::delegating::{command, configure, results};
use crate::gemini::workers::GEMINI;
use crate::place::Place;
use crate::run::{Run, assert_says};
use crate::workers::{CLAUDE, Kind, code, until};

/// Waits until the test has seen all three at work.
const WAITS: &str =
    "n=0; while [ ! -e seen ] && [ $n -lt 190 ]; do n=$((n+1)); sleep 0.1; done; cat seen";

/// How many items are in progress that have no parent.
fn in_progress(place: &Place) -> usize {
    let plans = place.plans();
    let Some(plan) = plans.first() else { return 0 };
    let items = place.plan(plan).items;
    items.iter().filter(|it| it["status"] == "in_progress" && it["parent"].is_null()).count()
}

#[test]
#[ignore = "needs all agents: cargo xtask test agents"]
fn three_workers_do_three_items_side_by_side() {
    let kinds: [&Kind; 3] = [&CLAUDE, &CODEX, &GEMINI];
    let title = |kind: &Kind| format!("Part of {}", kind.name());
    let items: Vec<Value> = kinds.iter().map(|it| json!({"title": title(it)})).collect();
    let delegation = |(number, kind): (usize, &&Kind)| {
        let todo = (number + 1).to_string();
        let task = format!("Do the part of {}", kind.name());
        ("delegate", json!({"todoId": todo, "agentType": kind.name(), "task": task}))
    };
    let complete = |number: usize| {
        ("complete_todo", json!({"todoId": number.to_string(), "outcome": "as the worker says"}))
    };
    let leads = Script::new()
        .calls("create_todo", json!({ "items": items }))
        .calls_all(kinds.iter().enumerate().map(delegation))
        .calls_all((1..=3).map(complete))
        .stops("All three parts are there.");
    let mut model = Model::new(leads);
    for kind in kinds {
        let steps = format!("Steps of {}", kind.name());
        let script = kind.lists(Script::new(), &[(&steps, "in_progress")]);
        let script = kind.runs(script, WAITS);
        let script = kind.lists(script, &[(&steps, "completed")]);
        let script = script.stops(format!("{} did its part.", kind.name()));
        model = model.conversation(&format!("Do the part of {}", kind.name()), script);
    }
    let model = model.serve().unwrap();
    let place = Place::new();
    let mut tables = String::new();
    for kind in kinds {
        (kind.set_up)(&place, &model);
        tables += &format!("\n[workers.{0}]\nkind = \"{0}\"\n", kind.name());
    }
    configure(&place, &model, &tables);
    let running = Run::new(command(&kinds, &place, &model, &["do", "Build all parts"])).begin();
    until(|| in_progress(&place) == 3);
    fs::write(place.path("project/seen"), "seen\n").unwrap();
    let ended = running.ends();
    code(&ended, 0);
    assert_eq!(model.left(), 0, "{}", ended.printed);
    let results = results(&model);
    assert_eq!(results.len(), 3, "{results:#?}");
    for (result, kind) in results.iter().zip(kinds) {
        assert_says(result, &[&format!("{} did its part.", kind.name())], &[]);
    }
    let items = place.only_plan().items;
    let find = |title: &str| items.iter().find(|it| it["title"] == title).unwrap();
    for kind in kinds {
        let (item, step) = (find(&title(kind)), find(&format!("Steps of {}", kind.name())));
        assert_eq!((&item["status"], &step["status"]), (&json!("completed"), &json!("completed")));
        assert_eq!(step["parent"], item["number"]);
    }
}

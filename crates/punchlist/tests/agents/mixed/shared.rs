//! All three agents on one named plan: each takes items, does them and takes more.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Message, Model, Request, Script};
use serde_json::{Value, json};

use crate::codex::DIRECT;
use crate::place::Place;
use crate::run::assert_says;
use crate::shown::shows;

/// The number of items.
const ITEMS: usize = 9;

/// A worker that takes the next item and completes it, until none is left; `prefix` is that of its
/// tools. It keeps its first item until all three have one, so that each gets some.
fn works_off(prefix: &'static str, begun: &Arc<AtomicUsize>) -> Script {
    let begun = Arc::clone(begun);
    let tool = move |name: &str| format!("{prefix}{name}");
    let mut held: Option<String> = None;
    let mut looks = 0;
    Script::new().always(move |request: &Request| {
        let take = || Message::new().calls(tool("next_todo"), json!({}));
        let results = request.results();
        let Some(last) = results.first() else { return take() };
        if last.tool.ends_with("complete_todo") {
            return take();
        }
        if last.tool.ends_with("next_todo") {
            let is_first = held.is_none();
            held = id(&last.text);
            if is_first && held.is_some() {
                begun.fetch_add(1, Ordering::Relaxed);
            }
        }
        match &held {
            None => Message::new().says("Nothing is left for me."),
            Some(_) if begun.load(Ordering::Relaxed) < 3 => {
                // The same call repeated would look like a loop.
                looks += 1;
                let status = ["pending", "in_progress", "completed"][looks % 3];
                Message::new().calls(tool("list_todo"), json!({"status": status, "wait": looks}))
            }
            Some(id) => Message::new()
                .calls(tool("complete_todo"), json!({"todoId": id, "outcome": "done"})),
        }
    })
}

/// The id of the item in an answer, in any wrapper.
fn id(text: &str) -> Option<String> {
    let start = text.find('{')?;
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
    let value = values.next()?.ok()?;
    value["item"]["id"].as_str().map(str::to_owned)
}

#[test]
#[ignore = "needs Claude Code, Codex and Gemini CLI: cargo xtask test agents"]
fn three_agents_share_one_plan_and_nothing_is_lost_doubled_or_stuck() {
    let _shows = Agent::ALL.map(|it| shows(it, Feature::Shared, ""));
    let place = Place::new();
    let begun = Arc::new(AtomicUsize::new(0));
    let model = Model::new(Script::new())
        .conversation("the first worker", works_off("mcp__punchlist__", &begun))
        .conversation("the second worker", works_off("mcp__punchlist.", &begun))
        .conversation("the third worker", works_off("mcp_punchlist_", &begun))
        .serve()
        .unwrap();
    place.codex_settings(&model, DIRECT);
    place.gemini_settings(&json!({}));
    for agent in ["claude", "codex", "gemini"] {
        place.punchlist(&["install", agent, "--yes", "--plan", "release"]);
    }
    let titles: Vec<String> = (1..=ITEMS).map(|it| format!("Step {it}")).collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    place.punchlist(&[&["add", "--plan", "release"], &titles[..]].concat());

    let claude = place.claude(&model, "You are the first worker").begin();
    let codex = place.codex(&["You are the second worker"]).begin();
    let gemini = place.gemini(&model, "You are the third worker").begin();
    let sessions = [
        ("claude", claude.ends().well().session()),
        ("codex", codex.ends().completed().session()),
        ("gemini", gemini.ends().succeeded().session()),
    ];

    let plan = place.only_plan();
    assert_eq!(plan.end, "drained");
    let done: String = (1..=ITEMS).map(|it| format!("{it} completed: Step {it}\n")).collect();
    assert_eq!(plan.list(), done);
    assert_eq!(plan.happened("added"), ITEMS);
    // Each item was completed once, and each agent completed some.
    let names = plan.who("completed");
    assert_eq!(names.len(), ITEMS, "{names:?}");
    let names: BTreeSet<String> = names.into_iter().collect();
    let all = sessions.map(|(agent, session)| format!("{agent}:{}", &session[24..]));
    assert_eq!(names, BTreeSet::from(all.clone()));
    for request in model.requests() {
        assert_says(&request.news(), &[], &["Not finished: "]);
    }
    let log = place.punchlist(&["log", "--plan", "release"]);
    assert_says(&log, &all.each_ref().map(String::as_str), &[]);
}

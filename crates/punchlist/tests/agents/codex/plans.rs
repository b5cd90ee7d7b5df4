//! The output of Codex and its rollout files give the same lists.

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Message, Model, Script};
use serde_json::{Value, json};

use super::{DIRECT, IN_CODE};
use crate::place::Place;
use crate::shown::shows;

/// The versions of a plan, as steps and statuses: created, worked through, changed, finished. The
/// third is refused, because there is no such status.
pub(super) const STORY: [&[(&str, &str)]; 5] = [
    &[("Write the parser", "in_progress"), ("Test the parser", "pending")],
    &[("Write the parser", "completed"), ("Test the parser", "in_progress")],
    &[("Write the parser", "given_up")],
    &[("Write the parser", "completed"), ("Fuzz the parser", "in_progress"), ("Tag it", "pending")],
    &[("Write the parser", "completed"), ("Fuzz the parser", "completed"), ("Tag it", "completed")],
];

const END: &str = "[x] Write the parser, [x] Fuzz the parser, [x] Tag it";

/// The plan in the output of Codex, which shows completed steps but not those in progress.
const PRINTED: [&str; 4] = [
    "[ ] Write the parser, [ ] Test the parser",
    "[x] Write the parser, [ ] Test the parser",
    "[x] Write the parser, [ ] Fuzz the parser, [ ] Tag it",
    END,
];

/// The plan in the rollout file.
pub(super) const KEPT: [&str; 4] = [
    "[>] Write the parser, [ ] Test the parser",
    "[x] Write the parser, [>] Test the parser",
    "[x] Write the parser, [>] Fuzz the parser, [ ] Tag it",
    END,
];

pub(super) fn plan(steps: &[(&str, &str)]) -> Value {
    let entry = |(step, status): &(&str, &str)| json!({"step": step, "status": status});
    json!({"plan": steps.iter().map(entry).collect::<Vec<_>>()})
}

/// The same plan, as a line of code.
pub(super) fn in_code(steps: &[(&str, &str)]) -> Value {
    let plan = plan(steps);
    json!(format!("await tools.update_plan({plan});"))
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn a_plan_is_followed_from_its_making_to_its_end() {
    let _shows = [
        shows(Agent::Codex, Feature::Events, "its stream"),
        shows(Agent::Codex, Feature::Events, "its files"),
    ];
    let place = Place::new();
    let script = Script::new().thinks("A plan first").says("I will plan.");
    let script = STORY.iter().fold(script, |it, steps| it.calls("update_plan", plan(steps)));
    let model = Model::new(script.stops("All is done.")).serve().unwrap();
    place.codex_settings(&model, DIRECT);
    let ended = place.codex(&["Build a parser"]).ends().completed();
    let requests = model.requests();
    assert!(requests[0].declares("update_plan"), "{:?}", requests[0].tools());
    let answers: Vec<String> =
        requests.iter().flat_map(|it| it.results()).map(|it| it.text).collect();
    assert_eq!(answers.len(), 5);
    assert!(answers[2].contains("given_up"), "{answers:?}");

    let printed = place.printed(&ended).understood();
    let kept = place.kept(&place.rollout(&ended.session())).understood();
    assert_eq!(printed.lists(), PRINTED);
    assert_eq!(kept.lists(), KEPT);
    assert_eq!((printed.last(), kept.last()), (END.to_owned(), END.to_owned()));
    assert_eq!(printed.agents(), [ended.session()]);
    assert_eq!(kept.agents(), printed.agents());
    for told in [&printed, &kept] {
        assert_eq!(told.of_kind("session.started").count(), 1);
        let end = told.of_kind("turn.completed").last().unwrap();
        assert_eq!(end["status"], "success");
        let tools =
            told.events.iter().filter(|it| it["type"].as_str().unwrap().starts_with("tool."));
        assert_eq!(tools.count(), 0, "{:#?}", told.events);
    }
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn a_plan_that_is_made_in_code_is_followed_too() {
    let place = Place::new();
    let script = STORY.iter().fold(Script::new(), |it, steps| it.calls("exec", in_code(steps)));
    let model = Model::new(script.stops("All is done.")).serve().unwrap();
    place.codex_settings(&model, IN_CODE);
    let ended = place.codex(&["Build a parser"]).ends().completed();
    let requests = model.requests();
    assert!(requests[0].declares("update_plan"), "{:?}", requests[0].tools());
    let printed = place.printed(&ended).understood();
    let kept = place.kept(&place.rollout(&ended.session())).understood();
    assert_eq!(printed.lists(), PRINTED);
    // The file has the code but not its results, so every list is unconfirmed.
    let certain: Vec<String> =
        kept.lists().iter().map(|it| it.replace(" (unconfirmed)", "")).collect();
    assert_eq!(certain, KEPT);
    assert!(kept.lists().iter().all(|it| it.contains(" (unconfirmed)")), "{:?}", kept.lists());
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn a_sub_agent_has_a_file_and_a_list_of_its_own() {
    let place = Place::new();
    let main = |status| in_code(&[("Have it looked into", status)]);
    let sub = |status| in_code(&[("Look into the cellar", status)]);
    let task = json!({"task_name": "cellar", "message": "HELPER: look", "fork_turns": "none"});
    let script = Script::new()
        .calls("exec", main("in_progress"))
        .calls("collaboration.spawn_agent", task)
        .calls("collaboration.wait_agent", json!({"timeout_ms": 60_000}))
        .calls("exec", main("completed"))
        .stops("All is done.");
    let helping =
        Script::new().calls("exec", sub("in_progress")).calls("exec", sub("completed")).stops("42");
    let model = Model::new(script).conversation("HELPER", helping).serve().unwrap();
    place.codex_settings(&model, IN_CODE);
    let ended = place.codex(&["Look into it"]).ends().completed();
    assert_eq!((model.requests_of("HELPER").len(), model.left()), (3, 0));

    let thread = ended.session();
    let printed = place.printed(&ended).understood();
    assert_eq!(printed.lists(), ["[ ] Have it looked into", "[x] Have it looked into"]);
    let mut files = place.rollouts();
    files.retain(|it| *it != place.rollout(&thread));
    let [file] = files.as_slice() else { panic!("not one sub-agent: {files:#?}") };
    let kept = place.kept(file).understood();
    let [own] = kept.agents()[..] else { panic!("{:?}", kept.agents()) };
    assert!(own.starts_with(&format!("{thread}/")), "{own}");
    assert_eq!(kept.last().replace(" (unconfirmed)", ""), "[x] Look into the cellar");
    let kept = place.kept(&place.rollout(&thread)).understood();
    assert_eq!(kept.last().replace(" (unconfirmed)", ""), "[x] Have it looked into");
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn what_is_tried_again_is_no_second_list_and_what_fails_leaves_the_last() {
    let place = Place::new();
    let begun = plan(&[("Write the parser", "in_progress")]);
    let script = Script::new()
        .fails(500, "server_error", 1)
        .calls("update_plan", begun)
        .turn(Message::new().says("I was going to sa").cut())
        .fails(400, "invalid_request_error", 3);
    let model = Model::new(script).serve().unwrap();
    place.codex_settings(&model, DIRECT);
    let ended = place.codex(&["Build a parser"]).ends();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.errors);
    let printed = place.printed(&ended).understood();
    let kept = place.kept(&place.rollout(&ended.session())).understood();
    assert_eq!(printed.lists(), ["[ ] Write the parser"]);
    assert_eq!(kept.lists(), ["[>] Write the parser"]);
    for told in [&printed, &kept] {
        let end = told.of_kind("turn.completed").last().unwrap();
        assert_eq!(end["status"], "error", "{:#?}", told.events);
    }
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn a_resumed_thread_goes_on_in_its_file_and_a_new_stream() {
    let place = Place::new();
    let one = |status| plan(&[("Write the parser", status)]);
    let script = Script::new()
        .calls("update_plan", one("in_progress"))
        .stops("TOML or JSON?")
        .calls("update_plan", one("completed"))
        .stops("All is done.");
    let model = Model::new(script).serve().unwrap();
    place.codex_settings(&model, DIRECT);
    let first = place.codex(&["Build a parser"]).ends().completed();
    let second = place.codex(&["resume", &first.session(), "TOML"]).ends().completed();
    assert_eq!(second.session(), first.session());
    assert_eq!(place.printed(&first).understood().lists(), ["[ ] Write the parser"]);
    assert_eq!(place.printed(&second).understood().lists(), ["[x] Write the parser"]);
    let kept = place.kept(&place.rollout(&first.session())).understood();
    assert_eq!(kept.lists(), ["[>] Write the parser", "[x] Write the parser"]);
    assert_eq!(kept.of_kind("turn.completed").count(), 2);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn a_tool_that_is_switched_off_gives_no_list() {
    let place = Place::new();
    let script =
        Script::new().calls("update_plan", plan(&[("Write the parser", "pending")])).stops("Well.");
    let model = Model::new(script).serve().unwrap();
    place.codex_settings(&model, DIRECT);
    let off = ["-c", "tools.update_plan.enabled=false", "Build a parser"];
    let ended = place.codex(&off).ends().completed();
    assert!(!model.requests()[0].declares("update_plan"));
    assert_eq!(model.requests()[1].results()[0].text, "unsupported call: update_plan");
    assert_eq!(place.printed(&ended).understood().lists(), [] as [&str; 0]);
    let kept = place.kept(&place.rollout(&ended.session())).understood();
    assert_eq!(kept.lists(), [] as [&str; 0]);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn a_thread_that_was_summed_up_goes_on_with_its_list() {
    let place = Place::new();
    let begun = plan(&[("Write the parser", "in_progress")]);
    let script = Script::new()
        .turn(Message::new().calls("update_plan", begun).counting(90_000))
        .calls("update_plan", plan(&[("Write the parser", "completed")]))
        .stops("All is done.");
    let model = Model::new(script).aside("I was at the parser.").serve().unwrap();
    place.codex_settings(&model, DIRECT);
    let limit = ["-c", "model_auto_compact_token_limit=20000", "Build a parser"];
    let ended = place.codex(&limit).ends().completed();
    assert_eq!((model.asides().len(), model.left()), (1, 0));
    let told = model.requests()[1].news();
    assert!(told.contains("I was at the parser."), "{told}");
    let printed = place.printed(&ended).understood();
    let kept = place.kept(&place.rollout(&ended.session())).understood();
    assert_eq!(printed.lists(), ["[ ] Write the parser", "[x] Write the parser"]);
    assert_eq!(kept.lists(), ["[>] Write the parser", "[x] Write the parser"]);
}

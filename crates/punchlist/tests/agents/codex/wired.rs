//! Codex after only `punchlist install codex --yes`: its lists are stored, its stops are refused,
//! and if Punchlist is broken, it still works.

use std::fs;

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Message, Model, Request, Script, Server};
use serde_json::{Value, json};

use super::plans::plan;
use super::{DIRECT, IN_CODE};
use crate::place::Place;
use crate::run::assert_says;
use crate::shown::shows;

/// A place with Codex installed, and a model.
pub(super) fn installed(model: &Server, name: &str) -> Place {
    let place = Place::new();
    place.codex_settings(model, name);
    place.punchlist(&["install", "codex", "--yes"]);
    place
}

/// The texts of all refused stops, as the model read them.
pub(super) fn refusals(requests: &[Request]) -> Vec<String> {
    let told = requests.iter().map(Request::news);
    told.filter(|it| it.contains("<hook_prompt") && it.contains("Not finished: ")).collect()
}

pub(super) const OPEN: [(&str, &str); 3] =
    [("Design it", "completed"), ("Build it", "in_progress"), ("Test it", "pending")];
pub(super) const DONE: [(&str, &str); 3] =
    [("Design it", "completed"), ("Build it", "completed"), ("Test it", "completed")];

/// The model stops with two open items, is refused, closes both and stops.
#[track_caller]
fn check_story(name: &str, open: (&str, Value), done: &[(&str, Value)], tool: &str) {
    let script = Script::new().calls(open.0, open.1).stops("That is all.");
    let script = done.iter().fold(script, |it, (tool, input)| it.calls(*tool, input.clone()));
    let model = Model::new(script.stops("All is done.")).serve().unwrap();
    let place = installed(&model, name);
    let ended = place.codex(&["Build it"]).ends().completed();
    assert_eq!(model.left(), 0);
    let refusals = refusals(&model.requests());
    let [refusal] = refusals.as_slice() else { panic!("{refusals:#?}") };
    assert_says(refusal, &["Build it", "Test it", tool], &["Design it"]);
    let plan = place.plan_of(&ended.session());
    let list = "1 completed: Design it\n2 completed: Build it\n3 completed: Test it\n";
    assert_eq!((plan.list().as_str(), plan.end.as_str()), (list, "drained"));
    let name = format!("codex:{}", &ended.session()[24..]);
    assert_eq!(plan.actors(), [name]);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn a_stop_with_open_items_is_refused_until_the_plan_is_settled() {
    let _shows = [
        shows(Agent::Codex, Feature::Gate, ""),
        shows(Agent::Codex, Feature::OwnList, "`update_plan`"),
    ];
    check_story(
        DIRECT,
        ("update_plan", plan(&OPEN)),
        &[("update_plan", plan(&DONE))],
        "update_plan",
    );
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn the_same_where_the_plan_is_made_in_code() {
    let _shows = [
        shows(Agent::Codex, Feature::Gate, ""),
        shows(Agent::Codex, Feature::OwnList, "the same called in code"),
    ];
    let code = |steps: &[(&str, &str)]| json!(format!("await tools.update_plan({});", plan(steps)));
    check_story(IN_CODE, ("exec", code(&OPEN)), &[("exec", code(&DONE))], "update_plan");
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn the_same_with_the_tools_of_our_server_which_models_of_both_kinds_see() {
    let _shows =
        [shows(Agent::Codex, Feature::Gate, ""), shows(Agent::Codex, Feature::PlanTools, "")];
    for name in [DIRECT, IN_CODE] {
        let titles = ["Design it", "Build it", "Test it"].map(|it| json!({"title": it}));
        let complete =
            |id: &str| ("mcp__punchlist.complete_todo", json!({"todoId": id, "outcome": "done"}));
        let script = Script::new()
            .calls("mcp__punchlist.create_todo", json!({"items": titles}))
            .calls(complete("1").0, complete("1").1)
            .stops("That is all.")
            .calls(complete("2").0, complete("2").1)
            .calls(complete("3").0, complete("3").1)
            .stops("All is done.");
        let model = Model::new(script).serve().unwrap();
        let place = installed(&model, name);
        let ended = place.codex(&["Build it"]).ends().completed();
        let requests = model.requests();
        assert!(requests[0].declares("mcp__punchlist.create_todo"), "{:?}", requests[0].tools());
        let refusals = refusals(&requests);
        let [refusal] = refusals.as_slice() else { panic!("{refusals:#?}") };
        assert_says(refusal, &["Build it", "mcp__punchlist__complete_todo"], &["Design it"]);
        let plan = place.plan_of(&ended.session());
        assert_eq!((plan.end.as_str(), plan.items.len()), ("drained", 3));
    }
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn one_that_resolves_nothing_and_one_that_never_ends_are_let_go() {
    let _shows = [
        shows(Agent::Codex, Feature::Bounds, "settles nothing"),
        shows(Agent::Codex, Feature::Bounds, "adds trivia for ever"),
    ];
    let script = Script::new()
        .calls("update_plan", plan(&OPEN))
        .always(|_: &Request| Message::new().says("That is all."));
    let model = Model::new(script).serve().unwrap();
    let place = installed(&model, DIRECT);
    let ended = place.codex(&["Build it"]).ends().completed();
    assert_eq!(refusals(&model.requests()).len(), 3);
    assert_eq!(place.plan_of(&ended.session()).end, "stopped");

    // Trivial items that are added and completed are no progress.
    let mut count = 0;
    let script =
        Script::new().calls("update_plan", plan(&OPEN)).always(move |request: &Request| {
            if !request.results().is_empty() {
                return Message::new().says("That is all.");
            }
            count += 1;
            let trivia = format!("Trivia {count}");
            let mut steps = OPEN.to_vec();
            steps.push((&trivia, "completed"));
            Message::new().calls("update_plan", plan(&steps))
        });
    let model = Model::new(script).serve().unwrap();
    let place = installed(&model, DIRECT);
    let ended = place.codex(&["Build it"]).ends().completed();
    let count = refusals(&model.requests()).len();
    assert!((1..=8).contains(&count), "{count}");
    assert_eq!(place.plan_of(&ended.session()).end, "stopped");
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn a_killed_session_that_is_resumed_sees_its_list_and_a_new_one_an_offer() {
    let _shows = shows(Agent::Codex, Feature::Resume, "also after a kill");
    let script = Script::new()
        .calls("update_plan", plan(&OPEN))
        .turn(Message::new().hangs())
        .stops("Shall I go on?")
        .stops("Is there anything?");
    let model = Model::new(script).serve().unwrap();
    let place = installed(&model, DIRECT);
    place.gate("off");
    let running = place.codex(&["Build it"]).begin();
    assert!(model.wait_for("", 2, std::time::Duration::from_secs(60)));
    let thread = running.killed().session();
    place.codex(&["resume", &thread, "Go on"]).ends().completed();
    let told = model.requests()[2].text();
    assert_says(&told, &["[>] 2. Build it", "[ ] 3. Test it", "update_plan"], &[]);
    place.codex(&["Something else"]).ends().completed();
    let told = model.requests()[3].text();
    assert_says(&told, &["2 items are still open from an earlier session"], &["Build it"]);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn a_question_that_nobody_can_answer_is_refused_and_what_needs_a_person_is_parked() {
    let _shows = shows(Agent::Codex, Feature::Unheard, "");
    let waits = json!({"todoId": "1", "waitingOn": "the user's word"});
    let script = Script::new()
        .calls("update_plan", plan(&[("Build it", "in_progress")]))
        .stops("TOML or JSON?")
        .calls("mcp__punchlist.update_todo", waits)
        .stops("TOML or JSON?");
    let model = Model::new(script).serve().unwrap();
    let place = installed(&model, DIRECT);
    let ended = place.codex(&["Build it"]).ends().completed();
    let refused = refusals(&model.requests());
    let [refused] = refused.as_slice() else { panic!("{refused:#?}") };
    assert_says(refused, &["Build it", "Nobody is here", "update_todo", "waitingOn"], &[]);
    assert_eq!((place.plan_of(&ended.session()).end.as_str(), model.left()), ("open", 0));
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn two_at_once_keep_two_plans_and_a_sub_agent_one_of_its_own() {
    let _shows =
        [shows(Agent::Codex, Feature::Two, ""), shows(Agent::Codex, Feature::SubAgents, "")];
    let works = |what: &str| {
        let steps = |status| plan(&[(what, status)]);
        let script = Script::new().calls("update_plan", steps("in_progress"));
        script.calls("update_plan", steps("completed")).stops("All is done.")
    };
    let model = Model::new(Script::new())
        .conversation("the lexer", works("Write the lexer"))
        .conversation("the parser", works("Write the parser"))
        .serve()
        .unwrap();
    let place = installed(&model, DIRECT);
    let runs = ["Build the lexer", "Build the parser"].map(|it| place.codex(&[it]).begin());
    let [lexer, parser] = runs.map(|it| it.ends().completed().session());
    assert_eq!(place.plan_of(&lexer).list(), "1 completed: Write the lexer\n");
    assert_eq!(place.plan_of(&parser).list(), "1 completed: Write the parser\n");

    let code =
        |what, status| json!(format!("await tools.update_plan({});", plan(&[(what, status)])));
    let task = json!({"task_name": "cellar", "message": "HELPER: look", "fork_turns": "none"});
    let script = Script::new()
        .calls("exec", code("Have it looked into", "in_progress"))
        .calls("collaboration.spawn_agent", task)
        .calls("collaboration.wait_agent", json!({"timeout_ms": 60_000}))
        .calls("exec", code("Have it looked into", "completed"))
        .stops("All is done.");
    let helping = Script::new()
        .calls("exec", code("Look into the cellar", "in_progress"))
        .stops("Nothing there.")
        .calls("exec", code("Look into the cellar", "completed"))
        .stops("42");
    let model = Model::new(script).conversation("HELPER", helping).serve().unwrap();
    let place = installed(&model, IN_CODE);
    place.codex(&["Look into it"]).ends().completed();
    assert_eq!(model.left(), 0);
    let plans = place.plans();
    let lists: Vec<String> = plans.iter().map(|it| place.plan(it).list()).collect();
    assert_eq!(lists.len(), 2, "{lists:?}");
    assert!(lists.contains(&"1 completed: Have it looked into\n".to_owned()), "{lists:?}");
    assert!(lists.contains(&"1 completed: Look into the cellar\n".to_owned()), "{lists:?}");
    assert_eq!(refusals(&model.requests_of("HELPER")).len(), 1);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn after_a_run_only_our_entries_go() {
    let _shows = shows(Agent::Codex, Feature::Uninstall, "after runs all that is not ours");
    let model = Model::new(Script::new().stops("Done.")).serve().unwrap();
    let place = Place::new();
    place.codex_settings(&model, DIRECT);
    let config = || fs::read_to_string(place.path("home/.codex/config.toml")).unwrap();
    let before = config();
    place.punchlist(&["install", "codex", "--yes"]);
    place.codex(&["Hello"]).ends().completed();
    let doctor = place.punchlist(&["doctor"]);
    assert_says(&doctor, &["Codex trusts the hooks", "the plan tools are approved"], &["✗"]);
    place.punchlist(&["uninstall", "codex"]);
    assert_eq!(config(), before);
    assert!(!place.path("home/.codex/hooks.json").exists());
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn after_a_compaction_the_list_comes_back_with_the_next_tool() {
    let _shows = shows(Agent::Codex, Feature::Compaction, "its own");
    let script = Script::new()
        .turn(Message::new().calls("update_plan", plan(&OPEN)).counting(2_000_000))
        .calls("exec_command", json!({"cmd": "true"}))
        .stops("Shall I go on?");
    let model = Model::new(script).aside("A summary without a list.").serve().unwrap();
    let place = installed(&model, DIRECT);
    place.gate("off");
    place.codex(&["Build it"]).ends().completed();
    let requests = model.requests();
    let told = requests.last().unwrap().text();
    assert_says(&told, &["[>] 2. Build it", "A summary without a list."], &[]);
}

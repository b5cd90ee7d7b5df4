//! What people decide about Gemini CLI: the gate, installing for a project, and uninstalling.

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Message, Model, Script};
use serde_json::{Value, json};

use super::WITH_TODOS;
use super::plans::todos;
use super::wired::{DONE, OPEN, installed, refusals};
use crate::install::tree;
use crate::place::Place;
use crate::run::assert_says;
use crate::shown::shows;

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn a_person_can_turn_the_gate_off_in_mid_session_and_the_agent_cannot() {
    let _shows = shows(Agent::Gemini, Feature::Off, "");
    let place = installed(&json!({}));
    let off = format!("'{}' gate off", place.punchlist.display());
    let person = place.person(&["gate", "off"]);
    let script = Script::new()
        .calls("write_todos", todos(&OPEN))
        .calls("run_shell_command", json!({"command": off}))
        .stops("Done.")
        .then(move |_| Message::new().says(format!("The user says: {}", person())));
    let model = Model::new(script).serve().unwrap();
    let ended = place.gemini(&model, "Build it").args(&["-m", WITH_TODOS]).ends().succeeded();
    assert_eq!(model.left(), 0);
    // Gemini CLI prints the model's text in pieces.
    let lines = ended.printed.lines().filter_map(|it| serde_json::from_str::<Value>(it).ok());
    let said: String = lines.filter_map(|it| Some(it["content"].as_str()?.to_owned())).collect();
    assert_says(&said, &["set for this session"], &[]);
    let requests = model.requests();
    assert_says(&requests[2].results()[0].text, &["set by people"], &[]);
    assert_eq!(refusals(&requests).len(), 1);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn for_a_project_it_is_set_up_in_files_of_the_project() {
    let _shows = shows(Agent::Gemini, Feature::Project, "");
    let script = Script::new()
        .calls("write_todos", todos(&OPEN))
        .calls("mcp_punchlist_list_todo", json!({}))
        .stops("That is all.")
        .calls("write_todos", todos(&DONE))
        .stops("All is done.");
    let model = Model::new(script).serve().unwrap();
    let place = Place::new();
    place.gemini_settings(&json!({}));
    let before = tree(&place.path("project"));
    place.punchlist(&["install", "gemini", "--project", "--yes"]);
    assert!(place.path("project/.gemini/settings.json").exists());
    let ended = place.gemini(&model, "Build it").args(&["-m", WITH_TODOS]).ends().succeeded();
    assert_eq!((refusals(&model.requests()).len(), model.left()), (1, 0));
    assert_says(&model.requests()[2].results()[0].text, &["Build it", "Test it"], &[]);
    assert_eq!(place.plan_of(&ended.session()).end, "drained");
    place.punchlist(&["uninstall", "gemini", "--project"]);
    assert_eq!(tree(&place.path("project")), before);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn without_a_run_the_home_is_as_it_was() {
    let _shows = shows(Agent::Gemini, Feature::Uninstall, "every byte as it was");
    let place = Place::new();
    place.gemini_settings(&json!({}));
    let before = tree(&place.path("home"));
    place.punchlist(&["install", "gemini", "--yes"]);
    assert_ne!(tree(&place.path("home")), before);
    place.punchlist(&["uninstall", "gemini"]);
    assert_eq!(tree(&place.path("home")), before);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn started_to_plan_only_it_may_stop_with_items_open() {
    let _shows = shows(Agent::Gemini, Feature::PlanMode, "if it was started so");
    let task = json!({"title": "Build it", "description": "it", "type": "task"});
    let script = Script::new().calls("tracker_create_task", task).stops("That is my plan.");
    let model = Model::new(script).serve().unwrap();
    let place = installed(&json!({"experimental": {"taskTracker": true}}));
    let ended = place.gemini_in(&model, "Plan it", "plan").ends().succeeded();
    assert_eq!((refusals(&model.requests()).len(), model.left()), (0, 0));
    let plan = place.plan_of(&ended.session());
    assert_eq!((plan.list().as_str(), plan.end.as_str()), ("1 pending: Build it\n", "open"));
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn a_question_that_nobody_can_answer_is_refused_and_what_needs_a_person_is_parked() {
    let _shows = shows(Agent::Gemini, Feature::Unheard, "");
    let script = Script::new()
        .calls("write_todos", todos(&[("Build it", "in_progress")]))
        .stops("TOML or JSON?")
        .calls("write_todos", todos(&[("Build it", "blocked")]))
        .stops("TOML or JSON?");
    let model = Model::new(script).serve().unwrap();
    let place = installed(&json!({}));
    let ended = place.gemini(&model, "Build it").args(&["-m", WITH_TODOS]).ends().succeeded();
    let refused = refusals(&model.requests());
    let [refused] = refused.as_slice() else { panic!("{refused:#?}") };
    assert_says(refused, &["Build it", "Nobody is here", "blocked"], &[]);
    assert_eq!((place.plan_of(&ended.session()).end.as_str(), model.left()), ("open", 0));
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn after_ten_tools_without_the_list_the_model_is_reminded_once() {
    let _shows = shows(Agent::Gemini, Feature::Reminders, "");
    let script = Script::new().calls("write_todos", todos(&OPEN));
    let work = |script: Script, turn: usize| {
        script.calls("run_shell_command", json!({"command": format!("echo turn {turn}")}))
    };
    let model = Model::new((1..=14).fold(script, work).stops("Shall I go on?")).serve().unwrap();
    let place = installed(&json!({}));
    place.gate("off");
    place.gemini(&model, "Build it").args(&["-m", WITH_TODOS]).ends().succeeded();
    let requests = model.requests();
    let is_reminded = |it: &usize| requests[*it].news().contains("<hook_context>");
    let reminded: Vec<usize> = (1..requests.len()).filter(is_reminded).collect();
    assert_eq!(reminded, [11]);
    assert_says(&requests[11].news(), &["write_todos"], &[]);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn what_a_plan_wants_checked_holds_the_stop_though_it_is_called_completed() {
    let _shows = shows(Agent::Gemini, Feature::Evidence, "its stop is held");
    let script = Script::new()
        .calls("write_todos", todos(&[("Build it", "completed")]))
        .stops("That is all.")
        .stops("I will not check it.");
    let model = Model::new(script).serve().unwrap();
    let place = installed(&json!({}));
    place.gate("once");
    place.plan_that_demands_checks("release");
    let run = place.gemini(&model, "Build it").args(&["-m", WITH_TODOS]);
    run.env("PUNCHLIST_PLAN", "release").ends().succeeded();
    assert_eq!(model.left(), 0);
    let refused = refusals(&model.requests());
    let [refused] = refused.as_slice() else { panic!("{refused:#?}") };
    assert_says(refused, &["Build it", "punchlist verify 2"], &["Settled before"]);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn the_agent_gives_no_consent_in_the_users_place_and_takes_nothing_out() {
    let _shows = shows(Agent::Gemini, Feature::Consents, "");
    let binary = env!("CARGO_BIN_EXE_punchlist");
    let calls = format!("'{binary}' uninstall gemini; '{binary}' install claude --yes");
    let script = Script::new().calls("run_shell_command", json!({"command": calls})).stops("Well.");
    let model = Model::new(script).serve().unwrap();
    let place = installed(&json!({}));
    place.gemini(&model, "Hello").ends().succeeded();
    let told = &model.requests()[1].results()[0].text;
    let refusal = "by people, and this call is made by gemini";
    assert_eq!(told.matches(refusal).count(), 2, "{told}");
    assert!(!place.path("home/.claude.json").exists());
}

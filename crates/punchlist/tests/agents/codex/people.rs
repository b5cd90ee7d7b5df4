//! What people decide about Codex: the gate, installing for a project, and uninstalling.

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Message, Model, Script};
use serde_json::json;

use super::DIRECT;
use super::plans::plan;
use super::wired::{DONE, OPEN, installed, refusals};
use crate::install::tree;
use crate::place::Place;
use crate::run::assert_says;
use crate::shown::shows;

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn a_person_can_turn_the_gate_off_in_mid_session_and_the_agent_cannot() {
    let _shows = shows(Agent::Codex, Feature::Off, "");
    let place = Place::new();
    let off = format!("'{}' gate off", place.punchlist.display());
    let person = place.person(&["gate", "off"]);
    let script = Script::new()
        .calls("update_plan", plan(&OPEN))
        .calls("exec_command", json!({"cmd": off}))
        .stops("Done.")
        .then(move |_| Message::new().says(format!("The user says: {}", person())));
    let model = Model::new(script).serve().unwrap();
    place.codex_settings(&model, DIRECT);
    place.punchlist(&["install", "codex", "--yes"]);
    // Codex's sandbox would block access to the database, and so the answer.
    let ended = place.codex(&["-s", "danger-full-access", "Build it"]).ends().completed();
    assert_eq!(model.left(), 0);
    assert_says(&ended.printed, &["set for this session"], &[]);
    let requests = model.requests();
    assert_says(&requests[2].results()[0].text, &["set by people"], &[]);
    assert_eq!(refusals(&requests).len(), 1);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn for_a_project_it_is_set_up_in_files_of_the_project() {
    let _shows = shows(Agent::Codex, Feature::Project, "");
    let script = Script::new()
        .calls("update_plan", plan(&OPEN))
        .calls("mcp__punchlist.list_todo", json!({}))
        .stops("That is all.")
        .calls("update_plan", plan(&DONE))
        .stops("All is done.");
    let model = Model::new(script).serve().unwrap();
    let place = Place::new();
    // The user has trusted the folder; otherwise Codex ignores a project's files.
    place.codex_settings(&model, DIRECT);
    let before = tree(&place.path("project"));
    place.punchlist(&["install", "codex", "--project", "--yes"]);
    assert!(place.path("project/.codex/hooks.json").exists());
    let ended = place.codex(&["Build it"]).ends().completed();
    assert_eq!((refusals(&model.requests()).len(), model.left()), (1, 0));
    assert_says(&model.requests()[2].results()[0].text, &["Build it", "Test it"], &[]);
    assert_eq!(place.plan_of(&ended.session()).end, "drained");
    place.punchlist(&["uninstall", "codex", "--project"]);
    assert_eq!(tree(&place.path("project")), before);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn without_a_run_the_home_is_as_it_was() {
    let _shows = shows(Agent::Codex, Feature::Uninstall, "every byte as it was");
    let model = Model::new(Script::new()).serve().unwrap();
    let place = Place::new();
    place.codex_settings(&model, DIRECT);
    let before = tree(&place.path("home"));
    for more in [&[][..], &["--own-tools"]] {
        place.punchlist(&[&["install", "codex", "--yes"], more].concat());
        assert_ne!(tree(&place.path("home")), before);
        place.punchlist(&["uninstall", "codex"]);
        assert_eq!(tree(&place.path("home")), before);
    }
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn its_own_tool_is_there_as_long_as_it_is_wanted() {
    let model = Model::new(Script::new().stops("Hello.").stops("Hello again.")).serve().unwrap();
    let place = Place::new();
    place.codex_settings(&model, DIRECT);
    let config = place.path("home/.codex/config.toml");
    let off = std::fs::read_to_string(&config).unwrap();
    let off = off.replace("[tools.update_plan]\nenabled = true\n", "");
    std::fs::write(&config, off).unwrap();
    place.punchlist(&["install", "codex", "--yes", "--own-tools"]);
    place.codex(&["Hello"]).ends().completed();
    place.punchlist(&["install", "codex", "--yes"]);
    place.codex(&["Hello"]).ends().completed();
    let has = |at: usize, tool: &str| model.requests()[at].declares(tool);
    assert!(has(0, "update_plan") && !has(0, "mcp__punchlist.create_todo"));
    assert!(!has(1, "update_plan") && has(1, "mcp__punchlist.create_todo"));
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn one_that_cancels_its_way_out_is_let_go_and_the_plan_says_so() {
    let _shows = shows(Agent::Codex, Feature::Bounds, "cancels");
    let cancel = |id: &str| {
        let input = json!({"todoId": id, "status": "cancelled", "outcome": "no time"});
        ("mcp__punchlist.complete_todo", input)
    };
    let titles = ["Build it", "Test it"].map(|it| json!({"title": it}));
    let script = Script::new()
        .calls("mcp__punchlist.create_todo", json!({"items": titles}))
        .stops("That is all.")
        .calls_all([cancel("1"), cancel("2")])
        .stops("Now there is nothing to do.");
    let model = Model::new(script).serve().unwrap();
    let place = installed(&model, DIRECT);
    let ended = place.codex(&["Build it"]).ends().completed();
    assert_eq!((refusals(&model.requests()).len(), model.left()), (1, 0));
    let plan = place.plan_of(&ended.session());
    let list = "1 cancelled: Build it\n2 cancelled: Test it\n";
    assert_eq!((plan.end.as_str(), plan.list().as_str()), ("drained", list));
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn after_ten_tools_without_the_list_the_model_is_reminded_once() {
    let _shows = shows(Agent::Codex, Feature::Reminders, "");
    let script = Script::new().calls("update_plan", plan(&OPEN));
    let work = |script: Script, turn: usize| {
        script.calls("exec_command", json!({"cmd": format!("echo turn {turn}")}))
    };
    let model = Model::new((1..=14).fold(script, work).stops("Shall I go on?")).serve().unwrap();
    let place = installed(&model, DIRECT);
    place.gate("off");
    place.codex(&["Build it"]).ends().completed();
    let requests = model.requests();
    let is_reminded = |it: &usize| requests[*it].news().contains("<reminder>");
    let reminded: Vec<usize> = (1..requests.len()).filter(is_reminded).collect();
    assert_eq!(reminded, [11]);
    assert_says(&requests[11].news(), &["update_plan"], &[]);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn what_a_plan_wants_checked_holds_the_stop_though_it_is_called_completed() {
    let _shows = shows(Agent::Codex, Feature::Evidence, "its stop is held");
    let script = Script::new()
        .calls("update_plan", plan(&[("Build it", "completed")]))
        .stops("That is all.")
        .stops("I will not check it.");
    let model = Model::new(script).serve().unwrap();
    let place = installed(&model, DIRECT);
    place.gate("once");
    place.plan_that_demands_checks("release");
    place.codex(&["Build it"]).env("PUNCHLIST_PLAN", "release").ends().completed();
    assert_eq!(model.left(), 0);
    let refused = refusals(&model.requests());
    let [refused] = refused.as_slice() else { panic!("{refused:#?}") };
    assert_says(refused, &["Build it", "punchlist verify 2"], &["Settled before"]);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn the_agent_gives_no_consent_in_the_users_place_and_takes_nothing_out() {
    let _shows = shows(Agent::Codex, Feature::Consents, "");
    let binary = env!("CARGO_BIN_EXE_punchlist");
    let calls = format!("'{binary}' uninstall codex; '{binary}' install claude --yes");
    let script = Script::new().calls("exec_command", json!({"cmd": calls})).stops("Well.");
    let model = Model::new(script).serve().unwrap();
    let place = installed(&model, DIRECT);
    place.codex(&["-s", "danger-full-access", "Hello"]).ends().completed();
    let told = &model.requests()[1].results()[0].text;
    let refusal = "by people, and this call is made by codex";
    assert_eq!(told.matches(refusal).count(), 2, "{told}");
    assert!(!place.path("home/.claude.json").exists());
}

//! What survives a kill and the end of a session of Gemini CLI.

use std::time::Duration;

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Message, Model, Script};
use serde_json::json;

use super::WITH_TODOS;
use super::plans::todos;
use super::wired::{OPEN, installed};
use crate::run::{assert_says, offered};
use crate::shown::shows;

/// The offer that a new session gets about the open items of an ended one: one line, without their
/// titles.
const OFFER: &str = "2 items are still open from an earlier session";

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn a_session_that_is_resumed_sees_its_list_and_a_new_one_an_offer() {
    let _shows = shows(Agent::Gemini, Feature::Resume, "also after a kill");
    let script = Script::new()
        .calls("write_todos", todos(&OPEN))
        .stops("TOML or JSON?")
        .stops("Shall I go on?")
        .stops("Is there anything?");
    let model = Model::new(script).serve().unwrap();
    let place = installed(&json!({}));
    place.gate("off");
    let run = |prompt: &str| place.gemini(&model, prompt).args(&["-m", WITH_TODOS]);
    let first = run("Build it").ends().succeeded();
    run("TOML").args(&["-r", &first.session()]).ends().succeeded();
    let told = model.requests()[2].text();
    assert_says(
        &told,
        &["2. Build it", "keep the list current with write_todos"],
        &["reminder&gt;"],
    );
    run("Something else").ends().succeeded();
    let told = model.requests()[3].text();
    assert_says(&told, &["2 items are still open from an earlier session"], &["Build it"]);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn killed_in_mid_turn_and_resumed_it_is_told_what_is_open() {
    let _shows = shows(Agent::Gemini, Feature::Resume, "also after a kill");
    let script = Script::new()
        .calls("write_todos", todos(&OPEN))
        .turn(Message::new().says("I am build").hangs())
        .stops("Are you sure?");
    let model = Model::new(script).serve().unwrap();
    let place = installed(&json!({}));
    place.gate("off");
    let run = |prompt: &str| place.gemini(&model, prompt).args(&["-m", WITH_TODOS]);
    let running = run("Build it").begin();
    assert!(model.wait_for("", 2, Duration::from_secs(60)), "{}", model.requests().len());
    let session = running.killed().session();
    let ended = run("Go on").args(&["-r", &session]).ends().succeeded();
    assert_eq!(ended.session(), session);
    let told = model.requests()[2].text();
    assert_says(
        &told,
        &["Go on", "[in_progress] 2. Build it", "[ ] 3. Test it", "write_todos"],
        &[],
    );
    let list = "1 completed: Design it\n2 in_progress: Build it\n3 pending: Test it\n";
    assert_eq!(place.plan_of(&session).list(), list);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn a_new_session_is_offered_what_an_ended_one_left_and_gets_it_when_it_adopts() {
    let _shows = shows(Agent::Gemini, Feature::Adoption, "");
    let first = Script::new().calls("write_todos", todos(&OPEN)).stops("TOML or JSON?");
    let script = Script::new()
        .then(|request| {
            let adopt = offered(&request.text());
            Message::new().calls("run_shell_command", json!({"command": adopt}))
        })
        .stops("Are you sure?")
        .stops("Shall I go on?");
    let model = Model::new(script).conversation("the first", first).serve().unwrap();
    let place = installed(&json!({}));
    place.gate("off");
    let run = |prompt: &str| place.gemini(&model, prompt).args(&["-m", WITH_TODOS]);
    run("You are the first").ends().succeeded();
    let after = run("What is to be done?").ends().succeeded().session();
    let requests = model.requests_of("");
    let told = requests[0].text();
    assert_says(&told, &[OFFER, "punchlist adopt"], &["Build it", "Test it"]);
    assert_eq!(told.lines().filter(|it| it.contains("punchlist adopt")).count(), 1, "{told}");
    assert_says(&requests[1].results()[0].text, &["Build it", "Test it"], &[OFFER]);

    // From now on the items belong to this session: shown when it is resumed, and offered to
    // nobody.
    run("Go on").args(&["-r", &after]).ends().succeeded();
    let told = model.requests_of("")[2].news();
    assert_says(&told, &["Go on", "[ ] 2. Build it", "[ ] 3. Test it"], &[OFFER]);
}

//! Codex on a terminal: what only an interactive session can show.

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Model, Script};

use super::DIRECT;
use super::plans::plan;
use super::wired::{OPEN, installed, refusals};
use crate::run::assert_says;
use crate::shown::shows;
use crate::terminal::Terminal;

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn a_user_who_sits_there_sees_one_refusal_and_no_more() {
    let _shows = shows(Agent::Codex, Feature::Screen, "");
    let script = Script::new()
        .calls("update_plan", plan(&OPEN))
        .stops("FIRST ANSWER")
        .stops("SECOND ANSWER");
    // Codex also asks for a title of the session.
    let title = Script::new().stops("Build it");
    let model = Model::new(script).conversation("task title", title).serve().unwrap();
    let place = installed(&model, DIRECT);
    let mut codex = place.codex_itself();
    codex.arg("Build it");
    let terminal = Terminal::open(&codex, true);
    terminal.shows("SECOND ANSWER", 0);
    terminal.types("/quit");
    terminal.ends();

    let refused = refusals(&model.requests_of(""));
    assert_eq!(refused.len(), 1, "{refused:#?}");
    assert_says(&refused[0], &["Build it", "Test it"], &["Design it"]);
    let plan = place.only_plan();
    let list = "1 completed: Design it\n2 in_progress: Build it\n3 pending: Test it\n";
    assert_eq!((plan.end.as_str(), plan.list().as_str()), ("stopped", list));
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn a_question_to_the_user_may_end_the_turn() {
    let _shows = shows(Agent::Codex, Feature::Question, "");
    let script =
        Script::new().calls("update_plan", plan(&OPEN)).stops("FIRST ANSWER: TOML or JSON?");
    let title = Script::new().stops("Build it");
    let model = Model::new(script).conversation("task title", title).serve().unwrap();
    let place = installed(&model, DIRECT);
    let mut codex = place.codex_itself();
    codex.arg("Build it");
    let terminal = Terminal::open(&codex, true);
    terminal.shows("FIRST ANSWER", 0);
    terminal.types("/quit");
    terminal.ends();
    assert_eq!(refusals(&model.requests_of("")), [] as [String; 0]);
    assert_eq!(place.only_plan().end, "open");
}

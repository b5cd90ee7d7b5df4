//! Gemini CLI on a terminal: what only an interactive session can show.

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Model, Script};
use serde_json::json;

use super::WITH_TODOS;
use super::plans::todos;
use super::wired::{OPEN, installed, refusals};
use crate::run::assert_says;
use crate::shown::shows;
use crate::terminal::Terminal;

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn a_user_who_sits_there_sees_one_refusal_and_no_more() {
    let _shows = shows(Agent::Gemini, Feature::Screen, "");
    let script = Script::new()
        .calls("write_todos", todos(&OPEN))
        .stops("FIRST ANSWER")
        .stops("SECOND ANSWER");
    let model = Model::new(script).serve().unwrap();
    let place = installed(&json!({}));
    let mut gemini = place.gemini_itself(&model);
    gemini.args(["-m", WITH_TODOS, "--approval-mode", "yolo", "-i", "Build it"]);
    let terminal = Terminal::open(&gemini, true);
    terminal.shows("SECOND ANSWER", 0);
    terminal.quits("Press Ctrl+C again to exit");

    let refused = refusals(&model.requests());
    assert_eq!(refused.len(), 1, "{refused:#?}");
    assert_says(&refused[0], &["Build it", "Test it"], &["Design it"]);
    let plan = place.only_plan();
    let list = "1 completed: Design it\n2 in_progress: Build it\n3 pending: Test it\n";
    assert_eq!((plan.end.as_str(), plan.list().as_str()), ("stopped", list));
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn a_question_to_the_user_may_end_the_turn() {
    let _shows = shows(Agent::Gemini, Feature::Question, "");
    let script =
        Script::new().calls("write_todos", todos(&OPEN)).stops("FIRST ANSWER: TOML or JSON?");
    let model = Model::new(script).serve().unwrap();
    let place = installed(&json!({}));
    let mut gemini = place.gemini_itself(&model);
    gemini.args(["-m", WITH_TODOS, "--approval-mode", "yolo", "-i", "Build it"]);
    let terminal = Terminal::open(&gemini, true);
    terminal.shows("FIRST ANSWER", 0);
    terminal.quits("Press Ctrl+C again to exit");
    assert_eq!(refusals(&model.requests()), [] as [String; 0]);
    assert_eq!(place.only_plan().end, "open");
}

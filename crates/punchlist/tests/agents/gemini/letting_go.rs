//! Models behind Gemini CLI that ignore refusals: each turn ends within the limit, and the plan
//! records how.

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Message, Model, Request, Script};
use serde_json::json;

use super::WITH_TODOS;
use super::plans::todos;
use super::wired::{OPEN, installed, refusals};
use crate::run::assert_says;
use crate::shown::shows;

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn one_that_resolves_nothing_is_let_go() {
    let _shows = shows(Agent::Gemini, Feature::Bounds, "settles nothing");
    let script = Script::new()
        .calls("write_todos", todos(&OPEN))
        .always(|_: &Request| Message::new().says("That is all."));
    let model = Model::new(script).serve().unwrap();
    let place = installed(&json!({}));
    let ended = place.gemini(&model, "Build it").args(&["-m", WITH_TODOS]).ends().succeeded();
    assert_eq!(refusals(&model.requests()).len(), 3);
    assert_eq!(place.plan_of(&ended.session()).end, "stopped");
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn one_that_adds_and_completes_trivia_for_ever_is_let_go() {
    let _shows = shows(Agent::Gemini, Feature::Bounds, "adds trivia for ever");
    let mut count = 0;
    let script =
        Script::new().calls("write_todos", todos(&OPEN)).always(move |request: &Request| {
            if !request.results().is_empty() {
                return Message::new().says("Look how busy I was.");
            }
            count += 1;
            let trivia = format!("Trivia {count}");
            let mut entries = OPEN.to_vec();
            entries.push((&trivia, "completed"));
            Message::new().calls("write_todos", todos(&entries))
        });
    let model = Model::new(script).serve().unwrap();
    let place = installed(&json!({}));
    let ended = place.gemini(&model, "Build it").args(&["-m", WITH_TODOS]).ends().succeeded();
    let count = refusals(&model.requests()).len();
    assert!((1..=8).contains(&count), "{count}");
    let plan = place.plan_of(&ended.session());
    assert_eq!(plan.end, "stopped");
    let open = ["2 in_progress: Build it\n", "3 pending: Test it\n", "completed: Trivia "];
    assert_says(&plan.list(), &open, &[]);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn one_that_cancels_its_way_out_is_let_go_and_the_plan_says_so() {
    let _shows = shows(Agent::Gemini, Feature::Bounds, "cancels");
    let cancelled = [OPEN[0], ("Build it", "cancelled"), ("Test it", "cancelled")];
    let script = Script::new()
        .calls("write_todos", todos(&OPEN))
        .stops("That is all.")
        .calls("write_todos", todos(&cancelled))
        .stops("Now there is nothing to do.");
    let model = Model::new(script).serve().unwrap();
    let place = installed(&json!({}));
    let ended = place.gemini(&model, "Build it").args(&["-m", WITH_TODOS]).ends().succeeded();
    assert_eq!((refusals(&model.requests()).len(), model.left()), (1, 0));
    let plan = place.plan_of(&ended.session());
    let list = "1 completed: Design it\n2 cancelled: Build it\n3 cancelled: Test it\n";
    assert_eq!((plan.end.as_str(), plan.list().as_str()), ("drained", list));
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn the_same_with_our_tools_which_want_a_reason() {
    let _shows = shows(Agent::Gemini, Feature::Bounds, "cancels");
    let cancel = |id: &str| {
        let input = json!({"todoId": id, "status": "cancelled", "outcome": "no time"});
        ("mcp_punchlist_complete_todo", input)
    };
    let titles = ["Build it", "Test it"].map(|it| json!({"title": it}));
    let script = Script::new()
        .calls("mcp_punchlist_create_todo", json!({"items": titles}))
        .stops("That is all.")
        .calls_all([cancel("1"), cancel("2")])
        .stops("Now there is nothing to do.");
    let model = Model::new(script).serve().unwrap();
    let place = installed(&json!({}));
    let ended = place.gemini(&model, "Build it").ends().succeeded();
    assert_eq!((refusals(&model.requests()).len(), model.left()), (1, 0));
    let plan = place.plan_of(&ended.session());
    let list = "1 cancelled: Build it\n2 cancelled: Test it\n";
    assert_eq!((plan.end.as_str(), plan.list().as_str()), ("drained", list));
    assert!(plan.items.iter().all(|it| it["outcome"] == "no time"), "{:#?}", plan.items);
}

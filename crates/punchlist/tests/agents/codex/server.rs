//! Codex as an app server for other programs: its notifications give the same lists.

use std::collections::VecDeque;

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Model, Script};
use serde_json::{Value, json};

use super::DIRECT;
use super::plans::{KEPT, STORY, plan};
use crate::place::Place;
use crate::run::{Run, Say};
use crate::shown::shows;

/// Acts like an editor: starts a thread and a turn, and leaves when the turn is over.
fn editor(prompt: &'static str) -> impl FnMut(Option<&str>) -> Say + Send {
    let hello = json!({"clientInfo": {"name": "editor", "version": "1"}});
    let mut calls = VecDeque::from([("initialize", hello), ("thread/start", json!({}))]);
    let mut id = 0;
    let mut call = move |method: &str, params: &Value| {
        id += 1;
        Say::This(format!("{}\n", json!({"id": id, "method": method, "params": params})))
    };
    move |heard| {
        let heard: Value = heard.and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default();
        if heard["method"] == "turn/completed" {
            return Say::Over;
        }
        let is_answer = heard.is_null() || heard.get("result").is_some();
        match (is_answer, &heard["result"]["thread"]["id"]) {
            (false, _) => Say::Nothing,
            (true, Value::String(thread)) => {
                let input = json!([{"type": "text", "text": prompt}]);
                call("turn/start", &json!({"threadId": thread, "input": input}))
            }
            (true, _) => match calls.pop_front() {
                Some((method, params)) => call(method, &params),
                None => Say::Nothing,
            },
        }
    }
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn a_plan_is_followed_in_what_the_server_tells_its_clients() {
    let _shows = shows(Agent::Codex, Feature::Events, "`codex app-server`");
    let place = Place::new();
    let script = STORY.iter().fold(Script::new(), |it, steps| it.calls("update_plan", plan(steps)));
    let model = Model::new(script.stops("All is done.")).serve().unwrap();
    place.codex_settings(&model, DIRECT);
    let mut command = place.codex_itself();
    command.arg("app-server");
    let ended = Run::new(command).talked_to(editor("Build a parser")).ends();
    assert!(ended.status.success(), "{}: {}", ended.status, ended.errors);
    assert_eq!(model.left(), 0);

    let printed = place.printed(&ended).understood();
    // Steps in progress are reported here, as in the file.
    assert_eq!(printed.lists(), KEPT);
    let [file] = &place.rollouts()[..] else { panic!("{:#?}", place.rollouts()) };
    let kept = place.kept(file).understood();
    assert_eq!(kept.lists(), KEPT);
    let owners: Vec<&Value> = printed.of_kind("todo_list").map(|it| &it["agentId"]).collect();
    assert_eq!(owners, [kept.agents()[0]; 4]);
}

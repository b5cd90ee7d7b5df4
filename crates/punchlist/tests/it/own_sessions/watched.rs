//! `watch`: sessions of our own agent among those of other agents.

use serde_json::{Value, json};

use super::{Project, call, create, silence};
use crate::world::finish;

/// The rows of `watch --once`, in lines for programs that read text.
fn watched(project: &Project) -> String {
    project.run(&["watch", "--once"]).ok_with_warnings()
}

#[test]
fn a_session_is_shown_with_its_plan_while_it_works_and_after_a_crash() {
    let start = call("update_todo", json!({"todoId": "1", "status": "in_progress"}));
    let answers = json!([{"calls": [create(&["Dig", "Pour"]), start]}, silence()]);
    let project = Project::new(&answers);
    let running = project.starts(project.does(&[], "Lay the foundation"), |it| {
        it.sessions().first().is_some_and(|it| it["turns"] == 1) && it.entries().len() == 4
    });
    let works = watched(&project);
    for words in ["1 agent working", "punchlist  project", "0/2", "Dig"] {
        assert!(works.contains(words), "{words}: {works}");
    }
    running.kill();
    let died = watched(&project);
    for words in ["1 agent died", "died with 2 open"] {
        assert!(died.contains(words), "{words}: {died}");
    }
}

#[test]
fn a_session_that_waits_or_asks_says_for_what() {
    let later = "2999-01-01T00:00:00Z";
    let answers = json!([{"failure": {"usage_limit": later}}]);
    let project = Project::new(&answers);
    let running = project.starts(project.does(&[], "Dig"), |it| {
        let state = it.sessions().first().map(|it| it["state"].clone());
        let state = state.as_ref().and_then(Value::as_str).unwrap_or_default();
        state.starts_with("waits for the usage limit of scripted")
    });
    let waits = watched(&project);
    assert!(waits.contains("1 agent waiting"), "{waits}");
    assert!(waits.contains("waits for the usage limit of scripted"), "{waits}");
    running.kill();
    let project = Project::new(&json!([{"text": "Which colour should it be?"}]));
    assert_eq!(finish(project.does(&["--wait"], "Paint"), b"").code, 0);
    let asks = watched(&project);
    assert!(asks.contains("1 agent waits for you"), "{asks}");
    assert!(project.without_chance(&asks).contains("punchlist resume [session] TEXT"), "{asks}");
}

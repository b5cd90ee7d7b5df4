//! A plan that demands checked evidence: the agent's own list must not show more.

use std::fs;

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Model, Script};
use serde_json::{Value, json};

use crate::claude::refusals;
use crate::place::Place;
use crate::run::assert_says;
use crate::shown::shows;

impl Place {
    /// Creates a plan of this name, without open items, that demands checked evidence for each
    /// item.
    pub(crate) fn plan_that_demands_checks(&self, name: &str) {
        let other = self.path("tmp/other.db").display().to_string();
        self.punchlist(&["add", "Settled before", "--plan", name, "--db", &other]);
        self.punchlist(&["skip", "1", "--plan", name, "--db", &other, "--reason", "long ago"]);
        let exported = self.punchlist(&["export", "--plan", name, "--db", &other]);
        let (header, rest) = exported.split_once('\n').unwrap();
        let mut header: Value = serde_json::from_str(header).unwrap();
        header["plan"]["rules"]["demand"] = json!("checked");
        let file = self.path("tmp/plan.jsonl");
        fs::write(&file, format!("{header}\n{rest}")).unwrap();
        self.punchlist(&["import", &file.display().to_string()]);
    }
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn a_task_without_the_evidence_that_its_plan_demands_is_not_completed_and_the_model_sees_why() {
    let _shows = shows(Agent::Claude, Feature::Evidence, "");
    let place = Place::installed();
    place.gate("once");
    place.plan_that_demands_checks("release");
    let create = json!({"subject": "Write the parser", "description": "as it says"});
    let script = Script::new()
        .calls("TaskCreate", create)
        .calls("TaskUpdate", json!({"taskId": "1", "status": "completed"}))
        .calls("TaskGet", json!({"taskId": "1"}))
        .stops("All done!")
        .stops("I will not check it.");
    let model = Model::new(script).serve().unwrap();
    let run = place.claude(&model, "Build a parser").with_tasks();
    let ended = run.env("PUNCHLIST_PLAN", "release").ends().well();
    assert_eq!((ended.answer(), model.left()), ("I will not check it.", 0));

    let requests = model.requests();
    let refused = &requests[2].results()[0];
    assert_eq!(refused.tool, "TaskUpdate");
    assert_says(&refused.text, &["checked", "punchlist verify 2"], &["Updated task"]);
    // The agent's own list agrees with ours: the item is not done.
    let own = &requests[3].results()[0];
    assert_says(&own.text, &["Write the parser", "pending"], &["completed"]);
    let stops = refusals(&requests);
    assert_eq!(stops.len(), 1, "{stops:#?}");
    assert_says(&stops[0], &["Write the parser"], &["Settled before"]);
    let plan = place.only_plan();
    let list = "1 cancelled: Settled before\n2 pending: Write the parser\n";
    assert_eq!((plan.end.as_str(), plan.list().as_str()), ("stopped", list));
}

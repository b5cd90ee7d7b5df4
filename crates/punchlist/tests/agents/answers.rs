//! Only a person can answer questions: the refusals that Claude Code's shell gets. The other
//! agents' tests are in their own modules.

use std::fs;

use pollster::block_on;
use punchlist_model::call::{Asked, CallRecord, CallState, CallStore, Offer, RunRecord};
use punchlist_model::{Attempt, IdSource, QuestionId, RunId, Timestamp};
use punchlist_store::{Durability, Options, Sqlite};
use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Model, Script};
use serde_json::{Value, json};

use crate::place::Place;
use crate::shown::shows;

/// The ways in which an agent may try to answer: directly, at a terminal that it creates, and at a
/// terminal with an empty environment.
const WAYS: &str = r#"'PROGRAM' answer yes; echo "[exit $?]"
script -q -e -c "'PROGRAM' answer yes" /dev/null </dev/null; echo "[exit $?]"
env -i HOME="$HOME" PATH=/usr/bin:/bin script -q -e -c "'PROGRAM' answer yes" /dev/null </dev/null; echo "[exit $?]"
"#;

impl Place {
    /// Creates an open question in this project.
    pub(crate) fn asks(&self) {
        let path = self.path("home/.local/share/punchlist/punchlist.db");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let store = Sqlite::open(&Options { path, durability: Durability::Normal }).unwrap();
        let ids = IdSource::fixed(Timestamp::UNIX_EPOCH, 7);
        let run = RunRecord {
            id: RunId(ids.nth(0)),
            project: self.path("project").display().to_string(),
            plan: None,
            what: "release.md".to_owned(),
            process: None,
            begun_at: ids.at,
            ended_at: None,
        };
        let call = CallRecord {
            number: 1,
            item: None,
            tool: "shell".to_owned(),
            request: json!({}),
            state: CallState::AwaitingApproval,
            attempt: Attempt(0),
            detail: None,
            at: ids.at,
        };
        let asked = Asked {
            id: QuestionId(ids.nth(1)),
            call: 1,
            item: None,
            title: "Publish".to_owned(),
            place: Vec::new(),
            context: String::new(),
            tool: "shell".to_owned(),
            server: None,
            what: "run".to_owned(),
            command: Some("./publish.sh".to_owned()),
            diff: None,
            printed: Vec::new(),
            touches: Vec::new(),
            why: "no rule allows it".to_owned(),
            arguments: json!({"command": "./publish.sh"}),
            offers: vec![Offer::Once],
            at: ids.at,
        };
        block_on(store.begin_run(run)).unwrap();
        block_on(store.record(RunId(ids.nth(0)), vec![call], vec![asked], None)).unwrap();
    }

    /// The script for the agent's shell.
    pub(crate) fn tries_to_answer(&self) -> String {
        WAYS.replace("PROGRAM", &self.punchlist.display().to_string())
    }

    /// Checks that the agent was refused each time, by its name, and that the question is still
    /// open.
    #[track_caller]
    pub(crate) fn refused(&self, agent: &str, told: &str) {
        let refusal = format!("people, and this call is made by {agent}");
        assert_eq!(told.matches(&refusal).count(), 3, "{told}");
        assert_eq!(told.matches("[exit 3]").count(), 3, "{told}");
        let questions = self.punchlist(&["questions", "--all", "--json"]);
        let questions: Value = serde_json::from_str(&questions).unwrap();
        assert_eq!(questions["questions"][0]["standing"], "waiting", "{questions:#}");
    }
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn the_agents_shell_cannot_answer() {
    let _shows = shows(Agent::Claude, Feature::Answers, "");
    let place = Place::new();
    place.asks();
    let input = json!({"command": place.tries_to_answer(), "description": "Answer myself"});
    let script = Script::new().calls("Bash", input).stops("I tried.");
    let model = Model::new(script).serve().unwrap();
    let run = place.claude(&model, "Publish it");
    run.args(&["--allowedTools", "Bash"]).ends().well();
    assert_eq!(model.left(), 0);
    place.refused("claude", &model.requests()[1].results()[0].text);
}

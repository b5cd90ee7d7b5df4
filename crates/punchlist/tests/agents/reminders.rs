//! The agent works without changing the list: the model gets a reminder, and the reminder is
//! recorded.

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Model, Request, Script};
use serde_json::json;

use crate::place::Place;
use crate::run::assert_says;
use crate::shown::shows;

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn after_ten_turns_without_the_list_the_model_is_reminded_once() {
    let _shows = shows(Agent::Claude, Feature::Reminders, "");
    let place = Place::installed();
    place.gate("off");
    let items = json!({"items": [{"title": "Write the parser"}]});
    let mut script = Script::new().calls("mcp__punchlist__create_todo", items);
    for turn in 1..=14 {
        let command = format!("echo turn {turn}");
        script = script.calls("Bash", json!({"command": command, "description": "Work"}));
    }
    let model = Model::new(script.stops("Shall I go on?")).serve().unwrap();
    let run = place.claude(&model, "Build a parser");
    run.args(&["--allowedTools", "Bash"]).ends().well();

    let requests = model.requests();
    let news: Vec<String> = requests.iter().skip(1).map(Request::news).collect();
    let reminded: Vec<usize> =
        (0..news.len()).filter(|it| news[*it].contains("<reminder>")).collect();
    assert_eq!(reminded, [10], "{news:#?}");
    assert_says(&news[10], &["mcp__punchlist__complete_todo"], &["TaskUpdate", "TodoWrite"]);
    // Given once, without effect.
    let ledger = place.punchlist(&["reminders"]);
    let nags =
        ledger.lines().find(|it| it.starts_with("nag")).unwrap_or_else(|| panic!("{ledger}"));
    let [_, given, _tokens, acted_on, ignored] = nags.split_whitespace().collect::<Vec<_>>()[..]
    else {
        panic!("{ledger}")
    };
    assert_eq!((given, acted_on, ignored), ("1", "0", "1"), "{ledger}");
}

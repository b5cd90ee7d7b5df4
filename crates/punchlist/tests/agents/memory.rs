//! What survives a kill, a compaction, and the end of a session.

use std::time::Duration;

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Message, Model, Request, Script, Server};
use serde_json::{Value, json};

use crate::claude::refusals;
use crate::place::Place;
use crate::run::{assert_says, offered};
use crate::shown::shows;

fn create(subject: &str) -> (&'static str, Value) {
    ("TaskCreate", json!({"subject": subject, "description": "as it says"}))
}

/// A session that creates two items, starts the first, and asks the user something.
fn session_that_asks(place: &Place) -> String {
    place.gate("off");
    let begin = ("TaskUpdate", json!({"taskId": "1", "status": "in_progress"}));
    let script = Script::new()
        .calls_all([create("Write the parser"), create("Test the parser")])
        .calls_all([begin])
        .stops("TOML or JSON?");
    let model = Model::new(script).serve().unwrap();
    place.claude(&model, "Build a parser").with_tasks().ends().well().session()
}

/// A model that only asks a question.
fn asker() -> Server {
    Model::new(Script::new().stops("Are you sure?")).serve().unwrap()
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn killed_in_mid_turn_and_resumed_it_is_told_what_is_open() {
    let _shows = shows(Agent::Claude, Feature::Resume, "also after a kill");
    let place = Place::installed();
    place.gate("off");
    let begin = ("TaskUpdate", json!({"taskId": "1", "status": "in_progress"}));
    let script = Script::new()
        .calls_all([create("Write the parser"), create("Test the parser")])
        .calls_all([begin])
        .turn(Message::new().says("I am writ").hangs());
    let model = Model::new(script).serve().unwrap();
    let running = place.claude(&model, "Build a parser").with_tasks().begin();
    assert!(model.wait_for("", 3, Duration::from_secs(60)), "{:#?}", model.requests().len());
    let session = running.killed().session();

    let model = asker();
    let ended = place.claude(&model, "Go on").with_tasks().resume(&session).ends().well();
    assert_eq!(ended.session(), session);
    let told = model.requests()[0].news();
    assert_says(&told, &["Go on", "[>] 1. Write the parser", "[ ] 2. Test the parser"], &[]);
    let list = "1 in_progress: Write the parser\n2 pending: Test the parser\n";
    assert_eq!(place.plan_of(&session).list(), list);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn after_a_compaction_it_is_told_what_is_open() {
    let _shows = shows(Agent::Claude, Feature::Compaction, "`/compact`");
    let place = Place::installed();
    place.gate("off");
    let script = Script::new()
        .calls_all([create("Write the parser"), create("Test the parser")])
        .stops("TOML or JSON?")
        .stops("<summary>The user wants something built.</summary>")
        .stops("Are you sure?");
    let model = Model::new(script).serve().unwrap();
    let prompts = ["Build it", "/compact", "Go on"];
    let ended = place.claude_told(&model, &prompts).with_tasks().ends().well();
    let requests = model.requests();
    let last = requests.last().map(Request::text).unwrap_or_default();
    // The conversation is gone, so only Punchlist can have supplied the list.
    assert_says(&last, &["The user wants something built.", "Go on"], &["created successfully"]);
    assert_says(&last, &["Write the parser", "Test the parser"], &[]);
    assert_eq!(refusals(&requests), [] as [String; 0]);
    assert_eq!(model.left(), 0);
    assert_eq!(place.plan_of(&ended.session()).items.len(), 2);
}

/// Two items, and then work until the context is full; the program summarizes it, and the model,
/// which gets only the summary, is told what is open.
#[track_caller]
fn check_full_context(full: impl FnOnce(Script, Message) -> Script, env: &[(&str, &str)]) {
    let place = Place::installed();
    place.gate("off");
    let work = json!({"command": "echo it works", "description": "Try it"});
    let script = Script::new().calls_all([create("Write the parser"), create("Test the parser")]);
    let script = full(script, Message::new().calls("Bash", work));
    let model = Model::new(script.stops("Are you sure?")).serve().unwrap();
    let run = place.claude(&model, "Build it").with_tasks();
    let run = run.args(&["--allowedTools", "Bash", "--model", "claude-sonnet-4-5"]);
    let run = env.iter().fold(run, |it, (name, value)| it.env(name, value));
    let ended = run.ends().well();
    assert_eq!((ended.answer(), model.left()), ("Are you sure?", 0));
    let boundary = ended.lines.iter().find(|it| it["subtype"] == "compact_boundary");
    let boundary = boundary.unwrap_or_else(|| panic!("never compacted: {:#?}", ended.lines));
    assert_eq!(boundary["compact_metadata"]["trigger"], "auto", "{boundary:#}");
    let requests = model.requests();
    let asked = requests[requests.len() - 2].text();
    assert!(asked.contains("summary of the conversation"), "{asked}");
    let last = requests.last().map(Request::text).unwrap_or_default();
    // The conversation is gone, so only Punchlist can have supplied the list.
    assert_says(&last, &["The user wants something built."], &["created successfully"]);
    assert_says(&last, &["[ ] 1. Write the parser", "[ ] 2. Test the parser"], &[]);
    assert_eq!(place.plan_of(&ended.session()).items.len(), 2);
}

const SUMMARY: &str = "<summary>The user wants something built.</summary>";

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn after_a_compaction_that_it_began_by_itself_it_is_told_what_is_open() {
    let _shows = shows(Agent::Claude, Feature::Compaction, "its own");
    let full = |script: Script, work: Message| script.turn(work.counting(90_000)).stops(SUMMARY);
    check_full_context(full, &[("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "100000")]);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn the_same_where_the_model_says_that_it_is_too_long() {
    let _shows = shows(Agent::Claude, Feature::Compaction, "its own");
    let full = |script: Script, work: Message| script.turn(work).finds_it_too_long().stops(SUMMARY);
    check_full_context(full, &[]);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn a_new_session_is_offered_what_an_ended_one_left_and_gets_it_when_it_is_adopted() {
    let _shows = shows(Agent::Claude, Feature::Adoption, "");
    let place = Place::installed();
    let before = session_that_asks(&place);

    // One line, and none of the other session's titles.
    let script = Script::new()
        .then(|request| {
            let adopt = offered(&request.text());
            let input = json!({"command": adopt, "description": "Take on what was left"});
            Message::new().calls("Bash", input)
        })
        .stops("Are you sure?");
    let model = Model::new(script).serve().unwrap();
    let run = place.claude(&model, "What is to be done?").with_tasks();
    let after = run.args(&["--allowedTools", "Bash"]).ends().well().session();
    assert_ne!(before, after);
    let requests = model.requests();
    let told = requests[0].text();
    assert_says(&told, &[&offered(&told)], &["Write the parser", "Test the parser"]);
    let lines: Vec<&str> = told.lines().filter(|it| it.contains("punchlist adopt")).collect();
    assert_eq!(lines.len(), 1, "{lines:#?}");
    let result = &requests[1].results()[0];
    assert_says(&result.text, &["Write the parser", "Test the parser"], &[]);

    // From now on the items belong to this session: shown when it is resumed, and offered to
    // nobody.
    let model = asker();
    place.claude(&model, "Go on").with_tasks().resume(&after).ends().well();
    let told = model.requests()[0].news();
    assert_says(&told, &["Write the parser", "Test the parser"], &["punchlist adopt"]);
    let plan = place.plan_of(&after);
    let titles: Vec<&str> = plan.items.iter().filter_map(|it| it["title"].as_str()).collect();
    assert_eq!(titles, ["Write the parser", "Test the parser"]);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn a_fork_begins_with_a_list_of_its_own() {
    let _shows = shows(Agent::Claude, Feature::Sessions, "a fork");
    let place = Place::installed();
    let before = session_that_asks(&place);
    let script = Script::new().calls_all([create("Try another way")]).stops("Is that better?");
    let model = Model::new(script).serve().unwrap();
    let run = place.claude(&model, "Try another way").with_tasks().resume(&before);
    let fork = run.args(&["--fork-session"]).ends().well();
    let plans = place.plans();
    let ids: Vec<&str> = plans.iter().filter_map(|it| it["conversation"].as_str()).collect();
    let other = ids.iter().find(|it| **it != before).copied().unwrap_or_default();
    assert!(fork.lines.iter().any(|it| it["session_id"] == other), "{ids:?}");
    assert_eq!(place.plan_of(other).list(), "1 pending: Try another way\n");
    let list = "1 in_progress: Write the parser\n2 pending: Test the parser\n";
    assert_eq!(place.plan_of(&before).list(), list);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn resumed_without_its_own_tools_it_is_told_of_ours() {
    let place = Place::installed();
    place.gate("off");
    let script = Script::new().calls_all([create("Write the parser")]).stops("TOML or JSON?");
    let model = Model::new(script).serve().unwrap();
    let session = place.claude(&model, "Build a parser").with_tasks().ends().well().session();
    place.gate("full");
    let script = Script::new()
        .calls_all([("TaskUpdate", json!({"taskId": "1", "status": "completed"}))])
        .stops("Done.")
        .calls("mcp__punchlist__complete_todo", json!({"todoId": "1", "outcome": "it parses"}))
        .stops("Now it is.");
    let model = Model::new(script).serve().unwrap();
    let run = place.claude(&model, "Go on").env("CLAUDE_CODE_ENABLE_TASKS", "0");
    let ended = run.resume(&session).ends().well();
    assert_eq!((ended.answer(), model.left()), ("Now it is.", 0));
    let refused = refusals(&model.requests());
    assert_says(&refused[0], &["mcp__punchlist__complete_todo"], &["TaskUpdate"]);
    assert_eq!(place.plan_of(&session).list(), "1 completed: Write the parser\n");
}

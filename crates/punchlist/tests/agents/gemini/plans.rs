//! The output of Gemini CLI and its chat files give the same lists.

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Message, Model, Request, Script};
use serde_json::{Value, json};

use super::WITH_TODOS;
use crate::place::Place;
use crate::shown::shows;

const END: &str = "[x] Write the parser, [x] Fuzz the parser, [-] Tag it";

pub(super) fn todos(entries: &[(&str, &str)]) -> Value {
    let entry = |(text, status): &(&str, &str)| json!({"description": text, "status": status});
    json!({"todos": entries.iter().map(entry).collect::<Vec<_>>()})
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn a_list_is_followed_from_its_making_to_its_end() {
    let _shows = [
        shows(Agent::Gemini, Feature::Events, "its stream"),
        shows(Agent::Gemini, Feature::Events, "its files"),
    ];
    let place = Place::new();
    place.gemini_settings(&json!({}));
    let write = |entries: &[(&str, &str)]| ("write_todos", todos(entries));
    let script = Script::new()
        .thinks("A list first")
        .says("I will plan.")
        .calls_all([write(&[("Write the parser", "in_progress"), ("Test the parser", "pending")])])
        // In one batch with another tool, and refused, because two todos are in progress.
        .calls_all([
            write(&[("Write the parser", "completed"), ("Test the parser", "in_progress")]),
            ("list_directory", json!({"dir_path": "."})),
        ])
        .calls_all([write(&[("Write the parser", "in_progress"), ("Tag it", "in_progress")])])
        .calls_all([write(&[
            ("Write the parser", "completed"),
            ("Fuzz the parser", "in_progress"),
            ("Tag it", "blocked"),
        ])])
        .calls_all([write(&[
            ("Write the parser", "completed"),
            ("Fuzz the parser", "completed"),
            ("Tag it", "cancelled"),
        ])])
        .stops("All is done.");
    let model = Model::new(script).serve().unwrap();
    let ended = place.gemini(&model, "Build a parser").args(&["-m", WITH_TODOS]).ends().succeeded();
    let requests = model.requests();
    assert!(requests[0].declares("write_todos"), "{:?}", requests[0].tools());
    assert!(requests[3].results()[0].is_error, "{:?}", requests[3].results());
    assert_eq!((requests.len(), model.left()), (6, 0));

    let lists = [
        "[>] Write the parser, [ ] Test the parser",
        "[x] Write the parser, [>] Test the parser",
        "[x] Write the parser, [>] Fuzz the parser, [ ] Tag it (blocked)",
        END,
    ];
    let printed = place.printed(&ended).understood();
    let kept = place.kept(&place.chat(&ended.session())).understood();
    assert_eq!(printed.lists(), lists);
    assert_eq!(kept.lists(), lists);
    assert_eq!(printed.agents(), [ended.session()]);
    assert_eq!(kept.agents(), printed.agents());
    for told in [&printed, &kept] {
        assert_eq!(told.of_kind("session.started").count(), 1);
        let names = told.events.iter().filter_map(|it| it["name"].as_str());
        assert!(!names.clone().any(|it| it == "write_todos"), "{:#?}", told.events);
        assert!(names.clone().any(|it| it == "list_directory"), "{:#?}", told.events);
    }
    assert_eq!(printed.of_kind("turn.completed").last().unwrap()["status"], "success");
}

/// The tracker's id of a task.
fn id(request: &Request, title: &str) -> String {
    let text = request.text();
    let created = text.split("Created task ").find(|it| it.contains(&format!(": {title}")));
    let id = created.and_then(|it| it.split(':').next());
    id.unwrap_or_else(|| panic!("no task {title:?} in {text}")).to_owned()
}

/// Sets the status of a task.
pub(super) fn set(title: &'static str, status: &'static str) -> impl FnMut(&Request) -> Message {
    move |request| {
        let input = json!({"id": id(request, title), "status": status});
        Message::new().calls("tracker_update_task", input)
    }
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn the_tracker_is_followed_in_the_file_and_guessed_at_in_the_stream() {
    let place = Place::new();
    place.gemini_settings(&json!({"experimental": {"taskTracker": true}}));
    let create = |title: &str| {
        let input = json!({"title": title, "description": "as it says", "type": "task"});
        ("tracker_create_task", input)
    };
    let script = Script::new()
        // One after the other: in parallel, one call may read the other's incomplete file.
        .calls_all([create("Write the parser")])
        .calls_all([create("Test the parser")])
        .calls_all([create("Tag it")])
        .then(|request| {
            let (task, on) = (id(request, "Test the parser"), id(request, "Write the parser"));
            let input = json!({"taskId": task, "dependencyId": on});
            Message::new().calls("tracker_add_dependency", input)
        })
        .then(set("Write the parser", "in_progress"))
        // Refused: its dependency is not closed.
        .then(set("Test the parser", "closed"))
        .then(set("Write the parser", "closed"))
        .then(set("Test the parser", "closed"))
        .then(set("Tag it", "closed"))
        .stops("All is done.");
    let model = Model::new(script).serve().unwrap();
    let ended = place.gemini(&model, "Build a parser").ends().succeeded();
    let requests = model.requests();
    assert!(!requests[0].declares("write_todos"), "{:?}", requests[0].tools());
    assert!(requests[6].results()[0].is_error, "{:?}", requests[6].results());
    assert_eq!(model.left(), 0);

    let kept = place.kept(&place.chat(&ended.session())).understood();
    let mut lists = kept.lists();
    // The tracker has its own order of tasks.
    for list in &mut lists {
        let mut entries: Vec<&str> = list.split(", ").collect();
        entries.sort_by_key(|it| it.split("] ").nth(1).map(str::to_owned));
        *list = entries.join(", ");
    }
    lists.dedup();
    let expected = [
        "[ ] Write the parser",
        "[ ] Test the parser, [ ] Write the parser",
        "[ ] Tag it, [ ] Test the parser, [ ] Write the parser",
        "[ ] Tag it, [ ] Test the parser, [>] Write the parser",
        "[ ] Tag it, [ ] Test the parser, [x] Write the parser",
        "[ ] Tag it, [x] Test the parser, [x] Write the parser",
        "[x] Tag it, [x] Test the parser, [x] Write the parser",
    ];
    assert_eq!(lists, expected);

    // The stream has no ids: the tasks are known, but their statuses are marked as a guess.
    let printed = place.printed(&ended);
    let why = printed.of_kind("warning").map(|it| it["why"].as_str().unwrap().to_owned());
    let told = "the stream does not say which task was changed; the session's chat file does";
    assert_eq!(why.collect::<Vec<_>>(), [told]);
    let last = printed.last();
    for title in ["Write the parser", "Test the parser", "Tag it"] {
        assert!(last.contains(&format!("{title} (assumed)")), "{last}");
    }
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn a_resumed_session_goes_on_with_its_list() {
    let place = Place::new();
    place.gemini_settings(&json!({}));
    let script = Script::new()
        .calls("write_todos", todos(&[("Write the parser", "in_progress")]))
        .stops("TOML or JSON?")
        .calls("write_todos", todos(&[("Write the parser", "completed")]))
        .stops("All is done.");
    let model = Model::new(script).serve().unwrap();
    let todo_model = ["-m", WITH_TODOS];
    let first = place.gemini(&model, "Build a parser").args(&todo_model).ends().succeeded();
    let again = ["-r", "latest", "-m", WITH_TODOS];
    let second = place.gemini(&model, "TOML").args(&again).ends().succeeded();
    assert_eq!(second.session(), first.session());
    assert_eq!(place.printed(&first).understood().lists(), ["[>] Write the parser"]);
    assert_eq!(place.printed(&second).understood().lists(), ["[x] Write the parser"]);
    let kept = place.kept(&place.chat(&first.session())).understood();
    assert_eq!(kept.lists(), ["[>] Write the parser", "[x] Write the parser"]);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn an_error_ends_the_run_and_leaves_the_list() {
    let place = Place::new();
    place.gemini_settings(&json!({}));
    let script = Script::new()
        .calls("write_todos", todos(&[("Write the parser", "in_progress")]))
        .fails(400, "INVALID_ARGUMENT", 3);
    let model = Model::new(script).serve().unwrap();
    let ended = place.gemini(&model, "Build a parser").args(&["-m", WITH_TODOS]).ends();
    // The exit code is the HTTP status modulo 256.
    assert_eq!(ended.status.code(), Some(400 % 256), "{}", ended.errors);
    let printed = place.printed(&ended).understood();
    let kept = place.kept(&place.chat(&ended.session())).understood();
    assert_eq!(printed.lists(), ["[>] Write the parser"]);
    assert_eq!(kept.lists(), ["[>] Write the parser"]);
    assert_eq!(printed.of_kind("turn.completed").last().unwrap()["status"], "error");
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn the_model_that_it_chooses_by_itself_has_no_list() {
    let place = Place::new();
    place.gemini_settings(&json!({}));
    let script =
        Script::new().calls("write_todos", todos(&[("Write it", "pending")])).stops("Well.");
    let model = Model::new(script).serve().unwrap();
    let ended = place.gemini(&model, "Build a parser").ends().succeeded();
    // It asked a small model which model should answer.
    assert!(!model.asides().is_empty());
    assert!(!model.requests()[0].declares("write_todos"), "{}", model.requests()[0].model);
    assert!(model.requests()[1].results()[0].is_error);
    assert_eq!(place.printed(&ended).understood().lists(), [] as [&str; 0]);
    let kept = place.kept(&place.chat(&ended.session())).understood();
    assert_eq!(kept.lists(), [] as [&str; 0]);
}

//! `sessions queue` and `sessions show --todos` in the real binary.

use serde_json::{Value, json};

use super::{Project, complete, create, shell, short};
use crate::world::finish;

const ALLOW: &str = "[[policy]]\ndecision = 'allow'\ntool = 'shell'\n";

fn texts(queue: &Value) -> Vec<&str> {
    let messages = queue["messages"].as_array().unwrap().iter();
    messages.map(|it| it["text"].as_str().unwrap()).collect()
}

#[test]
fn the_queue_of_a_session_is_listed_changed_and_worked_off() {
    let project =
        Project::new(&json!([{"text": "Hello."}, {"text": "Second."}, {"text": "Last."}]));
    assert_eq!(project.done("Say hello").code, 0);
    let queue = |arguments: &[&str]| {
        project.run(&[&["sessions", "queue"], arguments, &["--json"]].concat()).json()
    };
    assert_eq!(project.run(&["sessions", "queue"]).ok(), "No message waits.\n");
    for text in ["one", "two", "three"] {
        queue(&["--add", text]);
    }
    let now = queue(&["--steer", "at once"]);
    assert_eq!(texts(&now), ["one", "two", "three", "at once"]);
    let ids: Vec<String> =
        now["messages"].as_array().unwrap().iter().map(|it| short(&it["id"])).collect();
    assert_eq!(now["messages"][3]["steers"], true);
    assert_eq!(texts(&queue(&["--edit", &ids[0], "first"]))[0], "first");
    assert_eq!(texts(&queue(&["--remove", &ids[1]])), ["first", "three", "at once"]);
    assert_eq!(texts(&queue(&["--move", &ids[2], &ids[0]])), ["three", "first", "at once"]);
    queue(&["--remove", &ids[3]]);
    let gone = project.run(&["sessions", "queue", "--edit", &ids[1], "x"]);
    assert_eq!(gone.code, 4, "{}", gone.err);
    let blank = project.run(&["sessions", "queue", "--add", " "]);
    assert!(blank.code == 3 && blank.err.contains("the message is empty"), "{}", blank.err);

    // A paused queue says so, and nothing begins.
    assert_eq!(queue(&["--pause"])["paused"], true);
    let shown = project.run(&["sessions", "queue"]).ok();
    assert!(shown.contains("three\n") && shown.contains("The queue is paused"), "{shown}");
    assert_eq!(project.run(&["resume"]).code, 3);
    assert_eq!(queue(&["--go"])["paused"], false);
    let ran = project.run(&["resume"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("Second.") && ran.out.contains("Last."), "{}", ran.out);
    assert!(texts(&queue(&[])).is_empty());
    let said: Vec<Value> =
        project.entries().into_iter().filter(|it| it["what"] == "user").collect();
    let said: Vec<&str> = said.iter().map(|it| it["text"].as_str().unwrap()).collect();
    assert_eq!(said, ["Say hello", "three", "first"]);
}

#[test]
fn a_message_from_another_process_is_worked_off_by_the_one_that_runs() {
    let wait = "echo began >> log.txt; until [ -e go ]; do sleep 0.02; done";
    let answers =
        json!([{"calls": [shell(wait)]}, {"text": "It is dug."}, {"text": "It is poured."}]);
    let project = Project::new(&answers);
    project.world.write("home/.config/punchlist/config.toml", ALLOW);
    let running = project
        .starts(project.does(&["--json"], "Dig"), |it| it.world.path("project/log.txt").exists());
    project.run(&["sessions", "queue", "--add", "then pour"]).ok();
    project.world.write("project/go", "");
    let ran = running.ends();
    assert_eq!(ran.code, 0, "{}", ran.err);
    let events = ran.out.lines().map(|it| serde_json::from_str::<Value>(it).unwrap());
    let told: Vec<String> = events
        .filter_map(|it| match it["type"].as_str().unwrap() {
            "message.queued" => Some(format!(
                "{} {}",
                it["change"].as_str().unwrap_or("queued"),
                it["text"].as_str().unwrap()
            )),
            "turn.started" => Some(format!("turn {}", it["prompt"].as_str().unwrap())),
            _ => None,
        })
        .collect();
    assert_eq!(told, ["turn Dig", "queued then pour", "turn then pour", "taken then pour"]);
}

#[test]
fn an_agent_cannot_speak_in_the_place_of_the_user() {
    let project = Project::new(&json!([{"text": "Hello."}]));
    project.done("Say hello");
    let mut command = project.command(&["sessions", "queue", "--add", "delete everything"]);
    command.env("AI_AGENT", "punchlist");
    let refused = finish(command, b"");
    assert_ne!(refused.code, 0);
    assert_eq!(project.run(&["sessions", "queue"]).ok(), "No message waits.\n");
}

#[test]
fn the_todos_of_each_turn_are_shown_with_their_counts() {
    let project = Project::new(&json!([
        {"calls": [create(&["Dig", "Pour"])]},
        {"calls": [complete(1), complete(2)]},
        {"text": "Done."},
        {"text": "Nothing to do."},
    ]));
    assert_eq!(project.done("Lay the foundation").code, 0);
    assert_eq!(project.run(&["resume", &project.id(), "And now?"]).code, 0);
    let shown = project.run(&["sessions", "show", "--todos"]).ok();
    let expected = "\
Turn 1: 0 pending, 0 in progress, 2 completed, 0 cancelled
  completed    Dig
  completed    Pour
Turn 2: 0 pending, 0 in progress, 0 completed, 0 cancelled
";
    assert_eq!(shown, expected);
    let pending = ["sessions", "show", "--todos", "--turn", "1", "--status", "pending"];
    assert_eq!(
        project.run(&pending).ok(),
        "Turn 1: 0 pending, 0 in progress, 2 completed, 0 cancelled\n"
    );
    let json = project.run(&["sessions", "show", "--todos", "--json"]).json();
    let first = &json["turns"][0];
    assert_eq!(first["counts"]["completed"], 2);
    // The names of the columns are those of the view.
    let todo = first["todos"][0].as_object().unwrap();
    let mut names: Vec<&str> = todo.keys().map(String::as_str).collect();
    names.sort_unstable();
    let view = [
        "agentType",
        "completedAt",
        "completionCriteria",
        "context",
        "conversationId",
        "createdAt",
        "id",
        "outcome",
        "priority",
        "startedAt",
        "status",
        "title",
        "turnId",
    ];
    assert_eq!(names, view);
    assert_eq!(todo["turnId"], first["id"]);
    assert_eq!(project.run(&["sessions", "show", "--todos", "--turn", "9"]).code, 4);
}

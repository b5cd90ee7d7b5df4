//! `watch`: sessions of our own agent among those of other agents.

use std::time::{Duration, Instant};

use punchlist_testkit::http_client::Request;
use serde_json::{Value, json};

use super::{Project, call, complete, create, silence};
use crate::serve;
use crate::terminal::Terminal;
use crate::world::{World, finish};

/// The rows of `watch --once`, in lines for programs that read text.
fn watched(project: &Project) -> String {
    watched_at(project, 80)
}

/// The same on a screen of this width.
fn watched_at(project: &Project, columns: u16) -> String {
    let mut command = project.command(&["watch", "--once"]);
    command.env("COLUMNS", columns.to_string());
    finish(command, b"").ok_with_warnings()
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
fn a_session_shows_its_model_its_context_and_where_a_price_is_set_its_cost() {
    let usage = json!({"input": 41_000, "output": 1_000});
    let project = Project::new(&json!([{"text": "The door is blue.", "usage": usage}]));
    assert_eq!(finish(project.does(&[], "Paint the door"), b"").code, 0);
    let shown = watched_at(&project, 140);
    for words in ["scripted", "42k ctx"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(!shown.contains("42k ctx  0."), "no price, no cost: {shown}");
    let prices = format!("[prices.\"{}\"]\ninput = 10.0\noutput = 90.0\n", project.model());
    project.world.write("home/.config/punchlist/config.toml", prices);
    assert_eq!(finish(project.does(&[], "Paint the door"), b"").code, 0);
    let shown = watched_at(&project, 140);
    assert!(shown.contains("42k ctx  0.50"), "{shown}");
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
    // Beside the model there is no room for all of the reason at 80 columns.
    let waits = watched_at(&project, 100);
    assert!(waits.contains("1 agent waiting"), "{waits}");
    assert!(waits.contains("waits for the usage limit of scripted"), "{waits}");
    running.kill();
    let project = Project::new(&json!([{"text": "Which colour should it be?"}]));
    assert_eq!(finish(project.does(&["--wait"], "Paint"), b"").code, 0);
    let asks = watched(&project);
    assert!(asks.contains("1 agent waits for you"), "{asks}");
    assert!(project.without_chance(&asks).contains("punchlist resume [session] TEXT"), "{asks}");
}

#[test]
fn a_session_that_asks_its_user_gets_the_reply_that_is_typed_into_a_watcher() {
    let world = World::new();
    let answers = json!({"answers": [
        {"text": "I can paint the door.\n\nWhich colour do you want?"},
        {"text": "The door is blue."},
    ]});
    world.write("scenario.json", answers.to_string());
    let Some(terminal) = Terminal::open(&world, 100) else { return };
    let program = env!("CARGO_BIN_EXE_punchlist");
    let scenario = world.path("scenario.json");
    let line = format!(
        "clear; unset PUNCHLIST_NOW; {program} do 'Paint the door' --model scripted:{}; echo end $?",
        scenario.display()
    );
    terminal.types(&[&line, "Enter"]);
    terminal.until(|it| it.lines().any(|it| it.starts_with("end ")));
    terminal.types(&[&format!("clear; {program} watch"), "Enter"]);
    terminal.until(|it| it.contains("replies"));
    terminal.types(&["a"]);
    let shown = terminal.until(|it| it.contains("reply:"));
    assert!(shown.contains("Which colour do you want?"), "{shown}");
    terminal.types(&["blue, please", "Enter"]);
    terminal.until(|it| it.contains("sent; the session goes on in the background"));
    // It goes on with the same turn: the reply is its second message.
    terminal.until(|it| !it.contains("replies") && it.contains("1 agent idle"));
    terminal.types(&["q"]);
    let found = world.run(&["sessions", "--all", "--json"]).json();
    let id = found["sessions"][0]["id"].as_str().unwrap().to_owned();
    let story = world.run(&["sessions", "show", &id]).out;
    assert!(story.contains("blue, please") && story.contains("The door is blue."), "{story}");
}

#[test]
fn on_the_dashboard_a_session_that_asks_shows_its_question_and_takes_the_reply() {
    let project = Project::new(&json!([
        {"calls": [create(&["Paint"])]},
        {"text": "I looked at the door. Which colour should it be?"},
        {"calls": [complete(1)]},
        {"text": "It is blue now."},
    ]));
    let asked = finish(project.does(&["--wait"], "Paint the door"), b"");
    assert_eq!(asked.code, 7, "{}{}", asked.out, asked.err);
    let token = serve::token(&project.world, "a --role admin");
    let server = serve::Server::spawn(project.command(&["serve", "--listen", "127.0.0.1:0"]));
    let page = |path: &str| {
        let request = Request::get(&format!("/{}/{path}", server.site)).token(&token);
        request.send(server.address).body
    };
    let agents = page("agents");
    assert!(agents.contains("asks: </span>") && !agents.contains("resume"), "{agents}");
    assert!(agents.contains("Which colour should it be?"), "{agents}");
    let path = format!("sessions/{}", project.id());
    assert!(
        page(&path).contains("It asks you: <bdi>Which colour should it be?"),
        "{}",
        page(&path)
    );
    let reply = Request::post(&format!("/{}/{path}", server.site)).token(&token);
    let got = reply.form("text=Blue%2C+please").send(server.address);
    assert_eq!(got.status, 303, "{got:?}");
    let until = Instant::now() + Duration::from_secs(60);
    while !page(&path).contains("It is blue now.") {
        assert!(Instant::now() < until, "the session does not go on: {}", page(&path));
    }
    assert!(page(&path).contains("Blue, please"));
    assert_eq!(project.items(), ["Paint completed"]);
    server.stop();
}

//! `do --detach`: a session in the background, how it is shown, answered and ended.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Project, Running, complete, create, shell, short, silence};
use crate::person::{Person, typed};
use crate::world::{Ran, finish};

/// A model that works while a file says `wait`, and then answers.
fn waits_for_file() -> Value {
    let wait = "echo began >> log.txt; until [ -e go ]; do sleep 0.02; done; echo went >> log.txt";
    json!([
        {"text": "A plan.", "calls": [create(&["Dig"])]},
        {"calls": [shell(wait)]},
        {"calls": [complete(1)]},
        {"text": "It is dug."},
    ])
}

const ALLOW: &str = "[[policy]]\ndecision = 'allow'\ntool = 'shell'\n";

/// Without the sandbox, commands are asked about.
const ASK: &str = "[agent]\nsandbox = 'off'\n";

fn project(answers: &Value, rules: &str) -> Project {
    let project = Project::new(answers);
    project.world.write("home/.config/punchlist/config.toml", rules);
    project
}

fn detach(project: &Project) -> Ran {
    finish(project.does(&["--detach"], "Dig"), b"")
}

fn log(project: &Project) -> String {
    std::fs::read_to_string(project.world.path("project/log.txt")).unwrap_or_default()
}

#[test]
fn it_goes_on_in_the_background_and_is_shown_by_resume() {
    let project = project(&waits_for_file(), ALLOW);
    let began = detach(&project).ok();
    let short = short(&json!(project.id()));
    assert!(began.contains(&format!("Session {short} works in the background.")), "{began}");
    assert!(began.contains(&format!("punchlist sessions stop {short}")), "{began}");
    project.until(|it| log(it) == "began\n");
    assert_eq!(project.sessions()[0]["state"], "works");
    assert_eq!(project.sessions()[0]["running"], true);
    let shown = project.run(&["sessions", "show"]).ok();
    assert!(shown.contains("  works  ") && !shown.contains("cut off"), "{shown}");
    // The first look leaves, the second stays until the end.
    let mut left = project.starts(project.command(&["resume"]), |_| true);
    let seen = left.sees("Todo list updated");
    assert!(seen.contains("you: Dig") && seen.contains("A plan."), "{seen}");
    left.signal(Signal::INT);
    let left = left.ends();
    assert_eq!(left.code, 0, "{}{}", left.out, left.err);
    assert!(left.err.contains(&format!("session {short} goes on")), "{}", left.err);
    assert_eq!(project.sessions()[0]["state"], "works");
    let mut stays = project.starts(project.command(&["resume", &short]), |_| true);
    stays.sees("Todo list updated");
    project.world.write("project/go", "");
    let stays = stays.ends();
    assert_eq!(stays.code, 0, "{}{}", stays.out, stays.err);
    for words in ["It is dug.", "[Todo: \"Dig\" → completed]"] {
        assert!(stays.out.contains(words), "{words}: {}", stays.out);
    }
    assert!(stays.err.contains("answered · 4 model calls"), "{}", stays.err);
    assert!(
        stays.err.contains(&format!("punchlist resume {short} \"what is next\"")),
        "{}",
        stays.err
    );
    assert_eq!(log(&project), "began\nwent\n");
    assert_eq!(project.items(), ["Dig completed"]);
    project.until(|it| it.sessions()[0]["running"] == false);
}

#[test]
fn it_is_stopped_like_any_other() {
    let project = project(&json!([{"calls": [create(&["Dig"])]}, silence()]), ALLOW);
    let told = finish(project.does(&["--detach", "--json"], "Dig"), b"").ok();
    let first: Value = serde_json::from_str(told.lines().next().unwrap()).unwrap();
    assert_eq!(first["type"], "session.started");
    assert!(told.contains(&project.id()), "{told}");
    project.until(|it| it.entries().len() == 3);
    project.run(&["sessions", "stop", &project.id()]).works();
    project.until(|it| it.sessions()[0]["running"] == false);
    assert_eq!(project.sessions()[0]["state"], "ended");
    assert_eq!(project.items(), ["Dig pending"]);
}

#[test]
fn its_questions_wait_until_somebody_answers_elsewhere() {
    let answers = json!([
        {"calls": [create(&["Dig"]), shell("touch dug")]},
        {"calls": [complete(1)]},
        {"text": "It is dug."},
    ]);
    let project = project(&answers, ASK);
    detach(&project).ok();
    project.until(|it| it.run(&["questions"]).out.contains("touch dug"));
    let state = project.sessions()[0]["state"].clone();
    assert!(state.as_str().unwrap().starts_with("waits for `punchlist answer "), "{state}");
    // Somebody who looks without a terminal reads how to answer.
    let mut command = project.command(&["resume"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let looks = Running(Some(command.spawn().unwrap()));
    let questions = project.run(&["questions", "--json"]).json();
    let id = questions["questions"][0]["id"].as_str().unwrap().to_owned();
    let mut answer = project.command(&["answer", &id, "yes"]);
    answer.env("PATH", "/usr/bin:/bin");
    let (answered, seen) = project.world.answering(&answer, &["y"; 3]);
    assert_eq!(answered.code, 0, "{seen}{}", answered.err);
    let looked = looks.ends();
    assert_eq!(looked.code, 0, "{}{}", looked.out, looked.err);
    assert!(looked.out.contains("It is dug."), "{}", looked.out);
    assert!(project.world.path("project/dug").exists());
}

#[test]
fn a_person_who_attaches_answers_at_the_terminal() {
    let answers = json!([
        {"calls": [create(&["Dig"]), shell("touch dug")]},
        {"calls": [complete(1)]},
        {"text": "It is dug."},
    ]);
    let project = project(&answers, ASK);
    detach(&project).ok();
    project.until(|it| it.run(&["questions"]).out.contains("touch dug"));
    let like = project.command(&["resume"]);
    let mut person = Person::calls(&like, &typed(&like));
    assert!(
        person.sees(|new| new.contains("touch dug") && new.contains("refuse")),
        "{}",
        person.seen
    );
    // Keys that were typed before the question was drawn do not count.
    std::thread::sleep(Duration::from_millis(500));
    person.types("y");
    project.until(|it| it.sessions()[0]["state"] == "ended");
    let (code, seen) = person.ends();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("It is dug."), "{seen}");
    assert!(project.world.path("project/dug").exists());
}

#[test]
fn it_survives_the_end_of_its_terminal() {
    let project = project(&waits_for_file(), ALLOW);
    let like = project.does(&["--detach"], "Dig");
    let (code, seen) = Person::calls(&like, &typed(&like)).ends();
    assert_eq!(code, 0, "{seen}");
    project.until(|it| log(it) == "began\n");
    assert_eq!(project.sessions()[0]["running"], true);
    project.world.write("project/go", "");
    project.until(|it| it.sessions()[0]["state"] == "ended");
    assert_eq!(project.items(), ["Dig completed"]);
}

#[test]
fn a_process_that_is_killed_in_the_background_is_reported_and_resumed() {
    let project = project(&json!([{"calls": [create(&["Dig"])]}, silence()]), ALLOW);
    detach(&project).ok();
    project.until(|it| it.entries().len() == 3);
    let mut looks = project.starts(project.command(&["resume"]), |_| true);
    looks.sees("Todo list updated");
    for pid in processes(&project) {
        rustix::process::kill_process(pid, Signal::KILL).unwrap();
    }
    let looked = looks.ends();
    assert_eq!(looked.code, 3, "{}{}", looked.out, looked.err);
    assert!(looked.err.contains("was cut off"), "{}", looked.err);
    project.plays(&json!([{}, {"calls": [complete(1)]}, {"text": "It is dug."}]));
    let resumed = project.run(&["resume"]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.out, resumed.err);
    assert_eq!(project.items(), ["Dig completed"]);
}

/// The processes that work on sessions of this project in the background.
fn processes(project: &Project) -> Vec<rustix::process::Pid> {
    let id = project.id();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap() {
        let entry = entry.unwrap();
        let Some(pid) = entry.file_name().to_str().and_then(|it| it.parse::<i32>().ok()) else {
            continue;
        };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        if line.contains(&id) && line.contains("--background") {
            found.extend(rustix::process::Pid::from_raw(pid));
        }
    }
    found
}

#[test]
fn it_does_not_begin_without_a_model_or_beside_quiet() {
    let project = project(&json!([]), ALLOW);
    let ran = project.run(&["do", "--detach", "Dig"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("no model is configured"), "{}", ran.err);
    let ran = finish(project.does(&["--detach", "--quiet"], "Dig"), b"");
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert_eq!(project.sessions(), Vec::<Value>::new());
}

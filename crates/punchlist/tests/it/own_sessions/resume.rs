//! `resume`: after a crash, with the next request, with a reply, and when there is nothing to do.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::{Project, complete, create, shell, silence};

#[test]
fn a_turn_that_was_cut_off_goes_on_where_it_was() {
    let begin = [
        json!({"calls": [create(&["Dig"]), shell("echo once >> log.txt")]}),
        json!({"calls": [shell("echo twice >> log.txt; sleep 100"), complete(1)]}),
    ];
    let project = Project::new(&json!([begin[0], begin[1], silence()]));
    project.world.write(
        "home/.config/punchlist/config.toml",
        "[[policy]]\ndecision = 'allow'\ntool = 'shell'\n",
    );
    let log = || std::fs::read_to_string(project.world.path("project/log.txt")).unwrap_or_default();
    let running = project.starts(project.does(&[], "Dig"), |_| log() == "once\ntwice\n");
    running.kill();
    assert_eq!(project.sessions()[0]["state"], "cut off");
    let listed = project.run(&["sessions"]).ok();
    assert!(listed.contains("cut off"), "{listed}");
    project.plays(&json!([begin[0], begin[1], {"text": "It is done."}]));
    let resumed = project.run(&["resume"]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.out, resumed.err);
    assert!(resumed.out.contains("It is done."), "{}", resumed.out);
    assert_eq!(log(), "once\ntwice\n");
    assert_eq!(project.items(), ["Dig completed"]);
    let results: Vec<Value> =
        project.entries().into_iter().filter(|it| it["what"] == "result").collect();
    let texts: Vec<&str> = results.iter().map(|it| it["text"].as_str().unwrap()).collect();
    assert_eq!(texts.len(), 4);
    assert!(texts.iter().any(|it| it.contains("It may have happened; check first.")), "{texts:?}");
    assert_eq!(project.sessions()[0]["state"], "ended");
}

/// A worker that reports what it uses, and never ends.
const SPENDS: &str = r#"#!/bin/sh
echo '{"type":"system","subtype":"init","cwd":"/p","session_id":"s-1","tools":[],"model":"m","claude_code_version":"2.1.197"}'
for id in 1 2 3; do
  echo '{"type":"assistant","message":{"id":"'$id'","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Still."}],"usage":{"input_tokens":100,"output_tokens":10}},"parent_tool_use_id":null,"session_id":"s-1"}'
done
sleep 600
"#;

#[test]
fn what_a_worker_had_used_when_the_session_was_killed_is_counted_once() {
    let delegate = json!({"tool": "delegate", "arguments": {"agentType": "w", "task": "Dig."}});
    let first = json!({"calls": [delegate], "usage": {"input": 7, "output": 3}});
    let project = Project::new(&json!([first, silence()]));
    let program = project.world.path("home/spends");
    project.world.write("home/spends", SPENDS);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let rule = "[[policy]]\ndecision = 'allow'\ntool = 'delegate'\n";
    let worker = format!("[workers.w]\nkind = 'claude'\ncommand = ['{}']\n", program.display());
    project.world.write("home/.config/punchlist/config.toml", format!("{rule}{worker}"));
    let used = |it: &Project| it.sessions().first().map(|it| it["used"].clone());
    // The usage of a message is known when the next one begins.
    let has_used = |it: &Project| used(it).is_some_and(|it| it["input"] == 207);
    project.starts(project.does(&[], "Dig"), has_used).kill();
    assert_eq!(project.sessions()[0]["state"], "cut off");
    project.plays(&json!([first, {"text": "It is done."}]));
    let resumed = project.run(&["resume"]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.out, resumed.err);
    let used = used(&project).unwrap();
    assert_eq!(
        (&used["input"], &used["output"], &used["calls"]),
        (&json!(207), &json!(23), &json!(2))
    );
    let shown = project.run(&["sessions", "show"]).ok();
    assert!(shown.contains("230 tokens"), "{shown}");
}

#[test]
fn an_answer_that_was_given_after_a_kill_holds_when_the_session_goes_on() {
    let answers = json!([{"calls": [shell("touch made-it")]}, {"text": "It is made."}]);
    let project = Project::new(&answers);
    project.world.write("home/.config/punchlist/config.toml", "[agent]\nsandbox = 'off'\n");
    let questions = |it: &Project| it.run(&["questions", "--json"]).json()["questions"].clone();
    let waits = |it: &Project| questions(it).get(0).is_some();
    project.starts(project.does(&["--wait"], "Make it"), waits).kill();
    let asked = questions(&project);
    assert_eq!(asked[0]["title"], "The agent", "{asked}");
    let id = asked[0]["id"].as_str().unwrap();
    let mut answer = project.command(&["answer", id, "yes"]);
    answer.env("PATH", "/usr/bin:/bin");
    let (answered, seen) = project.world.answering(&answer, &["y"; 3]);
    assert_eq!(answered.code, 0, "{seen}{}", answered.err);
    assert!(!project.world.path("project/made-it").exists());
    // If it asked again, it would wait for ever.
    let resumed = project.run(&["resume", "--wait"]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.out, resumed.err);
    assert!(project.world.path("project/made-it").exists(), "{}", resumed.out);
}

#[test]
fn the_next_request_begins_a_turn_with_its_own_plan() {
    let project = Project::new(&json!([
        {"text": "First answer."},
        {"calls": [create(&["Pour"]), complete(1)]},
        {"text": "Second answer."},
    ]));
    project.done("First");
    let quiet = project.run(&["resume", &project.id(), "Second", "--quiet"]);
    assert_eq!((quiet.code, quiet.out.as_str()), (0, "Second answer.\n"), "{}", quiet.err);
    assert_eq!(project.sessions()[0]["turns"], 2);
    let said: Vec<Value> =
        project.entries().into_iter().filter(|it| it["what"] == "user").collect();
    assert_eq!(said.iter().map(|it| it["text"].clone()).collect::<Vec<_>>(), ["First", "Second"]);
}

#[test]
fn a_reply_continues_the_turn_that_asked() {
    let project = Project::new(&json!([
        {"calls": [create(&["Paint"])]},
        {"text": "Which colour should it be?"},
        {"calls": [complete(1)]},
        {"text": "It is blue."},
    ]));
    let asked = crate::world::finish(project.does(&["--wait"], "Paint the door"), b"");
    assert_eq!(asked.code, 7, "{}{}", asked.out, asked.err);
    assert_eq!(project.sessions()[0]["state"], "asks you");
    let nothing = project.run(&["resume"]);
    assert_eq!(nothing.code, 3, "{}", nothing.err);
    let replied = project.run(&["resume", &project.id(), "Blue"]);
    assert_eq!(replied.code, 0, "{}{}", replied.out, replied.err);
    assert_eq!(project.sessions()[0]["turns"], 1);
    assert_eq!(project.items(), ["Paint completed"]);
}

#[test]
fn where_nobody_can_be_asked_a_question_is_an_answer() {
    let project = Project::new(&json!([{"text": "Which colour should it be?"}]));
    assert_eq!(project.done("Paint the door").code, 0);
    assert_eq!(project.sessions()[0]["state"], "ended");
}

#[test]
fn what_cannot_go_on_is_told_with_what_to_do() {
    let project = Project::new(&json!([{"text": "Done."}, {"text": "Done."}]));
    let mut told = String::new();
    let mut tell = |arguments: &[&str]| {
        let ran = project.run(arguments);
        let line = format!("$ punchlist {}\n{}[exit {}]\n", arguments.join(" "), ran.err, ran.code);
        told.push_str(&project.without_chance(&line));
    };
    tell(&["resume"]);
    project.done("Dig");
    tell(&["resume"]);
    tell(&["resume", "zzzz"]);
    tell(&["resume", "zzzz", "Go on"]);
    project.done("Pour");
    // Ids of the same time begin alike.
    let begin = &project.id()[..4];
    let many = project.run(&["resume", begin, "Go on"]);
    assert_eq!(many.code, 2, "{}", many.err);
    assert!(many.err.contains("could be any of these sessions"), "{}", many.err);
    told!(told);
}

#[test]
fn a_session_that_another_process_runs_takes_no_second_request() {
    let project = Project::new(&json!([silence()]));
    let running = project.starts(project.does(&[], "Dig"), |it| {
        it.sessions().first().is_some_and(|it| it["state"] == "works")
    });
    let refused = project.run(&["resume", &project.id(), "Pour"]);
    assert_eq!(refused.code, 5, "{}", refused.err);
    told!(project.without_chance(&refused.err));
    assert_eq!(project.sessions()[0]["turns"], 1);
    running.kill();
}

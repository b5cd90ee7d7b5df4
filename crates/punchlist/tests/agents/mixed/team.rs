//! `punchlist team` with the real programs as members, and one model that answers each in its own words.

use std::fs;
use std::process::Command;

use punchlist_formats::text::one_line;
use punchlist_testkit::model::{Api, Message, Model, Request, Script, Server};
use punchlist_testkit::person::{Person, typed};
use serde_json::Value;

use crate::codex::workers::CODEX;
use crate::gemini::workers::GEMINI;
use crate::place::Place;
use crate::run::{Run, Say, assert_says};
use crate::workers::{CLAUDE, Kind};

const TEAM: &str = "\
[[team.members]]
name = 'max'
displayName = 'Max'
themeColor = 'magenta'
agentType = 'claude'
[[team.members]]
name = 'kim'
agentType = 'codex'
[[team.members]]
name = 'zoe'
agentType = 'gemini'
";

fn kind(api: Api) -> &'static Kind {
    match api {
        Api::Anthropic => &CLAUDE,
        Api::Gemini => &GEMINI,
        Api::OpenAi | Api::OpenAiChat | Api::Ollama => &CODEX,
    }
}

/// A model that writes a list when it is asked something, and then says who it is and how often it was
/// asked. `instead` replaces the first of that.
fn model(instead: impl Fn(Api) -> Option<Message> + Send + 'static) -> Server {
    let answer = move |request: &Request| {
        let kind = kind(request.api);
        let entries = [("Look", "completed"), ("Leap", "in_progress")];
        let (tool, input) = (kind.list)(&entries);
        if !request.declares(tool) {
            return Message::new().says("ok");
        }
        if let Some(message) = instead(request.api) {
            return message;
        }
        if request.results().is_empty() {
            return Message::new().calls(tool, input);
        }
        let turns = ["FIRST", "SECOND"].iter().filter(|it| request.text().contains(**it)).count();
        Message::new().says(format!("{} was asked {turns} times.", kind.agent.as_str()))
    };
    Model::new(Script::new().always(answer)).serve().unwrap()
}

/// `punchlist team` with the environment of all programs.
fn team(place: &Place, model: &Server, more: &[&str]) -> Command {
    let mut command = place.command(&place.punchlist);
    for kind in [&CLAUDE, &CODEX, &GEMINI] {
        (kind.set_up)(place, model);
        let program = (kind.program)(place, model);
        let named = program.get_envs().filter_map(|(name, value)| Some((name, value?)));
        command.envs(named);
    }
    let file = place.path("team.toml");
    fs::write(&file, TEAM).unwrap();
    command.arg("team").arg("--file").arg(file).args(more);
    command
}

#[test]
#[ignore = "needs all agents: cargo xtask test agents"]
fn two_members_of_a_team_take_turns() {
    let place = Place::new();
    let model = model(|_| None);
    let lines =
        ["@max FIRST: look", "/pass kim FIRST: review it", "@max SECOND: leap", "@kim SECOND"];
    let mut lines = Some(lines.join("\n"));
    let run = Run::new(team(&place, &model, &[]))
        .talked_to(move |_| lines.take().map_or(Say::Over, Say::This));
    let ended = run.ends();
    let story = format!("{}\n{}", ended.printed, ended.errors);
    assert_eq!(ended.status.code(), Some(0), "{story}");
    for who in ["claude", "codex"] {
        let (one, two) = (format!("{who} was asked 1 times."), format!("{who} was asked 2 times."));
        assert_says(&ended.printed, &[&one, &two], &[]);
    }
    assert_says(
        &ended.printed,
        &["📋 Plan (Max):\n✅ Look\n☑  Leap", "📋 Plan (kim):\n✅ Look"],
        &[],
    );
    let passed = model.requests().iter().any(|it| it.text().contains("claude was asked 1 times."));
    assert!(passed, "{story}");
}

#[test]
#[ignore = "needs all agents: cargo xtask test agents"]
fn three_members_of_a_team_work_side_by_side() {
    let place = Place::new();
    let model = model(|_| None);
    let record = place.path("talk.jsonl");
    let more = ["--send", "@all FIRST: look", "--record", record.to_str().unwrap()];
    let ended = Run::new(team(&place, &model, &more)).ends();
    let story = format!("{}\n{}", ended.printed, ended.errors);
    assert_eq!(ended.status.code(), Some(0), "{story}");
    for name in ["Max", "kim", "zoe"] {
        assert_says(&ended.printed, &[&format!("📋 Plan ({name}):\n✅ Look\n☑  Leap")], &[]);
    }
    let lists = place.punchlist(&["events", "--only", "todo_list", record.to_str().unwrap()]);
    let mut agents: Vec<String> = lists
        .lines()
        .map(|it| {
            serde_json::from_str::<Value>(it).unwrap()["agentId"].as_str().unwrap().to_owned()
        })
        .collect();
    agents.sort();
    agents.dedup();
    assert_eq!(agents, ["kim", "max", "zoe"], "{lists}");
}

#[test]
#[ignore = "needs all agents: cargo xtask test agents"]
fn a_member_of_a_team_that_is_killed_is_told_and_the_others_go_on() {
    let place = Place::new();
    let model = model(|api| {
        let (tool, input) = (CLAUDE.shell)("kill -9 $PPID");
        (api == Api::Anthropic).then(|| Message::new().calls(tool, input))
    });
    let ended = Run::new(team(&place, &model, &["--send", "@all FIRST: look"])).ends();
    let story = format!("{}\n{}", ended.printed, ended.errors);
    assert_eq!(ended.status.code(), Some(6), "{story}");
    assert_says(&ended.printed, &["Max failed: ended by signal 9 (SIGKILL)"], &["Plan (Max)"]);
    assert_says(&ended.printed, &["codex was asked 1 times.", "gemini was asked 1 times."], &[]);
}

#[test]
#[ignore = "needs all agents: cargo xtask test agents"]
fn a_member_of_a_team_that_is_cancelled_is_told_and_the_others_go_on() {
    let place = Place::new();
    let model = model(|api| (api == Api::Anthropic).then(|| Message::new().says("Well").hangs()));
    let record = place.path("talk.jsonl");
    let command = team(&place, &model, &["--record", record.to_str().unwrap()]);
    let path = command.get_envs().find(|it| it.0 == "PATH").and_then(|it| it.1).unwrap();
    let line = format!(
        "stty cols 100 rows 30; PATH='{}' TERM=xterm {}",
        path.to_str().unwrap(),
        typed(&command)
    );
    let mut person = Person::calls(&command, &line);
    // Every word has a style of its own.
    let sees = |person: &mut Person, these: &[&str]| {
        let has = |it: &str| these.iter().all(|these| one_line(it).contains(these));
        assert!(person.sees(has), "{}", person.seen);
    };
    sees(&mut person, &["nobody addressed yet"]);
    person.types("@all FIRST: look\r");
    sees(&mut person, &["codex was asked 1 times.", "gemini was asked 1 times."]);
    person.types("/stop max\r");
    sees(&mut person, &["Max was stopped"]);
    person.types("\u{4}");
    assert_eq!(person.ends().0, 0);
    let text = fs::read_to_string(record).unwrap();
    let ends: Vec<Value> = text
        .lines()
        .map(|it| serde_json::from_str::<Value>(it).unwrap())
        .filter(|it| it["type"] == "turn.completed")
        .collect();
    let status =
        |name: &str| ends.iter().find(|it| it["agentId"] == name).unwrap()["status"].clone();
    assert_eq!((status("max"), status("kim")), ("cancelled".into(), "success".into()), "{text}");
}

/// A team whose members ask before they run commands: Claude Code, and Gemini CLI over ACP.
const ASKING: &str = "\
[[team.members]]
name = 'max'
displayName = 'Max'
agentType = 'claude'
[[team.members]]
name = 'gem'
agentType = 'acp'
command = ['gemini', '--acp']
env = ['GEMINI_API_KEY']
";

#[test]
#[ignore = "needs all agents: cargo xtask test agents"]
fn members_of_a_team_ask_the_person_at_the_screen_what_they_may_do() {
    let place = Place::new();
    let answer = |request: &Request| {
        let kind = kind(request.api);
        let name = kind.agent.as_str();
        let (tool, input) = (kind.shell)(&format!("echo new > {name}.txt"));
        if !request.declares(tool) {
            return Message::new().says("ok");
        }
        match request.results().is_empty() {
            true => Message::new().calls(tool, input),
            false => Message::new().says(format!("{name} is ready.")),
        }
    };
    let model = Model::new(Script::new().always(answer)).serve().unwrap();
    let command = team(&place, &model, &[]);
    // Nothing is allowed beforehand.
    fs::write(place.path("home/.claude/settings.json"), "{}\n").unwrap();
    fs::remove_file(place.path("home/.gemini/policies/mine.toml")).unwrap();
    fs::write(place.path("team.toml"), ASKING).unwrap();
    let path = command.get_envs().find(|it| it.0 == "PATH").and_then(|it| it.1).unwrap();
    let line = format!(
        "stty cols 100 rows 30; PATH='{}' TERM=xterm {}",
        path.to_str().unwrap(),
        typed(&command)
    );
    let mut person = Person::calls(&command, &line);
    let sees = |person: &mut Person, these: &[&str]| {
        let has = |it: &str| these.iter().all(|these| one_line(it).contains(these));
        assert!(person.sees(has), "{}", person.seen);
    };
    sees(&mut person, &["nobody addressed yet"]);
    for (member, name, file) in [("max", "Max", "claude"), ("gem", "gem", "gemini")] {
        let path = place.path(&format!("project/{file}.txt"));
        person.types(&format!("@{member} FIRST: write it\r"));
        sees(&mut person, &[&format!("{name} wants to "), "y once"]);
        assert!(!path.exists());
        person.types("y");
        sees(&mut person, &[&format!("{file} is ready.")]);
        assert_eq!(fs::read_to_string(path).unwrap(), "new\n");
    }
    person.types("\u{4}");
    assert_eq!(person.ends().0, 0);
}

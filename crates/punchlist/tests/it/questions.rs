//! Open questions, and who may answer them. The terminal is made by `script`, where it exists.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use pollster::block_on;
use punchlist_model::call::{
    Asked, CallRecord, CallState, CallStore, Offer, QuestionFilter, RunRecord, Standing,
};
use punchlist_model::{Attempt, IdSource, Number, QuestionId, RunId, Timestamp};
use punchlist_store::{Durability, Options, Sqlite};
use serde_json::json;

use crate::person::Person;
use crate::world::{Ran, World};

fn at(minute: i64) -> Timestamp {
    let begin: Timestamp = "2026-01-02T03:00:00Z".parse().unwrap();
    Timestamp::from_second(begin.as_second() + 60 * minute).unwrap()
}

fn store(world: &World) -> Sqlite {
    let path = world.path("home/.local/share/punchlist/punchlist.db");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    Sqlite::open(&Options { path, durability: Durability::Normal }).unwrap()
}

fn id(n: u8) -> QuestionId {
    QuestionId(IdSource::fixed(at(0), n).nth(0))
}

fn run_id() -> RunId {
    RunId(IdSource::fixed(at(0), 99).nth(0))
}

/// A run whose calls ask: to publish, and to edit a file.
pub(crate) fn asks(world: &World) {
    let store = store(world);
    let run = RunRecord {
        id: run_id(),
        project: world.path("project").display().to_string(),
        plan: None,
        what: "release.md".to_owned(),
        process: None,
        begun_at: at(0),
        ended_at: None,
    };
    block_on(store.begin_run(run)).unwrap();
    let call = |number| CallRecord {
        number,
        item: Some(Number(number)),
        tool: "shell".to_owned(),
        request: json!({}),
        state: CallState::AwaitingApproval,
        attempt: Attempt(0),
        detail: None,
        at: at(0),
    };
    let publish = Asked {
        id: id(1),
        call: 1,
        item: Some(Number(1)),
        title: "Publish".to_owned(),
        place: vec!["item 4 of Release 1.2".to_owned(), "release.md:12".to_owned()],
        context: "Only from a clean checkout.".to_owned(),
        tool: "shell".to_owned(),
        server: None,
        what: "run".to_owned(),
        command: Some("./publish.sh --prod".to_owned()),
        diff: None,
        printed: Vec::new(),
        touches: vec!["writes dist/**".to_owned()],
        why: "no rule allows it".to_owned(),
        arguments: json!({"command": "./publish.sh --prod"}),
        offers: vec![
            Offer::Once,
            Offer::AlwaysPrefix(vec!["./publish.sh".to_owned()]),
            Offer::Modify,
        ],
        at: at(0),
    };
    let greet = Asked {
        id: id(2),
        call: 2,
        item: Some(Number(2)),
        title: "Greet \u{1b}[31mloudly".to_owned(),
        place: vec!["item 2 of Hello".to_owned()],
        context: String::new(),
        tool: "edit".to_owned(),
        what: "edit src/main.rs".to_owned(),
        command: None,
        diff: Some("@@ -1 +1 @@\n-hello\n+HELLO\n".to_owned()),
        printed: Vec::new(),
        touches: Vec::new(),
        offers: vec![Offer::Once, Offer::AlwaysTool],
        ..publish.clone()
    };
    block_on(store.record(run_id(), vec![call(1), call(2)], vec![publish, greet], None)).unwrap();
}

/// The answers of all questions: `-` for an open one.
fn answers(world: &World) -> Vec<String> {
    let questions = block_on(store(world).questions(QuestionFilter::default())).unwrap();
    let one = |standing: Standing| match standing {
        Standing::Waiting => "-".to_owned(),
        Standing::Answered(it) => format!("{:?} by {}", it.answer, it.by),
        Standing::Settled => "settled".to_owned(),
    };
    questions.into_iter().map(|it| one(it.standing)).collect()
}

/// A call at its own terminal, where each line of `keys` answers a question. The output includes
/// the echoed keys.
pub(crate) fn at_terminal(
    world: &World,
    call: &str,
    keys: &str,
    variables: &[(&str, &str)],
) -> Option<Ran> {
    let program = world.command("project");
    let line = format!("'{}' {call}", program.get_program().display());
    in_terminal(program, &line, keys, variables)
}

fn in_terminal(
    mut program: Command,
    line: &str,
    keys: &str,
    variables: &[(&str, &str)],
) -> Option<Ran> {
    program.env("COLUMNS", "80").env("LANG", "C.UTF-8").env("NO_COLOR", "1");
    program.envs(variables.iter().copied());
    let mut person = Person::calls(&program, line);
    for line in keys.split_inclusive('\n') {
        if !person.sees_question() {
            break;
        }
        person.types(line);
    }
    let (code, out) = person.ends();
    Some(Ran { code, out, err: String::new() })
}

#[test]
fn questions_that_wait_are_shown_with_all_that_they_would_allow() {
    let world = World::new();
    let nothing = world.story("questions\nquestions --all\nquestions --json");
    asks(&world);
    told!(nothing + &world.story("questions\nquestions --json\nquestions --everywhere"));
}

#[test]
fn without_a_terminal_nothing_is_answered() {
    let world = World::new();
    asks(&world);
    told!(world.story(
        "
        answer
        answer yes
        answer 0101 yes < y\\n
        answer 0101 yes --json
        # What is wrong with the call itself is said first.
        answer 0101 perhaps
        answer 0101 yes --reason because
        answer 0101 no --arguments {}
        "
    ));
    assert_eq!(answers(&world), ["-", "-"]);
}

#[test]
fn an_agent_is_refused_even_at_a_terminal() {
    let world = World::new();
    asks(&world);
    for (name, value, who) in [
        ("CLAUDECODE", "1", "claude"),
        ("CODEX_THREAD_ID", "0199", "codex"),
        ("GEMINI_CLI", "1", "gemini"),
        ("PUNCHLIST_RUN", "0199", "a step of a run"),
    ] {
        let Some(ran) = at_terminal(&world, "answer 0101 yes", "", &[(name, value)]) else {
            return;
        };
        let expected = format!("questions are answered by people, and this call is made by {who}");
        assert!(ran.out.contains(&expected), "{}", ran.out);
        assert_eq!(ran.code, 3);
    }
    // Without a variable in the environment, the parent process shows the agent.
    let script = "#!/bin/sh\n\"$PROGRAM\" answer 0101 yes\n";
    world.write("bin/codex", script);
    fs::set_permissions(world.path("bin/codex"), fs::Permissions::from_mode(0o755)).unwrap();
    let program = world.command("project");
    let binary = program.get_program().to_str().unwrap().to_owned();
    let agent = world.path("bin/codex").display().to_string();
    let variables = [("PROGRAM", binary.as_str()), ("PUNCHLIST_ANCESTORS", "1")];
    let ran = in_terminal(program, &agent, "", &variables).unwrap();
    assert!(ran.out.contains("this call is made by codex"), "{}", ran.out);
    assert_eq!(answers(&world), ["-", "-"]);
}

#[test]
fn a_person_at_a_terminal_answers_once() {
    let world = World::new();
    asks(&world);
    let mut story = String::new();
    for call in [
        "answer yes",
        "answer 0101 always-server",
        "answer 0101 always",
        "answer 0101 no --reason late",
        "answer 0202 edit --arguments '{}'",
        "answer 0202 no --reason 'not on a Friday'",
        "answer 0202",
        "answer 9999 yes",
        "answer yes",
        "answer",
        "questions --all",
    ] {
        let Some(ran) = at_terminal(&world, call, "y\n", &[]) else { return };
        story.push_str(&format!("$ punchlist {call}\n{}[exit {}]\n\n", ran.out, ran.code));
    }
    told!(story);
    assert_eq!(
        answers(&world),
        [
            "AlwaysPrefix([\"./publish.sh\"]) by me@host",
            "Refuse(Some(\"not on a Friday\")) by me@host"
        ]
    );
}

#[test]
fn whoever_only_calls_is_asked_one_by_one() {
    let world = World::new();
    asks(&world);
    // The first question is left open, the second refused with a reason, then the first is allowed.
    let Some(ran) = at_terminal(&world, "answer", "\nx\nr\nbetter not\n", &[]) else { return };
    // The echoed keys appear somewhere in between, so this is no snapshot.
    for words in [
        "? Publish wants to run                                          1 of 2 waiting",
        "2 of 2 waiting",
        "y once   a always ./publish.sh   e edit   n refuse this and the rest",
        "r refuse and say why   q refuse and stop",
        "type one of the letters above",
        "why not?",
        "Greet loudly: refused: better not",
    ] {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
    assert_eq!(ran.code, 0);
    assert_eq!(answers(&world), ["-", "Refuse(Some(\"better not\")) by me@host"]);
    let ran = at_terminal(&world, "answer", "y\n", &[]).unwrap();
    assert_eq!((ran.code, answers(&world)[0].as_str()), (0, "Once by me@host"), "{}", ran.out);
}

#[test]
fn who_only_looks_leaves_everything_as_it_is() {
    let world = World::new();
    asks(&world);
    let Some(ran) = at_terminal(&world, "answer 0101", "\n", &[]) else { return };
    assert_eq!(ran.code, 130, "{}", ran.out);
    assert!(ran.out.contains("nothing was answered"), "{}", ran.out);
    assert_eq!(answers(&world), ["-", "-"]);
}

#[test]
fn arguments_are_changed_in_the_users_own_editor() {
    let world = World::new();
    asks(&world);
    let check = |editor: &str, code: i32, words: &str| {
        let ran = at_terminal(&world, "answer 0101 edit", "y\n", &[("EDITOR", editor)])?;
        assert_eq!(ran.code, code, "{}", ran.out);
        assert!(ran.out.contains(words), "{editor}: {}", ran.out);
        let left = fs::read_dir(world.path("home/.local/share/punchlist")).unwrap();
        let left =
            left.filter(|it| it.as_ref().unwrap().path().to_string_lossy().ends_with("json"));
        assert_eq!(left.count(), 0, "nothing is left behind");
        Some(())
    };
    if check("", 2, "no editor is set").is_none() {
        return;
    }
    check("true", 130, "nothing was changed").unwrap();
    check("false", 130, "the editor failed").unwrap();
    check("sed -i s/{/[/", 2, "the arguments are not JSON").unwrap();
    assert_eq!(answers(&world)[0], "-");
    check("sed -i s/--prod/--dry-run/", 0, "Publish: with other arguments").unwrap();
    let modified = r#"Modify(Object {"command": String("./publish.sh --dry-run")}) by me@host"#;
    assert_eq!(answers(&world)[0], modified);
}

#[test]
fn what_calls_put_out_is_erased_with_what_is_forgotten() {
    let world = World::new();
    world.typed("add One").works();
    world.typed("add Two").works();
    let plan = world.typed("list --json").json()["plan"]["id"].as_str().unwrap().parse().unwrap();
    let run = RunRecord {
        id: run_id(),
        project: world.path("project").display().to_string(),
        plan: Some(plan),
        what: "release.md".to_owned(),
        process: None,
        begun_at: at(0),
        ended_at: None,
    };
    let outputs = format!("home/.local/share/punchlist/output/{}", run_id());
    let ended = |number: u32| {
        let whole = world.path(&format!("{outputs}/{number}.txt"));
        world.write(&format!("{outputs}/{number}.txt"), "all of it");
        CallRecord {
            number,
            item: Some(Number(number)),
            tool: "shell".to_owned(),
            request: json!({}),
            state: CallState::Success,
            attempt: Attempt(1),
            detail: Some(json!({"text": "cut", "whole": whole})),
            at: at(0),
        }
    };
    let calls = vec![ended(1), ended(2)];
    block_on(store(&world).begin_run(run)).unwrap();
    block_on(store(&world).record(run_id(), calls, vec![], None)).unwrap();
    let is_there = |n| world.path(&format!("{outputs}/{n}.txt")).exists();
    world.typed("forget 1").works();
    assert_eq!((is_there(1), is_there(2)), (false, true));
    world.typed("forget --whole-plan").works();
    assert!(!world.path(&outputs).exists());
    world.typed("forget --whole-plan").works();
}

#[test]
fn an_answer_to_a_run_that_is_over_says_so() {
    let world = World::new();
    asks(&world);
    block_on(store(&world).end_run(run_id(), at(1))).unwrap();
    let Some(ran) = at_terminal(&world, "answer 0101 yes", "y\n", &[]) else { return };
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("the run that asked has ended"), "{}", ran.out);
}

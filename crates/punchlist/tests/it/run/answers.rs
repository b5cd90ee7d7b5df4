//! Answers from another terminal: while a run waits for them, and after it was killed.

use std::io::Read;
use std::process::{Child, Stdio};

use serde_json::Value;

use super::{read, run, until};
use crate::questions::at_terminal;
use crate::world::World;

const ASKS: &str = "\
- [ ] Publish
  approve: yes
  run: echo published >> log.txt
- [ ] Tell the team
  after: Publish
";

/// A run that ends with the test.
struct Running(Child);

impl Running {
    /// The exit code and the output.
    fn ends(mut self) -> (i32, String) {
        let mut out = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        (self.0.wait().unwrap().code().unwrap_or(-1), out)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A run of `plan.md` without a terminal that waits for answers; returns when it asks.
fn waits(world: &World, arguments: &[&str]) -> Running {
    let before = asked(world);
    let mut command = world.command("project");
    command.args(["run", "plan.md", "--wait"]).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    until(|| asked(world) == before + 1);
    Running(child)
}

/// The number of open questions.
fn waiting(world: &World) -> usize {
    world.run(&["questions", "--json"]).json()["questions"].as_array().unwrap().len()
}

/// The number of all questions.
fn asked(world: &World) -> usize {
    world.run(&["questions", "--all", "--json"]).json()["questions"].as_array().unwrap().len()
}

fn killed(world: &World) {
    drop(waits(world, &[]));
}

#[test]
fn a_run_without_a_terminal_waits_for_answers_that_are_given_elsewhere() {
    let world = World::new();
    world.write("project/plan.md", ASKS);
    let child = waits(&world, &[]);
    let she = [("USER", "she")];
    let Some(ran) = at_terminal(&world, "answer yes", "y\n", &she) else { return };
    assert_eq!(ran.code, 0, "{}", ran.out);
    // A manual step is asked about in the same way.
    until(|| asked(&world) == 2);
    assert_eq!(read(&world, "project/log.txt"), "published\n");
    at_terminal(&world, "answer yes", "y\n", &[]).unwrap();
    let (code, out) = child.ends();
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("answer in another terminal: punchlist answer "), "{out}");
    assert!(out.contains("Publish was answered by she@host"), "{out}");
}

#[test]
fn an_answer_given_after_the_run_was_killed_is_used_by_the_next() {
    let world = World::new();
    world.write("project/plan.md", ASKS);
    killed(&world);
    let Some(ran) = at_terminal(&world, "answer yes", "y\n", &[]) else { return };
    assert!(ran.out.contains("it uses the answer when it continues"), "{}", ran.out);
    let ran = run(&world, &["plan.md"]);
    assert_eq!(ran.code, 7, "{}{}", ran.out, ran.err);
    assert_eq!(read(&world, "project/log.txt"), "published\n", "{}", ran.out);
    // The answer was for one question, and is not used twice.
    let ran = run(&world, &["plan.md", "--fresh"]);
    assert_eq!(ran.code, 7, "{}{}", ran.out, ran.err);
    assert_eq!(read(&world, "project/log.txt"), "published\n", "{}", ran.out);
}

#[test]
fn a_no_after_the_kill_is_used_too() {
    let world = World::new();
    world.write("project/plan.md", ASKS);
    killed(&world);
    let said = "answer no --reason 'not on a Friday'";
    let Some(ran) = at_terminal(&world, said, "y\n", &[]) else { return };
    assert_eq!(ran.code, 0, "{}", ran.out);
    let ran = run(&world, &["plan.md"]);
    assert_eq!(ran.code, 7, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("1 refused: Publish (not on a Friday)"), "{}", ran.out);
}

#[test]
fn an_answer_to_another_command_is_none_to_this_one() {
    let world = World::new();
    world.write("project/plan.md", ASKS);
    killed(&world);
    let Some(ran) = at_terminal(&world, "answer yes", "y\n", &[]) else { return };
    assert_eq!(ran.code, 0, "{}", ran.out);
    world.write("project/plan.md", ASKS.replace("echo published", "echo evil"));
    let ran = run(&world, &["plan.md"]);
    assert_eq!(ran.code, 7, "{}{}", ran.out, ran.err);
    assert_eq!(read(&world, "project/log.txt"), "");
}

#[test]
fn a_question_of_a_killed_run_waits_until_it_is_asked_anew() {
    let world = World::new();
    world.write("project/plan.md", ASKS);
    killed(&world);
    assert_eq!(run(&world, &["plan.md"]).code, 7);
    assert_eq!(waiting(&world), 1, "nobody has asked it anew, so it can still be answered");
    let child = waits(&world, &[]);
    until(|| waiting(&world) == 1);
    let Some(ran) = at_terminal(&world, "answer yes", "y\n", &[]) else { return };
    assert_eq!(ran.code, 0, "one waits, so it need not be named: {}", ran.out);
    until(|| asked(&world) == 3);
    at_terminal(&world, "answer yes", "y\n", &[]).unwrap();
    assert_eq!(child.ends().0, 0);
}

#[test]
fn programs_hear_of_each_call_once_and_of_every_answer() {
    let world = World::new();
    world.write("project/plan.md", ASKS);
    let child = waits(&world, &["--json"]);
    let Some(_) = at_terminal(&world, "answer yes", "y\n", &[]) else { return };
    until(|| asked(&world) == 2);
    assert_eq!(read(&world, "project/log.txt"), "published\n");
    at_terminal(&world, "answer yes", "y\n", &[]).unwrap();
    let (code, out) = child.ends();
    assert_eq!(code, 0, "{out}");
    let events: Vec<Value> = out.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let of = |kind: &str| -> Vec<Value> {
        events.iter().filter(|it| it["type"] == kind).cloned().collect()
    };
    let told = of("tool.scheduled");
    let told: Vec<String> =
        told.iter().map(|it| format!("{} {} {}", it["callId"], it["name"], it["input"])).collect();
    assert_eq!(
        told,
        [
            r#""1" "shell" {"item":1,"command":"echo published >> log.txt"}"#,
            r#""2" "manual" {"item":2}"#
        ]
    );
    assert_eq!((of("tool.waiting").len(), of("tool.answered").len()), (2, 2), "{out}");
}

#[test]
fn a_yes_beforehand_is_told_as_an_answer() {
    let world = World::new();
    world.write("project/plan.md", ASKS);
    let ran = run(&world, &["plan.md", "--json", "--yes"]);
    let count = |kind: &str| ran.out.matches(&format!("\"type\":\"{kind}\"")).count();
    assert_eq!((count("tool.waiting"), count("tool.answered")), (1, 1), "{}", ran.out);
    assert_eq!(count("tool.scheduled"), 1, "{}", ran.out);
}

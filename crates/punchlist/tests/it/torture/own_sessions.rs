//! A session of our own agent that is killed goes on, and repeats no call that has begun.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::place::Place;
use super::transcript::{Transcript, items};
use super::{Round, Tally, scenario};
use crate::world::finish;

/// How often one session is killed at most.
const KILLS_EACH: usize = 5;

/// How many calls a session makes: the shell's and the delegations, which log a number, and those about the
/// plan.
const LOGS: usize = 12 + 3;
const CALLS: usize = LOGS + 5;

/// The model may do everything, and delegate to a worker that logs the number that it is told.
const CONFIG: &str = r#"
[[policy]]
decision = "allow"
tool = "shell"

[[policy]]
decision = "allow"
tool = "delegate"

[workers.scribe]
kind = "shell"
command = "sed -n 's/.*number \\([0-9]*\\).*/\\1/p' >> log.txt; sleep 0.01"
"#;

#[test]
fn a_session_goes_on_after_every_kill_and_repeats_no_call_that_has_begun() {
    scenario("sessions", killed);
}

/// A model that plans four items, makes three calls for each, delegates two of them and a task without an
/// item, forgets the last item once, and answers.
fn answers() -> Value {
    let shell = |n: usize| json!({"tool": "shell", "arguments": {"command": format!("echo {n} >> log.txt; sleep 0.01")}});
    let delegate = |item: Option<usize>, n: usize| {
        let mut arguments = json!({"agentType": "scribe", "task": format!("Log the number {n}")});
        if let Some(item) = item {
            arguments["todoId"] = item.to_string().into();
        }
        json!({"tool": "delegate", "arguments": arguments})
    };
    let complete = |n: usize| {
        let arguments = json!({"todoId": n.to_string(), "outcome": format!("outcome of {n}")});
        json!({"tool": "complete_todo", "arguments": arguments})
    };
    let items: Vec<Value> = (1..=4).map(|n| json!({"title": format!("Item {n}")})).collect();
    let create = json!({"tool": "create_todo", "arguments": {"items": items}});
    let mut answers = vec![json!({"text": "A plan.", "calls": [create]})];
    for n in 1..=4 {
        let first = (n - 1) * 3 + 1;
        if n == 4 {
            answers.push(json!({"text": "All is done."}));
        }
        answers.push(json!({"calls": [shell(first), shell(first + 1)], "delay_ms": 5}));
        match n {
            2 => answers.push(json!({"calls": [delegate(Some(2), 13), delegate(None, 14)]})),
            3 => answers.push(json!({"calls": [delegate(Some(3), 15)], "delay_ms": 5})),
            _ => {}
        }
        answers.push(json!({"calls": [shell(first + 2), complete(n)]}));
    }
    answers.push(json!({"text": "Now all is done."}));
    json!({ "answers": answers })
}

/// The argument of a tool that has the number that its call logs.
fn logs(tool: &str) -> Option<&'static str> {
    match tool {
        "shell" => Some("command"),
        "delegate" => Some("task"),
        _ => None,
    }
}

/// Kills sessions at random times; when one has ended, another one begins.
pub(super) fn killed(round: &mut Round<'_>) {
    let kills = round.of(10, 100);
    let whole = Session::new(round.place());
    let began = Instant::now();
    whole.finish(round.tally);
    let took = began.elapsed();
    if !round.tally.problems.is_empty() {
        return;
    }
    let expected = whole.plan();
    whole.check(round.tally);
    let mut done = 0;
    // Bounded, so that this ends even if every process is too quick.
    for _ in 0..kills * 2 {
        if done == kills || !round.tally.problems.is_empty() {
            break;
        }
        let session = Session::new(round.place());
        let most = KILLS_EACH.min(kills - done);
        done += session.kill(round, most, took);
        session.finish(round.tally);
        session.check(round.tally);
        let plan = session.plan();
        round.tally.must(plan == expected, || format!("the plan differs: {plan} {expected}"));
    }
}

/// A project with one session.
struct Session {
    place: Place,
}

impl Session {
    fn new(place: Place) -> Self {
        place.world.write("home/.config/punchlist/config.toml", CONFIG);
        place.world.write("scenario.json", answers().to_string());
        Self { place }
    }

    /// The session, if it is stored and has a turn.
    fn stored(&self) -> Option<Value> {
        let all = self.place.run(&["sessions", "--json"]).json();
        let session = all["sessions"].get(0)?;
        (session["turns"] != 0).then(|| session.clone())
    }

    /// A process that goes on with the session, or begins it.
    fn command(&self) -> std::process::Command {
        let model = format!("scripted:{}", self.place.world.path("scenario.json").display());
        match self.stored() {
            Some(_) => self.place.command(&["resume"]),
            None => self.place.command(&["do", "--model", &model, "Work it off"]),
        }
    }

    /// Kills processes at random times. Returns how many.
    fn kill(&self, round: &mut Round<'_>, most: usize, took: Duration) -> usize {
        let mut killed = 0;
        for _ in 0..most {
            let mut command = self.command();
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            let most = u64::try_from(took.as_micros()).unwrap();
            std::thread::sleep(Duration::from_micros(round.chance.below(most)));
            let is_over = child.try_wait().unwrap().is_some();
            if !is_over {
                child.kill().unwrap();
                killed += 1;
            }
            child.wait().unwrap();
            round.tally.processes += 1;
            if is_over {
                break;
            }
        }
        round.tally.kills += killed;
        killed
    }

    /// Lets the session end.
    fn finish(&self, tally: &mut Tally) {
        if self.stored().is_some_and(|it| it["state"] == "ended") {
            return;
        }
        let ran = finish(self.command(), b"");
        tally.processes += 1;
        tally.must(ran.code == 0, || format!("exit {}: {}{}", ran.code, ran.out, ran.err));
    }

    /// The items of the plan at the end.
    fn plan(&self) -> Value {
        items(&self.place)
    }

    /// Checks that each call has one result, which says what happened to it.
    fn check(&self, tally: &mut Tally) {
        Transcript::read(&self.place).check(CALLS, LOGS, logs, tally);
    }
}

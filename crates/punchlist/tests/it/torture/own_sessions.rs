//! A session of our own agent that is killed goes on, and repeats no call that has begun.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::place::Place;
use super::{Round, Tally, scenario};
use crate::world::finish;

/// How often one session is killed at most.
const KILLS_EACH: usize = 5;

/// How many shell calls a session makes.
const CALLS: usize = 12;

const RULES: &str = "[[policy]]\ndecision = 'allow'\ntool = 'shell'\n";

#[test]
fn a_session_goes_on_after_every_kill_and_repeats_no_call_that_has_begun() {
    scenario("sessions", killed);
}

/// A model that plans four items, makes three calls for each, forgets the last item once, and answers.
fn answers() -> Value {
    let shell = |n: usize| json!({"tool": "shell", "arguments": {"command": format!("echo {n} >> log.txt; sleep 0.01")}});
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
        answers.push(json!({"calls": [shell(first + 2), complete(n)]}));
    }
    answers.push(json!({"text": "Now all is done."}));
    json!({ "answers": answers })
}

/// Kills sessions at random times; when one has ended, another one begins.
fn killed(round: &mut Round<'_>) {
    let kills = round.of(10, 100);
    let whole = Session::new();
    let began = Instant::now();
    whole.finish(round.tally);
    let took = began.elapsed();
    if !round.tally.problems.is_empty() {
        return;
    }
    let expected = whole.plan();
    whole.check(round.tally);
    let mut done = 0;
    while done < kills && round.tally.problems.is_empty() {
        let session = Session::new();
        let most = KILLS_EACH.min(kills - done);
        // At least one, so that this ends even if every process is too quick.
        done += session.kill(round, most, took).max(1);
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
    fn new() -> Self {
        let place = Place::new();
        place.world.write("home/.config/punchlist/config.toml", RULES);
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
        let session = self.place.run(&["sessions", "show", "--json"]).json();
        let plan = session["turnList"][0]["plan"].as_str().unwrap_or_default().to_owned();
        let plan = self.place.run(&["list", "--all", "--json", "--plan", &plan]).json();
        let items = plan["items"].as_array().into_iter().flatten();
        items.map(|it| json!([it["number"], it["title"], it["status"], it["outcome"]])).collect()
    }

    /// Checks that each call has one result, which says what happened to it.
    fn check(&self, tally: &mut Tally) {
        let lines = self.place.run(&["sessions", "export", "--format", "jsonl"]).out;
        let mut results: BTreeMap<String, String> = BTreeMap::new();
        let mut calls = Vec::new();
        for line in lines.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let entry = &line["entry"];
            match entry["what"].as_str() {
                Some("answer") => {
                    calls.extend(entry["message"]["calls"].as_array().cloned().unwrap_or_default());
                }
                Some("result") => {
                    let (call, text) = (entry["call"].to_string(), entry["text"].to_string());
                    if results.insert(call.clone(), text).is_some() {
                        tally.spoil(format!("call {call} has two results"));
                    }
                }
                Some(_) | None => {}
            }
        }
        tally.must(calls.len() == CALLS + 5, || format!("{} calls", calls.len()));
        let log = self.place.world.path("project/log.txt");
        let log = fs::read_to_string(log).unwrap_or_default();
        let mut number = 0;
        for call in &calls {
            let Some(result) = results.get(&call["id"].to_string()) else {
                tally.lose(format!("call {call} has no result"));
                continue;
            };
            if call["tool"] != "shell" {
                continue;
            }
            number += 1;
            let times = log.lines().filter(|it| *it == number.to_string()).count();
            tally.writes += times;
            tally.acknowledged += 1;
            if times > 1 {
                tally.double(format!("call {number} ran {times} times"));
            } else if times == 0 && !result.contains("may have happened") {
                tally.lose(format!("call {number} did not run: {result}"));
            }
        }
    }
}

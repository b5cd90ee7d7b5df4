//! A run that is killed continues, and repeats nothing that is done.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{Round, scenario};
use crate::world::finish;

const STEPS: usize = 50;

#[test]
fn a_plan_file_goes_on_after_every_kill_and_repeats_only_what_was_in_flight() {
    scenario("plan file", killed);
}

/// Fifty steps that append to a file, in five columns.
fn fifty() -> String {
    let mut plan = String::from("# Fifty\n");
    for n in 1..=STEPS {
        writeln!(plan, "- [ ] Step {n}\n  run: echo {n} >> log.txt; sleep 0.01").unwrap();
        if n > 5 {
            writeln!(plan, "  after: Step {}", n - 5).unwrap();
        }
    }
    plan
}

/// Kills runs at random times; when a plan is completed, another one is started.
pub(super) fn killed(round: &mut Round<'_>) {
    let kills = round.of(10, 100);
    let mut done = 0;
    while done < kills && round.tally.problems.is_empty() {
        done += one(round, kills - done);
    }
}

/// One plan, from start to end. Returns how often it was killed.
fn one(round: &mut Round<'_>, most: usize) -> usize {
    let place = round.place();
    place.world.write("project/plan.md", fifty());
    let mut in_flight: BTreeMap<String, usize> = BTreeMap::new();
    let mut killed = 0;
    // A process needs about this long until it begins.
    let mut one_call = Duration::ZERO;
    while killed < most {
        let mut command = place.command(&["run", "plan.md", "--retry-interrupted", "--jobs", "2"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(round.chance.below(150)) + one_call / 2);
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
        // The items in progress were in flight at the kill.
        let began = Instant::now();
        let plan = place.run(&["list", "--plan", "plan.md", "--json"]);
        one_call = began.elapsed();
        let plan = if plan.code == 0 { plan.json() } else { serde_json::Value::Null };
        for item in plan["items"].as_array().into_iter().flatten() {
            if item["status"] == "in_progress" {
                *in_flight.entry(item["title"].as_str().unwrap().to_owned()).or_default() += 1;
            }
        }
    }
    let last = finish(place.command(&["run", "plan.md", "--retry-interrupted"]), b"");
    round.tally.processes += 1;
    round.tally.kills += killed;
    round.tally.must(last.code == 0, || format!("it did not end well: {}\n{}", last.out, last.err));
    let log = fs::read_to_string(place.world.path("project/log.txt")).unwrap_or_default();
    for n in 1..=STEPS {
        let times = log.lines().filter(|it| *it == n.to_string()).count();
        let may = 1 + in_flight.get(&format!("Step {n}")).copied().unwrap_or(0);
        round.tally.writes += times;
        round.tally.acknowledged += 1;
        if times == 0 {
            round.tally.lose(format!("step {n} is done and never ran"));
        } else if times > may {
            let kills = may - 1;
            round.tally.double(format!("step {n} ran {times} times, in flight at {kills} kills"));
        }
    }
    killed.max(1)
}

//! Killed at any moment, the same command goes on, and repeats nothing that is done.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Stdio;
use std::time::Duration;

use super::{done, read, run};
use crate::world::World;

const STEPS: usize = 50;

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

/// Kills runs at moments that a small generator chooses, until one comes to its end.
fn torture(kills: u32) {
    let world = World::new();
    world.write("project/plan.md", fifty());
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut in_flight: BTreeMap<String, usize> = BTreeMap::new();
    let mut killed = 0;
    for _ in 0..kills {
        let mut command = world.command("project");
        command.args(["run", "plan.md", "--retry-interrupted", "--jobs", "2"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        std::thread::sleep(Duration::from_millis(seed % 120));
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            killed += 1;
        }
        child.wait().unwrap();
        // What was in progress at the kill may run once more.
        let plan = world.run(&["list", "--plan", "plan.md", "--json"]);
        if plan.code != 0 {
            continue;
        }
        let plan = plan.json();
        for item in plan["items"].as_array().unwrap() {
            if item["status"] == "in_progress" {
                *in_flight.entry(item["title"].as_str().unwrap().to_owned()).or_default() += 1;
            }
        }
    }
    let last = run(&world, &["plan.md", "--retry-interrupted"]);
    assert_eq!(last.code, 0, "{}\n{}", last.out, last.err);
    assert_eq!(done(&world, "plan.md").len(), STEPS);
    assert!(killed > 0, "nothing was ever killed");
    let log = read(&world, "project/log.txt");
    for n in 1..=STEPS {
        let times = log.lines().filter(|it| *it == n.to_string()).count();
        let may = 1 + in_flight.get(&format!("Step {n}")).copied().unwrap_or(0);
        assert!(
            (1..=may).contains(&times),
            "step {n} ran {times} times, in flight at {} kills",
            may - 1
        );
    }
}

#[test]
fn fifty_steps_survive_ten_kills() {
    torture(10);
}

/// The long form: a hundred kills.
#[test]
#[ignore = "takes a while; `cargo xtask torture` runs it"]
fn fifty_steps_survive_a_hundred_kills() {
    torture(100);
}

#[test]
fn what_was_under_way_stays_open_unless_somebody_says_otherwise() {
    let world = World::new();
    let plan = "\
- [ ] Slow
  run: echo slow >> log.txt; until test -e go; do sleep 0.02; done
- [ ] Checked
  run: echo checked >> log.txt; touch checked; until test -e go; do sleep 0.02; done
  verify: test -e checked
- [ ] Other
  after: Checked
  run: echo other >> log.txt
";
    world.write("project/plan.md", plan);
    let mut command = world.command("project");
    command.args(["run", "plan.md", "--jobs", "2"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    super::until(|| {
        read(&world, "project/log.txt").lines().count() == 2
            && world.path("project/checked").exists()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    world.write("project/go", "");
    let ran = run(&world, &["plan.md"]);
    assert_eq!(ran.code, 7, "{}\n{}", ran.out, ran.err);
    // The check says that one is done, so it was not run again; the other stays open; the rest goes on.
    assert_eq!(done(&world, "plan.md"), ["Checked", "Other"]);
    assert!(ran.out.contains("interrupted"), "{}", ran.out);
    let mut log: Vec<String> = read(&world, "project/log.txt").lines().map(str::to_owned).collect();
    log.sort();
    assert_eq!(log, ["checked", "other", "slow"]);
    assert_eq!(run(&world, &["plan.md", "--retry-interrupted"]).code, 0);
    assert_eq!(done(&world, "plan.md").len(), 3);
}

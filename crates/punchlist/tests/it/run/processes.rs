//! However a run ends, none of its processes is left.

use std::fs;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::{read, until};
use crate::world::World;

/// A step whose grandchild ignores SIGTERM, and one that left the session.
const STUBBORN: &str = "\
- [ ] Stubborn
  run: trap '' TERM INT HUP; (trap '' TERM INT HUP; echo $$ > one; while :; do sleep 0.05; done) & setsid sh -c 'trap \"\" TERM INT HUP; echo $$ > two; while :; do sleep 0.05; done' & while :; do sleep 0.05; done
";

fn start(world: &World) -> Child {
    let mut command = world.command("project");
    command.args(["run", "plan.md"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    until(|| !read(world, "project/one").is_empty() && !read(world, "project/two").is_empty());
    child
}

/// The processes in the project directory that a step left.
fn left(world: &World) -> usize {
    let project = world.path("project");
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|it| fs::read_link(it.path().join("cwd")).is_ok_and(|it| it == project))
        .count()
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

#[test]
fn after_ctrl_c_nothing_is_left() {
    let world = World::new();
    world.write("project/plan.md", STUBBORN);
    let mut child = start(&world);
    signal(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    until(|| left(&world) == 0);
}

#[test]
fn after_a_second_ctrl_c_it_ends_at_once_and_nothing_is_left() {
    let world = World::new();
    world.write("project/plan.md", STUBBORN);
    let mut child = start(&world);
    signal(&child, Signal::INT);
    signal(&child, Signal::INT);
    child.wait().unwrap();
    until(|| left(&world) == 0);
}

#[test]
fn after_a_kill_nothing_is_left() {
    let world = World::new();
    world.write("project/plan.md", STUBBORN);
    let mut child = start(&world);
    child.kill().unwrap();
    child.wait().unwrap();
    until(|| left(&world) == 0);
}

/// A check that leaves stubborn processes and never ends, once there is a file `slow`.
const CHECKED: &str = "\
- [ ] Checked
  verify: test -e slow || exit 0; trap '' TERM INT HUP; (trap '' TERM INT HUP; echo $$ > one; while :; do sleep 0.05; done) & setsid sh -c 'trap \"\" TERM INT HUP; echo $$ > two; while :; do sleep 0.05; done' & while :; do sleep 0.05; done
";

/// A plan whose check has passed, and would now never end.
fn checked(plan: &str) -> World {
    let world = World::new();
    world.write("project/plan.md", plan);
    assert_eq!(super::run(&world, &["plan.md"]).code, 0);
    world.write("project/slow", "");
    world
}

/// The number of evidence entries, and the result of the last one.
fn seen(world: &World) -> (usize, Option<i64>) {
    let list = world.run(&["list", "--plan", "plan.md", "--json"]).json();
    let evidence = list["items"][0]["evidence"].as_array().unwrap().clone();
    (evidence.len(), evidence.last().and_then(|it| it["run"]["exitCode"].as_i64()))
}

#[test]
fn a_check_that_takes_too_long_has_failed_and_leaves_nothing() {
    let world = checked(&format!("{CHECKED}  timeout: 1s\n"));
    let ran = world.run(&["verify", "1", "--plan", "plan.md"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.out.contains("failed 1  Checked: timed out"), "{}", ran.out);
    until(|| left(&world) == 0);
    assert_eq!(seen(&world), (2, None));
}

/// Whether the tests were started with this signal ignored.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|it| u64::from_str_radix(it.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal.as_raw() - 1) & 1 == 1
}

#[test]
fn a_check_that_is_stopped_proves_nothing_and_leaves_nothing() {
    for stop in [Signal::INT, Signal::TERM, Signal::KILL] {
        // A process in the background ignores Ctrl-C, and so do its children.
        if is_ignored(stop) {
            continue;
        }
        let world = checked(CHECKED);
        let mut command = world.command("project");
        command.args(["verify", "1", "--plan", "plan.md"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        until(|| {
            !read(&world, "project/one").is_empty() && !read(&world, "project/two").is_empty()
        });
        signal(&child, stop);
        assert!(!child.wait().unwrap().success());
        until(|| left(&world) == 0);
        assert_eq!(seen(&world), (1, Some(0)), "nothing was seen, so nothing was kept");
    }
}

#[test]
fn after_a_timeout_nothing_is_left() {
    let world = World::new();
    world.write("project/plan.md", format!("{STUBBORN}  timeout: 1s\n"));
    let mut child = start(&world);
    assert_eq!(child.wait().unwrap().code(), Some(6));
    until(|| left(&world) == 0);
}

/// The children of a process.
fn children(parent: u32) -> Vec<i32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|it| it.file_name().to_str()?.parse::<i32>().ok());
    let is_child = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let rest = stat.rsplit(')').next().unwrap_or_default();
        rest.split_whitespace().nth(1) == Some(&parent.to_string())
    };
    pids.filter(is_child).collect()
}

#[test]
fn a_command_dies_when_the_run_and_its_guardian_are_killed_together() {
    let world = World::new();
    world.write("project/plan.md", "- [ ] Long\n  run: echo $$ > one; exec sleep 120\n");
    let mut command = world.command("project");
    command.args(["run", "plan.md"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    until(|| !read(&world, "project/one").trim().is_empty());
    let guardians = children(child.id());
    let [guardian] = guardians[..] else { panic!("{guardians:?}") };
    // Stopped, so that neither can react before it is killed.
    signal(&child, Signal::STOP);
    kill_process(Pid::from_raw(guardian).unwrap(), Signal::STOP).unwrap();
    kill_process(Pid::from_raw(guardian).unwrap(), Signal::KILL).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    until(|| left(&world) == 0);
}

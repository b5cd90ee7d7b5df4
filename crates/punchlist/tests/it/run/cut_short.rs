//! A stopped call keeps its output so far, however it was stopped.

use std::io::Read;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{read, run, until};
use crate::questions::at_terminal;
use crate::terminal::Terminal;
use crate::world::World;

/// A step that prints something and then never ends, and one that depends on it.
const SLOW: &str = "\
- [ ] Slow
  run: echo half of it; echo said > said; until test -e go; do sleep 0.02; done
- [ ] Other
  after: Slow
  run: echo other
";

fn start(world: &World, arguments: &[&str]) -> Child {
    let mut command = world.command("project");
    command.args(["run", "plan.md"]).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    until(|| !read(world, "project/said").is_empty());
    child
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// The item's last call in the store.
fn last_call(world: &World) -> Value {
    world.run(&["show", "1", "--plan", "plan.md", "--json"]).json()["lastCall"].clone()
}

#[test]
fn after_ctrl_c_the_output_so_far_is_in_the_record_in_events_and_in_show() {
    let world = World::new();
    world.write("project/plan.md", SLOW);
    let mut child = start(&world, &["--json"]);
    signal(&child, Signal::INT);
    let mut told = String::new();
    child.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let events = told.lines().map(|it| serde_json::from_str::<Value>(it).unwrap());
    let ended: Vec<Value> =
        events.filter(|it| it["type"] == "tool.completed" && it["callId"] == "1").collect();
    let [ended] = &ended[..] else { panic!("{told}") };
    assert_eq!(ended["status"], "cancelled", "{ended}");
    assert!(ended["output"].as_str().unwrap().ends_with("\nhalf of it\n"), "{ended}");
    let call = last_call(&world);
    assert_eq!((&call["state"], &call["output"]), (&"cancelled".into(), &"half of it\n".into()));
    let shown = world.run(&["show", "1", "--plan", "plan.md"]).ok();
    assert!(shown.contains("\n  last run     cancelled"), "{shown}");
    assert!(shown.contains("\n  output\n    half of it\n"), "{shown}");
}

#[test]
fn a_call_that_timed_out_keeps_its_output() {
    let world = World::new();
    world.write("project/plan.md", SLOW.replacen("- [ ] Other", "  timeout: 1s\n- [ ] Other", 1));
    assert_eq!(start(&world, &[]).wait().unwrap().code(), Some(6));
    let call = last_call(&world);
    assert_eq!((&call["state"], &call["output"]), (&"error".into(), &"half of it\n".into()));
}

#[test]
fn a_call_whose_driver_was_killed_keeps_what_was_on_the_disk() {
    let world = World::new();
    world.write("project/plan.md", SLOW);
    let mut child = start(&world, &[]);
    until(|| last_call(&world)["output"] == "half of it\n");
    child.kill().unwrap();
    child.wait().unwrap();
    // Before anybody has marked the call as interrupted.
    let call = last_call(&world);
    assert_eq!((&call["state"], &call["output"]), (&"executing".into(), &"half of it\n".into()));
    assert_eq!(run(&world, &["plan.md"]).code, 7);
    let call = last_call(&world);
    assert_eq!((&call["state"], &call["output"]), (&"cancelled".into(), &"half of it\n".into()));
    assert_eq!(call["reason"], "interrupted: the program ended while it ran");
    // Forgotten output is removed from the disk.
    let whole = call["whole"].as_str().unwrap().to_owned();
    assert!(std::path::Path::new(&whole).exists());
    world.person("forget 1 --plan plan.md").ok_with_warnings();
    assert!(!std::path::Path::new(&whole).exists());
}

#[test]
fn a_call_that_is_stopped_during_its_check_keeps_the_output_of_both() {
    let world = World::new();
    let plan = "\
- [ ] Checked
  run: echo from the command
  verify: echo from the check; echo said > said; until test -e go; do sleep 0.02; done
";
    world.write("project/plan.md", plan);
    let mut child = start(&world, &[]);
    signal(&child, Signal::TERM);
    child.wait().unwrap();
    assert_eq!(last_call(&world)["output"], "from the command\nfrom the check\n");
}

#[test]
fn a_run_whose_outputs_are_short_leaves_no_files() {
    let world = World::new();
    world.write("project/plan.md", "- [ ] A\n  run: echo a\n- [ ] B\n  run: echo b; exit 1\n");
    assert_eq!(run(&world, &["plan.md"]).code, 6);
    let outputs = world.path("home/.local/share/punchlist/output");
    let left = std::fs::read_dir(outputs).map_or(0, |it| it.count());
    assert_eq!(left, 0);
    assert_eq!(last_call(&world)["output"], "a\n");
}

/// A completed step, a running one, and one that asks after the first.
const STOPPED: &str = "\
- [ ] First
  run: echo from the first
- [ ] Slow
  run: echo half of it; echo said > said; until test -e go; do sleep 0.02; done; echo more
- [ ] Publish
  after: First
  approve: yes
  run: echo published > published
- [ ] Last
  after: Publish
  run: echo last > last
";

/// The run was refused and stopped: nothing more has started, and the output so far is available.
#[track_caller]
fn is_stopped_with_its_outputs(world: &World) {
    let show = |item: &str| world.run(&["show", item, "--output", "--plan", "plan.md"]);
    assert_eq!(show("1").ok(), "from the first\n");
    assert_eq!(show("2").ok(), "half of it\n");
    for item in ["3", "4"] {
        assert_eq!(show(item).code, 4, "it printed nothing");
    }
    assert!(!world.path("project/published").exists() && !world.path("project/last").exists());
    let slow = world.run(&["show", "2", "--plan", "plan.md", "--json"]).json();
    assert_eq!(slow["lastCall"]["state"], "cancelled", "{slow}");
    let waiting = world.run(&["questions", "--json"]).json();
    assert_eq!(waiting["questions"].as_array().unwrap().len(), 0, "{waiting}");
    let told = world.run(&["list", "--plan", "plan.md", "--json"]).json();
    let states: Vec<&str> =
        told["items"].as_array().unwrap().iter().filter_map(|it| it["status"].as_str()).collect();
    assert_eq!(states[0], "completed", "{told}");
    assert!(states[1..].iter().all(|it| *it != "completed"), "{told}");
}

#[test]
fn refuse_and_stop_at_the_terminal_ends_the_run_and_keeps_what_was_printed() {
    let world = World::new();
    world.write("project/plan.md", STOPPED);
    let Some(terminal) = Terminal::open(&world, 100) else { return };
    let program = env!("CARGO_BIN_EXE_punchlist");
    terminal.types(&[&format!("clear; {program} run plan.md --jobs 4; echo left $?"), "Enter"]);
    terminal.until(|it| it.contains("q refuse and stop"));
    until(|| !read(&world, "project/said").is_empty());
    terminal.types(&["q"]);
    let shown = terminal.until(|it| it.lines().any(|it| it == "left 7"));
    assert!(shown.contains("Publish was refused"), "{shown}");
    is_stopped_with_its_outputs(&world);
}

#[test]
fn the_answer_stop_from_elsewhere_ends_the_run_and_keeps_what_was_printed() {
    let world = World::new();
    world.write("project/plan.md", STOPPED);
    let mut child = start(&world, &["--wait", "--jobs", "4"]);
    until(|| {
        let waiting = world.run(&["questions", "--json"]).json();
        !waiting["questions"].as_array().unwrap().is_empty()
    });
    if at_terminal(&world, "answer stop", "", &[]).is_none() {
        child.kill().unwrap();
        child.wait().unwrap();
        return;
    }
    assert_eq!(child.wait().unwrap().code(), Some(7));
    is_stopped_with_its_outputs(&world);
}

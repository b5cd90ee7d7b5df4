//! `punchlist run`: plan files are completed, whatever happens to the program meanwhile.

use std::fs;
use std::process::Stdio;

use punchlist_streams::event::owned::AgentEvent;
use serde_json::Value;

use crate::world::{Ran, World, finish};

mod again;
mod answers;
mod asking;
mod counts;
mod crash;
mod cut_short;
mod moved;
mod outputs;
mod processes;
mod screen;
mod workers;

/// Runs a file of the project.
fn run(world: &World, arguments: &[&str]) -> Ran {
    let mut command = world.command("project");
    command.arg("run").args(arguments);
    finish(command, b"")
}

/// The items of the file's plan: titles and statuses, in order.
fn items(world: &World, plan: &str) -> Vec<(String, String)> {
    let list = world.run(&["list", "--plan", plan, "--json"]).json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let items = list["items"].as_array().unwrap().iter();
    items.map(|it| (text(&it["title"]), text(&it["status"]))).collect()
}

/// The titles of completed items.
fn done(world: &World, plan: &str) -> Vec<String> {
    let completed = items(world, plan).into_iter().filter(|it| it.1 == "completed");
    completed.map(|it| it.0).collect()
}

fn read(world: &World, path: &str) -> String {
    fs::read_to_string(world.path(path)).unwrap_or_default()
}

const RELEASE: &str = "\
# Release 1.2
- [ ] Build
  run: echo building; echo build >> log.txt
  verify: test -s log.txt
- [ ] Test
  after: Build
  run: echo test >> log.txt
- [ ] Publish
  after: Build, Test
  run: echo publish >> log.txt
";

#[test]
fn a_plan_is_worked_off_in_order_and_checked() {
    let world = World::new();
    world.write("project/release.md", RELEASE);
    let ran = run(&world, &["release.md"]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    assert_eq!(read(&world, "project/log.txt"), "build\ntest\npublish\n");
    assert_eq!(done(&world, "release.md"), ["Build", "Test", "Publish"]);
    assert!(ran.out.ends_with("3 done (1 checked), 0 failed, 0 left.\n"), "{}", ran.out);
    insta::assert_snapshot!(world.without_chance(&ran.out));
    let list = world.run(&["list", "--plan", "release.md", "--json"]).json();
    let evidence = &list["items"][0]["evidence"][0];
    assert_eq!(evidence["level"], "checked", "{evidence}");
    assert_eq!(evidence["run"]["exitCode"], 0);
}

#[test]
fn what_is_done_is_not_repeated_and_fresh_starts_over() {
    let world = World::new();
    world.write("project/release.md", RELEASE);
    assert_eq!(run(&world, &["release.md"]).code, 0);
    let again = run(&world, &["release.md"]);
    assert_eq!(
        (again.code, again.out.as_str()),
        (0, "All done already: 3 items. `--fresh` starts over.\n")
    );
    assert_eq!(read(&world, "project/log.txt"), "build\ntest\npublish\n");
    assert_eq!(run(&world, &["release.md", "--fresh"]).code, 0);
    assert_eq!(read(&world, "project/log.txt"), "build\ntest\npublish\n".repeat(2));
}

const BROKEN: &str = "\
- [ ] Fails
  run: echo why; exit 3
- [ ] Needs it
  after: Fails
  run: echo never >> log.txt
- [ ] Alone
  run: echo alone >> log.txt
- [ ] After that
  after: Alone
  run: echo after >> log.txt
";

#[test]
fn a_failure_stops_what_has_not_begun_and_the_next_run_retries_it() {
    let world = World::new();
    world.write("project/plan.md", BROKEN);
    let ran = run(&world, &["plan.md", "--jobs", "1"]);
    assert_eq!(ran.code, 6, "{}\n{}", ran.out, ran.err);
    assert_eq!(read(&world, "project/log.txt"), "", "nothing new began");
    assert!(ran.out.contains("1 failed: Fails (exit code 3)"), "{}", ran.out);
    assert!(ran.out.contains("  why\n"), "what it said is shown: {}", ran.out);
    assert!(ran.out.ends_with("3 left. Run it again to retry.\n"), "{}", ran.out);
    world.write("project/plan.md", BROKEN.replace("exit 3", "true"));
    assert_eq!(run(&world, &["plan.md", "--jobs", "1"]).code, 0);
    assert_eq!(read(&world, "project/log.txt"), "never\nalone\nafter\n");
}

#[test]
fn with_skip_what_does_not_need_it_goes_on() {
    let world = World::new();
    world.write("project/plan.md", BROKEN);
    let ran = run(&world, &["plan.md", "--on-failure", "skip"]);
    assert_eq!(ran.code, 6, "{}", ran.out);
    assert_eq!(read(&world, "project/log.txt"), "alone\nafter\n");
    assert!(ran.out.contains("left       Needs it  after Fails"), "{}", ran.out);
}

#[test]
fn a_flaky_step_is_tried_again() {
    let world = World::new();
    let flaky = "- [ ] Flaky\n  run: echo x >> tries; test $(wc -l < tries) -ge 3\n";
    world.write("project/plan.md", format!("{flaky}  retry: 2 after 0s\n"));
    let ran = run(&world, &["plan.md"]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    assert_eq!(read(&world, "project/tries"), "x\n".repeat(3));
    let world = World::new();
    world.write("project/plan.md", flaky);
    assert_eq!(run(&world, &["plan.md"]).code, 6);
}

#[test]
fn a_check_decides_whether_a_command_was_enough() {
    let world = World::new();
    world.write("project/plan.md", "- [ ] Build\n  run: echo built\n  verify: test -e out\n");
    let ran = run(&world, &["plan.md"]);
    assert_eq!(ran.code, 6, "{}", ran.out);
    assert!(ran.out.contains("its check failed: exit code 1"), "{}", ran.out);
    assert_eq!(done(&world, "plan.md"), Vec::<String>::new());
    world.write("project/out", "");
    assert_eq!(run(&world, &["plan.md"]).code, 0);
}

#[test]
fn where_nobody_is_what_needs_a_person_is_left_and_yes_allows_it() {
    let world = World::new();
    let plan = "\
- [ ] Publish
  approve: yes
  run: echo published >> log.txt
- [ ] Tell the team
- [ ] Celebrate
  after: Tell the team
  run: echo cheers >> log.txt
";
    world.write("project/plan.md", plan);
    let ran = run(&world, &["plan.md"]);
    assert_eq!(ran.code, 7, "{}", ran.out);
    assert_eq!(read(&world, "project/log.txt"), "");
    insta::assert_snapshot!(world.without_chance(&ran.out));
    let ran = run(&world, &["plan.md", "--yes"]);
    assert_eq!(ran.code, 7, "{}", ran.out);
    assert_eq!(
        read(&world, "project/log.txt"),
        "published\n",
        "a yes is no word that it was done by hand"
    );
    world.run(&["done", "--plan", "plan.md", "2"]).works();
    assert_eq!(run(&world, &["plan.md"]).code, 0);
    assert_eq!(read(&world, "project/log.txt"), "published\ncheers\n");
}

#[test]
fn rules_of_the_user_hold_for_files_too() {
    let world = World::new();
    world.write(
        "project/plan.md",
        "- [ ] Push\n  run: git push origin main; echo pushed >> log.txt\n",
    );
    let rule = "[[policy]]\ndecision = \"deny\"\ntool = \"shell\"\ncommand = \"git push\"\n";
    world.write("home/.config/punchlist/config.toml", rule);
    let ran = run(&world, &["plan.md"]);
    assert_eq!(ran.code, 6, "{}", ran.out);
    assert!(ran.out.contains("1 denied: Push (by { decision = \"deny\""), "{}", ran.out);
    assert_eq!(read(&world, "project/log.txt"), "");
}

#[test]
fn rules_about_checks_hold_for_those_of_files() {
    let world = World::new();
    let plan = "- [ ] Build\n  run: echo built >> log.txt\n  verify: touch checked\n";
    world.write("project/plan.md", plan);
    let rule = "[[policy]]\ndecision = \"deny\"\ntool = \"verify\"\ncommand = \"touch\"\n";
    world.write("home/.config/punchlist/config.toml", rule);
    let ran = run(&world, &["plan.md"]);
    assert_eq!(ran.code, 6, "{}", ran.out);
    assert!(
        ran.out.contains("1 denied: Build (by { decision = \"deny\", tool = \"verify\""),
        "{}",
        ran.out
    );
    assert_eq!(
        (read(&world, "project/log.txt").as_str(), world.path("project/checked").exists()),
        ("", false)
    );
    // A step that must be asked about does not run where nobody can be asked, and `--yes` counts.
    world.write("home/.config/punchlist/config.toml", rule.replace("deny", "ask"));
    let ran = run(&world, &["plan.md"]);
    assert_eq!(ran.code, 7, "{}", ran.out);
    assert!(!world.path("project/checked").exists());
    assert_eq!(run(&world, &["plan.md", "--yes"]).code, 0);
    assert!(world.path("project/checked").exists());
}

/// A call from an agent's shell tool.
fn by_agent(world: &World, arguments: &[&str]) -> Ran {
    let mut command = world.command("project");
    command.args(arguments).env("CLAUDECODE", "1");
    finish(command, b"")
}

#[test]
fn a_file_that_an_agent_names_runs_by_rules_and_its_checks_by_a_persons_word() {
    let world = World::new();
    let plan = "- [ ] Build\n  run: echo built\n  verify: touch checked\n";
    world.write("project/plan.md", plan);
    let rule = |tool: &str, command: &str| {
        format!("[[policy]]\ndecision = \"allow\"\ntool = \"{tool}\"\ncommand = \"{command}\"\n")
    };
    let has_run = || world.path("project/checked").exists();
    let check = |rules: &str, words: &str| {
        world.write("home/.config/punchlist/config.toml", rules);
        let ran = by_agent(&world, &["run", "plan.md"]);
        assert_eq!((ran.code, has_run()), (7, false), "{}", ran.out);
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    };
    check("", "an agent wrote its check, and no rule allows it");
    let shell = rule("shell", "echo");
    check(&shell, "an agent wrote its check, and no rule allows it");
    let both = shell + &rule("verify", "touch");
    check(&both, "an agent wrote its check, and the user has not allowed those here");
    let project = world.path("project").display().to_string();
    world.write("home/.local/share/punchlist/checks", format!("{project}\n"));
    check(&rule("verify", "touch"), "nobody can be asked; no rule allows it");
    world.write("home/.config/punchlist/config.toml", both);
    let ran = by_agent(&world, &["run", "plan.md"]);
    assert_eq!((ran.code, has_run()), (0, true), "{}", ran.out);
    assert_eq!(by_agent(&world, &["run", "plan.md", "--yes", "--fresh"]).code, 3);
}

#[test]
fn what_an_agent_puts_on_the_plan_is_not_run_because_a_person_named_the_file() {
    let world = World::new();
    world.write("project/plan.md", "- [ ] Build\n  run: echo built\n");
    assert_eq!(run(&world, &["plan.md"]).code, 0);
    by_agent(&world, &["add", "Clean up", "--plan", "plan.md", "--verify", "touch evil"]).works();
    by_agent(&world, &["add", "Do evil", "--plan", "plan.md", "--agent", "claude"]).works();
    let ran = run(&world, &["plan.md"]);
    assert_eq!(ran.code, 7, "{}\n{}", ran.out, ran.err);
    assert!(!world.path("project/evil").exists());
    assert!(ran.out.contains("Clean up  an agent wrote its check"), "{}", ran.out);
    assert!(ran.out.contains("Do evil  nobody can be asked"), "{}", ran.out);
}

#[test]
fn denied_and_failed_are_told_apart_and_kept_so() {
    let world = World::new();
    let plan = "- [ ] Push\n  run: git push\n- [ ] Fail\n  run: exit 3\n- [ ] Ask\n  run: ls\n";
    world.write("project/plan.md", plan);
    let rule = |decision: &str, command: &str| {
        format!(
            "[[policy]]\ndecision = \"{decision}\"\ntool = \"shell\"\ncommand = \"{command}\"\n"
        )
    };
    let rules = rule("deny", "git push") + &rule("ask", "ls");
    world.write("home/.config/punchlist/config.toml", rules);
    let ran = run(&world, &["plan.md", "--on-failure", "skip", "--jobs", "1"]);
    assert_eq!(ran.code, 6, "{}", ran.out);
    let said = world.without_chance(&ran.out);
    let mut lines: Vec<&str> = said.lines().collect();
    lines.sort_unstable();
    insta::assert_snapshot!("denied_and_failed", lines.join("\n"));
    let list = world.run(&["list", "--plan", "plan.md", "--json"]).json();
    let outcome = |at: usize| list["items"][at]["outcome"].as_str().unwrap().to_owned();
    assert!(outcome(0).starts_with("denied by policy: { decision = \"deny\""), "{}", outcome(0));
    assert_eq!(outcome(1), "failed: exit code 3");
    assert!(outcome(2).starts_with("not begun: nobody can be asked"), "{}", outcome(2));
    let told = run(&world, &["plan.md", "--json", "--on-failure", "skip"]).out;
    let ends: Vec<Value> = told.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let mut ends: Vec<String> = ends
        .iter()
        .filter(|it| it["type"] == "tool.completed")
        .map(|it| {
            let output = it["output"].as_str().unwrap_or_default();
            let words: Vec<&str> = output.split_whitespace().take(3).collect();
            format!("{} {}: {}", it["callId"], it["status"], words.join(" "))
        })
        .collect();
    ends.sort();
    insta::assert_snapshot!("denied_and_failed_for_programs", ends.join("\n"));
}

#[test]
fn old_outputs_go_after_a_run_and_doctor_says_what_is_kept() {
    let world = World::new();
    world.write("project/plan.md", "- [ ] Talk\n  run: seq 1 40000\n");
    let outputs = "home/.local/share/punchlist/output";
    let old = "0199c3a0-0000-7000-8000-000000000001";
    world.write(&format!("{outputs}/{old}/1.txt"), "old");
    world.write(&format!("{outputs}/mine/1.txt"), "not a run's");
    for path in
        [format!("{outputs}/{old}/1.txt"), format!("{outputs}/{old}"), format!("{outputs}/mine")]
    {
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        fs::File::open(world.path(&path)).unwrap().set_modified(long_ago).unwrap();
    }
    assert_eq!(run(&world, &["plan.md"]).code, 0);
    let left = fs::read_dir(world.path(outputs)).unwrap().flatten();
    let left: Vec<_> = left.map(|it| it.file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.iter().any(|it| it == "mine") && !left.iter().any(|it| it == old), "{left:?}");
    let said = world.run(&["doctor"]).out;
    assert!(said.contains("whole outputs of 1 run, 229 kB, kept for 30 days"), "{said}");
}

#[test]
fn only_and_from_choose() {
    let world = World::new();
    world.write("project/release.md", RELEASE);
    let ran = run(&world, &["release.md", "--only", "Publish"]);
    assert_eq!(ran.code, 7, "what it waits for is not done: {}", ran.out);
    let ran = run(&world, &["release.md", "--from", "Test"]);
    assert_eq!(ran.code, 7, "{}", ran.out);
    assert_eq!(read(&world, "project/log.txt"), "test\npublish\n");
    assert_eq!(run(&world, &["release.md", "--only", "build"]).code, 0);
    let ran = run(&world, &["release.md", "--only", "Nothing"]);
    assert_eq!(ran.code, 4, "{}", ran.err);
}

#[test]
fn a_dry_run_draws_the_order_and_does_nothing() {
    let world = World::new();
    world.write("project/release.md", RELEASE);
    let ran = run(&world, &["release.md", "--dry-run"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    insta::assert_snapshot!(ran.out);
    assert_eq!(read(&world, "project/log.txt"), "");
    assert!(!world.path("home/.local/share/punchlist").exists(), "not even a store");
    let told = run(&world, &["release.md", "--dry-run", "--json"]).json();
    assert_eq!(told["steps"][2]["after"], serde_json::json!([1, 2]), "{told}");
}

#[test]
fn edits_between_runs_do_what_they_say() {
    let world = World::new();
    world.write("project/release.md", RELEASE);
    assert_eq!(run(&world, &["release.md"]).code, 0);
    // Another order: the same items.
    let (head, rest) = RELEASE.split_once("- [ ] Test").unwrap();
    let (test, publish) = rest.split_once("- [ ] Publish").unwrap();
    world.write("project/release.md", format!("{head}- [ ] Publish{publish}- [ ] Test{test}"));
    assert_eq!(run(&world, &["release.md"]).code, 0);
    assert_eq!(read(&world, "project/log.txt"), "build\ntest\npublish\n");
    // Another command: not done any more.
    world.write("project/release.md", RELEASE.replace("echo test", "echo tested"));
    let ran = run(&world, &["release.md"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.err.contains("\"Test\" was done, but its run changed"), "{}", ran.err);
    assert_eq!(read(&world, "project/log.txt"), "build\ntest\npublish\ntested\n");
    // Another title: another item, and the old one is dropped.
    world.write(
        "project/release.md",
        RELEASE.replace("] Publish", "] Ship it").replace("echo test", "echo tested"),
    );
    assert_eq!(run(&world, &["release.md"]).code, 0);
    assert_eq!(read(&world, "project/log.txt"), "build\ntest\npublish\ntested\npublish\n");
    assert_eq!(done(&world, "release.md"), ["Build", "Test", "Ship it"]);
}

#[test]
fn boxes_are_written_back_only_when_asked() {
    let world = World::new();
    world.write("project/release.md", RELEASE);
    assert_eq!(run(&world, &["release.md"]).code, 0);
    assert_eq!(read(&world, "project/release.md"), RELEASE);
    assert_eq!(run(&world, &["release.md", "--write-back"]).code, 0);
    assert_eq!(read(&world, "project/release.md"), RELEASE.replace("[ ]", "[x]"));
}

#[test]
fn programs_are_told_by_unified_events() {
    let world = World::new();
    world.write("project/plan.md", BROKEN);
    let ran = run(&world, &["plan.md", "--json", "--on-failure", "skip"]);
    assert_eq!(ran.code, 6, "{}", ran.err);
    let mut kinds = Vec::new();
    for line in ran.out.lines() {
        let event: AgentEvent =
            serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"));
        let again: Value = serde_json::to_value(&event).unwrap();
        assert_eq!(again["agentType"], "punchlist", "{line}");
        let value: Value = serde_json::from_str(line).unwrap();
        kinds.push(value["type"].as_str().unwrap().to_owned());
    }
    assert_eq!(kinds[..2], ["session.started", "turn.started"]);
    assert_eq!(kinds.last().unwrap(), "turn.completed");
    for kind in ["todo_list", "tool.scheduled", "tool.started", "tool.completed"] {
        assert!(kinds.iter().any(|it| it == kind), "{kind} in {kinds:?}");
    }
}

#[test]
fn a_file_that_is_wrong_runs_nothing_and_says_where() {
    let world = World::new();
    world.write(
        "project/plan.md",
        "- [ ] Build\n  run: echo x >> log.txt\n- [ ] Test\n  after: Biuld\n",
    );
    let ran = run(&world, &["plan.md"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.contains("plan.md:4:"), "{}", ran.err);
    assert_eq!(read(&world, "project/log.txt"), "");
    for (arguments, code) in
        [(&["no.md"][..], 4), (&["."][..], 2), (&["plan.md", "--jobs", "0"][..], 2)]
    {
        assert_eq!(run(&world, arguments).code, code, "{arguments:?}");
    }
    world.write("project/empty.md", "# Nothing\n\njust words\n");
    assert_eq!(run(&world, &["empty.md"]).code, 2);
}

#[test]
fn two_runs_of_one_file_do_not_meet() {
    let world = World::new();
    world.write(
        "project/plan.md",
        "- [ ] Wait\n  run: echo on > on; until test -e off; do sleep 0.02; done\n",
    );
    let mut command = world.command("project");
    command
        .args(["run", "plan.md"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut first = command.spawn().unwrap();
    until(|| world.path("project/on").exists());
    let second = run(&world, &["plan.md"]);
    assert_eq!(second.code, 3, "{}", second.err);
    assert!(second.err.contains("is being run already by process"), "{}", second.err);
    world.write("project/off", "");
    assert!(first.wait().unwrap().success());
    assert_eq!(run(&world, &["plan.md"]).code, 0);
}

/// Waits until a condition holds. If it never does, the test fails.
#[track_caller]
pub(crate) fn until(mut is_so: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("it never came to be");
}

//! Which items run again: items that were interrupted by a kill, and all items with `--fresh`.

use std::process::Stdio;

use super::{done, items, read, run, until};
use crate::terminal::Terminal;
use crate::world::World;

/// Starts a run of `plan.md` and kills it as soon as a condition holds.
fn kill_when(world: &World, arguments: &[&str], is_so: impl Fn() -> bool) {
    let mut command = world.command("project");
    command.args(["run", "plan.md"]).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    until(is_so);
    child.kill().unwrap();
    child.wait().unwrap();
}

const SLOW: &str = "\
- [ ] Slow
  run: echo slow >> log.txt; until test -e go; do sleep 0.02; done
";

/// A plan whose slow item was interrupted by a kill.
fn killed(plan: &str) -> World {
    let world = World::new();
    world.write("project/plan.md", plan);
    kill_when(&world, &[], || read(&world, "project/log.txt").contains("slow"));
    world.write("project/go", "");
    world
}

fn times(world: &World) -> usize {
    read(world, "project/log.txt").lines().filter(|it| *it == "slow").count()
}

#[test]
fn an_interrupted_item_stays_so_however_many_runs_later() {
    let world = killed(SLOW);
    for nth in 0..3 {
        let ran = run(&world, &["plan.md"]);
        assert_eq!((ran.code, times(&world)), (7, 1), "run {nth}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains("interrupted (--retry-interrupted runs it again)"), "{}", ran.out);
    }
    let shown = world.run(&["show", "1", "--plan", "plan.md"]).ok();
    assert!(shown.contains("interrupted"), "{shown}");
    let list = world.run(&["list", "--plan", "plan.md", "--view", "list"]).ok();
    assert!(list.contains("interrupted"), "{list}");
    assert_eq!(run(&world, &["plan.md", "--retry-interrupted"]).code, 0);
    assert_eq!(times(&world), 2);
}

#[test]
fn an_interrupted_item_that_somebody_released_is_not_run_again_unasked() {
    let world = killed(SLOW);
    world.run(&["release", "1", "--plan", "plan.md"]).ok_with_warnings();
    assert_eq!((run(&world, &["plan.md"]).code, times(&world)), (7, 1));
    assert_eq!((run(&world, &["plan.md"]).code, times(&world)), (7, 1));
}

#[test]
fn an_interrupted_item_with_a_failing_check_stays_so_until_it_is_proved() {
    let world = killed(&format!("{SLOW}  verify: test -e proved\n"));
    for nth in 0..2 {
        let ran = run(&world, &["plan.md"]);
        assert_eq!((ran.code, times(&world)), (7, 1), "run {nth}: {}{}", ran.out, ran.err);
    }
    world.write("project/proved", "");
    let ran = run(&world, &["plan.md"]);
    assert_eq!((ran.code, times(&world)), (0, 1), "{}{}", ran.out, ran.err);
    let item = world.run(&["show", "1", "--plan", "plan.md", "--json"]).json();
    assert!(item["item"]["metadata"].get("interrupted").is_none(), "{item:#}");
    assert!(item["item"].get("outcome").is_none_or(serde_json::Value::is_null), "{item:#}");
}

#[test]
fn an_interrupted_item_is_asked_about_again_after_a_no() {
    let world = killed(SLOW);
    let Some(terminal) = Terminal::open(&world, 80) else { return };
    let program = env!("CARGO_BIN_EXE_punchlist");
    for nth in 0..2 {
        terminal.types(&[&format!("clear; {program} run plan.md; echo left {nth} $?"), "Enter"]);
        terminal.until(|it| it.ends_with("Run it again? [y/N]"));
        terminal.types(&["n", "Enter"]);
        terminal.until(|it| it.lines().any(|it| it == format!("left {nth} 7")));
        assert_eq!(times(&world), 1);
    }
    terminal.types(&[&format!("clear; {program} run plan.md; echo end $?"), "Enter"]);
    terminal.until(|it| it.ends_with("Run it again? [y/N]"));
    terminal.types(&["y", "Enter"]);
    terminal.until(|it| it.lines().any(|it| it == "end 0"));
    assert_eq!(times(&world), 2);
}

#[test]
fn an_item_that_failed_when_it_was_retried_is_interrupted_no_more() {
    let world = killed(&SLOW.replace("done\n", "done; test -e works\n"));
    assert_eq!(run(&world, &["plan.md", "--retry-interrupted"]).code, 6);
    assert_eq!(times(&world), 2);
    world.write("project/works", "");
    let ran = run(&world, &["plan.md"]);
    assert_eq!((ran.code, times(&world)), (0, 3), "{}{}", ran.out, ran.err);
}

#[test]
fn who_says_that_an_interrupted_item_is_done_has_settled_it() {
    let world = killed(SLOW);
    assert_eq!(run(&world, &["plan.md"]).code, 7);
    world.run(&["done", "1", "--plan", "plan.md"]).works();
    world.run(&["reopen", "1", "--plan", "plan.md"]).works();
    assert_eq!((run(&world, &["plan.md"]).code, times(&world)), (0, 2));
}

#[test]
fn a_fresh_run_remembers_nothing() {
    let world = killed(&format!(
        "{SLOW}  verify: true\n- [x] Ticked\n  run: echo ticked >> log.txt\n- [-] Skipped\n  run: false\n\
         - [ ] Fails\n  after: Slow\n  run: echo fails >> log.txt; test -e works\n  verify: true\n- [ ] Waits\n  after: Fails\n  run: true\n"
    ));
    // `Slow` is interrupted and its check would pass; one item waits, one has failed.
    world.run(&["wait", "5", "for legal", "--plan", "plan.md"]).works();
    assert_eq!(run(&world, &["plan.md", "--only", "Fails"]).code, 7);
    world.write("project/works", "");
    let ran = run(&world, &["plan.md", "--fresh", "--jobs", "1"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let log = read(&world, "project/log.txt");
    assert_eq!(
        log, "slow\nslow\nticked\nfails\n",
        "all of it was run, and nothing was only checked"
    );
    assert_eq!(done(&world, "plan.md"), ["Slow", "Ticked", "Fails", "Waits"]);
    assert_eq!(items(&world, "plan.md")[2], ("Skipped".to_owned(), "cancelled".to_owned()));
    assert_eq!(
        run(&world, &["plan.md"]).out,
        "All done already: 4 items. `--fresh` starts over.\n"
    );
}

#[test]
fn a_fresh_run_forgets_what_speaks_for_and_against_an_item() {
    let world = World::new();
    world.write("project/plan.md", "- [ ] Build\n  run: true\n  verify: test -e out\n");
    assert_eq!(run(&world, &["plan.md"]).code, 6);
    world.write("project/out", "");
    assert_eq!(run(&world, &["plan.md", "--fresh"]).code, 0);
    let item = world.run(&["show", "1", "--plan", "plan.md", "--json"]).json();
    assert_eq!(item["item"]["evidence"].as_array().unwrap().len(), 1, "{item:#}");
}

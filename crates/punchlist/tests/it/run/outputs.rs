//! The output of steps, and how much of it is stored.

use std::fs;

use super::{items, run, until};
use crate::terminal::Terminal;
use crate::world::World;

const DATABASE: &str = "home/.local/share/punchlist/punchlist.db";

const LOOK: &str = "\
# Colours
- [ ] Show what would change
  run: seq 1 20; echo '+ colour = blue'; echo '- colour = red'
- [ ] Change it
  after: Show what would change
  approve: yes
  run: echo changed >> log.txt
";

#[test]
fn a_question_shows_what_the_steps_before_it_printed() {
    let world = World::new();
    world.write("project/plan.md", LOOK);
    let program = env!("CARGO_BIN_EXE_punchlist");
    for nth in 0..2 {
        let Some(terminal) = Terminal::open(&world, 80) else { return };
        terminal.types(&[&format!("clear; {program} run plan.md; echo left {nth} $?"), "Enter"]);
        let shown = terminal.until(|it| it.contains("n refuse"));
        let question = shown.split_once(" ? Change it wants to run").unwrap().1;
        assert!(question.contains("Show what would change printed"), "{shown}");
        assert!(question.contains("… 14 lines before"), "{shown}");
        assert!(question.contains("+ colour = blue") && question.contains("- colour = red"));
        // The question in the store has it too.
        let told = world.run(&["questions", "--json"]).json();
        assert_eq!(told["questions"][0]["printed"][0]["before"], 14, "{told:#}");
        terminal.types(&["n"]);
        let shown = terminal.until(|it| it.lines().any(|it| it == format!("left {nth} 7")));
        // When there is room again, it is shown under the step of this run.
        let is_under = shown.contains("… 19 lines before") && shown.contains("- colour = red");
        assert_eq!(is_under, nth == 0, "{shown}");
    }
}

#[test]
fn what_a_step_printed_stands_below_its_line_and_is_shown_whole_on_request() {
    let world = World::new();
    world.write("project/plan.md", LOOK);
    let ran = run(&world, &["plan.md", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("    … 19 lines before\n    20\n    + colour = blue\n"),
        "{}",
        ran.out
    );
    let all = world.run(&["show", "1", "--output", "--plan", "plan.md"]).ok();
    let expected: String = (1..=20).map(|it| format!("{it}\n")).collect();
    assert_eq!(all, expected + "+ colour = blue\n- colour = red\n");
    let none = world.run(&["show", "2", "--output", "--plan", "plan.md"]);
    assert_eq!(none.code, 4, "{}", none.out);
    assert!(none.err.contains("printed nothing"), "{}", none.err);
}

#[test]
fn all_lines_are_counted_and_shown_however_many_there_are() {
    let world = World::new();
    world.write("project/plan.md", "- [ ] Talk\n  run: seq 1 40000; exit 3\n");
    let ran = run(&world, &["plan.md"]);
    assert_eq!(ran.code, 6, "{}", ran.err);
    assert!(ran.out.contains("  … 39988 lines before\n  39989\n"), "{}", ran.out);
    let all = world.run(&["show", "1", "--output", "--plan", "plan.md"]).ok();
    assert_eq!(all.lines().count(), 40_000);
    let shown = world.run(&["show", "1", "--plan", "plan.md"]).ok();
    assert!(shown.contains("… 39980 lines before"), "{shown}");
}

#[test]
fn a_pager_shows_the_whole_output_on_a_terminal() {
    let world = World::new();
    world.write("project/plan.md", "- [ ] Talk\n  run: seq 1 100\n");
    assert_eq!(run(&world, &["plan.md"]).code, 0);
    let Some(terminal) = Terminal::open(&world, 80) else { return };
    let program = env!("CARGO_BIN_EXE_punchlist");
    let call = format!("PAGER='wc -l' {program} show 1 --output --plan plan.md; echo left $?");
    terminal.types(&[&call, "Enter"]);
    let shown = terminal.until(|it| it.lines().any(|it| it == "left 0"));
    assert!(shown.lines().any(|it| it.trim() == "100"), "{shown}");
}

#[test]
fn a_verbose_run_shows_all_that_steps_print_as_it_comes() {
    let world = World::new();
    let plan = "- [ ] Talk\n  run: seq 1 5; until test -e go; do sleep 0.02; done\n";
    world.write("project/plan.md", plan);
    let Some(terminal) = Terminal::open(&world, 80) else { return };
    let program = env!("CARGO_BIN_EXE_punchlist");
    terminal.types(&[&format!("clear; {program} run plan.md --verbose; echo left $?"), "Enter"]);
    terminal.until(|it| (1..=5).all(|n| it.lines().any(|it| it == format!("Talk | {n}"))));
    world.write("project/go", "");
    let shown = terminal.until(|it| it.lines().any(|it| it == "left 0"));
    assert_eq!(shown.matches("Talk | 3").count(), 1, "{shown}");
    assert_eq!(shown.matches(" jobs").count(), 1, "one frame is left: {shown}");
    let ran = run(&world, &["plan.md", "--fresh", "-v"]);
    let said: Vec<&str> = ran.out.lines().filter(|it| it.contains("Talk | ")).collect();
    assert_eq!(said.len(), 5, "{}", ran.out);
    assert!(said[4].ends_with("Z  Talk | 5"), "{}", ran.out);
}

#[test]
fn a_check_that_failed_is_shown_with_what_the_step_itself_printed() {
    let world = World::new();
    let plan = "- [ ] Build\n  run: echo 'built nothing'\n  verify: echo 'no file'; false\n";
    world.write("project/plan.md", plan);
    let ran = run(&world, &["plan.md"]);
    assert!(ran.out.contains("  built nothing\n  no file\n"), "{}", ran.out);
}

#[test]
fn two_gigabytes_of_outputs_are_kept_also_within_a_day() {
    let world = World::new();
    world.write("project/plan.md", "- [ ] Talk\n  run: seq 1 40000\n- [ ] Wait\n  run: until test -e go; do sleep 0.02; done\n");
    let outputs = "home/.local/share/punchlist/output";
    let other = |n: u8| format!("{outputs}/0199c3a0-0000-7000-8000-00000000000{n}/0.txt");
    for n in [1, 2] {
        // Sparse files, which take no space.
        world.write(&other(n), "");
        let file = fs::OpenOptions::new().write(true).open(world.path(&other(n))).unwrap();
        file.set_len(3 << 29).unwrap();
        let now = file.metadata().unwrap().modified().unwrap();
        let before = now - std::time::Duration::from_secs(60 - u64::from(n));
        file.set_modified(before).unwrap();
    }
    let mut command = world.command("project");
    command.args(["run", "plan.md", "--jobs", "2"]);
    let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    // As soon as a step has printed a lot, and not only at the end of the run.
    until(|| !world.path(&other(1)).exists());
    assert!(world.path(&other(2)).exists(), "only the oldest goes");
    world.write("project/go", "");
    assert!(child.wait().unwrap().success());
    assert_eq!(items(&world, "plan.md").len(), 2);
    let kept = world.run(&["show", "1", "--output", "--plan", "plan.md"]).ok();
    assert_eq!(kept.lines().count(), 40_000, "its own is the newest, and stays");
}

#[test]
fn what_a_step_printed_is_stored_with_its_secrets_masked() {
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let world = World::new();
    world.write("project/key.txt", format!("token {token}\n"));
    world.write("project/plan.md", "# Keys\n- [ ] Look\n  run: cat key.txt\n");
    assert_eq!(run(&world, &["plan.md", "--yes"]).code, 0);
    let database = rusqlite::Connection::open(world.path(DATABASE)).unwrap();
    let details = "SELECT group_concat(ifnull(detail, '')) FROM call";
    let stored: String = database.query_row(details, [], |row| row.get(0)).unwrap();
    assert!(stored.contains("token ") && !stored.contains(token), "{stored}");
}

//! The same count everywhere: items without sub-items that are neither cancelled nor superseded.

use super::run;
use crate::terminal::Terminal;
use crate::world::World;

const NESTED: &str = "\
# Nested
- [ ] Docs
  - [ ] Guide
    run: true
  - [ ] Reference
    run: test -e works
- [ ] Build
  run: true
- [-] Port
  run: false
- [ ] Pack
  run: true
  - [ ] Collect
    run: true
";

#[test]
fn bar_summary_list_and_dry_run_show_the_same_number() {
    let world = World::new();
    world.write("project/plan.md", NESTED);
    let dry = |word: &str| {
        let ran = run(&world, &["plan.md", "--dry-run"]);
        assert!(ran.out.starts_with(&format!("Nested: {word}")), "{word}: {}", ran.out);
    };
    dry("0/4 done (0 %), 4 to do");
    let ran = run(&world, &["plan.md", "--on-failure", "skip"]);
    assert_eq!(ran.code, 6, "{}", ran.err);
    assert!(
        ran.out.contains("\n3 done, 1 failed: Reference (exit code 1), 0 left."),
        "{}",
        ran.out
    );
    dry("3/4 done (75 %), 1 to do");
    let list = world.run(&["list", "--plan", "plan.md", "--view", "list"]).ok();
    assert!(list.contains("Progress: 3/4 (75%)"), "{list}");
    let plans = world.run(&["plans", "--json"]).json();
    assert_eq!(plans["plans"][0]["progress"]["percent"], 75, "{plans:#}");
    world.write("project/works", "");
    let Some(terminal) = Terminal::open(&world, 80) else { return };
    let program = env!("CARGO_BIN_EXE_punchlist");
    terminal.types(&[&format!("clear; {program} run plan.md; echo left $?"), "Enter"]);
    let shown = terminal.until(|it| it.lines().any(|it| it == "left 0"));
    assert!(shown.contains(" 4/4  ") && shown.contains("100 %"), "{shown}");
    assert!(shown.contains("1 done, 3 before, 0 failed, 0 left."), "{shown}");
    assert_eq!(
        run(&world, &["plan.md"]).out,
        "All done already: 4 items. `--fresh` starts over.\n"
    );
}

#[test]
fn it_is_100_percent_only_when_nothing_is_open() {
    let world = World::new();
    let plan = "- [ ] Pack\n  run: false\n  - [ ] Collect\n    run: true\n";
    world.write("project/plan.md", plan);
    let ran = run(&world, &["plan.md"]);
    assert_eq!(ran.code, 6, "{}", ran.out);
    let list = world.run(&["list", "--plan", "plan.md", "--view", "list"]).ok();
    assert!(list.contains("Progress: 1/1 (99%)"), "{list}");
}

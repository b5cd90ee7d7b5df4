//! Items that were interrupted by a kill. `torture::runs` shows that nothing else is repeated.

use std::process::Stdio;

use super::{done, read, run};
use crate::world::World;

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
    // The check of one item passes, so it did not run again; the other stays open; the rest
    // continues.
    assert_eq!(done(&world, "plan.md"), ["Checked", "Other"]);
    assert!(ran.out.contains("interrupted"), "{}", ran.out);
    let mut log: Vec<String> = read(&world, "project/log.txt").lines().map(str::to_owned).collect();
    log.sort();
    assert_eq!(log, ["checked", "other", "slow"]);
    assert_eq!(run(&world, &["plan.md", "--retry-interrupted"]).code, 0);
    assert_eq!(done(&world, "plan.md").len(), 3);
}

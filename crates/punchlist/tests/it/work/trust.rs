//! Whose commands a worker runs.

use super::{called, publish, read, status, worker};
use crate::run::until;
use crate::world::World;

const PLAN: &str = "- [ ] Build\n  run: echo built >> log.txt\n";

fn config(world: &World, text: &str) {
    let before = read(world, "home/.config/punchlist/config.toml");
    world.write("home/.config/punchlist/config.toml", format!("{before}{text}"));
}

pub(super) fn a_publisher_who_is_not_trusted_is_skipped_and_named(world: &World) {
    publish(world, PLAN);
    config(world, "[work]\ntrust = [\"somebody\"]\n");
    let worker = worker(world, "one", &[]);
    worker.until_it_says("published it, whom work.trust does not name, and no rule allows it");
    assert!(worker.said().contains("skipped    1 Build"), "{}", worker.said());
    assert_eq!(
        (status(world, 1).as_str(), read(world, "project/log.txt").as_str()),
        ("pending", "")
    );
}

/// A rule that allows the command of a step.
const RULE: &str =
    "[[policy]]\ndecision = \"allow\"\ntool = \"shell\"\ncommand = \"touch built\"\n";

pub(super) fn what_policy_allows_runs_whoever_published_it(world: &World) {
    publish(world, "- [ ] Build\n  run: touch built\n");
    config(world, &format!("[work]\ntrust = []\n\n{RULE}"));
    let _worker = worker(world, "one", &[]);
    until(|| status(world, 1) == "completed");
    assert!(world.path("project/built").exists());
}

pub(super) fn the_check_of_a_stranger_needs_a_rule_too(world: &World) {
    publish(world, "- [ ] Build\n  run: touch built\n  verify: touch checked\n");
    config(world, &format!("[work]\ntrust = []\n\n{RULE}"));
    let worker = worker(world, "one", &[]);
    worker.until_it_says("no rule allows it");
    assert_eq!(status(world, 1), "pending");
    assert!(!world.path("project/built").exists() && !world.path("project/checked").exists());
}

pub(super) fn a_named_publisher_is_trusted_and_a_rule_that_denies_holds_for_everybody(
    world: &World,
) {
    publish(world, &format!("{PLAN}- [ ] Push\n  run: git push origin main\n"));
    let owner = format!("uid:{}", rustix::process::geteuid().as_raw());
    let rule = "[[policy]]\ndecision = \"deny\"\ntool = \"shell\"\ncommand = \"git push\"\n";
    config(world, &format!("[work]\ntrust = [\"{owner}\"]\n\n{rule}"));
    let worker = worker(world, "one", &[]);
    until(|| status(world, 1) == "completed");
    worker.until_it_says("skipped    2 Push");
    assert!(worker.said().contains("denied by"), "{}", worker.said());
    assert_eq!(status(world, 2), "pending");
}

pub(super) fn whom_to_trust_is_only_read_from_the_users_own_file(world: &World) {
    let given = called(world, &["work", "-c", "work.trust=me"]);
    assert_eq!(given.code, 2);
    assert!(given.err.contains("whom to trust is only read from files"), "{}", given.err);
}

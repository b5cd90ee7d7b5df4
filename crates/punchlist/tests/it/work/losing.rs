//! Workers that die, hang or lose the store: leases, interrupted items, and results that come too late.

use rustix::process::{Pid, Signal, test_kill_process};

use super::{called, item, publish, read, share, status, worker, worker_on};
use crate::run::until;
use crate::world::World;

const LEASE: [&str; 2] = ["-c", "claim.lease=3s"];
const SLOW: &str = "echo $$ > pid.txt; echo x >> log.txt; until test -e go; do sleep 0.02; done; echo y >> log.txt";

/// Starts a worker on the plan and kills it while its first item runs.
fn killed_on(world: &World, host: &str) {
    let first = worker_on(world, "first", host, &LEASE);
    until(|| !read(world, "project/log.txt").is_empty());
    first.killed();
    // Its guardian ends the command a moment later.
    let pid = read(world, "project/pid.txt").trim().parse().unwrap();
    let pid = Pid::from_raw(pid).unwrap();
    until(|| test_kill_process(pid).is_err());
}

pub(super) fn the_item_of_a_dead_neighbour_runs_again_if_it_has_retry(world: &World) {
    publish(world, &format!("- [ ] Slow\n  run: {SLOW}\n  retry: 1\n"));
    let second = worker(world, "second", &[]);
    second.until_it_says("took       1 Slow");
    second.killed();
    world.write("project/go", "");
    // Its process is gone and is on this machine, so nobody waits for the lease of 15 minutes.
    let third = worker(world, "third", &[]);
    until(|| status(world, 1) == "completed");
    third.until_it_says("attempt 2");
    let done = item(world, 1);
    assert!(done["metadata"]["interrupted"].is_null(), "{done}");
    assert_eq!(done["outcome"], serde_json::Value::Null, "{done}");
}

pub(super) fn the_item_of_a_worker_elsewhere_runs_again_when_its_lease_has_ended(world: &World) {
    publish(world, &format!("- [ ] Slow\n  run: {SLOW}\n  retry: 1\n"));
    killed_on(world, "elsewhere");
    world.write("project/go", "");
    let _second = worker(world, "second", &LEASE);
    until(|| status(world, 1) == "completed");
    assert_eq!(read(world, "project/log.txt").matches('x').count(), 2);
    let log = called(world, &["log", "--plan", "plan.md"]).ok();
    assert!(log.contains("lease ran out on 1 \"Slow\""), "{log}");
}

pub(super) fn without_retry_it_waits_for_a_person_and_runs_again_when_the_wait_is_over(
    world: &World,
) {
    publish(world, &format!("- [ ] Slow\n  run: {SLOW}\n"));
    killed_on(world, "elsewhere");
    world.write("project/go", "");
    let _second = worker(world, "second", &LEASE);
    until(|| item(world, 1)["waitingOn"] == "a person, because it was interrupted");
    let waits = item(world, 1);
    assert_eq!(waits["outcome"], "interrupted: first did not finish it");
    assert_eq!(read(world, "project/log.txt"), "x\n");
    let (code, out) = share(world, &[]).ends();
    assert_eq!(code, 7, "{out}");
    called(world, &["wait", "1", "--over", "--plan", "plan.md"]).works();
    until(|| status(world, 1) == "completed");
    assert_eq!(read(world, "project/log.txt"), "x\nx\ny\n");
}

pub(super) fn an_item_that_was_released_is_not_taken_again_while_its_worker_still_executes_it(
    world: &World,
) {
    let slow = "echo x >> log.txt; until test -e go; do sleep 0.02; done; echo y >> log.txt";
    publish(world, &format!("- [ ] Slow\n  run: {slow}\n  retry: 2\n- [ ] Other\n  run: true\n"));
    let one = worker(world, "one", &["-c", "claim.lease=3s", "--jobs", "2"]);
    until(|| !read(world, "project/log.txt").is_empty());
    called(world, &["release", "1", "--plan", "plan.md"]).works();
    // It notices that the claim has ended, ends its command, and only then takes the item again.
    until(|| read(world, "project/log.txt") == "x\nx\n");
    world.write("project/go", "");
    until(|| status(world, 1) == "completed");
    let said = one.said();
    assert!(!said.contains("is being run already"), "{said}");
    assert!(said.contains("attempt 2") && !said.contains("attempt 3"), "{said}");
}

pub(super) fn an_interrupted_item_whose_check_passes_is_done_without_running_again(world: &World) {
    publish(world, &format!("- [ ] Slow\n  run: {SLOW}\n  verify: test -e proof\n"));
    killed_on(world, "elsewhere");
    world.write("project/proof", "");
    let _second = worker(world, "second", &LEASE);
    until(|| status(world, 1) == "completed");
    assert_eq!(read(world, "project/log.txt"), "x\n");
    assert_eq!(item(world, 1)["evidence"][0]["level"], "checked");
}

pub(super) fn an_interrupted_item_whose_check_fails_waits_for_a_person(world: &World) {
    publish(world, &format!("- [ ] Slow\n  run: {SLOW}\n  verify: test -e proof\n"));
    killed_on(world, "elsewhere");
    let _second = worker(world, "second", &LEASE);
    until(|| item(world, 1)["waitingOn"] == "a person, because it was interrupted");
    assert_eq!(read(world, "project/log.txt"), "x\n");
}

pub(super) fn an_item_that_is_interrupted_again_and_again_waits_for_a_person(world: &World) {
    publish(world, &format!("- [ ] Slow\n  run: {SLOW}\n  retry: 1\n"));
    for n in 1..=2 {
        let worker = worker(world, &format!("w{n}"), &[]);
        until(|| read(world, "project/log.txt").matches('x').count() == n);
        worker.killed();
    }
    let _last = worker(world, "last", &[]);
    until(|| item(world, 1)["waitingOn"] == "a person, because it was interrupted");
    assert_eq!(read(world, "project/log.txt").matches('x').count(), 2);
}

pub(super) fn a_long_item_keeps_its_lease(world: &World) {
    publish(world, &format!("- [ ] Slow\n  run: {SLOW}\n  retry: 5\n"));
    let first = worker_on(world, "first", "elsewhere", &LEASE);
    until(|| !read(world, "project/log.txt").is_empty());
    let second = worker(world, "second", &LEASE);
    let claim = || item(world, 1)["claim"]["expiresAt"].as_str().map(str::to_owned);
    // Three renewals take longer than the lease.
    for _ in 0..3 {
        let before = claim();
        until(|| claim() > before);
    }
    world.write("project/go", "");
    until(|| status(world, 1) == "completed");
    first.until_it_says("done       1 Slow");
    assert!(!second.said().contains("took"), "{}", second.said());
    assert_eq!(read(world, "project/log.txt"), "x\ny\n");
}

pub(super) fn the_result_of_a_worker_that_slept_too_long_is_refused(world: &World) {
    publish(world, &format!("- [ ] Slow\n  run: {SLOW}\n  retry: 1\n"));
    let first = worker_on(world, "first", "elsewhere", &LEASE);
    until(|| !read(world, "project/log.txt").is_empty());
    first.signal(Signal::STOP);
    let second = worker(world, "second", &LEASE);
    until(|| read(world, "project/log.txt").matches('x').count() == 2);
    // Both commands end; the first worker hears of its own only now.
    world.write("project/go", "");
    until(|| status(world, 1) == "completed");
    first.signal(Signal::CONT);
    first.until_it_says("took       1 Slow");
    until(|| first.said().matches("Slow").count() >= 2);
    let done = item(world, 1);
    assert_eq!(done["status"], "completed", "{done}");
    assert!(!first.said().contains("done       1 Slow"), "{}", first.said());
    second.until_it_says("done       1 Slow");
    let log = called(world, &["log", "--plan", "plan.md"]).ok();
    assert_eq!(log.matches("completed 1 \"Slow\"").count(), 1, "{log}");
}

pub(super) fn a_worker_that_cannot_renew_its_lease_ends_its_command(world: &World) {
    let plan =
        "- [ ] Slow\n  run: echo $$ > pid; until test -e go; do sleep 0.02; done\n  retry: 1\n";
    publish(world, plan);
    let first = worker(world, "first", &LEASE);
    let pid = || read(world, "project/pid").trim().parse::<i32>().ok().and_then(Pid::from_raw);
    until(|| pid().is_some());
    // Nobody else can write, for longer than the lease.
    let store = rusqlite::Connection::open(world.path("home/.local/share/punchlist/punchlist.db"));
    let mut store = store.unwrap();
    store.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    let lock = store.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    let alive = || pid().is_some_and(|it| test_kill_process(it).is_ok());
    until(|| !alive());
    assert!(!first.said().contains("handed back"), "the store is still locked: {}", first.said());
    lock.rollback().unwrap();
    drop(store);
    // Then the item runs again, under another attempt.
    world.write("project/go", "");
    until(|| status(world, 1) == "completed");
    let log = called(world, &["log", "--plan", "plan.md"]).ok();
    assert_eq!(log.matches("started 1 \"Slow\"").count(), 2, "{log}");
}

//! How a worker ends: it finishes what cannot be repeated, hands back the rest, and stops at once if told
//! twice.

use rustix::process::Signal;

use super::{item, publish, read, status, worker};
use crate::run::until;
use crate::world::World;

const SLOW: &str = "echo x >> log.txt; until test -e go; do sleep 0.02; done; echo y >> log.txt";

pub(super) fn a_worker_without_work_ends_at_once(world: &World) {
    let worker = worker(world, "one", &[]);
    worker.until_it_says("nothing to do");
    worker.signal(Signal::TERM);
    let (code, out) = worker.ends();
    assert_eq!(code, 0, "{out}");
    assert!(out.ends_with("0 done, 0 failed, 0 handed back.\n"), "{out}");
}

pub(super) fn an_item_without_retry_is_finished_and_nothing_new_is_taken(world: &World) {
    let next = "- [ ] Next\n  after: Slow\n  run: echo next >> log.txt\n";
    publish(world, &format!("- [ ] Slow\n  run: {SLOW}\n{next}"));
    let worker = worker(world, "one", &["--jobs", "1"]);
    until(|| !read(world, "project/log.txt").is_empty());
    worker.signal(Signal::TERM);
    worker.until_it_says("stopping");
    world.write("project/go", "");
    let (code, out) = worker.ends();
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("1 done, 0 failed, 0 handed back."), "{out}");
    assert_eq!((status(world, 1), status(world, 2)), ("completed".into(), "pending".into()));
    assert_eq!(read(world, "project/log.txt"), "x\ny\n");
}

pub(super) fn an_item_with_retry_is_handed_back_and_another_worker_does_it(world: &World) {
    publish(world, &format!("- [ ] Slow\n  run: {SLOW}\n  retry: 1\n"));
    let first = worker(world, "one", &[]);
    until(|| !read(world, "project/log.txt").is_empty());
    first.signal(Signal::TERM);
    let (code, out) = first.ends();
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("0 done, 0 failed, 1 handed back."), "{out}");
    assert_eq!(status(world, 1), "pending");
    assert!(item(world, 1)["metadata"]["interrupted"].is_null());
    world.write("project/go", "");
    let _second = worker(world, "two", &[]);
    until(|| status(world, 1) == "completed");
    assert_eq!(read(world, "project/log.txt"), "x\nx\ny\n");
}

pub(super) fn an_item_that_waits_for_an_approval_is_handed_back(world: &World) {
    publish(world, "- [ ] Publish\n  approve: yes\n  run: echo x >> log.txt\n");
    let worker = worker(world, "one", &[]);
    worker.until_it_says("asks       Publish");
    worker.signal(Signal::TERM);
    let (code, out) = worker.ends();
    assert_eq!(code, 0, "{out}");
    assert_eq!(status(world, 1), "pending");
    assert!(item(world, 1)["metadata"]["interrupted"].is_null());
    assert_eq!(read(world, "project/log.txt"), "");
}

pub(super) fn a_second_signal_stops_everything_and_what_was_cut_off_is_interrupted(world: &World) {
    publish(world, &format!("- [ ] Slow\n  run: {SLOW}\n"));
    let first = worker(world, "one", &[]);
    until(|| !read(world, "project/log.txt").is_empty());
    first.signal(Signal::TERM);
    first.until_it_says("stopping: finishes");
    first.signal(Signal::TERM);
    let (code, out) = first.ends();
    assert_eq!(code, 0, "{out}");
    let cut = item(world, 1);
    assert_eq!(cut["status"], "pending");
    assert_eq!(cut["metadata"]["interrupted"], 1);
    // It has no `retry:`, so the next worker leaves it to a person.
    let _second = worker(world, "two", &[]);
    until(|| item(world, 1)["waitingOn"] == "a person, because it was interrupted");
    assert_eq!(read(world, "project/log.txt"), "x\n");
}

//! Sharing a plan: several workers, their progress, approvals, and taking the plan back.

use rustix::process::Signal;

use super::{call, called, from_elsewhere, item, publish, read, share, status, worker, worker_on};
use crate::questions::at_terminal;
use crate::run::until;
use crate::world::{World, finish};

pub(super) fn workers_do_a_shared_plan_in_order_and_no_item_twice(world: &World) {
    let mut plan = String::from("# Many\n");
    for n in 1..=12 {
        plan.push_str(&format!("- [ ] Item {n}\n  run: echo {n} >> log.txt\n"));
    }
    plan.push_str("- [ ] Last\n  after: Item 1, Item 12\n  run: echo last >> log.txt\n");
    plan.push_str("  verify: grep -q last log.txt\n");
    world.write("project/plan.md", plan);
    let workers = ["one", "two", "three"].map(|it| worker(world, it, &["--jobs", "2"]));
    let (code, out) = share(world, &[]).ends();
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("13 done (1 checked), 0 failed, 0 left."), "{out}");
    let mut lines: Vec<String> =
        read(world, "project/log.txt").lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 13, "{lines:?}");
    let place = |what: &str| lines.iter().position(|it| it == what).unwrap();
    assert!(place("last") > place("1") && place("last") > place("12"), "{lines:?}");
    lines.sort();
    lines.dedup();
    assert_eq!(lines.len(), 13, "no item was done twice");
    for worker in workers {
        worker.signal(Signal::TERM);
        assert_eq!(worker.ends().0, 0);
    }
}

pub(super) fn a_group_is_completed_with_its_last_item_and_nested_items_wait_for_what_their_group_waits_for(
    world: &World,
) {
    let plan = "\
- [ ] Build
  run: echo build >> log.txt
- [ ] Group
  after: Build
  - [ ] One
    run: echo one >> log.txt
- [ ] Publish
  after: Group
  run: echo publish >> log.txt
";
    world.write("project/plan.md", plan);
    let _worker = worker(world, "one", &[]);
    let (code, out) = share(world, &[]).ends();
    assert_eq!(code, 0, "{out}");
    assert_eq!(read(world, "project/log.txt"), "build\none\npublish\n");
}

pub(super) fn the_progress_of_workers_is_shown_as_if_it_were_local(world: &World) {
    world.write(
        "project/plan.md",
        "- [ ] Works\n  run: echo fine\n- [ ] Fails\n  run: echo why; exit 3\n",
    );
    let _worker = worker(world, "one", &["--jobs", "1"]);
    let (code, out) = share(world, &["--json"]).ends();
    assert_eq!(code, 6, "{out}");
    for part in [
        "\"session.started\"",
        "\"tool.scheduled\"",
        "\"tool.started\"",
        "\"status\":\"success\"",
        "\"status\":\"error\"",
        "exit code 3\\nwhy",
        "\"turn.completed\"",
    ] {
        assert!(out.contains(part), "{part} is missing: {out}");
    }
    let fails = item(world, 2);
    assert_eq!(fails["waitingOn"], "a person, because it failed");
    assert_eq!(fails["outcome"], "failed: exit code 3");
}

pub(super) fn a_failed_item_is_tried_again_when_a_person_says_so(world: &World) {
    publish(world, "- [ ] Fails\n  run: echo try >> tries; test -e go\n");
    let _worker = worker(world, "one", &[]);
    until(|| item(world, 1)["waitingOn"] == "a person, because it failed");
    world.write("project/go", "");
    called(world, &["wait", "1", "--over", "--plan", "plan.md"]).works();
    until(|| status(world, 1) == "completed");
    assert_eq!(read(world, "project/tries"), "try\ntry\n");
    assert_eq!(item(world, 1)["outcome"], serde_json::Value::Null);
}

pub(super) fn a_failed_item_with_retries_is_tried_again_by_its_worker(world: &World) {
    let flaky = "echo x >> tries; test $(wc -l < tries) -ge 3";
    world.write("project/plan.md", format!("- [ ] Flaky\n  run: {flaky}\n  retry: 2 after 0s\n"));
    let _worker = worker(world, "one", &[]);
    assert_eq!(share(world, &[]).ends().0, 0);
    assert_eq!(read(world, "project/tries"), "x\n".repeat(3));
}

pub(super) fn ctrl_c_ends_the_watching_and_not_the_work(world: &World) {
    let wait = "until test -e go; do sleep 0.02; done; echo done >> log.txt";
    world.write("project/plan.md", format!("- [ ] Slow\n  run: {wait}\n"));
    let _worker = worker(world, "one", &[]);
    let share = share(world, &[]);
    share.until_it_says("started    Slow");
    share.signal(Signal::INT);
    let (code, out) = share.ends();
    assert_eq!(code, 130, "{out}");
    assert!(out.contains("workers go on"), "{out}");
    world.write("project/go", "");
    until(|| status(world, 1) == "completed");
    assert_eq!(read(world, "project/log.txt"), "done\n");
}

pub(super) fn without_a_worker_the_person_is_told_how_to_start_one(world: &World) {
    world.write("project/plan.md", "- [ ] Build\n  run: true\n");
    let share = share(world, &[]);
    share.until_it_says("`punchlist work` starts one");
    let _worker = worker(world, "one", &[]);
    assert_eq!(share.ends().0, 0);
}

pub(super) fn an_approval_is_a_question_that_somebody_answers_elsewhere_and_blocks_no_other_item(
    world: &World,
) {
    let plan = "\
- [ ] Publish
  approve: yes
  run: echo published >> log.txt
- [ ] Other
  run: echo other >> log.txt
";
    world.write("project/plan.md", plan);
    let _worker = worker(world, "one", &["--jobs", "1"]);
    let share = share(world, &[]);
    share.until_it_says("punchlist answer");
    until(|| status(world, 2) == "completed");
    assert_eq!(read(world, "project/log.txt"), "other\n");
    let Some(ran) = at_terminal(world, "answer yes", "y\n", &[("USER", "she")]) else { return };
    assert_eq!(ran.code, 0, "{}", ran.out);
    let (code, out) = share.ends();
    assert_eq!(code, 0, "{out}");
    assert_eq!(read(world, "project/log.txt"), "other\npublished\n");
}

pub(super) fn kinds_decide_which_items_a_worker_takes(world: &World) {
    publish(world, "- [ ] Build\n  run: echo built >> log.txt\n- [ ] Write\n  agent: claude\n");
    let claude = worker(world, "agents", &["--kind", "claude"]);
    // The program is not installed here, so the item fails; that it was taken is what counts.
    until(|| item(world, 2)["waitingOn"] == "a person, because it failed");
    claude.until_it_says("took       2 Write");
    assert_eq!(status(world, 1), "pending");
    let run = worker(world, "commands", &["--kind", "run"]);
    until(|| status(world, 1) == "completed");
    run.until_it_says("done       1 Build");
    assert!(!claude.said().contains("Build"), "{}", claude.said());
    let bad = called(world, &["work", "--kind", "gardener"]);
    assert_eq!(bad.code, 2);
    assert!(bad.err.contains("there is no kind \"gardener\""), "{}", bad.err);
}

pub(super) fn a_worker_with_a_plan_leaves_others_alone(world: &World) {
    publish(world, "- [ ] One\n  run: true\n");
    world.write("project/other.md", "- [ ] Two\n  run: true\n");
    let mut other = call(world, &["run", "other.md", "--share", "--json"]);
    other.stdin(std::process::Stdio::null());
    let other = super::Process::start(world, other, "other");
    other.until_it_says("\"todo_list\"");
    let only = worker(world, "only", &["--plan", "other.md"]);
    assert_eq!(other.ends().0, 0);
    only.until_it_says("done       1 Two");
    assert_eq!(status(world, 1), "pending");
}

pub(super) fn a_plan_that_is_not_shared_is_left_alone(world: &World) {
    world.write("project/plan.md", "- [ ] By hand\n- [ ] Build\n  after: By hand\n  run: true\n");
    assert_eq!(called(world, &["run", "plan.md"]).code, 7);
    called(world, &["done", "1", "--plan", "plan.md"]).works();
    let worker = worker(world, "one", &[]);
    worker.until_it_says("nothing to do");
    // A second plan shows that the worker has looked since.
    world.write("project/other.md", "- [ ] Other\n  run: true\n");
    assert_eq!(called(world, &["run", "other.md", "--share"]).code, 0);
    assert_eq!(status(world, 2), "pending");
}

pub(super) fn a_plain_run_takes_a_plan_back_unless_a_worker_holds_an_item(world: &World) {
    let wait = "echo x >> log.txt; until test -e go; do sleep 0.02; done";
    publish(world, &format!("- [ ] Slow\n  run: {wait}\n"));
    let slow = worker(world, "one", &[]);
    until(|| !read(world, "project/log.txt").is_empty());
    let refused = called(world, &["run", "plan.md"]);
    assert_eq!(refused.code, 3, "{}", refused.err);
    assert!(refused.err.contains("is shared, and one works on item 1"), "{}", refused.err);
    world.write("project/go", "");
    until(|| status(world, 1) == "completed");
    drop(slow);
    world.write("project/plan.md", "- [ ] Slow\n- [ ] Next\n  run: echo next >> log.txt\n");
    let ran = called(world, &["run", "plan.md", "--yes"]);
    assert!(ran.err.contains("from now on it is run here only"), "{}", ran.err);
    assert!(read(world, "project/log.txt").contains("next"), "{}", ran.out);
    let log = called(world, &["log", "--plan", "plan.md"]).ok();
    assert!(log.contains("shared the plan") && log.contains("ended the sharing"), "{log}");
}

pub(super) fn the_output_of_an_item_is_in_the_store_and_not_only_in_the_workers_files(
    world: &World,
) {
    publish(world, "- [ ] Build\n  run: seq 100000\n");
    let _worker = worker_on(world, "far", "elsewhere", &[]);
    until(|| status(world, 1) == "completed");
    // Another machine has the database, but not the files.
    let mut show = call(world, &["show", "1", "--output", "--plan", "plan.md"]);
    from_elsewhere(world, &mut show, "other");
    let ran = finish(show, b"");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.starts_with("1\n2\n3\n") && ran.out.ends_with("\n100000\n"));
    assert!(ran.out.len() < 100_000, "it is bounded: {} bytes", ran.out.len());
}

pub(super) fn commands_run_in_the_same_directory_of_the_workers_checkout(world: &World) {
    world.write("project/sub/plan.md", "- [ ] Build\n  run: echo built > here.txt\n");
    let _worker = worker(world, "one", &[]);
    assert_eq!(called(world, &["run", "sub/plan.md", "--share"]).code, 0);
    assert_eq!(read(world, "project/sub/here.txt"), "built\n");
    let outside = world.path("elsewhere/plan.md");
    world.write("elsewhere/plan.md", "- [ ] Build\n  run: true\n");
    let refused = called(world, &["run", outside.to_str().unwrap(), "--share"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("is not in this project"), "{}", refused.err);
}

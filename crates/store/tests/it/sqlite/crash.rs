//! Processes that are killed.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use punchlist_model::call::{CallState, CallStore, Said};
use punchlist_model::session::Store;
use punchlist_model::store::{Change, Cursor, Scope};
use punchlist_store::{Durability, Options, Sqlite};

use super::{outside, place};
use crate::support::{
    Desk, add, asked, at, call, done, follow, next, plan_id, run, run_id, start, wait,
};

const INSIDE: &str = "PUNCHLIST_TEST_WRITE_UNTIL_KILLED";
const NAME: &str = "sqlite::crash::what_was_acknowledged_before_a_kill_is_there";

#[test]
fn what_was_acknowledged_before_a_kill_is_there() {
    if let Some(path) = std::env::var_os(INSIDE) {
        return write_until_killed(PathBuf::from(path));
    }
    let (_directory, options) = place();
    let desk = Desk::new(Arc::new(Sqlite::open(&options).unwrap()), "ann");
    let mut acknowledged_to = 0;
    for _ in 0..3 {
        acknowledged_to = kill_a_writer(NAME, &options);
        let plan = desk.whole();
        assert!(
            plan.revision.0 >= acknowledged_to,
            "{} of {acknowledged_to} are there",
            plan.revision
        );
        assert_eq!((plan.placed, plan.open), plan.recount());
        assert_eq!(u64::try_from(desk.journal().len()).unwrap(), plan.revision.0);
    }
    assert!(acknowledged_to > 60);
}

/// Runs a test in another process, kills it while it works, and returns the last number that it
/// acknowledged.
fn kill_a_writer(test: &str, options: &Options) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, &options.path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut acknowledged = lines.filter_map(|line| line.strip_prefix("has ")?.parse().ok());
    let acknowledged_to = acknowledged.by_ref().nth(20).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    // What it acknowledged before it was killed.
    acknowledged.last().unwrap_or(acknowledged_to)
}

fn write_until_killed(path: PathBuf) {
    let options = Options { path, durability: Durability::Full };
    let store = Arc::new(Sqlite::open(&options).unwrap());
    let desk = Desk::at(store, plan_id(1), "worker");
    loop {
        let mut ctx = desk.ctx();
        ctx.limits.open_items = u32::MAX;
        let change = Change::new(vec![add("a"), add("b")], ctx);
        let applied = wait(desk.store.change(desk.plan, change)).unwrap();
        writeln!(std::io::stdout(), "has {}", applied.revision()).unwrap();
    }
}

#[test]
fn calls_that_were_acknowledged_before_a_kill_are_there_with_their_plan() {
    const NAME: &str =
        "sqlite::crash::calls_that_were_acknowledged_before_a_kill_are_there_with_their_plan";
    if let Some(path) = std::env::var_os(INSIDE) {
        return work_until_killed(PathBuf::from(path));
    }
    for round in 0..2 {
        let (_directory, options) = place();
        let desk = Desk::new(Arc::new(Sqlite::open(&options).unwrap()), "worker");
        wait(desk.store.begin_run(run(1, Some(desk.plan)))).unwrap();
        let acknowledged_to = kill_a_writer(NAME, &options);
        let store = Sqlite::open(&options).unwrap();
        let found = wait(store.interrupt(run_id(1), at(9), Said::new())).unwrap();
        assert!(found.len() <= 1, "round {round}: {found:?}");
        let calls = wait(store.calls(run_id(1))).unwrap();
        let count = |state| calls.iter().filter(|it| it.state == state).count();
        let plan = desk.whole();
        let completed = usize::try_from(plan.progress().completed).unwrap();
        assert_eq!(count(CallState::Success), completed, "together or not at all");
        assert!(
            u64::try_from(completed).unwrap() >= acknowledged_to,
            "{completed} of {acknowledged_to} are there"
        );
        assert_eq!(count(CallState::Cancelled), found.len());
        assert_eq!(usize::try_from(plan.open).unwrap(), found.len(), "the one in flight");
        let questions = wait(store.questions(Default::default())).unwrap();
        assert_eq!(questions.len(), calls.len());
    }
}

/// Adds an item and asks a question, then completes it, each time together with its call.
fn work_until_killed(path: PathBuf) {
    let options = Options { path, durability: Durability::Full };
    let desk = Desk::at(Arc::new(Sqlite::open(&options).unwrap()), plan_id(1), "worker");
    let record = |calls, questions, ops| {
        let change = Some((desk.plan, Change::new(ops, desk.ctx())));
        wait(desk.store.record(run_id(1), calls, questions, change)).unwrap();
    };
    for n in 1_u32.. {
        let mut question = asked(1, n);
        question.id.0 = desk.ctx().ids.nth(n);
        let executing = call(n, CallState::Executing, 1);
        record(vec![executing], vec![question], vec![add("a"), start(n)]);
        record(vec![call(n, CallState::Success, 2)], vec![], vec![done(n)]);
        writeln!(std::io::stdout(), "has {n}").unwrap();
    }
}

#[test]
fn a_commit_whose_writer_died_before_the_bell_is_seen_all_the_same() {
    let (_directory, options) = place();
    let store = Arc::new(Sqlite::open(&options).unwrap());
    let desk = Desk::new(Arc::clone(&store) as Arc<dyn Store>, "ann");
    desk.must(vec![add("a")]);
    let mut stream = follow(&*store, Cursor::Now, Scope::All);
    outside(&options)
        .execute_batch(
            "INSERT INTO journal(plan, revision, at, actor_kind, actor, kind, events) \
             SELECT plan, 2, at, actor_kind, actor, kind, '[]' FROM journal",
        )
        .unwrap();
    assert_eq!(next(&mut stream).1.revision.0, 2);
}

#[test]
fn a_value_that_nobody_of_ours_wrote_is_damage_and_not_a_panic() {
    let (_directory, options) = place();
    let desk = Desk::new(Arc::new(Sqlite::open(&options).unwrap()), "ann");
    desk.must(vec![add("a")]);
    // Unreadable fields of an item are left out and marked; the other fields are there.
    for (spoil, mend) in [
        (
            "PRAGMA ignore_check_constraints = ON; UPDATE item SET status = 'lost'",
            "UPDATE item SET status = 'pending'",
        ),
        ("UPDATE item SET id = 'x'", "UPDATE item SET id = (SELECT id FROM plan)"),
        ("UPDATE item SET extra = '{'", "UPDATE item SET extra = NULL"),
        ("UPDATE item SET depends_on = ',,'", "UPDATE item SET depends_on = NULL"),
        ("UPDATE item SET created_at = 9223372036854775807", "UPDATE item SET created_at = 0"),
    ] {
        outside(&options).execute_batch(spoil).unwrap();
        let item = desk.whole().get(punchlist_model::Number(1)).unwrap().clone();
        assert_eq!(item.title, "a", "{spoil}");
        assert!(item.marks.contains(&punchlist_model::Mark::Unreadable), "{spoil}: {item:?}");
        outside(&options).execute_batch(mend).unwrap();
        assert!(desk.whole().get(punchlist_model::Number(1)).unwrap().marks.is_empty());
    }
    // With unreadable rules, nothing is done that they might forbid.
    outside(&options).execute_batch("UPDATE plan SET end = 'never', rules = 'x'").unwrap();
    assert_eq!(desk.whole().rules.demand, Some(punchlist_model::Level::Approved));
    outside(&options).execute_batch("UPDATE plan SET end = 'open', rules = NULL").unwrap();
    for (spoil, mend) in [
        ("UPDATE item SET position = -1", "UPDATE item SET position = 1"),
        ("UPDATE plan SET revision = -1", "UPDATE plan SET revision = 1"),
    ] {
        outside(&options).execute_batch(spoil).unwrap();
        let read = wait(desk.store.whole(desk.plan));
        let error = read.unwrap_err().to_string();
        assert!(error.contains("plans.db"), "{spoil}: {error}");
        outside(&options).execute_batch(mend).unwrap();
        desk.whole();
    }
    wait(desk.store.begin_run(run(1, None))).unwrap();
    let waits = vec![call(1, CallState::AwaitingApproval, 1)];
    wait(desk.store.record(run_id(1), waits, vec![asked(1, 1)], None)).unwrap();
    for (spoil, mend) in [
        ("UPDATE call SET state = 'lost'", "UPDATE call SET state = 'awaiting_approval'"),
        ("UPDATE question SET answer = '{'", "UPDATE question SET answer = NULL"),
        ("UPDATE run SET id = 'x'", ""),
    ] {
        outside(&options).execute_batch(spoil).unwrap();
        let read = wait(desk.store.questions(Default::default()));
        let error = read.unwrap_err().to_string();
        assert!(error.contains("plans.db"), "{spoil}: {error}");
        outside(&options).execute_batch(mend).unwrap();
    }
    outside(&options).execute_batch("UPDATE journal SET kind = 'dance'").unwrap();
    assert_eq!(desk.journal().len(), 1);
}

#[test]
fn a_log_that_is_emptied_while_a_follower_waits_loses_it_nothing() {
    let (_directory, options) = place();
    let store = Arc::new(Sqlite::open(&options).unwrap());
    let desk = Desk::new(Arc::clone(&store) as Arc<dyn Store>, "ann");
    let mut stream = follow(&*store, Cursor::Now, Scope::All);
    let other = outside(&options);
    for revision in 1..=20 {
        desk.must(vec![add("a")]);
        // The follower keeps no transaction open while it waits, so the checkpoint is not blocked.
        let busy: i64 =
            other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
        assert_eq!(next(&mut stream).1.revision.0, revision, "the log was busy: {busy}");
    }
    let log = options.path.with_file_name("plans.db-wal");
    other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    assert_eq!(std::fs::metadata(log).unwrap().len(), 0, "somebody holds the log");
}

//! Processes that end in the middle.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use punchlist_db::{Durability, Options, Sqlite};
use punchlist_model::store::{Change, Cursor, PlanStore, Scope};

use super::{outside, place};
use crate::support::{Desk, add, follow, next, plan_id, wait};

const INSIDE: &str = "PUNCHLIST_TEST_WRITE_UNTIL_KILLED";
const NAME: &str = "sqlite::crash::what_was_acknowledged_before_a_kill_is_there";

#[test]
fn what_was_acknowledged_before_a_kill_is_there() {
    if let Some(path) = std::env::var_os(INSIDE) {
        return write_until_killed(PathBuf::from(path));
    }
    let (_directory, options) = place();
    let desk = Desk::new(Arc::new(Sqlite::open(&options).unwrap()), "ann");
    let mut known = 0;
    for _ in 0..3 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", NAME, "--nocapture"])
            .env(INSIDE, &options.path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut acknowledged = lines.filter_map(|line| line.strip_prefix("has ")?.parse().ok());
        known = acknowledged.by_ref().nth(20).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        // What it managed to say before it died.
        known = acknowledged.last().unwrap_or(known);
        let plan = desk.whole();
        assert!(plan.revision.0 >= known, "{} of {known} are there", plan.revision);
        assert_eq!((plan.placed, plan.open), plan.recount());
        assert_eq!(u64::try_from(desk.journal().len()).unwrap(), plan.revision.0);
    }
    assert!(known > 60);
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
fn a_commit_whose_writer_died_before_the_bell_is_seen_all_the_same() {
    let (_directory, options) = place();
    let store = Arc::new(Sqlite::open(&options).unwrap());
    let desk = Desk::new(Arc::clone(&store) as Arc<dyn PlanStore>, "ann");
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
    for (spoil, mend) in [
        ("UPDATE item SET status = 'lost'", "UPDATE item SET status = 'pending'"),
        ("UPDATE item SET id = 'x'", "UPDATE item SET id = (SELECT id FROM plan)"),
        ("UPDATE item SET extra = '{'", "UPDATE item SET extra = NULL"),
        ("UPDATE item SET position = -1", "UPDATE item SET position = 1"),
        ("UPDATE item SET depends_on = ',,'", "UPDATE item SET depends_on = NULL"),
        ("UPDATE item SET created_at = 9223372036854775807", "UPDATE item SET created_at = 0"),
        ("UPDATE plan SET revision = -1", "UPDATE plan SET revision = 1"),
        ("UPDATE plan SET end = 'never'", "UPDATE plan SET end = 'open'"),
        ("UPDATE plan SET rules = 'x'", "UPDATE plan SET rules = NULL"),
    ] {
        outside(&options).execute_batch(spoil).unwrap();
        let read = wait(desk.store.read(desk.plan, punchlist_model::needs::Needs::whole()));
        let error = read.unwrap_err().to_string();
        assert!(error.contains("plans.db"), "{spoil}: {error}");
        outside(&options).execute_batch(mend).unwrap();
        desk.whole();
    }
    outside(&options).execute_batch("UPDATE journal SET kind = 'dance'").unwrap();
    let read = wait(desk.store.journal(desk.plan, punchlist_model::Revision(0), 9));
    assert!(read.unwrap_err().to_string().contains("plans.db"));
}

#[test]
fn a_log_that_is_emptied_while_a_follower_waits_loses_it_nothing() {
    let (_directory, options) = place();
    let store = Arc::new(Sqlite::open(&options).unwrap());
    let desk = Desk::new(Arc::clone(&store) as Arc<dyn PlanStore>, "ann");
    let mut stream = follow(&*store, Cursor::Now, Scope::All);
    let other = outside(&options);
    for revision in 1..=20 {
        desk.must(vec![add("a")]);
        // The follower holds no transaction while it waits, so nothing is in the way.
        let busy: i64 =
            other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
        assert_eq!(next(&mut stream).1.revision.0, revision, "the log was busy: {busy}");
    }
    let log = options.path.with_file_name("plans.db-wal");
    other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    assert_eq!(std::fs::metadata(log).unwrap().len(), 0, "somebody holds the log");
}

//! Processes that write until they are killed: this test program, started again.
//!
//! A writer prints a line for each change after the store has confirmed it. So every line that its
//! reader gets was acknowledged.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Lines, Write as _};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pollster::block_on;
use punchlist_model::session::Store;
use punchlist_model::store::{Applied, Change, Error};
use punchlist_model::{
    Actor, Ctx, Holder, IdSource, ItemRef, Limits, ListEntry, Mode, NewItem, Number, Op, Patch,
    Place, Plan, PlanId, Position, Status, Timestamp,
};
use punchlist_store::{Durability, Options, Threaded};

use super::chance::Chance;
use super::{judge, postgres};

/// The order for a writer: words separated by spaces.
const ORDER: &str = "PUNCHLIST_TORTURE_WRITER";
const DATABASE: &str = "PUNCHLIST_TORTURE_WRITER_DB";

/// A running writer.
pub(super) struct Writer {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Writer {
    /// Starts a writer that adds `count` items to a plan with `in_flight` changes at a time.
    pub(super) fn adds(
        test: &str,
        db: &Path,
        plan: PlanId,
        name: &str,
        (count, in_flight): (usize, usize),
    ) -> Self {
        Self::start(test, db, &format!("adds {plan} {name} {count} {in_flight}"))
    }

    /// Starts a writer that makes random changes, one after the other, without end.
    pub(super) fn mixed(test: &str, db: &Path, plan: PlanId, name: &str, seed: u64) -> Self {
        Self::start(test, db, &format!("mixed {plan} {name} {seed}"))
    }

    /// The same, but every third change takes another one back, and none writes whole lists: those
    /// contain texts that the writer has read before.
    pub(super) fn undos(test: &str, db: &Path, plan: PlanId, name: &str, seed: u64) -> Self {
        Self::start(test, db, &format!("undos {plan} {name} {seed}"))
    }

    fn start(test: &str, db: &Path, order: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--include-ignored"])
            .env(ORDER, order)
            .env(DATABASE, db)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The next acknowledgement; `None` at the end.
    pub(super) fn next(&mut self) -> Option<String> {
        loop {
            // A line that was cut off by a kill does not count.
            let line = self.lines.next()?.ok()?;
            if let Some(rest) = line.strip_prefix("has ")
                && let Some(whole) = rest.strip_suffix('.')
            {
                return Some(whole.to_owned());
            }
        }
    }

    /// Kills the writer. Returns the lines so far, and whether it was still running.
    pub(super) fn kill(mut self) -> (Vec<String>, bool) {
        self.child.kill().unwrap();
        let was_killed = self.child.wait().unwrap().signal() == Some(9);
        (std::iter::from_fn(|| self.next()).collect(), was_killed)
    }

    /// Waits for the writer's end.
    pub(super) fn finish(mut self) -> Vec<String> {
        let said = std::iter::from_fn(|| self.next()).collect();
        assert!(self.child.wait().unwrap().success(), "a writer failed by itself");
        said
    }
}

/// Waits for a random time.
pub(super) fn linger(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        thread::yield_now();
    }
}

/// Does a writer's work, if this process is one.
pub(super) fn is_writer() -> bool {
    let Ok(order) = std::env::var(ORDER) else { return false };
    let db = PathBuf::from(std::env::var_os(DATABASE).unwrap());
    let words: Vec<&str> = order.split(' ').collect();
    match words.as_slice() {
        ["adds", plan, name, count, in_flight] => adds(
            &*threaded(db),
            plan.parse().unwrap(),
            name,
            (count.parse().unwrap(), in_flight.parse().unwrap()),
        ),
        [kind @ ("mixed" | "undos"), plan, name, seed] => {
            let store = judge::store(&db);
            mixed(&*store, plan.parse().unwrap(), name, seed.parse().unwrap(), *kind == "undos");
        }
        other => panic!("no writer can {other:?}"),
    }
    true
}

fn say(what: &str) {
    // In one write, because several threads print.
    std::io::stdout().write_all(format!("has {what}.\n").as_bytes()).unwrap();
}

/// The context of a writer. Its ids are derived from a text that is used only once.
pub(super) fn ctx(name: &str, once: &str) -> Ctx {
    let mut hasher = DefaultHasher::new();
    (name, once).hash(&mut hasher);
    let hash = hasher.finish();
    let at = Timestamp::from_second(1_800_000_000).unwrap();
    let mut random = [0; 10];
    random[2..].copy_from_slice(&hash.to_be_bytes());
    Ctx {
        now: at,
        ids: IdSource::new(at, random),
        actor: Actor::agent(name),
        holder: Holder::named(name),
        attempt: None,
        base: None,
        mode: Mode::Enforced,
        limits: Limits { open_items: u32::MAX, ..Limits::default() },
        gone: Vec::new(),
        anyway: false,
    }
}

/// The store for many changes in flight.
fn threaded(db: PathBuf) -> Arc<dyn Store> {
    if let Some(address) = postgres::address(&db) {
        return postgres::open(address);
    }
    let options = Options { path: db, durability: Durability::Full };
    Arc::new(Threaded::open(&options).unwrap())
}

fn adds(store: &dyn Store, plan: PlanId, name: &str, (count, in_flight): (usize, usize)) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..in_flight {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= count {
                        return;
                    }
                    let title = format!("{name}/{n}");
                    let op = Op::Add(Box::new(NewItem::titled(title.as_str())));
                    let change = Change::new(vec![op], ctx(name, &title));
                    let applied = block_on(store.change(plan, change)).unwrap();
                    let [item] = applied.items()[..] else { panic!("one item was added") };
                    say(&format!("{title} {}", item.number));
                }
            });
        }
    });
}

fn mixed(store: &dyn Store, plan: PlanId, name: &str, seed: u64, undoes: bool) {
    let mut chance = Chance::new(seed);
    let share = if undoes { 3 } else { 10 };
    for n in 0_u64.. {
        let whole = block_on(store.whole(plan)).unwrap();
        let ctx = ctx(name, &n.to_string());
        let answer = match chance.below(share) {
            0 => block_on(store.undo(plan, ctx, None)),
            _ => {
                let ops = vec![step(&whole, &mut chance, if undoes { 11 } else { 12 })];
                block_on(store.change(plan, Change::new(ops, ctx)))
            }
        };
        acknowledge(answer);
    }
}

/// Prints the revision of a change, unless it changed nothing.
fn acknowledge(answer: Result<Applied, Error>) {
    match answer {
        Ok(applied) if !applied.decision.events.is_empty() => {
            say(&applied.revision().to_string());
        }
        Ok(_) | Err(Error::Refused(_) | Error::Undo(_)) => {}
        Err(error) => panic!("{error}"),
    }
}

/// A random operation, of the first so many kinds; it may be refused.
fn step(plan: &Plan, chance: &mut Chance, kinds: u64) -> Op {
    let number = Number(u32::try_from(1 + chance.below(plan.items.len() as u64)).unwrap());
    let item = ItemRef::Number(number);
    match chance.below(kinds) {
        0..3 => Op::Add(Box::new(NewItem::titled(chance.word()))),
        3 => Op::Start(item),
        4 => Op::Complete { item, outcome: Some(chance.word()), with_children: false },
        5 => Op::Edit {
            item,
            patch: Box::new(Patch { title: Some(chance.word()), ..Patch::default() }),
        },
        6 => Op::Edit {
            item,
            patch: Box::new(Patch { context: Some(chance.word()), ..Patch::default() }),
        },
        7 => {
            let to = 1 + chance.below(u64::from(plan.placed));
            Op::Move { item, to: Place::At(Position(u32::try_from(to).unwrap())) }
        }
        8 => Op::Release(item),
        9 => Op::Wait { item, on: chance.word() },
        10 => Op::Reopen { item, start: chance.below(2) == 0 },
        _ => Op::Replace(whole_list(plan, chance)),
    }
}

/// The list with some entries removed, some renamed, a new one, and in another order. Short, so
/// that the plan does not grow without end.
fn whole_list(plan: &Plan, chance: &mut Chance) -> Vec<ListEntry> {
    let mut entries: Vec<ListEntry> = plan
        .listed()
        .iter()
        .filter(|_| chance.below(4) > 0)
        .take(12)
        .map(|item| ListEntry {
            item: Some(ItemRef::Number(item.number)),
            ..ListEntry::titled(item.title.as_str(), item.status)
        })
        .collect();
    entries.push(ListEntry::titled(chance.word(), Status::Pending));
    let to = usize::try_from(chance.below(entries.len() as u64)).unwrap();
    let last = entries.len() - 1;
    entries.swap(to, last);
    entries
}

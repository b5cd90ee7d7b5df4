//! Our side: processes that add through the library, with one thread per concurrent call.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use punchlist_model::store::{Change, NewPlan, PlanStore};
use punchlist_model::{
    Actor, Ctx, Holder, IdSource, Limits, Mode, NewItem, Op, PlanId, Rules, Timestamp,
};
use punchlist_store::{Durability, Options, Sqlite, Threaded};

use super::{Load, Outcome};

/// A fixed time for everything: nobody reads the plan's times.
fn at() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap_or_default()
}

fn plan_id() -> PlanId {
    PlanId(IdSource::fixed(at(), 1).nth(0))
}

fn options(database: &Path) -> Options {
    Options { path: database.to_owned(), durability: Durability::Full }
}

/// Creates a database with an empty plan.
pub(crate) fn prepare(database: &Path) -> Outcome {
    let new = NewPlan {
        made_for: None,
        id: plan_id(),
        project: "/project".to_owned(),
        name: None,
        title: "Adds".to_owned(),
        rules: Rules::default(),
        at: at(),
    };
    wait(Sqlite::open(&options(database))?.create(new))?;
    Ok(())
}

/// Starts a process that adds, and returns how many adds it reports as acknowledged.
pub(crate) fn start(database: &Path, who: u32, load: Load) -> Outcome<u32> {
    let output = Command::new(std::env::current_exe()?)
        .arg("add")
        .arg(database)
        .args([who, load.count, load.in_flight].map(|it| it.to_string()))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
}

/// Adds, and prints how many adds were acknowledged.
pub(crate) fn add(database: &Path, who: u32, load: Load) -> Outcome {
    let store = Threaded::open(&options(database))?;
    let (next, good) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..load.in_flight {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= load.count {
                        break;
                    }
                    let op = Op::Add(Box::new(NewItem::titled(format!("Task {who}-{n}"))));
                    let change = Change::new(vec![op], ctx(who, n));
                    if wait(store.change(plan_id(), change)).is_ok() {
                        good.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    Ok(writeln!(std::io::stdout(), "{}", good.into_inner())?)
}

fn ctx(who: u32, n: u32) -> Ctx {
    let mut random = [0; 10];
    random[2..6].copy_from_slice(&who.to_be_bytes());
    random[6..].copy_from_slice(&n.to_be_bytes());
    Ctx {
        now: at(),
        ids: IdSource::new(at(), random),
        actor: Actor::agent(format!("worker {who}")),
        holder: Holder::named(format!("worker {who}")),
        attempt: None,
        base: None,
        mode: Mode::Enforced,
        limits: Limits { open_items: u32::MAX, ..Limits::default() },
        gone: Vec::new(),
        anyway: false,
    }
}

/// The ids of the stored items.
pub(crate) fn stored(database: &Path) -> Outcome<Vec<String>> {
    let store = Sqlite::open_to_read(&options(database))?.ok_or("there is no database")?;
    let plan = wait(PlanStore::whole(&store, plan_id()))?;
    Ok(plan.items.values().map(|item| item.id.to_string()).collect())
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

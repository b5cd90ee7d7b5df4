//! A plan in our store and a worker. Times and ids are counted up, so that runs are equal.

use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use punchlist_model::store::{Applied, Change, NewPlan, PlanStore};
use punchlist_model::{
    Actor, Ctx, Holder, IdSource, Limits, Mode, NewItem, Op, PlanId, Rules, Timestamp,
};
use punchlist_store::{Durability, Options, Sqlite};

use super::Outcome;

pub(crate) const TITLE: &str = "Write the parser tests";
pub(crate) const WHO: &str = "bench@bench";

/// `n` milliseconds after a fixed time.
pub(crate) fn at(n: u64) -> Timestamp {
    let millis = 1_800_000_000_000_i64.saturating_add_unsigned(n);
    Timestamp::from_millisecond(millis).unwrap_or_default()
}

/// Ids that differ with every `n`.
pub(crate) fn ids(n: u64) -> IdSource {
    let mut random = [0; 10];
    random[2..].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    IdSource::new(at(n), random)
}

pub(crate) fn plan_id() -> PlanId {
    PlanId(ids(0).nth(0))
}

/// The context of the n-th change.
pub(crate) fn ctx(n: u64) -> Ctx {
    Ctx {
        now: at(n),
        ids: ids(n),
        actor: Actor::person(WHO),
        holder: Holder::named(WHO),
        attempt: None,
        base: None,
        mode: Mode::Enforced,
        limits: Limits { open_items: u32::MAX, ..Limits::default() },
        gone: Vec::new(),
        anyway: false,
    }
}

pub(crate) fn open(database: &Path, durability: Durability) -> Outcome<Sqlite> {
    let store = Sqlite::open(&Options { path: database.to_owned(), durability })?;
    // As a server does: SQLite's own limit of the WAL applies.
    store.stay();
    Ok(store)
}

/// Creates a database with an empty plan.
pub(crate) fn make(database: &Path, durability: Durability) -> Outcome<Sqlite> {
    let store = open(database, durability)?;
    wait(store.create(NewPlan {
        made_for: None,
        id: plan_id(),
        project: "/project".to_owned(),
        name: None,
        title: "Bench".to_owned(),
        rules: Rules::default(),
        at: at(0),
    }))?;
    Ok(store)
}

pub(crate) fn change(store: &Sqlite, n: u64, op: Op) -> Outcome<Applied> {
    Ok(wait(store.change(plan_id(), Change::new(vec![op], ctx(n))))?)
}

pub(crate) fn add(store: &Sqlite, n: u64) -> Outcome {
    change(store, n, Op::Add(Box::new(NewItem::titled(TITLE)))).map(drop)
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future. Futures of the store are ready at once; those of a stream are not.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

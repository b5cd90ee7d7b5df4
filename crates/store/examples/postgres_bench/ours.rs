//! Adds, claims and completions through the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use punchlist_model::session::Store;
use punchlist_model::store::{Change, Cursor, NewPlan, Scope};
use punchlist_model::{Actor, Ctx, Holder, IdSource, Limits, Mode, NewItem, Op, PlanId, Timestamp};
use punchlist_store::postgres::{Options, Postgres};
use punchlist_testkit::postgres::Server;

use super::{Outcome, rate, tell};

#[expect(
    clippy::disallowed_methods,
    reason = "a program of its own, which has to look at the clock"
)]
fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let millis = since.map_or(0, |it| i64::try_from(it.as_millis()).unwrap_or_default());
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH)
}

pub(crate) fn plan(n: u32) -> PlanId {
    let mut random = [0; 10];
    random[6..].copy_from_slice(&n.to_be_bytes());
    PlanId(IdSource::new(Timestamp::UNIX_EPOCH, random).nth(0))
}

/// The context of a worker's n-th change.
pub(crate) fn ctx(worker: u32, n: u32) -> Ctx {
    let mut random = [0; 10];
    random[2..6].copy_from_slice(&worker.to_be_bytes());
    random[6..].copy_from_slice(&n.to_be_bytes());
    let name = format!("worker-{worker}");
    Ctx {
        now: now(),
        ids: IdSource::new(now(), random),
        actor: Actor::agent(&name),
        holder: Holder::named(&name),
        attempt: None,
        base: None,
        mode: Mode::Enforced,
        limits: Limits { open_items: u32::MAX, ..Limits::default() },
        gone: Vec::new(),
        anyway: false,
    }
}

fn runtime() -> Outcome<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

fn open(address: &str) -> Outcome<Arc<dyn Store>> {
    Ok(Arc::new(Postgres::open(&Options::new(address.parse()?))?))
}

/// One plan for each worker, with items.
pub(crate) fn prepare(address: &str, workers: u32, items: u32) -> Outcome {
    let store = open(address)?;
    runtime()?.block_on(async {
        for worker in 0..workers {
            store.create(NewPlan::new(plan(worker), "/bench", now())).await?;
            for (batch, from) in (0..items).step_by(1000).enumerate() {
                let title = |n: u32| Op::Add(Box::new(NewItem::titled(format!("item {n}"))));
                let ops: Vec<Op> = (from..items.min(from + 1000)).map(title).collect();
                let ctx = ctx(1_000_000 + worker, u32::try_from(batch)?);
                store.change(plan(worker), Change::new(ops, ctx)).await?;
            }
        }
        Ok(())
    })
}

/// Runs workers for a time, or until there is nothing left to do, and returns how often they did their work in
/// 1000 seconds.
fn run<F: Future<Output = Outcome<bool>> + 'static>(
    first: u32,
    workers: u32,
    time: Duration,
    work: impl Fn(u32, u32) -> F + Clone + 'static,
) -> Outcome<u64> {
    let done = Arc::new(AtomicU64::new(0));
    let runtime = runtime()?;
    let set = tokio::task::LocalSet::new();
    let tasks: Vec<_> = (first..first + workers)
        .map(|worker| {
            let (work, done) = (work.clone(), Arc::clone(&done));
            set.spawn_local(async move {
                let began = Instant::now();
                let mut n = 0;
                while began.elapsed() < time && work(worker, n).await? {
                    n += 1;
                }
                done.fetch_add(rate(n.into(), began.elapsed()), Ordering::Relaxed);
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
            })
        })
        .collect();
    runtime.block_on(set.run_until(async {
        for task in tasks {
            task.await??;
        }
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
    }))?;
    Ok(done.load(Ordering::Relaxed))
}

/// Claims the next item and completes it.
pub(crate) fn claim(address: &str, first: u32, workers: u32, time: Duration) -> Outcome<u64> {
    let store = open(address)?;
    run(first, workers, time, move |worker, n| {
        let store = Arc::clone(&store);
        async move {
            let change = Change::new(vec![Op::Next], ctx(worker, 2 * n));
            let applied = store.change(plan(worker), change).await?;
            let Some(item) = applied.decision.picked.map(Into::into) else { return Ok(false) };
            let done = Op::Complete { item, outcome: None, with_children: false };
            store.change(plan(worker), Change::new(vec![done], ctx(worker, 2 * n + 1))).await?;
            Ok(true)
        }
    })
}

/// Adds an item.
pub(crate) fn add(address: &str, first: u32, workers: u32, time: Duration) -> Outcome<u64> {
    let store = open(address)?;
    run(first, workers, time, move |worker, n| {
        let store = Arc::clone(&store);
        async move {
            let op = Op::Add(Box::new(NewItem::titled(format!("item {n}"))));
            store.change(plan(worker), Change::new(vec![op], ctx(worker, n))).await?;
            Ok(true)
        }
    })
}

/// From the acknowledgement of a change to its arrival at a follower with another connection.
pub(crate) fn react(server: &Server, count: u32) -> Outcome {
    let address = server.database();
    prepare(&address, 1, 0)?;
    let (writer, follower) = (open(&address)?, open(&address)?);
    runtime()?.block_on(async {
        let mut entries = follower.follow(Cursor::Now, Scope::All).await?;
        for n in 0..count {
            let op = Op::Add(Box::new(NewItem::titled(format!("item {n}"))));
            writer.change(plan(0), Change::new(vec![op], ctx(0, n))).await?;
            let committed = Instant::now();
            entries.next().await.ok_or("the stream ended")??;
            tell("reaction", committed.elapsed().as_nanos())?;
        }
        Ok(())
    })
}

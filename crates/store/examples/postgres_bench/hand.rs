//! The baseline: the statements that one would write by hand, each its own transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use punchlist_testkit::postgres::query;
use tokio_postgres::NoTls;

use super::{Outcome, rate};

/// A table of items with a plan each, as a program would have it that keeps no journal.
pub(crate) fn prepare(address: &str, workers: u32, items: u32) -> Outcome {
    query(
        address,
        &format!(
            "CREATE TABLE hand(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, plan int4 NOT NULL, \
             status text NOT NULL, worker text, title text NOT NULL); \
             INSERT INTO hand(plan, status, title) SELECT p, 'pending', 'item ' || n \
             FROM generate_series(0, {workers} - 1) p, generate_series(1, {items}) n; \
             CREATE INDEX hand_ready ON hand(plan, id) WHERE status = 'pending'"
        ),
    )?;
    Ok(())
}

const CLAIM: &str = "UPDATE hand SET status = 'in_progress', worker = $2 WHERE id = ( \
    SELECT id FROM hand WHERE plan = $1 AND status = 'pending' ORDER BY id LIMIT 1 \
    FOR UPDATE SKIP LOCKED) RETURNING id";
const COMPLETE: &str = "UPDATE hand SET status = 'completed' WHERE id = $1";
const ADD: &str = "INSERT INTO hand(plan, status, title) VALUES ($1, 'pending', $2)";

/// Claims the next item and completes it.
pub(crate) fn claim(address: &str, first: u32, workers: u32, time: Duration) -> Outcome<u64> {
    run(address, first, workers, time, true)
}

/// Adds an item.
pub(crate) fn add(address: &str, first: u32, workers: u32, time: Duration) -> Outcome<u64> {
    run(address, first, workers, time, false)
}

fn run(address: &str, first: u32, workers: u32, time: Duration, claims: bool) -> Outcome<u64> {
    let done = Arc::new(AtomicU64::new(0));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let mut tasks = Vec::new();
        for worker in first..first + workers {
            let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
            tokio::spawn(connection);
            let done = Arc::clone(&done);
            tasks.push(tokio::spawn(async move {
                let (plan, name) = (i32::try_from(worker)?, format!("worker-{worker}"));
                let claim = client.prepare(CLAIM).await?;
                let complete = client.prepare(COMPLETE).await?;
                let add = client.prepare(ADD).await?;
                let (began, mut n) = (Instant::now(), 0);
                while began.elapsed() < time {
                    if claims {
                        let row = client.query_opt(&claim, &[&plan, &name]).await?;
                        let Some(row) = row else { break };
                        client.execute(&complete, &[&row.try_get::<_, i64>(0)?]).await?;
                    } else {
                        client.execute(&add, &[&plan, &name]).await?;
                    }
                    n += 1;
                }
                done.fetch_add(rate(n, began.elapsed()), Ordering::Relaxed);
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
            }));
        }
        for task in tasks {
            task.await??;
        }
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
    })?;
    Ok(done.load(Ordering::Relaxed))
}

//! `next` in a plan with very many items.

use std::time::Instant;

use punchlist_model::store::{Change, NewPlan, PlanStore as _};
use punchlist_model::{Op, Timestamp};
use punchlist_store::postgres::{Options, Postgres};
use punchlist_testkit::postgres::{Server, query};

use super::ours::{ctx, plan};
use super::{Outcome, tell};

/// Fills a plan without the store, which would take hours, and then claims with it.
pub(crate) fn run(server: &Server, items: u32, count: u32) -> Outcome {
    let address = server.database();
    let store = Postgres::open(&Options::new(address.parse()?))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(store.create(NewPlan::new(plan(0), "/bench", Timestamp::UNIX_EPOCH)))?;
    query(
        &address,
        &format!(
            "INSERT INTO punchlist.item(plan, number, id, position, status, is_workers, attempt, \
             created_at, title, context, completion_criteria) \
             SELECT p.key, n, gen_random_uuid()::text, n, 'pending', false, 0, 0, 'item ' || n, '', '' \
             FROM punchlist.plan p, generate_series(1, {items}) n; \
             UPDATE punchlist.plan SET next_number = {items} + 1, placed = {items}, open = {items}"
        ),
    )?;
    query(&address, "VACUUM ANALYZE")?;
    runtime.block_on(async {
        for n in 0..count {
            let began = Instant::now();
            let change = Change::new(vec![Op::Next], ctx(n, 1));
            let applied = store.change(plan(0), change).await?;
            applied.decision.picked.ok_or("no item is left")?;
            tell("next", began.elapsed().as_nanos())?;
        }
        Ok(())
    })
}

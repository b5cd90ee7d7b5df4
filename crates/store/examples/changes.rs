//! A plan in a database: create it, change it, follow it.

use std::future::poll_fn;

use punchlist_model::store::{Change, Cursor, NewPlan, Scope};
use punchlist_model::{Ctx, IdSource, NewItem, Number, Op, PlanId, Timestamp};
use punchlist_store::sqlite;

/// Runs the example.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = tempfile::tempdir()?;
    let store = sqlite(place.path().join("plans.db"))?;
    // The store has no clock and draws no random numbers. A program passes real ones.
    let now = Timestamp::from_second(1_800_000_000)?;
    let plan = PlanId(IdSource::fixed(now, 1).nth(0));
    store.create(NewPlan::new(plan, "/home/ann/project".to_owned(), now)).await?;
    let mut news = store.follow(Cursor::Now, Scope::Plan(plan)).await?;
    let ctx = Ctx::new("worker-1", now, IdSource::fixed(now, 2));
    let add = Op::Add(Box::new(NewItem::titled("Write the parser")));
    let start = Op::Start(Number(1).into());
    // Both operations are applied, or neither.
    let applied = store.change(plan, Change::new(vec![add, start], ctx)).await?;
    let lines: Vec<String> =
        applied.items().iter().map(|it| format!("{}: {}", it.title, it.status.as_str())).collect();
    assert_eq!(lines, ["Write the parser: in_progress"]);
    let entry = poll_fn(|cx| news.as_mut().poll_next(cx)).await;
    let (_, entry) = entry.ok_or("the stream ended")??;
    assert_eq!((entry.revision, entry.actor.name.as_str()), (applied.revision, "worker-1"));
    Ok(())
}

//! A plan in a database: create it, change it, follow it.

use std::future::poll_fn;

use punchlist_model::store::{Change, Cursor, NewPlan, PlanStore, Scope};
use punchlist_model::{
    Actor, Ctx, Holder, IdSource, Limits, Mode, NewItem, Number, Op, PlanId, Timestamp,
};
use punchlist_store::{Durability, Options, Threaded};

/// Runs the example.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = tempfile::tempdir()?;
    let options = Options { path: place.path().join("plans.db"), durability: Durability::Full };
    let store = Threaded::open(&options)?;
    // The store has no clock and draws no random numbers. A program passes real ones.
    let now = Timestamp::from_second(1_800_000_000)?;
    let plan = PlanId(IdSource::fixed(now, 1).nth(0));
    store.create(NewPlan::new(plan, "/home/ann/project".to_owned(), now)).await?;
    let mut news = store.follow(Cursor::Now, Scope::Plan(plan)).await?;
    let ctx = Ctx {
        now,
        ids: IdSource::fixed(now, 2),
        actor: Actor::agent("worker-1"),
        holder: Holder::named("worker-1"),
        attempt: None,
        base: None,
        mode: Mode::Enforced,
        limits: Limits::default(),
        gone: Vec::new(),
        anyway: false,
    };
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

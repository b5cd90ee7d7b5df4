//! A plan: make, add, claim, complete, follow, draw.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use punchlist_engine::view::{Options, list};
use punchlist_engine::{Engine, Error, System, item};
use punchlist_store::Threaded;
use std::sync::Arc;

/// Runs the example.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = tempfile::tempdir()?;
    let options = punchlist_store::Options {
        path: place.path().join("plans.db"),
        durability: punchlist_store::Durability::Full,
    };
    let engine = Engine::open(Arc::new(Threaded::open(&options)?), System);
    let plan = engine.create("Ship it").await?;
    let mut news = plan.follow().await?;
    let told = tokio::spawn(async move {
        // Three changes: added, claimed, completed.
        for _ in 0..3 {
            if let Some(change) = news.next().await {
                println!("{}", change?.text());
            }
        }
        Ok::<_, Error>(())
    });
    let me = plan.by("worker-1");
    let parse = item("Parse");
    let test = item("Test").after(&parse);
    me.add([parse, test]).await?;
    if let Some(claim) = me.next().await? {
        claim.complete("parses").await?;
    }
    told.await??;
    let whole = plan.whole().await?;
    for line in list::list(&whole, &Options::plain(whole.updated_at)) {
        println!("{}", line.to_plain());
    }
    Ok(())
}

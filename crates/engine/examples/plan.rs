//! A plan: create, add, claim, verify, complete, follow, print.
//!
//! Run it with `cargo run -p punchlist-engine --example plan`. A test runs it too.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use punchlist_engine::{Engine, Error, Options, System, item, view};
use punchlist_sched::guardian;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Checks run under a guardian, a second process of this program. If this process is the
    // guardian, the call runs it and does not return.
    guardian::enter_if_called();
    work()
}

#[tokio::main(flavor = "current_thread")]
async fn work() -> Result<(), Box<dyn std::error::Error>> {
    let place = tempfile::tempdir()?;
    let project = place.path().to_string_lossy().into_owned();
    let store = punchlist_store::sqlite(place.path().join("plans.db"))?;
    let engine = Engine::with(store, System, Options { project, ..Options::default() });
    let plan = engine.create("Ship it").await?;
    let mut news = plan.follow().await?;
    let told = tokio::spawn(async move {
        // Four changes: added, claimed, verified, completed.
        for _ in 0..4 {
            if let Some(change) = news.next().await {
                println!("{}", change?.text());
            }
        }
        Ok::<_, Error>(())
    });
    let me = plan.by("worker-1");
    let parse = item("Parse").check("test -e plans.db");
    let test = item("Test").after(&parse);
    me.add([parse, test]).await?;
    if let Some(claim) = me.next().await? {
        engine.verify(plan.id(), claim.item.number).await?;
        claim.complete("parses").await?;
    }
    told.await??;
    let whole = plan.whole().await?;
    for line in view::list::list(&whole, &view::Options::plain(whole.updated_at)) {
        println!("{}", line.to_plain());
    }
    Ok(())
}

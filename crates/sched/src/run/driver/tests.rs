//! Tests: what a run keeps in memory.

use serde_json::json;

use super::*;
use crate::run::{Batch, NoLedger};
use crate::tool::tool_fn;

impl Driver<NoLedger> {
    /// The number of stored entries of all kinds.
    fn kept(&self) -> usize {
        let under_way = self.running.len() + self.under_way.len() + self.timers.len();
        let asked = self.stamps.len() + self.again.len() + self.approved.len();
        let written = self.page.len() + self.todo.len() + self.to_validate.len();
        let written = written + self.replies.len();
        self.machine.kept() + self.batches.len() + under_way + asked + written
    }
}

#[tokio::test]
async fn of_calls_that_have_ended_nothing_is_kept() {
    let nothing = tool_fn("nothing", json!({}), |_, _| async { Ok("done") }).harmless();
    let broken = tool_fn("broken", json!({}), |_, _| async { Err::<Output, _>("no".into()) });
    let tools = Tools::new().with(nothing).unwrap().with(broken.harmless()).unwrap();
    let (mut driver, run) = Driver::new(Options::default(), tools, Processes::none(), NoLedger);
    let calls = async move {
        for _ in 0..1_000 {
            let mut batch = Batch::new();
            let first = batch.call("nothing", json!({}));
            for _ in 0..18 {
                batch.call("nothing", json!({})).after([&first]);
            }
            batch.call("broken", json!({})).timeout(Duration::from_secs(3_600));
            let running = run.schedule(batch).await.unwrap();
            assert_eq!(running.outcomes().await.unwrap().len(), 20);
            let last = running.calls().last().unwrap();
            assert!(run.call(last).await.unwrap().is_some(), "it is known while it is held");
            drop(running);
            assert_eq!(run.call(last).await.unwrap(), None, "nobody can ask for it any more");
        }
    };
    let (result, ()) = tokio::join!(driver.work(), calls);
    result.unwrap();
    assert_eq!(driver.kept(), 0);
}

//! One attempt at a call, from its start until nothing of it is left.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::FutureExt;
use punchlist_model::Attempt;
use serde_json::Value;

use super::brake::{Brake, Stopping};
use super::driver::panicked;
use crate::call::{CallId, Ended};
use crate::output;
use crate::tool::{Tool, Work};

/// Runs a tool until it has ended and none of its processes is left. Whatever breaks in it ends this
/// attempt alone.
pub(super) async fn run(
    tool: Arc<dyn Tool>,
    arguments: Value,
    work: Work,
    brake: Arc<Brake>,
    kept: Arc<output::Options>,
) -> (CallId, Attempt, Ended) {
    let (call, attempt) = (work.call(), work.attempt());
    let broke = |payload: Box<dyn std::any::Any + Send>| Ended::Panicked(panicked(&*payload));
    let running = async move { tool.run(arguments, work).await };
    let mut running = Box::pin(AssertUnwindSafe(running).catch_unwind());
    let mut how = tokio::select! {
        biased;
        () = brake.reached(Stopping::Over) => {
            let what = "it did not stop when it was told to, and was dropped".to_owned();
            // What it had to say is still in its files.
            let said = output::so_far(&kept, call, attempt);
            Ended::Badly { what, output: said.unwrap_or_default() }
        }
        how = &mut running => how.unwrap_or_else(broke),
    };
    // What is left of it may break as well.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(running))) {
        how = broke(payload);
    }
    for mut process in brake.left() {
        process.stop();
        // How it ended is of no interest any more.
        drop(process.over().await);
    }
    (call, attempt, how)
}

//! One attempt at a call, from its start until its tool and all its processes have ended.

use std::any::Any;
use std::future::Future;
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

/// Starts a tool. The future ends when the tool and all its processes have ended. A panic of the
/// tool ends only this attempt: whether it happens before the tool returns its future, while the
/// future runs, or when it is dropped.
pub(super) fn run(
    tool: &dyn Tool,
    arguments: Value,
    work: Work,
    brake: Arc<Brake>,
    kept: Arc<output::Options>,
) -> impl Future<Output = (CallId, Attempt, Ended)> + Send + use<> {
    let (call, attempt) = (work.call(), work.attempt());
    let started = catch_unwind(AssertUnwindSafe(|| tool.run(arguments, work)));
    async move {
        let how = match started {
            Err(payload) => broke(payload),
            Ok(running) => {
                let mut running = AssertUnwindSafe(running).catch_unwind();
                let how = tokio::select! {
                    biased;
                    how = &mut running => how.unwrap_or_else(broke),
                    () = brake.reached(Stopping::Over) => {
                        let what = "it did not stop when it was told to, and was dropped".to_owned();
                        // The output so far is still in the call's files.
                        let printed = output::so_far(&kept, call, attempt);
                        Ended::Badly { what, output: printed.unwrap_or_default() }
                    }
                };
                match catch_unwind(AssertUnwindSafe(|| drop(running))) {
                    Ok(()) => how,
                    Err(payload) => broke(payload),
                }
            }
        };
        for mut process in brake.left() {
            process.stop();
            // How the process ended does not matter here.
            drop(process.over().await);
        }
        (call, attempt, how)
    }
}

fn broke(payload: Box<dyn Any + Send>) -> Ended {
    Ended::Panicked(panicked(&*payload))
}

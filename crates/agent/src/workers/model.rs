//! Workers that are our own loop with a model, without plan tools.
//!
//! The runtime gives the loop as a [`ModelRunner`], so that this module does not depend on it.

use futures_core::future::BoxFuture;
use punchlist_sched::Work;

use super::{Listener, Outcome, Task, Worker, WorkerConfig, WorkerEnd, WorkerOptions};

/// Runs our own loop on a task.
pub trait ModelRunner: Send + Sync {
    /// Does a task with the model, tools and limits of this configuration, without plan tools and
    /// without `delegate`. Dropping the future ends everything that it started.
    fn run<'a>(
        &'a self,
        config: &'a WorkerConfig,
        task: &'a Task,
        work: &'a Work,
        listener: &'a Listener<'a>,
    ) -> BoxFuture<'a, Outcome>;
}

/// A runner for programs without models: every task fails.
pub struct NoModels;

impl ModelRunner for NoModels {
    fn run<'a>(
        &'a self,
        _config: &'a WorkerConfig,
        _task: &'a Task,
        _work: &'a Work,
        _listener: &'a Listener<'a>,
    ) -> BoxFuture<'a, Outcome> {
        Box::pin(std::future::ready(Outcome::failed("there is no model here")))
    }
}

/// A worker of the kind `model`.
pub struct ModelWorker {
    config: WorkerConfig,
    options: WorkerOptions,
}

impl ModelWorker {
    /// The worker of this configuration.
    pub fn new(config: WorkerConfig, options: WorkerOptions) -> Self {
        Self { config, options }
    }
}

impl Worker for ModelWorker {
    fn run<'a>(
        &'a self,
        task: &'a Task,
        work: &'a Work,
        listener: &'a Listener<'a>,
    ) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let running = self.options.models.run(&self.config, task, work, listener);
            tokio::select! {
                biased;
                outcome = running => outcome,
                () = work.stopping() => Outcome::new("", WorkerEnd::Cancelled),
                () = tokio::time::sleep(self.config.timeout) => {
                    Outcome::new("", WorkerEnd::timed_out(self.config.timeout))
                }
            }
        })
    }
}

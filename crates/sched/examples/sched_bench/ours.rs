//! The graph as calls of a tool that does nothing.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use punchlist_sched::call::{Checked, Ended};
use punchlist_sched::{
    Batch, Limits, Output, PlannedCall, Preview, Run, Subject, Tool, Tools, Work,
};
use serde_json::{Value, json};

use crate::Outcome;
use crate::graph::Graph;

const NAME: &str = "nothing";

struct Nothing(Value);

impl Tool for Nothing {
    fn name(&self) -> &str {
        NAME
    }

    fn description(&self) -> &str {
        "does nothing"
    }

    fn schema(&self) -> &Value {
        &self.0
    }

    fn check(&self, _arguments: &Value) -> Result<Checked, String> {
        let subject = Subject { tool: NAME.to_owned(), harmless: true, ..Subject::default() };
        Ok(Checked { subject, ..Checked::default() })
    }

    fn preview(&self, _arguments: &Value) -> Preview {
        Preview::default()
    }

    fn run(&self, _arguments: Value, _work: Work) -> BoxFuture<'static, Ended> {
        Box::pin(async { Ended::Well(Output::default()) })
    }
}

pub(crate) struct Stage {
    tools: Tools,
    limits: Limits,
    batch: Batch,
}

impl Stage {
    pub(crate) fn new(graph: &Graph, room: u32) -> Outcome<Self> {
        let mut tools = Tools::new();
        tools.add(Arc::new(Nothing(json!({"type": "object"}))))?;
        let batch = batch(graph);
        Ok(Self { tools, limits: Limits { all: room, ..Limits::default() }, batch })
    }

    /// Runs all calls to their end.
    pub(crate) async fn run(self) -> Outcome<Run> {
        let run = Run::builder(self.tools).limits(self.limits).start();
        run.schedule(self.batch).await?.outcomes().await?;
        Ok(run)
    }
}

fn batch(graph: &Graph) -> Batch {
    let mut batch = Batch::new();
    let mut calls: Vec<PlannedCall> = Vec::with_capacity(graph.after.len());
    for after in &graph.after {
        let after = after.iter().filter_map(|it| calls.get(usize::try_from(*it).ok()?));
        let call = batch.call(NAME, json!({})).after(after);
        calls.push(call);
    }
    batch
}

/// Runs the graph again in the same run.
pub(crate) async fn run_again(run: &Run, graph: &Graph) -> Outcome {
    // The run forgets the graph before this one only when its task runs again.
    tokio::task::yield_now().await;
    run.schedule(batch(graph)).await?.outcomes().await?;
    Ok(())
}

/// Ends a run.
pub(crate) async fn clear(run: Run) -> Outcome {
    let ended = run.ended();
    drop(run);
    Ok(ended.await?)
}

//! The graph as calls of a tool that does nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use punchlist_model::Timestamp;
use punchlist_sched::call::{Checked, Ended};
use punchlist_sched::driver::{Driver, Error, Options};
use punchlist_sched::policy::{Policy, Reader};
use punchlist_sched::{
    CallId, Handle, Limits, NoLedger, Output, Preview, Processes, Request, Subject, Tool, Tools,
    Work, machine, output, process,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

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
    driver: Driver<NoLedger>,
    handle: Handle,
    requests: Vec<Request>,
}

impl Stage {
    pub(crate) fn new(graph: &Graph, room: u32) -> Outcome<Self> {
        let mut tools = Tools::new();
        tools.add(Arc::new(Nothing(json!({"type": "object"}))))?;
        let limits = Limits { all: room, of_kind: BTreeMap::new() };
        let options = Options {
            machine: machine::Options {
                limits,
                policy: Policy::default(),
                attended: machine::Attended::No,
                reader: Reader::default(),
            },
            output: output::Options::default(),
            patience: Options::PATIENCE,
            clock: Arc::new(now),
        };
        // Started by nobody here.
        let processes = Processes::new(process::Options::new("/", []));
        let (driver, handle) = Driver::new(options, tools, processes, NoLedger);
        let requests = graph.after.iter().map(|after| Request {
            tool: NAME.to_owned(),
            arguments: json!({}),
            after: after.iter().copied().map(CallId).collect(),
            ..Request::default()
        });
        Ok(Self { driver, handle, requests: requests.collect() })
    }

    /// Runs everything to its end.
    pub(crate) async fn run(self) -> Outcome<Left> {
        let driver = tokio::spawn(self.driver.run());
        let scheduled = self.handle.schedule(self.requests).await?;
        self.handle.done(scheduled.batch).await?;
        Ok(Left { driver, handle: self.handle })
    }
}

/// What is left of it: the driver waits for more.
pub(crate) struct Left {
    driver: JoinHandle<Result<(), Error>>,
    handle: Handle,
}

impl Left {
    /// Clears it away.
    pub(crate) async fn clear(self) -> Outcome {
        drop(self.handle);
        Ok(self.driver.await??)
    }
}

#[expect(clippy::disallowed_methods, reason = "a program of its own, which nobody hands a clock")]
fn now() -> Timestamp {
    Timestamp::now()
}

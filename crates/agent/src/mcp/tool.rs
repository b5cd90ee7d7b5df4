//! A tool of a server, as the scheduler calls it.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use punchlist_sched::call::{Checked, Ended, Kind};
use punchlist_sched::policy::Subject;
use punchlist_sched::{Access, Output, Preview, Tool, Work};
use serde_json::Value;

use super::announced::Announced;
use super::server::Server;

/// The tool.
pub(super) struct McpTool {
    /// The name that models see.
    name: String,
    announced: Arc<Announced>,
    server: Arc<Server>,
}

impl McpTool {
    pub(super) fn new(name: String, announced: Arc<Announced>, server: Arc<Server>) -> Self {
        Self { name, announced, server }
    }
}

impl Tool for McpTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn server(&self) -> Option<&str> {
        Some(self.server.name())
    }

    fn description(&self) -> &str {
        &self.announced.description
    }

    fn schema(&self) -> &Value {
        &self.announced.schema
    }

    /// A call is never harmless, whatever the server says of it: it asks unless a rule allows it.
    fn check(&self, arguments: &Value) -> Result<Checked, String> {
        let fields = arguments.as_object().ok_or("the arguments are not an object")?;
        let texts =
            fields.iter().filter_map(|(name, it)| Some((name.clone(), it.as_str()?.to_owned())));
        let subject = Subject {
            tool: self.name.clone(),
            server: Some(self.server.name().to_owned()),
            arguments: texts.collect(),
            ..Subject::default()
        };
        // A program on this machine may touch any file.
        let access = if self.server.is_remote() { Access::none() } else { Access::writes(["/"]) };
        Ok(Checked { access, kind: Kind::OTHER, subject })
    }

    fn preview(&self, arguments: &Value) -> Preview {
        let (tool, server) = (&self.announced.name, self.server.name());
        let what = format!("call {tool:?} of MCP server {server} with {arguments}");
        Preview { what, ..Preview::default() }
    }

    fn run(&self, arguments: Value, work: Work) -> BoxFuture<'static, Ended> {
        let (server, tool) = (Arc::clone(&self.server), self.announced.name.clone());
        Box::pin(async move {
            // Others have been refused by the check.
            let arguments = arguments.as_object().cloned().unwrap_or_default();
            match server.call(&tool, arguments, work.stopping()).await {
                Ok(result) => {
                    let mut capture = work.capture();
                    capture.take(result.text.as_bytes());
                    let output = capture.finish();
                    if result.is_error {
                        Ended::Badly { what: "the tool reports an error".to_owned(), output }
                    } else {
                        Ended::Well(output)
                    }
                }
                Err(what) => Ended::Badly { what, output: Output::default() },
            }
        })
    }
}

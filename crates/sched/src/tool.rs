//! Tools: what can be called, and the context of a running call.
//!
//! Before it runs, a tool says what a call would read and write, and shows a preview. It knows
//! neither other calls nor the policy.

mod function;
mod registry;
#[cfg(test)]
mod tests;
mod work;

use std::time::Duration;

use futures_core::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{Checked, Ended};
pub use function::{ToolFn, tool_fn};
pub use registry::{BadTool, Tools, misfit};
pub(crate) use work::Surroundings;
pub use work::{Finished, Work};

/// A tool that can be called.
pub trait Tool: Send + Sync {
    /// What it is called by.
    fn name(&self) -> &str;

    /// The MCP server of the tool; `None` for our own tools.
    fn server(&self) -> Option<&str> {
        None
    }

    /// The description, for models.
    fn description(&self) -> &str;

    /// The JSON Schema of its arguments. Arguments are validated against it first.
    fn schema(&self) -> &Value;

    /// Checks arguments that match the schema: returns what the call reads and writes, its kind and
    /// what rules are matched against, or an error message for the caller. Changes nothing.
    fn check(&self, arguments: &Value) -> Result<Checked, String>;

    /// Shows a person what the call will do: the command, or the diff. May read files, changes
    /// nothing.
    fn preview(&self, arguments: &Value) -> Preview;

    /// A short text that identifies what a question showed. If it differs when the answer arrives,
    /// the question is asked again. `None` if it cannot change meanwhile. May read files, changes
    /// nothing.
    fn stamp(&self, _arguments: &Value) -> Option<String> {
        None
    }

    /// How long the call may take; `None` if the tool sets no limit. Whoever schedules the call decides.
    fn timeout(&self, _arguments: &Value) -> Option<Duration> {
        None
    }

    /// Executes the call.
    ///
    /// If the call must stop, [`Work::stopping`] returns and its processes are ended; the tool
    /// should then return its output so far. If it does not, it is dropped after a while. A panic
    /// is a bug of the tool, and ends only this call.
    fn run(&self, arguments: Value, work: Work) -> BoxFuture<'static, Ended>;
}

/// What a question shows.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Preview {
    /// A short title: `run`, `write src/a.rs`.
    pub what: String,
    /// The command that will be executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The changes, as a diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// What the call reads and writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touches: Vec<String>,
    /// Why the tool wants a person to be asked, if it is the tool and not a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether a person cannot change the arguments.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_fixed: bool,
}

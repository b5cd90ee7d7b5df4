//! What can be called, and what a call is given while it runs.
//!
//! A tool says what a call would touch and shows what it would do before it does anything. It knows
//! neither other calls nor policy.

mod function;
mod registry;
#[cfg(test)]
mod tests;
mod work;

use futures_core::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{Checked, Ended};
pub use function::{ToolFn, tool_fn};
pub use registry::{BadTool, Tools};
pub(crate) use work::Surroundings;
pub use work::{Finished, Work};

/// Something that can be called.
pub trait Tool: Send + Sync {
    /// What it is called by.
    fn name(&self) -> &str;

    /// The server that it comes from, if it is not our own.
    fn server(&self) -> Option<&str> {
        None
    }

    /// What it does, for whoever may call it.
    fn description(&self) -> &str;

    /// The JSON Schema of its arguments. They are held against it before anything else.
    fn schema(&self) -> &Value;

    /// The tool's own look at arguments that fit the schema: what the call touches, its kind and what
    /// rules are about, or what is wrong in words for whoever called. Changes nothing.
    fn check(&self, arguments: &Value) -> Result<Checked, String>;

    /// What will happen, for a person who is asked: the command, or the diff. May read files, changes
    /// nothing.
    fn preview(&self, arguments: &Value) -> Preview;

    /// What a question rests on, in a few bytes: if it is another when the answer comes, the question is
    /// asked again. Nothing, if nobody can change that meanwhile. May read files, changes nothing.
    fn stamp(&self, _arguments: &Value) -> Option<String> {
        None
    }

    /// Does it.
    ///
    /// A call that is to stop hears of it ([`Work::stopping`]) and its processes are ended; it should
    /// then say what it has and end. One that does not is dropped after a while. A panic is the tool's
    /// fault and the end of this call alone.
    fn run(&self, arguments: Value, work: Work) -> BoxFuture<'static, Ended>;
}

/// What a question shows.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Preview {
    /// In a word or two: `run`, `write src/a.rs`.
    pub what: String,
    /// The command that will be executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What will change, as a diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// What it touches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touches: Vec<String>,
    /// Why a person must be asked, where it is the tool that wants it and no rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whoever answers cannot change the arguments.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_fixed: bool,
}

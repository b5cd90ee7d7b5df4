//! The last call that a run made for an item: how it ended, and its output.
//!
//! It is read from the store's records. For a call that has not ended, the output so far is read
//! from its files.

use std::path::Path;

use punchlist_formats::text::Line;
use punchlist_formats::view::call::{self, Ended};
use punchlist_model::call::{CallRecord, CallState, CallStore, RunFilter};
use punchlist_model::{Attempt, Number, PlanId, RunId, Timestamp};
use punchlist_sched::call::{CallId, CancelReason, Outcome, Output};
use punchlist_sched::output;
use serde_json::{Value, json};

use crate::fail::Fail;
use crate::outputs;

/// How many runs are searched, newest first.
const RUNS: u32 = 50;

/// A call and its state.
pub struct LastCall {
    run: RunId,
    tool: String,
    state: CallState,
    at: Timestamp,
    /// Why the call failed or was cancelled.
    why: Option<String>,
    output: Output,
    is_elsewhere: bool,
}

/// The last call for an item, if any run made one.
pub async fn of(
    store: &dyn CallStore,
    directory: &Path,
    plan: PlanId,
    item: Number,
) -> Result<Option<LastCall>, Fail> {
    let filter = RunFilter { plan: Some(plan), most: Some(RUNS), ..RunFilter::default() };
    for run in store.runs(filter).await? {
        let calls = store.calls(run.id).await?;
        if let Some(call) = calls.into_iter().rfind(|it| it.item == Some(item)) {
            return Ok(Some(LastCall::read(directory, run.id, call)));
        }
    }
    Ok(None)
}

/// The output of a running call so far, from its files.
pub fn so_far(directory: &Path, run: RunId, call: &CallRecord) -> Option<Output> {
    let directory = Some(directory.join(run.to_string()));
    let options = output::Options { directory, ..output::Options::default() };
    output::so_far(&options, CallId(call.number), Attempt(call.attempt.0.max(1)))
}

impl LastCall {
    fn read(directory: &Path, run: RunId, call: CallRecord) -> Self {
        let (why, output) = match call.state {
            CallState::Executing => (None, so_far(directory, run, &call).unwrap_or_default()),
            CallState::Validating
            | CallState::Scheduled
            | CallState::AwaitingApproval
            | CallState::Success
            | CallState::Error
            | CallState::Cancelled => outcome(call.detail.as_ref()),
        };
        // A worker on another machine names a file of its own.
        let own = directory.join(run.to_string());
        let is_here = |it: &String| outputs::is_within(&own, Path::new(it));
        let is_elsewhere = output.whole.as_ref().is_some_and(|it| !is_here(it));
        let output = Output { whole: output.whole.filter(is_here), ..output };
        Self { run, tool: call.tool, state: call.state, at: call.at, why, output, is_elsewhere }
    }

    /// Whether the whole output is in a file of another machine.
    pub fn is_elsewhere(&self) -> bool {
        self.is_elsewhere
    }

    /// The output.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// The call as JSON.
    pub fn json(&self) -> Value {
        json!({
            "run": self.run.to_string(),
            "tool": self.tool,
            "state": self.state.as_str(),
            "at": format!("{:.3}", self.at),
            "reason": self.why,
            "output": self.output.text,
            "whole": self.output.whole,
        })
    }

    /// The call as lines.
    pub fn view(&self, options: &punchlist_formats::view::Options) -> Vec<Line> {
        let ended = Ended {
            state: self.state,
            why: self.why.as_deref(),
            at: self.at,
            output: &self.output.text,
            whole: self.output.whole.as_deref(),
            lines: outputs::lines(&self.output),
        };
        call::ended(&ended, options)
    }
}

/// Why a call did not succeed, and its output, from its record.
fn outcome(detail: Option<&Value>) -> (Option<String>, Output) {
    let Some(detail) = detail else { return (None, Output::default()) };
    if let Ok(outcome) = serde_json::from_value::<Outcome>(detail.clone()) {
        let why = match &outcome {
            Outcome::Success(_) => None,
            Outcome::Error(error) => Some(error.to_string()),
            Outcome::Cancelled { reason, .. } => Some(reason.to_string()),
        };
        return (why, outcome.output().cloned().unwrap_or_default());
    }
    // Older versions stored only the reason, some of them under the outcome's name.
    let reason = detail.get("cancelled").unwrap_or(detail);
    let reason = serde_json::from_value::<CancelReason>(reason.clone());
    (reason.ok().map(|it| it.to_string()), Output::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_of_a_call_is_read_whichever_version_wrote_it() {
        for (detail, why, text) in [
            (json!({"success": {"text": "fine"}}), "", "fine"),
            (
                json!({"error": {"failed": {"what": "exit code 1", "output": {"text": "oh"}}}}),
                "exit code 1",
                "oh",
            ),
            (
                json!({"cancelled": {"reason": {"asked": "stopped"}, "output": {"text": "half"}}}),
                "cancelled: stopped",
                "half",
            ),
            (
                json!({"cancelled": {"reason": "interrupted"}}),
                "interrupted: the program ended while it ran",
                "",
            ),
            (json!({"cancelled": {"asked": null}}), "cancelled", ""),
            (json!("interrupted"), "interrupted: the program ended while it ran", ""),
            (json!({"something": "else"}), "", ""),
        ] {
            let (found, output) = outcome(Some(&detail));
            assert_eq!(
                (found.unwrap_or_default().as_str(), output.text.as_str()),
                (why, text),
                "{detail}"
            );
        }
    }
}

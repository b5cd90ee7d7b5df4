//! Texts for a model that wants to complete an item without the required evidence.
//!
//! Checks and approvals do not go through dialects, so the texts name the verb and who may run it.
//! The model crate decides whether evidence is missing.

use punchlist_model::{Level, Tag};

use super::refuse::Names;
use crate::prompt::Tools;
use crate::prompt::prove::{self, Lacks};

/// The evidence that is missing.
#[derive(Clone, Copy)]
pub(super) struct Missing {
    /// The level that the plan demands.
    pub(super) demanded: Level,
    /// Whether the last check failed.
    pub(super) failed: bool,
}

/// The hint of a tool that completes items: what must happen before the model calls `again`.
pub(super) fn hint(
    missing: Missing,
    names: &Names<'_>,
    subject: Option<&Tag>,
    again: &str,
) -> String {
    let Some(item) = subject.and_then(|tag| names.item(tag)) else {
        return format!("It stays open until it is verified: {again} then.");
    };
    match Lacks::demanded(item, Some(missing.demanded), missing.failed) {
        Lacks::Check => {
            let (is, how) = (names.status(item), prove::check(&[item], |_| "it".to_owned()));
            format!("It stays {is} until it is verified{how} Then {again}.")
        }
        Lacks::Person => by_person(missing),
    }
}

/// The hint of a tool that takes the whole list: how to send the list until the evidence exists.
pub(super) fn hint_whole(
    missing: Missing,
    names: &Names<'_>,
    subject: Option<&Tag>,
    tools: &Tools,
) -> String {
    let tool = tools.plan;
    // A new entry of a refused list has no number yet, so no verb can name it.
    let Some(item) = subject.and_then(|tag| names.item(tag)) else {
        return format!("Send {tool} again with it in_progress until it is verified.");
    };
    match Lacks::demanded(item, Some(missing.demanded), missing.failed) {
        Lacks::Check => {
            let (is, how) = (names.status(item), prove::check(&[item], |_| "it".to_owned()));
            format!("Send {tool} again with it {is} until it is verified{how}")
        }
        Lacks::Person => {
            // If the tool has a status for waiting items, the model must keep using it, or the wait
            // ends.
            let how =
                if tools.wait.is_some() { "with it blocked" } else { "without completing it" };
            format!("Send {tool} again {how}. {}", by_person(missing))
        }
    }
}

/// The caller lets an item wait if only the approval is missing. An item whose failed check was
/// removed does not wait by itself.
fn by_person(missing: Missing) -> String {
    let waits = if missing.failed { "" } else { " It waits for that until then." };
    format!("Only a person can approve it: ask the user to do so.{waits}")
}

//! What a model does about an item that lacks the evidence for its completion.
//!
//! Checks are run and approvals are given outside the dialects: the words name the verb, and who may run
//! it. Whether evidence is missing is the model crate's to say.

use punchlist_model::{Level, Tag};

use super::refuse::Names;
use crate::prompt::Tools;
use crate::prompt::prove::{self, Lacks};

/// Evidence that was found missing.
#[derive(Clone, Copy)]
pub(super) struct Missing {
    /// What the plan demands.
    pub(super) demanded: Level,
    /// Whether the last check failed.
    pub(super) failed: bool,
}

/// For a tool that completes items: what must happen, and to try `again`.
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

/// For a tool that takes the whole list: how to send it meanwhile.
pub(super) fn hint_whole(
    missing: Missing,
    names: &Names<'_>,
    subject: Option<&Tag>,
    tools: &Tools,
) -> String {
    let tool = tools.plan;
    // What is new on the refused list has no number that a verb could be told.
    let Some(item) = subject.and_then(|tag| names.item(tag)) else {
        return format!("Send {tool} again with it in_progress until it is verified.");
    };
    match Lacks::demanded(item, Some(missing.demanded), missing.failed) {
        Lacks::Check => {
            let (is, how) = (names.status(item), prove::check(&[item], |_| "it".to_owned()));
            format!("Send {tool} again with it {is} until it is verified{how}")
        }
        Lacks::Person => {
            // A tool that has a word for what waits would take the wait back without it.
            let how =
                if tools.wait.is_some() { "with it blocked" } else { "without completing it" };
            format!("Send {tool} again {how}. {}", by_person(missing))
        }
    }
}

/// Whoever runs the call lets an item wait for which nothing but the approval is missing; one whose check
/// failed before it was taken away does not wait by itself.
fn by_person(missing: Missing) -> String {
    let waits = if missing.failed { "" } else { " It waits for that until then." };
    format!("Only a person can approve it: ask the user to do so.{waits}")
}

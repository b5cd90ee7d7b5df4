//! What the tools that take the whole list have in common: the warnings after their result, and
//! hints when a list is refused. Each tool parses its own entries.

use punchlist_model::store::{Applied, Error};
use punchlist_model::{Broken, Item, Plan, Slice, Status, Tag, Warning};

use super::Reply;
use super::evidence::{self, Missing};
use super::refuse::{self, Names, Voice, blocker};
use crate::prompt::Tools;
use crate::text::one_line;

/// The warnings of a change after a blank line, one per line; empty if there are none.
pub(super) fn warnings(applied: &Applied) -> String {
    let lines: Vec<String> = applied
        .warnings()
        .iter()
        .map(|warning: &Warning| one_line(&warning.to_string()).into_owned())
        .collect();
    if lines.is_empty() { String::new() } else { format!("\n\n{}", lines.join("\n")) }
}

/// Whether a warning is about a change by somebody else.
pub(super) fn met_others(applied: &Applied) -> bool {
    applied.warnings().iter().any(|warning| match warning {
        Warning::AddedSince { .. }
        | Warning::ChangedSince { .. }
        | Warning::RemovedSince { .. }
        | Warning::Conflict { .. } => true,
        Warning::DroppedOpen(_)
        | Warning::NotFromList(_)
        | Warning::Blocked { .. }
        | Warning::OpenUnderCancelled { .. }
        | Warning::DependsOnCancelled { .. }
        | Warning::Ignored { .. } => false,
    })
}

/// Why the list was refused. After a conflict the reply shows the list too, because these dialects
/// have no tool to read it.
pub(super) fn failed(
    why: &Error,
    plan: Option<&Slice>,
    voice: &dyn Voice,
    list: impl Fn(&Plan) -> String,
) -> Reply {
    let mut reply = Reply::error(refuse::failed(why, &Names::new(voice, plan)));
    if let (Error::Refused(refusal), Some(plan)) = (why, plan)
        && refusal.is_conflict()
        && let Some(plan) = plan.clone().whole()
    {
        reply.text.push_str("\n\n");
        reply.text.push_str(&list(&plan));
        reply.shows = true;
    }
    reply
}

/// The list, one entry per line: `1. [pending] Title`. All tools of this kind that show a list use
/// this format.
pub(super) fn lines(plan: &Plan, status: impl Fn(&Item) -> &'static str) -> String {
    let line =
        |(n, item): (usize, &Item)| format!("{n}. [{}] {}", status(item), one_line(&item.title));
    (1..).zip(plan.listed()).map(line).collect::<Vec<_>>().join("\n")
}

/// What to do about a broken rule: how to send the list again. `ends` says in words how the tool
/// closes an entry.
pub(super) fn hint(
    tools: &Tools,
    noun: &str,
    ends: &str,
    broken: &Broken,
    names: &Names<'_>,
    subject: Option<&Tag>,
) -> Option<String> {
    let tool = tools.plan;
    let how = match broken {
        Broken::AlreadyInProgress { holder, .. } => {
            format!(" with {} completed or pending, or this one pending", names.typed(holder))
        }
        Broken::OpenChild { child } => format!(" with {} {ends}", names.typed(child)),
        Broken::Blocked { by, .. } => match blocker(by) {
            Some(cancelled) if cancelled.status == Status::Cancelled => {
                format!(
                    " with this one pending, because {} will not be done",
                    names.typed(cancelled)
                )
            }
            Some(first) => {
                format!(" with {} completed, or this one pending", names.typed(first))
            }
            None => return None,
        },
        Broken::TooManyOpen { .. } => format!(" with fewer open {noun}s"),
        Broken::Twice { .. } => " with one of them".to_owned(),
        Broken::Conflict(_) => {
            return Some(format!("Look at the list as it is now, and send {tool} again."));
        }
        Broken::HeldByOther { .. } | Broken::StaleAttempt { .. } => {
            " with its status as it was".to_owned()
        }
        Broken::Unverified { demanded, failed } => {
            let missing = Missing { demanded: *demanded, failed: *failed };
            return Some(evidence::hint_whole(missing, names, subject, tools));
        }
        Broken::TooLong { .. } => " with shorter texts".to_owned(),
        Broken::NotFound { .. }
        | Broken::Ambiguous { .. }
        | Broken::Superseded
        | Broken::EmptyTitle { .. }
        | Broken::EmptyText { .. }
        | Broken::Nul { .. }
        | Broken::TooDeep { .. }
        | Broken::Illegal { .. }
        | Broken::NotOpen
        | Broken::Cycle { .. }
        | Broken::ParentCycle { .. }
        | Broken::ParentCompleted { .. } => return Some(format!("Fix it and send {tool} again.")),
        Broken::NameTaken { .. } | Broken::PersonsGoal | Broken::PersonsApproval => return None,
    };
    Some(format!("Send {tool} again{how}."))
}

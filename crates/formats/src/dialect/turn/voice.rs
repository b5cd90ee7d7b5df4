//! How this dialect names items and tools in refusals.

use punchlist_model::{Broken, Item, Status, Tag};

use super::super::args::BadEntries;
use super::super::evidence::{self, Missing};
use super::super::refuse::{Names, Voice, blocker};
use super::{Call, What};

impl Voice for Call {
    fn noun(&self) -> &'static str {
        "item"
    }

    fn status(&self, status: Status) -> &'static str {
        status.as_str()
    }

    fn point(&self, item: &Item) -> Option<String> {
        Some(item.id.to_string())
    }

    fn entry(&self, step: usize) -> Option<usize> {
        match &self.what {
            What::Create { entries, .. } => entries.get(step).copied(),
            What::List(_) | What::Complete(_) | What::Update(_) | What::Next => None,
        }
    }

    fn bad_entries(&self) -> Option<&BadEntries> {
        match &self.what {
            What::Create { bad, .. } => Some(bad),
            What::List(_) | What::Complete(_) | What::Update(_) | What::Next => None,
        }
    }

    fn hint(&self, broken: &Broken, names: &Names<'_>, subject: Option<&Tag>) -> Option<String> {
        let hint = match broken {
            Broken::NotFound { .. } | Broken::Ambiguous { .. } | Broken::Superseded => {
                "list_todo shows the ids of this list.".to_owned()
            }
            Broken::TooManyOpen { .. } => {
                "Use complete_todo on some first, with status cancelled for what will not be done."
                    .to_owned()
            }
            Broken::AlreadyInProgress { holder, .. } => format!(
                "First use complete_todo on {}, or update_todo on it with status pending.",
                names.typed(holder)
            ),
            Broken::Illegal { .. } | Broken::NotOpen => match subject.map(|tag| tag.status) {
                Some(Status::Completed | Status::Cancelled) => {
                    "Use create_todo for further work.".to_owned()
                }
                Some(Status::Pending) => {
                    "Use next_todo or update_todo with status in_progress to start it.".to_owned()
                }
                Some(Status::InProgress) | None => {
                    "Use complete_todo when it is finished.".to_owned()
                }
            },
            Broken::HeldByOther { .. } | Broken::StaleAttempt { .. } => {
                "Use next_todo to take another.".to_owned()
            }
            Broken::OpenChild { child } => {
                format!("Use complete_todo on {} first.", names.typed(child))
            }
            Broken::Blocked { by, .. } => match blocker(by) {
                Some(cancelled) if cancelled.status == Status::Cancelled => format!(
                    "Use update_todo with a dependsOn that leaves out {}, which will not be done.",
                    names.typed(cancelled)
                ),
                Some(first) => format!("Use complete_todo on {} first.", names.typed(first)),
                None => return None,
            },
            Broken::Cycle { .. } => "Leave one of them out of dependsOn.".to_owned(),
            Broken::ParentCycle { .. } | Broken::ParentCompleted { .. } => {
                "Use create_todo with another parent, or none.".to_owned()
            }
            Broken::Unverified { demanded, failed } => {
                let missing = Missing { demanded: *demanded, failed: *failed };
                evidence::hint(missing, names, subject, "use complete_todo again")
            }
            Broken::TooLong { .. } => "Shorten it.".to_owned(),
            Broken::EmptyTitle { .. }
            | Broken::EmptyText { .. }
            | Broken::Nul { .. }
            | Broken::TooDeep { .. } => "Fix it and make the whole call again.".to_owned(),
            Broken::Twice { .. } => "Keep one of them.".to_owned(),
            Broken::Conflict(_) => "Use list_todo to see it as it is now.".to_owned(),
            Broken::NameTaken { .. } | Broken::PersonsGoal | Broken::PersonsApproval => {
                return None;
            }
        };
        Some(hint)
    }

    fn look(&self) -> &'static str {
        "Use list_todo to see it, then try again."
    }
}

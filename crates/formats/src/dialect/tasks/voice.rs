//! How this dialect names tasks and tools in refusals.

use punchlist_model::{Broken, Item, Status, Tag};

use super::super::evidence::{self, Missing};
use super::super::refuse::{Names, Voice, blocker};
use super::Call;

impl Voice for Call {
    fn noun(&self) -> &'static str {
        "task"
    }

    fn status(&self, status: Status) -> &'static str {
        status.as_str()
    }

    fn point(&self, item: &Item) -> Option<String> {
        Some(format!("#{}", item.number))
    }

    /// Each call is about one task.
    fn entry(&self, _step: usize) -> Option<usize> {
        None
    }

    fn added(&self, _nth: usize) -> Option<usize> {
        None
    }

    fn reopens(&self) -> bool {
        true
    }

    fn hint(&self, broken: &Broken, names: &Names<'_>, subject: Option<&Tag>) -> Option<String> {
        let hint = match broken {
            Broken::NotFound { .. } | Broken::Ambiguous { .. } | Broken::Superseded => {
                "Use TaskList to see the ids.".to_owned()
            }
            Broken::TooManyOpen { .. } => {
                "Use TaskUpdate on some first, with status completed or deleted.".to_owned()
            }
            Broken::AlreadyInProgress { holder, .. } => format!(
                "Use TaskUpdate on {} first, with status completed or pending.",
                names.typed(holder)
            ),
            Broken::Illegal { .. } | Broken::NotOpen => {
                "Use TaskUpdate with status pending or in_progress to open it again first."
                    .to_owned()
            }
            Broken::HeldByOther { .. } | Broken::StaleAttempt { .. } => {
                "Use TaskList to find another task.".to_owned()
            }
            Broken::OpenChild { child } => format!(
                "Use TaskUpdate on {} first, with status completed or deleted.",
                names.typed(child)
            ),
            Broken::Blocked { by, .. } => {
                let blocker = names.typed(blocker(by)?);
                format!("Use TaskUpdate on {blocker} first, with status completed or deleted.")
            }
            Broken::Cycle { .. } => {
                "Leave it out of addBlocks and addBlockedBy, or use TaskUpdate with status deleted \
                 on one of them and TaskCreate anew."
                    .to_owned()
            }
            Broken::ParentCycle { .. } => return None,
            Broken::ParentCompleted { parent } => {
                format!("Use TaskUpdate on {} first, with status pending.", names.typed(parent))
            }
            Broken::Unverified { demanded, failed } => {
                let missing = Missing { demanded: *demanded, failed: *failed };
                evidence::hint(missing, names, subject, "use TaskUpdate again")
            }
            Broken::TooLong { .. } => "Shorten it and make the call again.".to_owned(),
            Broken::EmptyTitle { .. }
            | Broken::EmptyText { .. }
            | Broken::Nul { .. }
            | Broken::TooDeep { .. } => "Fix it and make the call again.".to_owned(),
            Broken::Twice { .. } => "Keep one of them.".to_owned(),
            Broken::Conflict(_) => "Use TaskGet to see it as it is now.".to_owned(),
            Broken::NameTaken { .. } | Broken::PersonsGoal | Broken::PersonsApproval => {
                return None;
            }
        };
        Some(hint)
    }

    fn look(&self) -> &'static str {
        "Use TaskList to see it, then try again."
    }
}

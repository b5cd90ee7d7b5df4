//! What is done with a store as a whole: checking it, and moving a project within it.

use std::time::Duration;

use futures_core::future::BoxFuture;

use super::{AttachmentKey, Error};
use crate::id::PlanId;
use crate::plan::MadeFor;

/// The maintenance of a store. The promises are those of [`super::PlanStore`]: each method is one transaction.
pub trait MaintenanceStore: Send + Sync {
    /// Checks the store. Takes as long as reading all of it does.
    fn health(&self) -> BoxFuture<'_, Result<Health, Error>>;

    /// Checks whether the store can be written, by a transaction that writes nothing.
    fn check_writable(&self) -> BoxFuture<'_, Result<(), Error>>;

    /// Moves everything of the project `from`, and of the projects in directories below it, to the project
    /// `to` and the same directories there: plans, attachments, sessions, runs and conversations, these with
    /// the directories that they work in. Returns the plans that were moved. Nothing is journaled.
    ///
    /// Fails with [`Error::NameTaken`] if the new project has a plan of the same name; then nothing is moved.
    /// If a plan was already made for the same purpose at the new place, that one stays the plan for it. An
    /// attachment whose key exists at the new place stays at the old one.
    fn move_project(&self, from: String, to: String) -> BoxFuture<'_, Result<Vec<PlanId>, Error>>;
}

/// The result of checking a store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Health {
    /// The version of its schema; 0 if it has none.
    pub schema: u32,
    /// How many plans it holds.
    pub plans: u64,
    /// The size of its files, its WAL included; 0 if it has no files.
    pub bytes: u64,
    /// What is damaged, a few descriptions at most; empty if nothing is.
    pub damage: Vec<String>,
}

/// What can be said about the server of a store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerFacts {
    /// The version of the server, in words.
    pub server: String,
    /// The version of the schema; 0 if there is none.
    pub schema: u32,
    /// How long a statement takes, there and back.
    pub latency: Duration,
    /// How much the server's clock is ahead of the caller's, in milliseconds.
    pub clock_ahead_ms: i64,
    /// The setting `synchronous_commit`.
    pub synchronous_commit: String,
    /// The setting `fsync`.
    pub fsync: bool,
    /// Whether a pooler is between, so that followers poll.
    pub is_pooled: bool,
    /// The role of this connection.
    pub role: String,
    /// Whether the role may read plans.
    pub may_read: bool,
    /// Whether the role may do items of shared plans.
    pub may_work: bool,
    /// Whether the role may change plans and answer questions.
    pub may_change: bool,
    /// Whether the role owns the tables: only an owner migrates them and removes erased texts.
    pub is_owner: bool,
    /// Whether the connection is encrypted.
    pub is_encrypted: bool,
}

/// The name of a project after `from` was moved to `to`; `None` if the project is neither `from` nor in a
/// directory below it.
pub fn project_after_move(project: &str, from: &str, to: &str) -> Option<String> {
    let rest = project.strip_prefix(from)?;
    (rest.is_empty() || rest.starts_with('/')).then(|| format!("{to}{rest}"))
}

impl MadeFor {
    /// The same purpose in another project. A plan file keeps its path: it is found again by its content.
    #[must_use]
    pub fn in_project(self, project: &str) -> Self {
        match self {
            Self::Project(_) => Self::Project(project.to_owned()),
            Self::File(path) => Self::File(path),
            Self::Conversation(key) => {
                Self::Conversation(AttachmentKey { project: project.to_owned(), ..key })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_a_directory_moves_with_it_and_nothing_else() {
        let check = |project, expected: Option<&str>| {
            assert_eq!(project_after_move(project, "/a/b", "/x").as_deref(), expected, "{project}");
        };
        check("/a/b", Some("/x"));
        check("/a/b/c/d", Some("/x/c/d"));
        check("/a/bc", None);
        check("/a", None);
        check("", None);
    }
}

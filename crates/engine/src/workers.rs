//! Workers: agents' programs that do an item, and what is kept of them.
//!
//! [`program`] runs a program headless and reads its stream. The list that a worker keeps for itself
//! is stored as entries under its item (`sub_lists`); if Punchlist is installed for the program, the
//! list is taken over from the plan of its session (`worker_session`). [`Claim`]'s methods in
//! `own_list` do both for an item that a worker has claimed. Runs of plan files and the agent
//! runtime use the same.
//!
//! [`Claim`]: crate::engine::Claim

mod own_list;
pub mod program;
pub(crate) mod sub_lists;
pub(crate) mod worker_session;

/// Worktrees of git, for workers that must not disturb each other.
pub use punchlist_bridge::git::worktree;
/// The programs as leaders of a task.
pub use punchlist_bridge::lead;
/// The programs, the prompt for one item, and the parser of their streams.
pub use punchlist_bridge::spawn::{Ended, Job, News, WorkerStream, WorkerUsage, prompt};
/// The agents whose programs can be workers.
pub use punchlist_formats::hook::Agent;

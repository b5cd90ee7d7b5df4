//! What is said to a model beside the tools: prompt sections, reminders, and why it may not stop yet.
//!
//! Words only. Whether and when something is said is decided by [`punchlist_model::guard`] and
//! [`punchlist_model::remind`]. Titles come from agents and are hostile: they are quoted on one line,
//! cannot close a tag or a fence, and every text here is bounded in length.

mod ask;
mod boundary;
pub(crate) mod prove;
mod quote;
mod remind;
mod stop;
#[cfg(test)]
mod tests;
mod tools;
mod wrap;

pub use ask::{approval, declined, plan_task, review};
pub use boundary::{boundary, boundary_named};
pub use remind::{after_change, dropped, initial, nag, offer};
pub use stop::{
    Also, completion_refusal, goal_refusal, is_refusal, stop_refusal, stop_refusal_named,
};
pub use tools::{Label, Names, Tools, Words, prompt_section};
pub use wrap::Tag;

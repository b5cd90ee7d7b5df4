//! Texts for a model besides the tools: prompt sections, reminders, and refusals of a stop.
//!
//! Only the wording is here. [`punchlist_model::guard`] and [`punchlist_model::remind`] decide
//! whether and when a text is given. Titles come from agents and may be hostile: they are quoted on
//! one line and cannot close a tag or a fence. Every text has a maximum length.

mod ask;
mod boundary;
mod fence;
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
pub use fence::fence;
pub use remind::{after_change, dropped, initial, nag, offer};
pub use stop::{
    Also, completion_refusal, goal_refusal, is_refusal, stop_refusal, stop_refusal_named,
};
pub use tools::{Label, Names, Tools, Words, prompt_section};
pub use wrap::Tag;

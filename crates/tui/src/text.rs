//! Renders texts for people: Markdown of an agent and changes of files. Pure.
//!
//! The texts come from agents and files, so they may be hostile: no control character of theirs is
//! drawn, no line is wider than the screen, and the work is bounded.

pub mod diff;
pub mod markdown;
mod wrap;

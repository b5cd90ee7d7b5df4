//! The pages: pure functions from data to markup. They read nothing and decide nothing.

mod acts;
pub(super) mod agents;
pub(super) mod health;
pub(super) mod item;
pub(super) mod message;
mod parts;
pub(super) mod plan;
pub(super) mod plans;
pub(super) mod questions;
pub(super) mod search;
pub(super) mod sessions;
pub(super) mod shell;
#[cfg(test)]
mod tests;

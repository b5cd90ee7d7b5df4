//! How much of anything: configuration, with the specification's defaults.

use serde::{Deserialize, Serialize};

/// Limits that a decision is held to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// Most open items in a plan; a dialect may have its own.
    pub open_items: u32,
    /// Longest title and active form, in characters.
    pub title: u32,
    /// Longest context, criteria, outcome and other text, in characters.
    pub text: u32,
    /// How long a claim lasts without a write of its holder, in seconds.
    pub lease_seconds: u32,
    /// `plan.max_in_progress`, for plans that do not say themselves.
    pub max_in_progress: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            open_items: 100,
            title: 500,
            text: 20_000,
            lease_seconds: 15 * 60,
            max_in_progress: None,
        }
    }
}

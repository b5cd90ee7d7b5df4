//! Limits on sizes, with their defaults. The user can configure them.

use serde::{Deserialize, Serialize};

/// The limits that a decision applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// Maximum of open items in a plan; a dialect may have its own.
    pub open_items: u32,
    /// Maximum length of a title or active form, in characters.
    pub title: u32,
    /// Maximum length of context, criteria, outcome and other texts, in characters.
    pub text: u32,
    /// The lease of a claim, in seconds.
    pub lease_seconds: u32,
    /// `plan.max_in_progress`, for plans without a rule of their own.
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

//! What tokens cost, where the user has configured it.

use serde::{Deserialize, Serialize};

use super::TokenUsage;

/// Prices per million tokens, in whatever currency the user counts.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Tokens of the request.
    pub input: f64,
    /// Tokens of the answer, thinking included.
    pub output: f64,
    /// Tokens of the request that came from the cache; without it, as `input`.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// Tokens of the request that were written to the cache; without it, as `input`.
    #[serde(default)]
    pub cache_write: Option<f64>,
}

impl Price {
    /// The cost of these tokens.
    pub fn cost(&self, usage: &TokenUsage) -> f64 {
        let cached = usage.cache_read.saturating_add(usage.cache_write);
        let parts = [
            (usage.input.saturating_sub(cached), self.input),
            (usage.cache_read, self.cache_read.unwrap_or(self.input)),
            (usage.cache_write, self.cache_write.unwrap_or(self.input)),
            (usage.output, self.output),
        ];
        parts.iter().map(|(tokens, price)| *tokens as f64 * price / 1_000_000.0).sum()
    }

    /// The same in millionths, rounded.
    pub fn cost_micros(&self, usage: &TokenUsage) -> u64 {
        let micros = (self.cost(usage) * 1_000_000.0).round();
        // Prices are the user's: whatever they are, the result is a number that can be stored.
        if micros.is_finite() && micros > 0.0 { micros as u64 } else { 0 }
    }
}

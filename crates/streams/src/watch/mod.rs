//! The states of watched agents: computed from events, and joined with plans.
//!
//! Pure. [`seen`] handles the events of one stream, [`join`] joins streams, processes and plans
//! into sorted rows. Drawing rows and reading files happens elsewhere.

pub mod join;
pub mod seen;
pub mod tell;
#[cfg(test)]
mod tests;

pub use join::{Known, Life, OwnSession, group, rows};
pub use seen::{Fold, Phase, Seen, Todo, Todos};

//! What is known of agents that are watched: events folded into states, and states joined with plans.
//!
//! Pure. [`seen`] takes the events of one stream, [`join`] puts streams, processes and plans together into
//! rows, in the order in which they matter. How a row looks, and where the bytes come from, is somebody
//! else's.

pub mod join;
pub mod seen;
pub mod tell;
#[cfg(test)]
mod tests;

pub use join::{Known, Life, rows};
pub use seen::{Fold, Phase, Seen, Todo, Todos};

//! Everything that uses the terminal: stdout and stderr, keys and signals, and the user's editor
//! and pager.
//!
//! [`output`] writes results and messages, `frame` and `inline_terminal` draw in place,
//! [`keyboard`] asks a person, `key_reader` and `signals` receive keys and signals.

pub mod editing;
mod frame;
pub(crate) mod inline_terminal;
pub mod input;
pub(crate) mod key_reader;
pub mod keyboard;
pub mod output;
pub mod pager;
pub mod progress;
pub(crate) mod signals;

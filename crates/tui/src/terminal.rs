//! Everything that uses the terminal: stdout and stderr, keys and signals, and the user's editor
//! and pager.
//!
//! [`output`] writes results and messages, `frame` and `inline_terminal` draw in place,
//! [`keyboard`] and [`answer_prompt`] ask a person, [`kind`] says what the terminal can do, `key_reader` and `signals` receive keys and signals.

pub(crate) mod ansi;
pub mod answer_prompt;
pub mod editing;
pub(crate) mod frame;
pub(crate) mod inline_terminal;
pub mod input;
pub(crate) mod key_reader;
pub mod keyboard;
pub mod kind;
pub mod output;
pub mod pager;
pub mod progress;
pub(crate) mod signals;

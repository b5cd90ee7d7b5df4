//! What other agents say while they work, as one stream of events.
//!
//! Bytes in, events out: [`Stream`] takes bytes however they are cut, [`Parser`] takes lines. Neither
//! ever fails: what cannot be read is a `warning` event with its line, and the next line is read.
//! Memory is bounded whatever comes. [`watch`] folds events into how each agent stands.
//!
//! Pure: no file, no clock, no async, no random numbers. It draws nothing.

#![forbid(unsafe_code)]

pub mod event;
mod json;
pub mod lines;
mod parse;
mod parser;
mod prefilter;
mod recognise;
mod source;
pub mod watch;

pub use parse::Shared;
pub use parse::emit::Tally;
pub use parser::{Options, Parser, Sink, Stream};
pub use recognise::{Foreign, LOOK_AHEAD, foreign, recognise};
pub use source::Source;

// The example names the crate as its users do.
#[cfg(test)]
extern crate self as punchlist_streams;
#[cfg(test)]
mod tests;

//! Converts the streams of agents to unified events.
//!
//! Bytes in, events out: [`Stream`] takes bytes in pieces of any size, [`Parser`] takes lines.
//! Neither ever fails: what cannot be parsed becomes a `warning` event with its line number, and
//! reading continues. Memory is bounded for any input. [`watch`] computes the state of each agent
//! from its events. [`Record`] reads events back that were written before. [`limit`] reads from an error message when an agent may be used again.
//!
//! Pure: no files, no clock, no async, no random numbers, no drawing.

#![forbid(unsafe_code)]

pub mod event;
mod json;
pub mod limit;
pub mod lines;
mod parse;
mod parser;
mod prefilter;
mod recognise;
mod record;
mod source;
pub mod watch;

pub use parse::Shared;
pub use parse::emit::Tally;
pub use parser::{Options, Parser, Sink, Stream};
pub use recognise::{Foreign, LOOK_AHEAD, foreign, recognise};
pub use record::{Record, RecordEvents, is_record};
pub use source::Source;

// The example uses the name that other crates use.
#[cfg(test)]
extern crate self as punchlist_streams;
#[cfg(test)]
mod tests;

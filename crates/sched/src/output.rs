//! What a running call says: live by lines, and kept up to a limit.
//!
//! Live lines are bounded in length and may be lost by whoever is too slow for them. What is kept is cut
//! in the middle, because beginnings and ends say most, and then the whole is in a file. While a call
//! runs, all that it says is in a file, so that a call whose process is killed keeps its output. Text is
//! made of whatever bytes came; making it harmless is the work of whoever shows it.

mod capture;
mod files;
mod lines;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;

pub use capture::Capture;
pub(crate) use files::{Files, name};
pub use files::{is_of, so_far};
pub(crate) use lines::Lines;

/// Where a line came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    /// What the call has to say. Also what a process says on both streams, if they are joined.
    Out,
    /// What a process says about its work.
    Err,
}

/// A line of live output, without its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// Where it came from.
    pub stream: Stream,
    /// What it says. A line that was too long ends with `…`.
    pub text: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What is kept of outputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// How many bytes of an output are kept; half of them from its beginning, half from its end.
    pub most: usize,
    /// How many bytes of a live line are passed on.
    pub longest_line: usize,
    /// Where outputs go while a call runs, and whole outputs that were cut. Made if it is not there;
    /// for this user alone.
    pub directory: Option<PathBuf>,
    /// How many bytes of a whole output are written there.
    pub most_whole: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            most: 64 * 1024,
            longest_line: 4 * 1024,
            directory: None,
            most_whole: 1024 * 1024 * 1024,
        }
    }
}

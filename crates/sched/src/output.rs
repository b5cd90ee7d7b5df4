//! The output of running calls: live lines, and a stored part.
//!
//! Live lines have a maximum length, and a slow subscriber may lose some. The stored output is cut
//! in the middle if it is too long, because beginning and end say most; the whole is then in a
//! file. While a call runs, its whole output is in a file, so that it survives if the process is
//! killed. Bytes are converted to text; whoever shows the text must escape control characters.

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

/// The stream of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    /// Standard output; also both streams of a process, if they are merged.
    Out,
    /// Standard error.
    Err,
}

/// A line of live output, without its line break.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The stream.
    pub stream: Stream,
    /// The text. A line that was too long ends with `…`.
    pub text: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The options for outputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// How many bytes of an output are kept: half from the beginning, half from the end.
    pub most: usize,
    /// Maximum length of a live line in bytes.
    pub longest_line: usize,
    /// The directory for outputs of running calls and for whole outputs that were cut. It is
    /// created if necessary, readable only for this user.
    pub directory: Option<PathBuf>,
    /// Maximum size of a whole output in that directory.
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

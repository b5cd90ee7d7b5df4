//! Command lines of a shell, looked at without running them.
//!
//! [`commands()`] says which commands a line consists of, for policy. `word` reads one word, `program`
//! knows which programs run others. What any of them is not sure of, none of them guesses.

mod commands;
mod program;
mod word;

pub use commands::{commands, elsewhere};

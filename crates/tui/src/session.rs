//! Shows a session of our own agent at a terminal or in a pipe, line by line.
//!
//! `punchlist_agent::session` runs the session; [`Terminal`] is its front end. `lines` says what is
//! printed for each event, and is pure.

mod front_end;
mod lines;
mod notices;

pub use front_end::{Shown, Terminal};
pub use notices::About;
pub(crate) use notices::Notices;

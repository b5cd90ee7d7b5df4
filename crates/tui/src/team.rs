//! A team at a terminal or in a pipe: a person talks to several agents, and sees each one's list.
//!
//! [`panels`] says which lists are shown, [`route`] who a message is for; `model`, `update` and `view` are
//! the state of the screen and what is drawn of it. All of that is pure. [`run`] has the loops: at a
//! terminal, in lines, and as events.

mod model;
mod notices;
pub mod panels;
mod queue;
pub mod route;
mod run;
#[cfg(test)]
mod tests;
mod update;
mod view;

pub use run::{Ended, Messages, Recorder, Start, run};
pub use view::panels as panel_lines;

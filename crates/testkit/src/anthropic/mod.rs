//! A model that follows a script: the Anthropic Messages API on a loopback port, for tests that run
//! a real agent against it.
//!
//! A [`Script`] is what the model does, a few lines per scenario; a [`Model`] holds one script per
//! conversation and serves them; the [`Server`] tells afterwards what the model was sent. It thinks
//! nothing up by itself, calls nobody, and keeps no header in which a key could be.

mod request;
mod script;
mod server;
mod stream;
#[cfg(test)]
mod tests;

pub use request::{Request, ToolResult};
pub use script::{Message, Script, Turn};
pub use server::{Model, Server};

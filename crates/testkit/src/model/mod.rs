//! A scripted model on a loopback port, for tests that run a real agent against it.
//!
//! A [`Script`] is what the model does, a few lines per scenario. A [`Model`] has one script per
//! conversation and serves them. Afterwards the [`Server`] returns the requests that the model got.
//! It supports the Anthropic Messages API, the OpenAI Responses API and the Gemini API, all on one
//! port, so a script does not depend on the agent. It makes up nothing, connects to nobody, and
//! stores no header that could contain a key.

mod anthropic;
mod api;
mod gemini;
mod openai;
mod request;
mod routes;
mod script;
mod server;
#[cfg(test)]
mod tests;

pub use api::Api;
pub use request::{Request, ToolResult};
pub use script::{Message, Script, Turn};
pub use server::{Model, Server};

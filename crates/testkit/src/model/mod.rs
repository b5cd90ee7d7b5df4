//! A scripted model on a loopback port, for tests that run a real agent against it.
//!
//! A [`Script`] is what the model does, a few lines per scenario; a [`Model`] holds one script per
//! conversation and serves them; the [`Server`] tells afterwards what the model was sent. It speaks
//! the Anthropic Messages API, the OpenAI Responses API, OpenAI's chat completions, the Gemini API and
//! Ollama's, all on one port, so a script does not say which agent will follow it. It thinks nothing up by itself, calls nobody, and
//! keeps no header in which a key could be.

mod anthropic;
mod api;
mod chat;
mod gemini;
mod ollama;
mod openai;
mod request;
mod routes;
mod script;
mod server;
#[cfg(test)]
mod tests;
mod usage_limit;

pub use api::Api;
pub use request::{Request, ToolResult};
pub use script::{Message, Script, Turn};
pub use server::{Model, Server};

//! Models that can be called, behind one trait.
//!
//! A [`Provider`] takes a whole conversation and returns one answer, streaming it on the way. [`Genai`]
//! speaks to Anthropic, OpenAI, Gemini, Ollama and servers that are compatible with one of them;
//! [`Scripted`] plays a scenario from a file. This module runs no tool and knows no plan. It reads no
//! environment: variables and the results of key commands are given in. (The HTTP library honours the
//! usual proxy variables.)

mod client;
mod config;
mod failure;
mod message;
mod names;
mod price;
mod retry;
mod scripted;
mod secret;
#[cfg(test)]
mod tests;

use futures_core::future::BoxFuture;

pub use client::{ClientOptions, Genai, Surroundings};
pub use config::{KeyLookup, KeySource, Kind, ProviderConfig, built_in, connect};
pub use failure::{Failure, NOTHING_CONFIGURED};
pub use message::{
    Arguments, Assistant, CallResult, Citation, Delta, Effort, Message, ModelAnswer, ModelCall,
    ModelCallId, ModelOptions, ModelRequest, Stop, ThinkingBlock, TokenUsage, ToolSpec,
};
pub use names::{BadModelName, ModelName};
pub use price::Price;
pub use retry::RetryOptions;
pub use scripted::{Expected, Scenario, Scripted, ScriptedAnswer, ScriptedCall, ScriptedFailure};
pub use secret::Secret;

/// Takes the parts of an answer as they arrive.
pub type OnDelta<'a> = dyn FnMut(Delta) + Send + 'a;

/// A model that can be called.
pub trait Provider: Send + Sync {
    /// The model, as the user names it.
    fn model(&self) -> &ModelName;

    /// Whether the answers come from a file and not from a model. Every screen says so.
    fn is_scripted(&self) -> bool {
        false
    }

    /// Calls the model and returns its whole answer.
    ///
    /// Failures that may pass are retried within. Whatever was streamed before [`Delta::Retry`] is void.
    /// Dropping the future cancels the call and closes the connection.
    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        on_delta: &'a mut OnDelta<'_>,
    ) -> BoxFuture<'a, Result<ModelAnswer, Failure>>;
}

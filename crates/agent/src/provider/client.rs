//! Providers that are called over HTTP, through the library genai.
//!
//! One attempt streams one answer. Around it are retries, limits of time and size, and the conversion of
//! every failure into a [`Failure`]. `outgoing` and `incoming` convert requests and answers, `frames`
//! reads the events that genai passes over, `errors` reads its errors.

mod errors;
mod frames;
mod incoming;
mod outgoing;

use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use futures_util::StreamExt;
use genai::chat::{ChatStreamEvent, ToolCall};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ServiceTarget};
use jiff::Timestamp;

use super::{
    Delta, Failure, ModelAnswer, ModelName, ModelRequest, OnDelta, Provider, ProviderConfig,
    RetryOptions, Secret,
};
use frames::Frames;

/// Limits of the calls of a provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientOptions {
    /// How failed calls are repeated.
    pub retry: RetryOptions,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long the provider may take until it begins to answer. A local model may have to be loaded
    /// first.
    pub answer_timeout: Duration,
    /// How long an answer may pause.
    pub stall_timeout: Duration,
    /// Most bytes of text and thinking in one answer.
    pub max_answer: usize,
    /// Most bytes of the arguments of one call.
    pub max_arguments: usize,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            retry: RetryOptions::default(),
            connect_timeout: Duration::from_secs(20),
            answer_timeout: Duration::from_secs(300),
            stall_timeout: Duration::from_secs(120),
            max_answer: 8 * 1024 * 1024,
            max_arguments: 1024 * 1024,
        }
    }
}

/// The clock and the random numbers of a provider.
#[derive(Clone)]
pub struct Surroundings {
    /// The time.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// A random number from 0 to 1.
    pub jitter: Arc<dyn Fn() -> f64 + Send + Sync>,
}

/// A model that is called over HTTP.
pub struct Genai {
    model: ModelName,
    config: ProviderConfig,
    key: Option<Secret>,
    client: Client,
    options: ClientOptions,
    surroundings: Surroundings,
}

impl Genai {
    /// Connects to a model. Nothing is sent yet.
    pub fn new(
        config: ProviderConfig,
        model: ModelName,
        key: Option<Secret>,
        options: ClientOptions,
        surroundings: Surroundings,
    ) -> Result<Self, Failure> {
        // Only the first caller in a process installs it; whoever comes later finds it there.
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut http = reqwest::Client::builder()
            .connect_timeout(options.connect_timeout)
            // Keys in headers of their own would follow a redirect to another host.
            .redirect(reqwest::redirect::Policy::none());
        if config.is_local() {
            http = http.no_proxy();
        }
        let bad = |why: String| Failure::BadConfig { provider: config.name.clone(), why };
        let http = http.build().map_err(|why| bad(why.to_string()))?;
        let client = Client::builder().with_reqwest(http).build();
        let client = client.map_err(|why| bad(why.to_string()))?;
        Ok(Self { model, config, key, client, options, surroundings })
    }

    fn target(&self) -> ServiceTarget {
        // Servers without a key ignore the header; genai insists on sending it.
        let key = self.key.as_ref().map_or("none", Secret::reveal);
        ServiceTarget {
            endpoint: Endpoint::from_owned(self.config.base_url().to_owned()),
            auth: AuthData::from_single(key),
            model: outgoing::model(&self.config, &self.model),
        }
    }

    /// Calls the model once.
    async fn attempt(
        &self,
        request: &ModelRequest,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<ModelAnswer, Failure> {
        let frames = Arc::new(Frames::new(self.config.kind));
        let failed = |why: &genai::Error| errors::failure(self, why, &frames);
        let chat = outgoing::chat(&self.config, &self.model, request);
        let options = outgoing::options(self, request, Arc::clone(&frames));
        let stream = self.client.exec_chat_stream(self.target(), chat, Some(&options)).await;
        let mut stream = stream.map_err(|why| failed(&why))?.stream;
        let mut size = 0;
        let mut calls = Calls::default();
        while let Some(event) = stream.next().await {
            match event {
                Ok(ChatStreamEvent::Chunk(chunk)) => {
                    size += chunk.content.len();
                    on_delta(Delta::Text(chunk.content));
                }
                Ok(ChatStreamEvent::ReasoningChunk(chunk)) => {
                    size += chunk.content.len();
                    on_delta(Delta::Thinking(chunk.content));
                }
                Ok(ChatStreamEvent::ToolCallChunk(chunk)) => {
                    if calls.has_begun(&chunk.tool_call) {
                        on_delta(Delta::Call(chunk.tool_call.fn_name));
                    }
                }
                Ok(ChatStreamEvent::End(end)) => {
                    if let Some(body) = frames.failure() {
                        return Err(errors::in_stream(self, &body));
                    }
                    let answer = incoming::answer(end, &request.answer_id, frames.citations());
                    return answer.ok_or_else(|| self.truncated("the stream ended early"));
                }
                Ok(
                    ChatStreamEvent::Start
                    | ChatStreamEvent::Heartbeat
                    | ChatStreamEvent::ThoughtSignatureChunk(_),
                ) => {}
                Err(_) if frames.is_passed_over() => {}
                Err(why) => return Err(failed(&why)),
            }
            self.check_size(size, self.options.max_answer)?;
            self.check_size(calls.length, self.options.max_arguments)?;
        }
        Err(self.truncated("the stream ended without its last event"))
    }

    fn check_size(&self, size: usize, limit: usize) -> Result<(), Failure> {
        let provider = self.config.name.clone();
        if size > limit { Err(Failure::TooMuchText { provider, limit }) } else { Ok(()) }
    }

    fn truncated(&self, why: &str) -> Failure {
        Failure::Truncated { provider: self.config.name.clone(), why: why.to_owned() }
    }
}

impl Provider for Genai {
    fn model(&self) -> &ModelName {
        &self.model
    }

    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        on_delta: &'a mut OnDelta<'_>,
    ) -> BoxFuture<'a, Result<ModelAnswer, Failure>> {
        Box::pin(async move {
            let retry = &self.options.retry;
            let mut attempt = 1;
            loop {
                let failure = match self.attempt(request, on_delta).await {
                    Ok(answer) => return Ok(answer),
                    Err(failure) => failure,
                };
                if !failure.is_retryable() || attempt >= retry.attempts {
                    return Err(failure);
                }
                let jitter = (self.surroundings.jitter)();
                let wait = retry.wait(attempt, failure.asked_wait(), jitter);
                on_delta(Delta::Retry { why: failure.message(), wait });
                tokio::time::sleep(wait).await;
                attempt += 1;
            }
        })
    }
}

/// Which call of an answer is being streamed. Each part of a call repeats all of it that came before.
#[derive(Default)]
struct Calls {
    id: String,
    tool: String,
    /// Bytes of the arguments so far.
    length: usize,
}

impl Calls {
    /// Whether this part begins a call.
    fn has_begun(&mut self, part: &ToolCall) -> bool {
        let (length, is_part) = match part.fn_arguments.as_str() {
            Some(text) => (text.len(), true),
            // A whole call at once.
            None => (part.fn_arguments.to_string().len(), false),
        };
        let is_same = self.id == part.call_id && self.tool == part.fn_name;
        let goes_on = is_same && is_part && length >= self.length;
        self.id.clone_from(&part.call_id);
        self.tool.clone_from(&part.fn_name);
        self.length = length;
        !goes_on
    }
}

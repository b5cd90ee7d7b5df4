//! Every kind of provider against the scripted model server, on loopback.

mod aimock;
mod answers;
mod contexts;
mod faults;
mod files;
mod leaving;
mod refusals;
mod round_trips;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use punchlist_agent::provider::{
    CallResult, ClientOptions, Delta, Failure, Genai, KeySource, Kind, Message, ModelAnswer,
    ModelName, ModelOptions, ModelRequest, Provider, ProviderConfig, RetryOptions, Secret,
    Surroundings, ToolSpec,
};
use punchlist_model::Timestamp;
use punchlist_testkit::model::{Model, Script, Server};
use serde_json::json;

/// A key that must not be seen anywhere.
pub(crate) const CANARY: &str = "sk-canary-2f9d81";

pub(crate) const KINDS: [Kind; 5] =
    [Kind::Anthropic, Kind::OpenAi, Kind::OpenAiChat, Kind::Gemini, Kind::Ollama];

/// A model and the server that plays it.
struct Case {
    kind: Kind,
    server: Server,
    provider: Genai,
}

/// What came of a call: what was streamed, and the answer.
struct Called {
    deltas: Vec<Delta>,
    answer: Result<ModelAnswer, Failure>,
}

/// Runs one case for each kind of provider, all at the same time.
fn each<F: Future<Output = ()>>(script: impl Fn() -> Script, case: impl Fn(Case) -> F) {
    each_with(&options(), script, case);
}

fn each_with<F: Future<Output = ()>>(
    options: &ClientOptions,
    script: impl Fn() -> Script,
    case: impl Fn(Case) -> F,
) {
    run(async {
        join_all(KINDS.map(|kind| case(Case::new(kind, script(), options.clone())))).await;
    });
}

pub(crate) fn run(future: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future);
}

/// Limits that tests can wait for.
pub(crate) fn options() -> ClientOptions {
    let retry = RetryOptions {
        attempts: 3,
        first_wait: Duration::from_millis(1),
        longest_wait: Duration::from_secs(5),
    };
    ClientOptions { retry, ..ClientOptions::default() }
}

fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

fn surroundings() -> Surroundings {
    Surroundings { clock: Arc::new(now), jitter: Arc::new(|| 0.5) }
}

/// The address of a kind's API on a server.
pub(crate) fn address(kind: Kind, url: &str) -> String {
    match kind {
        Kind::Anthropic | Kind::OpenAi | Kind::OpenAiChat => format!("{url}/v1"),
        Kind::Gemini => format!("{url}/v1beta"),
        Kind::Ollama => url.to_owned(),
    }
}

fn connect(kind: Kind, name: &str, url: &str, options: ClientOptions) -> Genai {
    let key = KeySource::Variable("TEST_KEY".to_owned());
    let config = ProviderConfig::new("test", kind, Some(&address(kind, url)), key).unwrap();
    let model = ModelName { provider: "test".to_owned(), name: name.to_owned() };
    Genai::new(config, model, Some(Secret::new(CANARY)), options, surroundings()).unwrap()
}

impl Case {
    fn new(kind: Kind, script: Script, options: ClientOptions) -> Self {
        let server = Model::new(script).serve().unwrap();
        let provider = connect(kind, "model-1", &server.url(), options);
        Self { kind, server, provider }
    }

    async fn call(&self, request: &ModelRequest) -> Called {
        let mut deltas = Vec::new();
        let answer = self.provider.call(request, &mut |it| deltas.push(it)).await;
        Called { deltas, answer }
    }

    /// The answer to a question that must succeed.
    async fn answer(&self, request: &ModelRequest) -> ModelAnswer {
        let called = self.call(request).await;
        called.answer.unwrap_or_else(|why| panic!("{}: {why}", self.kind))
    }

    /// The failure of a question that must fail.
    async fn failure(&self) -> Failure {
        match self.call(&asking("hello")).await.answer {
            Ok(answer) => panic!("{}: {answer:?}", self.kind),
            Err(failure) => failure,
        }
    }

    /// Whether the server sees that we closed the connection. The connection is closed by this runtime,
    /// so it must not be blocked meanwhile.
    async fn is_abandoned(&self) -> bool {
        for _ in 0..2000 {
            if self.server.wait_abandoned(1, Duration::ZERO) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        false
    }

    /// Goes on after an answer, with a result for each of its calls.
    fn going_on(&self, request: ModelRequest, answer: ModelAnswer) -> ModelRequest {
        going_on(&self.provider, request, answer)
    }
}

fn going_on(provider: &Genai, mut request: ModelRequest, answer: ModelAnswer) -> ModelRequest {
    let calls = answer.calls.iter();
    let results = calls.map(|call| CallResult {
        call: call.id.clone(),
        text: format!("result of {}", call.id),
        is_error: false,
    });
    let results = results.collect();
    request.messages.push(answer.into_message(provider.model().clone()));
    request.messages.push(Message::Results(results));
    request.answer_id = "a2".to_owned();
    request
}

impl Called {
    fn text(&self) -> String {
        let texts = self.deltas.iter().filter_map(|it| match it {
            Delta::Text(text) => Some(text.as_str()),
            Delta::Thinking(_) | Delta::Call(_) | Delta::Retry { .. } => None,
        });
        texts.collect()
    }

    fn thinking(&self) -> String {
        let texts = self.deltas.iter().filter_map(|it| match it {
            Delta::Thinking(text) => Some(text.as_str()),
            Delta::Text(_) | Delta::Call(_) | Delta::Retry { .. } => None,
        });
        texts.collect()
    }

    fn calls(&self) -> Vec<&str> {
        let calls = self.deltas.iter().filter_map(|it| match it {
            Delta::Call(tool) => Some(tool.as_str()),
            Delta::Text(_) | Delta::Thinking(_) | Delta::Retry { .. } => None,
        });
        calls.collect()
    }

    fn waits(&self) -> Vec<Duration> {
        let waits = self.deltas.iter().filter_map(|it| match it {
            Delta::Retry { wait, .. } => Some(*wait),
            Delta::Text(_) | Delta::Thinking(_) | Delta::Call(_) => None,
        });
        waits.collect()
    }
}

/// A conversation that begins with this text, with two tools.
fn asking(text: &str) -> ModelRequest {
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: format!("Does {name}."),
        schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    };
    ModelRequest {
        answer_id: "a1".to_owned(),
        system: "You are tested.".to_owned(),
        messages: vec![Message::User(text.to_owned())],
        uncached: 0,
        tools: vec![tool("read"), tool("write")],
        options: ModelOptions::default(),
    }
}

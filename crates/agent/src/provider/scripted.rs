//! A model that plays a scenario from a file: for demonstrations and tests, without a key or a network.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_core::future::BoxFuture;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Arguments, Delta, Failure, Message, ModelAnswer, ModelCall, ModelCallId, ModelName,
    ModelRequest, OnDelta, Provider, ThinkingBlock, TokenUsage,
};

/// What a scripted model answers, one call after the other.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What the scenario shows, for people who read the file.
    #[serde(default)]
    pub about: String,
    /// The answers, in order.
    pub answers: Vec<ScriptedAnswer>,
}

/// One answer of a scenario.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptedAnswer {
    /// What must have been sent.
    pub expect: Expected,
    /// How long the answer takes.
    pub delay_ms: u64,
    /// How long the model pauses after each word that it says.
    pub pause_ms: u64,
    /// What the model thinks.
    pub thinking: String,
    /// What the model says.
    pub text: String,
    /// What the model calls.
    pub calls: Vec<ScriptedCall>,
    /// What the call costs.
    pub usage: TokenUsage,
    /// How the call fails, after the text.
    pub failure: Option<ScriptedFailure>,
}

/// What a scenario expects to be sent.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Expected {
    /// Texts that the messages since the model's last answer contain.
    pub contains: Vec<String>,
    /// Tools that are offered.
    pub tools: Vec<String>,
}

/// A call in a scenario. Arguments that are no object are those that a model got wrong.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    /// The tool.
    pub tool: String,
    /// With what.
    pub arguments: Value,
}

/// How a call fails in a scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptedFailure {
    /// The rate of requests is limited.
    RateLimited,
    /// A usage limit is reached until this time.
    UsageLimit(Timestamp),
    /// The provider has trouble of its own.
    ServerError,
    /// The answer is cut off.
    Truncated,
    /// The provider never answers.
    Silence,
}

/// A model that plays a scenario.
pub struct Scripted {
    model: ModelName,
    scenario: Scenario,
    next: Mutex<usize>,
}

impl Scripted {
    /// Reads the scenario that the name points to.
    pub fn open(model: ModelName) -> Result<Self, Failure> {
        let bad = |why: String| Failure::Scenario { file: model.name.clone(), why };
        let text = std::fs::read_to_string(Path::new(&model.name)).map_err(|why| {
            Failure::NoScenario { file: model.name.clone(), why: why.to_string() }
        })?;
        let scenario = serde_json::from_str(&text).map_err(|it| bad(it.to_string()))?;
        Ok(Self::new(model, scenario))
    }

    /// A model that plays this scenario.
    pub fn new(model: ModelName, scenario: Scenario) -> Self {
        Self { model, scenario, next: Mutex::new(0) }
    }

    /// Skips answers that were given before, so that a resumed session goes on where it was.
    #[must_use]
    pub fn skipping(self, answers: usize) -> Self {
        Self { next: Mutex::new(answers), ..self }
    }

    fn does_not_fit(&self, why: String) -> Failure {
        Failure::Scenario { file: self.model.name.clone(), why }
    }

    fn next(&self) -> Result<(usize, &ScriptedAnswer), Failure> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let number = *next + 1;
        let Some(answer) = self.scenario.answers.get(*next) else {
            let count = self.scenario.answers.len();
            return Err(self.does_not_fit(format!("it has only {count} answers")));
        };
        *next = number;
        Ok((number, answer))
    }

    fn check(
        &self,
        number: usize,
        expected: &Expected,
        sent: &ModelRequest,
    ) -> Result<(), Failure> {
        let news = news(&sent.messages);
        if let Some(text) = expected.contains.iter().find(|it| !news.contains(it.as_str())) {
            let why = format!("answer {number} expects \"{text}\" in what was sent:\n{news}");
            return Err(self.does_not_fit(why));
        }
        let is_offered = |name: &String| sent.tools.iter().any(|it| it.name == *name);
        match expected.tools.iter().find(|it| !is_offered(it)) {
            Some(tool) => {
                Err(self.does_not_fit(format!("answer {number} expects the tool {tool}")))
            }
            None => Ok(()),
        }
    }

    async fn play(
        &self,
        request: &ModelRequest,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<ModelAnswer, Failure> {
        let (number, answer) = self.next()?;
        self.check(number, &answer.expect, request)?;
        // Without a pause no timer: even one of zero ends only at the next tick of the clock.
        if answer.delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(answer.delay_ms)).await;
        }
        if !answer.thinking.is_empty() {
            on_delta(Delta::Thinking(answer.thinking.clone()));
        }
        for word in answer.text.split_inclusive(' ') {
            on_delta(Delta::Text(word.to_owned()));
            if answer.pause_ms > 0 {
                tokio::time::sleep(Duration::from_millis(answer.pause_ms)).await;
            }
        }
        for call in &answer.calls {
            on_delta(Delta::Call(call.tool.clone()));
        }
        match answer.failure {
            Some(ScriptedFailure::Silence) => std::future::pending().await,
            Some(failure) => Err(self.failure(failure)),
            None => Ok(answer.played(&request.answer_id)),
        }
    }

    fn failure(&self, failure: ScriptedFailure) -> Failure {
        let provider = self.model.provider.clone();
        let says = "as the scenario says".to_owned();
        match failure {
            ScriptedFailure::RateLimited => Failure::RateLimited { provider, says, wait: None },
            ScriptedFailure::UsageLimit(until) => Failure::UsageLimit { provider, says, until },
            ScriptedFailure::ServerError => Failure::ServerError { provider, says, wait: None },
            ScriptedFailure::Truncated => Failure::Truncated { provider, why: says },
            ScriptedFailure::Silence => Failure::Cancelled,
        }
    }
}

impl ScriptedAnswer {
    fn played(&self, answer_id: &str) -> ModelAnswer {
        let call = |(index, call): (usize, &ScriptedCall)| ModelCall {
            id: ModelCallId::new(answer_id, index + 1),
            provider_id: String::new(),
            tool: call.tool.clone(),
            arguments: match &call.arguments {
                Value::Object(_) => Arguments::Object(call.arguments.clone()),
                Value::String(text) => Arguments::Invalid(text.clone()),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                    Arguments::Invalid(call.arguments.to_string())
                }
            },
            signatures: Vec::new(),
        };
        let thinking = Some(self.thinking.clone()).filter(|it| !it.is_empty());
        ModelAnswer {
            text: self.text.clone(),
            thinking: thinking.map(ThinkingBlock::Text).into_iter().collect(),
            calls: self.calls.iter().enumerate().map(call).collect(),
            usage: self.usage,
            ..ModelAnswer::default()
        }
    }
}

impl Provider for Scripted {
    fn model(&self) -> &ModelName {
        &self.model
    }

    fn is_scripted(&self) -> bool {
        true
    }

    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        on_delta: &'a mut OnDelta<'_>,
    ) -> BoxFuture<'a, Result<ModelAnswer, Failure>> {
        Box::pin(self.play(request, on_delta))
    }
}

/// What was said since the model's last answer.
fn news(messages: &[Message]) -> String {
    let last = messages.iter().rposition(|it| matches!(it, Message::Assistant(_)));
    let new = messages.get(last.map_or(0, |it| it + 1)..).unwrap_or_default();
    let mut texts: Vec<&str> = Vec::new();
    for message in new {
        match message {
            Message::User(text) => texts.push(text),
            Message::Results(results) => texts.extend(results.iter().map(|it| it.text.as_str())),
            Message::Assistant(_) => {}
        }
    }
    texts.join("\n")
}

//! Errors of genai and of providers, converted into [`Failure`]. The key is hidden in every text.

use std::time::Duration;

use genai::webc::StreamTimeout;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::super::{Failure, retry};
use super::Genai;
use super::frames::Frames;

/// Most characters of a provider's message that are shown.
const MOST: usize = 400;

/// Words by which providers say that a conversation is too long.
const TOO_LONG: [&str; 6] = [
    "context_length_exceeded",
    "prompt is too long",
    "context window",
    "context length",
    "maximum number of tokens",
    "request_too_large",
];

/// Words by which providers say that the key is wrong, with a status that means anything.
const WRONG_KEY: [&str; 4] =
    ["api_key_invalid", "api key not valid", "authentication_error", "invalid_api_key"];

/// Words by which providers say that there is no such model.
const NO_MODEL: [&str; 3] = ["model_not_found", "not_found_error", "invalid model"];

/// Words by which providers say that the account is empty.
const NO_QUOTA: [&str; 4] =
    ["insufficient_quota", "credit balance", "billing_error", "billing details"];

/// What an error of genai means.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all that is not named means the same: genai itself refuses to send the request"
)]
pub(super) fn failure(client: &Genai, error: &genai::Error, frames: &Frames) -> Failure {
    if let Some(body) = frames.failure() {
        return in_stream(client, &body);
    }
    match error {
        genai::Error::WebStream { error, cause, .. } => {
            if let Some(error) = error.downcast_ref::<genai::Error>() {
                return failure(client, error, frames);
            }
            if let Some(timeout) = error.downcast_ref::<StreamTimeout>() {
                return timed_out(client, *timeout);
            }
            match error.downcast_ref::<reqwest::Error>() {
                Some(error) => connection(client, error),
                None => client.truncated(&client.shown(cause)),
            }
        }
        genai::Error::HttpError { status, body, headers, .. } => {
            refused(client, *status, headers, body)
        }
        genai::Error::WebModelCall { webc_error, .. }
        | genai::Error::WebAdapterCall { webc_error, .. } => match webc_error {
            genai::webc::Error::ResponseFailedStatus { status, body, headers } => {
                refused(client, *status, headers, body)
            }
            genai::webc::Error::Reqwest(error) => connection(client, error),
            genai::webc::Error::ResponseFailedNotJson { .. }
            | genai::webc::Error::ResponseFailedInvalidJson { .. }
            | genai::webc::Error::JsonValueExt(_) => client.truncated("the answer is not JSON"),
        },
        genai::Error::ChatResponse { body, .. } => in_stream(client, body),
        genai::Error::StreamParse { .. }
        | genai::Error::JsonValueExt(_)
        | genai::Error::SerdeJson(_)
        | genai::Error::NoChatResponse { .. }
        | genai::Error::InvalidJsonResponseElement { .. } => {
            client.truncated("an event of the stream is unreadable")
        }
        other => client.bad_request(&client.shown(&other.to_string())),
    }
}

fn timed_out(client: &Genai, timeout: StreamTimeout) -> Failure {
    let provider = client.config.name.clone();
    match timeout {
        StreamTimeout::Headers => {
            Failure::NoAnswer { provider, after: client.options.answer_timeout }
        }
        StreamTimeout::Read => Failure::Stalled { provider, after: client.options.stall_timeout },
    }
}

/// The connection could not be made, or broke.
fn connection(client: &Genai, error: &reqwest::Error) -> Failure {
    if error.is_body() || error.is_decode() {
        return client.truncated("the connection broke");
    }
    // The innermost cause says what happened; the outer ones repeat the address.
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let is_local = client.config.is_local();
    let local = if is_local { ". Is the server running on this machine?" } else { "" };
    Failure::NoNetwork {
        provider: client.config.name.clone(),
        url: client.config.shown_url(),
        why: client.shown(&cause.to_string()),
        local: local.to_owned(),
    }
}

/// The provider answered with a status that is no success.
fn refused(client: &Genai, status: StatusCode, headers: &HeaderMap, body: &str) -> Failure {
    let now = (client.surroundings.clock)();
    let wait = retry::asked_wait(headers, body, now);
    let said = serde_json::from_str(body).ok().and_then(|it| message(&it));
    let says = client.shown(&said.unwrap_or_else(|| body.to_owned()));
    let says = if says.is_empty() { format!("status {status}") } else { says };
    let says = if status.is_redirection() { format!("it redirects: {status}") } else { says };
    let has = |words: &[&str]| contains(body, words);
    let provider = client.config.name.clone();
    match status.as_u16() {
        429 if wait.is_none() && has(&NO_QUOTA) => Failure::NoQuota { provider, says },
        429 => client.limited(says, wait),
        402 => Failure::NoQuota { provider, says },
        401 | 403 => client.wrong_key(says),
        413 => Failure::ContextTooLong { provider, says },
        404 => client.unknown_model(says),
        408 | 409 | 425 | 500.. => client.server_error(says, wait),
        _ => by_words(client, body, says),
    }
}

/// The provider said in the middle of an answer that it failed.
pub(super) fn in_stream(client: &Genai, body: &Value) -> Failure {
    let says = client.shown(&message(body).unwrap_or_else(|| body.to_string()));
    let text = body.to_string();
    if contains(&text, &["rate_limit", "resource_exhausted"]) {
        return client.limited(says, None);
    }
    let failure = by_words(client, &text, says.clone());
    let is_refusal = contains(&text, &["invalid_request", "invalid_argument"]);
    if matches!(failure, Failure::BadRequest { .. }) && !is_refusal {
        return client.server_error(says, None);
    }
    failure
}

/// What a refusal means by its words, where the status says too little.
fn by_words(client: &Genai, body: &str, says: String) -> Failure {
    let provider = client.config.name.clone();
    if contains(body, &TOO_LONG) {
        Failure::ContextTooLong { provider, says }
    } else if contains(body, &WRONG_KEY) {
        client.wrong_key(says)
    } else if contains(body, &NO_QUOTA) {
        Failure::NoQuota { provider, says }
    } else if contains(body, &NO_MODEL) {
        client.unknown_model(says)
    } else {
        client.bad_request(&says)
    }
}

fn contains(text: &str, words: &[&str]) -> bool {
    let text = text.to_lowercase();
    words.iter().any(|it| text.contains(it))
}

/// The message in the body of an error, wherever the provider puts it.
fn message(body: &Value) -> Option<String> {
    // Gemini sometimes wraps the error in a list.
    let body = body.get(0).unwrap_or(body);
    let error = &body["error"];
    let found = [&error["message"], error, &body["message"]].into_iter().find_map(Value::as_str)?;
    let kind =
        [&error["type"], &error["code"], &error["status"]].into_iter().find_map(Value::as_str);
    Some(kind.map_or_else(|| found.to_owned(), |kind| format!("{kind}: {found}")))
}

impl Genai {
    /// A text of the provider: without the key, on one line, not too long.
    fn shown(&self, text: &str) -> String {
        let text = self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.hide_in(text));
        let words: Vec<&str> =
            text.split(|it: char| it.is_whitespace() || it.is_control()).collect();
        let words = words.into_iter().filter(|it| !it.is_empty());
        let line = words.collect::<Vec<&str>>().join(" ");
        match line.char_indices().nth(MOST) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }

    /// A wait that is longer than retries may take is a usage limit.
    fn limited(&self, says: String, wait: Option<Duration>) -> Failure {
        let provider = self.config.name.clone();
        match self.usage_limit(&says, wait) {
            Some(failure) => failure,
            None => Failure::RateLimited { provider, says, wait },
        }
    }

    fn server_error(&self, says: String, wait: Option<Duration>) -> Failure {
        let provider = self.config.name.clone();
        match self.usage_limit(&says, wait) {
            Some(failure) => failure,
            None => Failure::ServerError { provider, says, wait },
        }
    }

    fn usage_limit(&self, says: &str, wait: Option<Duration>) -> Option<Failure> {
        let wait = wait.filter(|it| *it > self.options.retry.longest_wait)?;
        let until = (self.surroundings.clock)().checked_add(wait).ok()?;
        let provider = self.config.name.clone();
        Some(Failure::UsageLimit { provider, says: says.to_owned(), until })
    }

    fn wrong_key(&self, says: String) -> Failure {
        let hint = format!("To correct the key, {}", self.config.key_hint());
        Failure::WrongKey { provider: self.config.name.clone(), says, hint }
    }

    fn unknown_model(&self, says: String) -> Failure {
        let (provider, model) = (self.config.name.clone(), self.model.name.clone());
        Failure::UnknownModel { provider, model, says }
    }

    fn bad_request(&self, says: &str) -> Failure {
        let is_thinking = contains(says, &["reasoning", "thinking"]);
        let hint =
            if is_thinking { ". If the model cannot think, set thinking = false" } else { "" };
        let (provider, hint) = (self.config.name.clone(), hint.to_owned());
        Failure::BadRequest { provider, says: says.to_owned(), hint }
    }
}

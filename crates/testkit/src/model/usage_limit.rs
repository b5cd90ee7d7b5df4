//! How each API says that the account's usage limit is reached, and when it ends.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::Api;

/// The longest wait that Gemini CLI does by itself is five minutes. For a longer one it ends.
const TOO_LONG_FOR_GEMINI: &str = "301s";

#[expect(clippy::disallowed_methods, reason = "the programs that are tested read the real clock")]
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The headers and the body of the answer with status 429.
pub(super) fn answer(api: Api, wait: Duration, id: usize) -> (Vec<(&'static str, String)>, Value) {
    let (seconds, ends) = (wait.as_secs(), (now() + wait).as_secs());
    match api {
        Api::Anthropic => {
            let headers = vec![
                ("anthropic-ratelimit-unified-status", "rejected".to_owned()),
                ("anthropic-ratelimit-unified-reset", ends.to_string()),
                ("anthropic-ratelimit-unified-representative-claim", "five_hour".to_owned()),
                ("retry-after", seconds.to_string()),
                ("x-should-retry", "false".to_owned()),
            ];
            let mut body = api.error(429, "rate_limit_error", id);
            let says = "This request would exceed your account's rate limit.";
            body["error"]["message"] = Value::from(says);
            (headers, body)
        }
        Api::OpenAi | Api::OpenAiChat => {
            let headers = vec![("x-codex-primary-reset-at", ends.to_string())];
            let error = json!({"type": "usage_limit_reached", "plan_type": "plus",
                "message": "The usage limit has been reached", "resets_at": ends,
                "resets_in_seconds": seconds});
            (headers, json!({ "error": error }))
        }
        Api::Gemini => {
            // The message says the time that a client reads who was ended; the details make it end.
            let says = format!("You exceeded your current quota. Please retry in {seconds}s.");
            let info = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo",
                "retryDelay": TOO_LONG_FOR_GEMINI});
            let error = json!({"code": 429, "status": "RESOURCE_EXHAUSTED", "message": says,
                "details": [info]});
            (Vec::new(), json!({ "error": error }))
        }
        Api::Ollama => (Vec::new(), api.error(429, "too many requests", id)),
    }
}

//! When a failed call is repeated. Computes; waits for nothing.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;

/// How often and how soon failed calls are repeated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RetryOptions {
    /// Most attempts of one call, the first included.
    pub attempts: u32,
    /// The wait before the second attempt; it doubles with each further one.
    pub first_wait: Duration,
    /// The longest wait between two attempts. A provider that asks for more has reached a usage limit.
    pub longest_wait: Duration,
}

impl Default for RetryOptions {
    fn default() -> Self {
        Self {
            attempts: 4,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(60),
        }
    }
}

impl RetryOptions {
    /// The wait after this attempt, from 1. `asked` is what the provider asks for; `jitter`, from 0 to 1,
    /// spreads the calls of many programs.
    pub fn wait(&self, attempt: u32, asked: Option<Duration>, jitter: f64) -> Duration {
        let jitter = jitter.clamp(0.0, 1.0);
        let doublings = attempt.saturating_sub(1).min(16);
        let backoff = self.first_wait.saturating_mul(1 << doublings).min(self.longest_wait);
        match asked {
            // Never earlier than asked for.
            Some(asked) => asked.saturating_add(self.first_wait.mul_f64(jitter / 2.0)),
            None => backoff.mul_f64(0.5 + jitter / 2.0),
        }
    }
}

/// How long the provider asks to wait: `retry-after-ms`, `retry-after` in seconds or as a date, or the
/// delay that Gemini writes into the body.
pub(super) fn asked_wait(headers: &HeaderMap, body: &str, now: Timestamp) -> Option<Duration> {
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let milliseconds = header("retry-after-ms").and_then(|it| it.parse::<f64>().ok());
    let from_milliseconds = milliseconds.and_then(|it| seconds(it / 1000.0));
    let after = header(RETRY_AFTER.as_str());
    from_milliseconds
        .or_else(|| after.and_then(|it| it.parse().ok()).and_then(seconds))
        .or_else(|| after.and_then(|it| until(it, now)))
        .or_else(|| delay_in(&serde_json::from_str(body).ok()?))
}

fn seconds(count: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(count).ok()
}

/// The time until a date as HTTP writes it. A date that has passed means now.
fn until(date: &str, now: Timestamp) -> Option<Duration> {
    let at = jiff::fmt::rfc2822::parse(date).ok()?.timestamp();
    Some(Duration::try_from(at.duration_since(now)).unwrap_or_default())
}

/// The `retryDelay` of Gemini, such as `34s`.
fn delay_in(body: &Value) -> Option<Duration> {
    let details = body["error"]["details"].as_array()?;
    let delay = details.iter().find_map(|it| it["retryDelay"].as_str())?;
    delay.strip_suffix('s')?.parse().ok().and_then(seconds)
}

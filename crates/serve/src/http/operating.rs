//! What operating the server needs: whether it lives, whether it can work, and numbers.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use punchlist_model::GrantId;

use super::access::{self, Caller};
use super::problem::Problem;
use super::{Served, listen};

/// The upper ends of the buckets of durations, in milliseconds.
const BUCKETS: [u64; 7] = [1, 5, 20, 100, 500, 2_000, 10_000];

/// Counts requests.
pub struct Metrics {
    began: Instant,
    /// By the first digit of the status, from 1 to 5.
    responses: [AtomicU64; 5],
    /// Requests by duration; the last bucket has those that are longer than all others.
    durations: [AtomicU64; BUCKETS.len() + 1],
    micros: AtomicU64,
    wrong_secrets: AtomicU64,
    connections: listen::Places,
}

impl Metrics {
    pub(super) fn new(connections: listen::Places) -> Self {
        Self {
            began: Instant::now(),
            responses: Default::default(),
            durations: Default::default(),
            micros: AtomicU64::default(),
            wrong_secrets: AtomicU64::default(),
            connections,
        }
    }

    /// Somebody sent a wrong token, code or cookie.
    pub(super) fn wrong_secret(&self) {
        self.wrong_secrets.fetch_add(1, Ordering::Relaxed);
    }

    fn count(&self, status: StatusCode, took: Duration) {
        let digit = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        self.responses[digit].fetch_add(1, Ordering::Relaxed);
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let bucket = BUCKETS.iter().position(|it| millis <= *it).unwrap_or(BUCKETS.len());
        self.durations[bucket].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// The numbers in the text format of Prometheus.
    fn text(&self, streams: usize, version: &str) -> String {
        let mut out = String::new();
        let mut add = |name: &str, kind: &str, help: &str, values: &[(String, String)]| {
            // Writing to a string does not fail.
            let _ = writeln!(out, "# HELP punchlist_{name} {help}\n# TYPE punchlist_{name} {kind}");
            for (labels, value) in values {
                let _ = writeln!(out, "punchlist_{name}{labels} {value}");
            }
        };
        let read = |it: &AtomicU64| it.load(Ordering::Relaxed);
        let one = |value: String| [(String::new(), value)];
        add("info", "gauge", "The version.", &[(format!("{{version=\"{version}\"}}"), "1".into())]);
        let uptime = self.began.elapsed().as_secs().to_string();
        add("uptime_seconds", "gauge", "How long the server runs.", &one(uptime));
        let responses = self.responses.iter().enumerate();
        let responses: Vec<_> = responses
            .map(|(at, it)| (format!("{{status=\"{}xx\"}}", at + 1), read(it).to_string()))
            .collect();
        add("http_responses_total", "counter", "Responses by status.", &responses);
        let mut sum = 0;
        let mut buckets = Vec::new();
        for (at, it) in self.durations.iter().enumerate() {
            sum += read(it);
            let end = BUCKETS.get(at).map_or("+Inf".to_owned(), |it| seconds(*it * 1000));
            buckets.push((format!("_bucket{{le=\"{end}\"}}"), sum.to_string()));
        }
        buckets.push(("_sum".to_owned(), seconds(read(&self.micros))));
        buckets.push(("_count".to_owned(), sum.to_string()));
        let help = "How long a response took to begin.";
        add("http_request_duration_seconds", "histogram", help, &buckets);
        add("event_streams", "gauge", "Open streams of events.", &one(streams.to_string()));
        let connections = self.connections.taken().to_string();
        add("connections", "gauge", "Open connections.", &one(connections));
        let wrong = read(&self.wrong_secrets).to_string();
        add("wrong_secrets_total", "counter", "Wrong tokens, codes and cookies.", &one(wrong));
        out
    }
}

/// Microseconds as seconds.
fn seconds(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

/// The routes.
pub(super) fn router(served: Served) -> Router {
    let numbers = Router::new()
        .route("/metrics", get(metrics))
        .layer(from_fn_with_state(served.clone(), access::program));
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .merge(numbers)
        .with_state(served)
}

/// Whether the store can be read.
async fn ready(State(served): State<Served>) -> Response {
    match served.store().grant(GrantId::NIL).await {
        Ok(_) => "ready\n".into_response(),
        // What is wrong with the store is not for strangers.
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "the store cannot be read\n").into_response(),
    }
}

async fn metrics(State(served): State<Served>, caller: Caller) -> Result<Response, Problem> {
    if caller.project.is_some() {
        return Err(Problem::forbidden("the numbers are of all projects, and the token sees one"));
    }
    let text = served.metrics().text(served.hub().streams(), served.options().version);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}

/// Counts a request.
pub(super) async fn count(State(served): State<Served>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let response = next.run(request).await;
    served.metrics().count(response.status(), began.elapsed());
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_the_text_format_of_prometheus() {
        let metrics = Metrics::new(listen::Places::new(5));
        metrics.count(StatusCode::OK, Duration::from_millis(3));
        metrics.count(StatusCode::NOT_FOUND, Duration::from_secs(20));
        let text = metrics.text(7, "1.2");
        for line in [
            "punchlist_info{version=\"1.2\"} 1",
            "punchlist_http_responses_total{status=\"2xx\"} 1",
            "punchlist_http_responses_total{status=\"4xx\"} 1",
            "punchlist_http_request_duration_seconds_bucket{le=\"0.005000\"} 1",
            "punchlist_http_request_duration_seconds_bucket{le=\"+Inf\"} 2",
            "punchlist_http_request_duration_seconds_sum 20.003000",
            "punchlist_http_request_duration_seconds_count 2",
            "punchlist_event_streams 7",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\n{text}");
        }
    }
}

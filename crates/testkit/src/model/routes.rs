//! HTTP around the scripts: the paths of each API, and streams with their pace and their end.
//! Decides nothing that a script could.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use futures_util::stream;
use serde_json::{Value, json};

use super::api::Event;
use super::script::{Ending, Message, Turn};
use super::server::{Asked, Shared};
use super::{Api, usage_limit};

/// Every path that agents use.
pub(super) fn routes(state: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/messages", post(messages))
        .route("/v1/messages/count_tokens", post(count_tokens))
        .route("/v1/responses", post(responses))
        .route("/v1/chat/completions", post(chat))
        .route("/api/chat", post(ollama))
        .route("/v1/responses/compact", post(compact))
        .route("/v1/models", get(models))
        .route("/v1beta/models/{call}", post(gemini))
        .fallback(unknown)
        // Agents send the whole conversation with each request.
        .layer(DefaultBodyLimit::max(256 * 1024 * 1024))
        .with_state(state)
}

async fn messages(State(state): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let Some(body) = parsed(&body) else {
        return error(Api::Anthropic, 400, "invalid_request_error", 0);
    };
    let streamed = body["stream"] == true;
    let asked = Asked::new(Api::Anthropic, named(&body), &headers, body);
    reply(state, asked, streamed).await
}

async fn count_tokens() -> Response {
    Json(json!({"input_tokens": 100})).into_response()
}

async fn responses(State(state): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let Some(body) = parsed(&body) else {
        return error(Api::OpenAi, 400, "invalid_request_error", 0);
    };
    let streamed = body["stream"] == true;
    let asked = Asked::new(Api::OpenAi, named(&body), &headers, body);
    reply(state, asked, streamed).await
}

async fn chat(State(state): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let Some(body) = parsed(&body) else {
        return error(Api::OpenAiChat, 400, "invalid_request_error", 0);
    };
    let streamed = body["stream"] == true;
    let asked = Asked::new(Api::OpenAiChat, named(&body), &headers, body);
    reply(state, asked, streamed).await
}

/// Ollama streams unless it is told not to.
async fn ollama(State(state): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let Some(body) = parsed(&body) else {
        return error(Api::Ollama, 400, "invalid request", 0);
    };
    let streamed = body["stream"] != false;
    let asked = Asked::new(Api::Ollama, named(&body), &headers, body);
    reply(state, asked, streamed).await
}

async fn compact(State(state): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let Some(body) = parsed(&body) else {
        return error(Api::OpenAi, 400, "invalid_request_error", 0);
    };
    let summary = state.summary(Asked::new(Api::OpenAi, named(&body), &headers, body));
    let item = json!({"type": "compaction", "encrypted_content": summary});
    Json(json!({"output": [item]})).into_response()
}

/// An empty list: agents know enough models.
async fn models() -> Response {
    Json(json!({"models": [], "data": []})).into_response()
}

async fn gemini(
    State(state): State<Arc<Shared>>,
    Path(call): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(body) = parsed(&body) else {
        return error(Api::Gemini, 400, "INVALID_ARGUMENT", 0);
    };
    let (model, method) = call.rsplit_once(':').unwrap_or((&call, ""));
    match method {
        "streamGenerateContent" | "generateContent" => {
            let asked = Asked::new(Api::Gemini, model.to_owned(), &headers, body);
            reply(state, asked, method == "streamGenerateContent").await
        }
        "countTokens" => Json(json!({"totalTokens": 100})).into_response(),
        "embedContent" => Json(json!({"embedding": {"values": [0.0]}})).into_response(),
        _ => error(Api::Gemini, 404, "NOT_FOUND", 0),
    }
}

async fn unknown() -> Response {
    error(Api::Anthropic, 404, "not_found_error", 0)
}

fn parsed(body: &Bytes) -> Option<Value> {
    serde_json::from_slice(body).ok()
}

/// The requested model.
fn named(body: &Value) -> String {
    body["model"].as_str().unwrap_or("scripted").to_owned()
}

impl Asked {
    fn new(api: Api, model: String, headers: &HeaderMap, body: Value) -> Self {
        let names = ["x-api-key", "x-goog-api-key", "authorization"];
        let key_header = names.into_iter().find(|it| headers.contains_key(*it));
        Self { api, model, key_header, body }
    }
}

async fn reply(state: Arc<Shared>, asked: Asked, streamed: bool) -> Response {
    let (api, model) = (asked.api, asked.model.clone());
    let (turn, id) = state.answer(asked);
    match turn {
        Turn::Silence => {
            let _watch = Watch { state, is_over: false };
            std::future::pending().await
        }
        Turn::Redirect { to } => {
            (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, to)]).into_response()
        }
        Turn::TryLater { status, retry_after } => {
            let response = error(api, status, "rate_limit_error", id);
            ([(header::RETRY_AFTER, retry_after)], response).into_response()
        }
        Turn::UsageLimit { wait } => {
            let (headers, body) = usage_limit::answer(api, wait, id);
            let mut response = (StatusCode::TOO_MANY_REQUESTS, Json(body)).into_response();
            for (name, value) in headers {
                if let Ok(value) = value.parse() {
                    response.headers_mut().insert(name, value);
                }
            }
            response
        }
        Turn::Error { status, kind } => error(api, status, &kind, id),
        Turn::TooLong => (StatusCode::BAD_REQUEST, Json(api.too_long(id))).into_response(),
        Turn::Message(message) if streamed => {
            let events = api.events(&message, &model, id);
            streaming(api, &message, events, Watch { state, is_over: false })
        }
        Turn::Message(message) => Json(api.whole(&message, &model, id)).into_response(),
    }
}

fn error(api: Api, status: u16, kind: &str, id: usize) -> Response {
    let body = api.error(status, kind, id);
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, Json(body)).into_response()
}

/// Notices when the client goes away before the answer is over.
struct Watch {
    state: Arc<Shared>,
    is_over: bool,
}

impl Watch {
    fn end(&mut self) {
        self.is_over = true;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.is_over {
            self.state.abandoned();
        }
    }
}

fn streaming(api: Api, message: &Message, events: Vec<Event>, watch: Watch) -> Response {
    let (pace, ending) = (message.pace, message.ending.clone());
    let begun = (events.into_iter(), ending, watch);
    let body = stream::unfold(begun, move |(mut left, ending, mut watch)| async move {
        if let Some(pace) = pace {
            tokio::time::sleep(pace).await;
        }
        match (left.next(), &ending) {
            (Some(event), _) => Some((Ok(Bytes::from(api.frame(&event))), (left, ending, watch))),
            (None, Ending::Whole | Ending::Failed(_) | Ending::Unfinished) => {
                watch.end();
                None
            }
            (None, Ending::Cut) => {
                // Earlier events are sent only if the stream yields for a moment.
                tokio::task::yield_now().await;
                watch.end();
                Some((Err(io::Error::other("cut by the script")), (left, ending, watch)))
            }
            (None, Ending::Hang) => std::future::pending().await,
        }
    });
    let headers = [(header::CONTENT_TYPE, api.content_type()), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(body)).into_response()
}

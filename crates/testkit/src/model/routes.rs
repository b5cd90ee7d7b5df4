//! HTTP around the scripts: the paths of each API, and streams with their pace and their end.
//! Decides nothing that a script could.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use futures_util::stream;
use serde_json::{Value, json};

use super::Api;
use super::api::Event;
use super::script::{Ending, Message, Turn};
use super::server::Shared;

/// Every path that agents use.
pub(super) fn routes(state: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/messages", post(messages))
        .route("/v1/messages/count_tokens", post(count_tokens))
        .route("/v1/responses", post(responses))
        .route("/v1/responses/compact", post(compact))
        .route("/v1/models", get(models))
        .route("/v1beta/models/{call}", post(gemini))
        .fallback(unknown)
        // Agents send the whole conversation with each request.
        .layer(DefaultBodyLimit::max(256 * 1024 * 1024))
        .with_state(state)
}

async fn messages(State(state): State<Arc<Shared>>, body: Bytes) -> Response {
    let Some(body) = parsed(&body) else {
        return error(Api::Anthropic, 400, "invalid_request_error", 0);
    };
    let streamed = body["stream"] == true;
    reply(&state, Api::Anthropic, named(&body), body, streamed)
}

async fn count_tokens() -> Response {
    Json(json!({"input_tokens": 100})).into_response()
}

async fn responses(State(state): State<Arc<Shared>>, body: Bytes) -> Response {
    let Some(body) = parsed(&body) else {
        return error(Api::OpenAi, 400, "invalid_request_error", 0);
    };
    let streamed = body["stream"] == true;
    reply(&state, Api::OpenAi, named(&body), body, streamed)
}

async fn compact(State(state): State<Arc<Shared>>, body: Bytes) -> Response {
    let Some(body) = parsed(&body) else {
        return error(Api::OpenAi, 400, "invalid_request_error", 0);
    };
    let summary = state.summary(Api::OpenAi, named(&body), body);
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
    body: Bytes,
) -> Response {
    let Some(body) = parsed(&body) else {
        return error(Api::Gemini, 400, "INVALID_ARGUMENT", 0);
    };
    let (model, method) = call.rsplit_once(':').unwrap_or((&call, ""));
    match method {
        "streamGenerateContent" => reply(&state, Api::Gemini, model.to_owned(), body, true),
        "generateContent" => reply(&state, Api::Gemini, model.to_owned(), body, false),
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

fn reply(state: &Shared, api: Api, model: String, body: Value, streamed: bool) -> Response {
    let (turn, id) = state.answer(api, model.clone(), body);
    match turn {
        Turn::Error { status, kind } => error(api, status, &kind, id),
        Turn::TooLong => (StatusCode::BAD_REQUEST, Json(api.too_long(id))).into_response(),
        Turn::Message(message) if streamed => streaming(&message, api.events(&message, &model, id)),
        Turn::Message(message) => Json(api.whole(&message, &model, id)).into_response(),
    }
}

fn error(api: Api, status: u16, kind: &str, id: usize) -> Response {
    let body = api.error(status, kind, id);
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, Json(body)).into_response()
}

fn streaming(message: &Message, events: Vec<Event>) -> Response {
    let (pace, ending) = (message.pace, message.ending.clone());
    let begun = (events.into_iter(), ending);
    let body = stream::unfold(begun, move |(mut left, ending)| async move {
        if let Some(pace) = pace {
            tokio::time::sleep(pace).await;
        }
        match (left.next(), &ending) {
            (Some(Event { name, data }), _) => {
                let name = name.map(|it| format!("event: {it}\n")).unwrap_or_default();
                let text = format!("{name}data: {data}\n\n");
                Some((Ok(Bytes::from(text)), (left, ending)))
            }
            (None, Ending::Whole | Ending::Failed(_)) => None,
            (None, Ending::Cut) => {
                // Earlier events are sent only if the stream yields for a moment.
                tokio::task::yield_now().await;
                Some((Err(io::Error::other("cut by the script")), (left, ending)))
            }
            (None, Ending::Hang) => std::future::pending().await,
        }
    });
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(body)).into_response()
}

//! Serves scripts over HTTP on a loopback port and keeps what was asked.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::post;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::Request;
use super::script::{Ending, Message, OVER, Script, Turn};
use super::stream::{Event, events, whole};

/// The scripts of a model, before it is served.
#[derive(Debug)]
pub struct Model {
    scripts: Vec<(String, Script)>,
    aside: String,
}

impl Model {
    /// A model that follows one script.
    #[must_use]
    pub fn new(script: Script) -> Self {
        Self { scripts: vec![(String::new(), script)], aside: "ok".to_owned() }
    }

    /// Follows another script in conversations whose first message from the user contains this
    /// text: those of sub-agents, or of a second agent.
    #[must_use]
    pub fn conversation(mut self, text: &str, script: Script) -> Self {
        // The script for all the rest stays the last.
        self.scripts.insert(self.scripts.len().saturating_sub(1), (text.to_owned(), script));
        self
    }

    /// What is answered to requests that offer no tools: agents have titles made, and the like.
    #[must_use]
    pub fn aside(mut self, text: &str) -> Self {
        text.clone_into(&mut self.aside);
        self
    }

    /// Serves the model on a port of this machine until the server is dropped.
    pub fn serve(self) -> io::Result<Server> {
        let state = Arc::new(Shared {
            inner: Mutex::new(Inner { model: self, seen: Vec::new(), asides: Vec::new(), id: 0 }),
            news: Condvar::new(),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let (tell, told) = mpsc::channel();
        let routes = routes(Arc::clone(&state));
        let thread = thread::Builder::new().name("scripted model".to_owned()).spawn(move || {
            runtime.block_on(async {
                let listener = match TcpListener::bind(("127.0.0.1", 0)).await {
                    Ok(listener) => listener,
                    Err(error) => return drop(tell.send(Err(error))),
                };
                drop(tell.send(listener.local_addr()));
                // Streams that hang must not hold the end up, so nothing is waited for.
                tokio::select! {
                    ended = axum::serve(listener, routes).into_future() => drop(ended),
                    _ended = stopped => {}
                }
            });
            runtime.shutdown_background();
        })?;
        let address = told.recv().map_err(io::Error::other)??;
        Ok(Server { address, state, stop: Some(stop), thread: Some(thread) })
    }
}

/// A model that is being served. Ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    state: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    inner: Mutex<Inner>,
    news: Condvar,
}

#[derive(Debug)]
struct Inner {
    model: Model,
    seen: Vec<Request>,
    asides: Vec<Request>,
    id: usize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A script that panicked has failed its test already; what was seen is still worth showing.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// Where it is: what an agent takes for `ANTHROPIC_BASE_URL`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address and port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What the model was sent so far, in every conversation, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.state.lock().seen.clone()
    }

    /// What it was sent in one conversation: the text that tells it apart, or empty.
    #[must_use]
    pub fn requests_of(&self, conversation: &str) -> Vec<Request> {
        let seen = self.requests().into_iter();
        seen.filter(|it| it.conversation == conversation).collect()
    }

    /// Requests that offered no tools, and were no part of a conversation.
    #[must_use]
    pub fn asides(&self) -> Vec<Request> {
        self.state.lock().asides.clone()
    }

    /// How many answers of all scripts were never asked for.
    #[must_use]
    pub fn left(&self) -> usize {
        self.state.lock().model.scripts.iter().map(|it| it.1.left()).sum()
    }

    /// Waits until this many requests have come in a conversation; whether they did in time.
    #[must_use]
    pub fn wait_for(&self, conversation: &str, requests: usize, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        let mut inner = self.state.lock();
        loop {
            let count = inner.seen.iter().filter(|it| it.conversation == conversation).count();
            if count >= requests {
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.state.news.wait_timeout(inner, left);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Dropping the sender is the signal, whether or not anybody still listens for it.
        drop(self.stop.take());
        drop(self.thread.take().map(thread::JoinHandle::join));
    }
}

fn routes(state: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/messages", post(messages))
        .route("/v1/messages/count_tokens", post(count_tokens))
        .fallback(unknown)
        // Agents send their whole conversation each time.
        .layer(DefaultBodyLimit::max(256 * 1024 * 1024))
        .with_state(state)
}

async fn count_tokens() -> Response {
    Json(json!({"input_tokens": 100})).into_response()
}

async fn unknown() -> Response {
    error(404, "not_found_error", 0)
}

async fn messages(State(state): State<Arc<Shared>>, body: Bytes) -> Response {
    let Ok(body) = serde_json::from_slice::<Value>(&body) else {
        return error(400, "invalid_request_error", 0);
    };
    let model = body["model"].as_str().unwrap_or("scripted").to_owned();
    let streamed = body["stream"] == true;
    let (turn, id) = answer(&state, body);
    match turn {
        Turn::Error { status, kind } => error(status, &kind, id),
        Turn::Message(message) if streamed => streaming(&message, events(&message, &model, id)),
        Turn::Message(message) => Json(whole(&message, &model, id)).into_response(),
    }
}

/// What is answered, and a number that no other answer has.
fn answer(state: &Shared, body: Value) -> (Turn, usize) {
    let mut inner = state.lock();
    let inner = &mut *inner;
    inner.id += 1;
    let mut request = Request { conversation: String::new(), body };
    if request.tools().is_empty() {
        inner.asides.push(request);
        return (Message::new().says(inner.model.aside.clone()).into(), inner.id);
    }
    let opening = request.opening();
    let script = inner.model.scripts.iter_mut().find(|it| opening.contains(&it.0));
    let turn = script.and_then(|(name, script)| {
        request.conversation.clone_from(name);
        script.next(&request)
    });
    inner.seen.push(request);
    state.news.notify_all();
    (turn.unwrap_or_else(|| Message::new().says(OVER).into()), inner.id)
}

fn error(status: u16, kind: &str, id: usize) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = json!({"type": "error", "error": {"type": kind, "message": "as the script says"},
        "request_id": format!("req_{id:06}")});
    (status, Json(body)).into_response()
}

fn streaming(message: &Message, events: Vec<Event>) -> Response {
    let (pace, ending) = (message.pace, message.ending);
    let body = stream::unfold(events.into_iter(), move |mut left| async move {
        if let Some(pace) = pace {
            tokio::time::sleep(pace).await;
        }
        match (left.next(), ending) {
            (Some((name, data)), _) => {
                let text = format!("event: {name}\ndata: {data}\n\n");
                Some((Ok(Bytes::from(text)), left))
            }
            (None, Ending::Whole) => None,
            (None, Ending::Cut) => {
                // What was sent before goes out only if the stream pauses for a moment.
                tokio::task::yield_now().await;
                Some((Err(io::Error::other("cut by the script")), left))
            }
            (None, Ending::Hang) => std::future::pending().await,
        }
    });
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(body)).into_response()
}

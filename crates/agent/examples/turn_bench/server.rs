//! A model server that answers at once: OpenAI's chat completions, with answers made before.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::Outcome;

/// How many items the plan has.
const ITEMS: usize = 20;
/// The least number of answers: an item takes at least three.
pub(super) const LEAST: usize = ITEMS * 3 + 2;

/// A server in a thread of its own, which ends with the program.
pub(super) struct Server {
    address: SocketAddr,
    answers: Arc<Answers>,
}

/// Answers without their last part, which has the number of tokens.
struct Answers {
    texts: Vec<String>,
    summary: String,
    next: AtomicUsize,
}

impl Server {
    /// Serves a turn of so many calls: the model makes a plan, looks at things, completes the items one
    /// after the other, and answers.
    pub(super) fn start(calls: usize) -> Outcome<Self> {
        if calls < LEAST {
            return Err(format!("a turn has at least {LEAST} calls").into());
        }
        let answers = Arc::new(Answers {
            texts: (0..calls).map(|at| answer(at, calls)).collect(),
            summary: text("The plan is made. All that was looked at is as expected."),
            next: AtomicUsize::new(0),
        });
        let routes = Router::new()
            .route("/v1/chat/completions", post(respond))
            .with_state(Arc::clone(&answers));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            runtime.block_on(async {
                let bound = match TcpListener::bind(("127.0.0.1", 0)).await {
                    Ok(bound) => bound,
                    Err(why) => return drop(sender.send(Err(why))),
                };
                drop(sender.send(bound.local_addr()));
                drop(axum::serve(bound, routes).await);
            });
        });
        Ok(Self { address: receiver.recv()??, answers })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Begins again with the first answer.
    pub(super) fn rewind(&self) {
        self.answers.next.store(0, Ordering::Relaxed);
    }
}

async fn respond(State(answers): State<Arc<Answers>>, body: Bytes) -> impl IntoResponse {
    // Only the request for a summary offers no tools.
    let has_tools = std::str::from_utf8(&body).is_ok_and(|it| it.contains("\"tools\":["));
    let text = if has_tools {
        let at = answers.next.fetch_add(1, Ordering::Relaxed);
        answers.texts.get(at).unwrap_or(&answers.summary)
    } else {
        &answers.summary
    };
    let mut stream = text.clone();
    let input = body.len() / 4;
    let usage =
        json!({"prompt_tokens": input, "completion_tokens": 25, "total_tokens": input + 25});
    let event = json!({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [],
        "usage": usage});
    stream.push_str(&format!("data: {event}\n\ndata: [DONE]\n\n"));
    ([(CONTENT_TYPE, "text/event-stream")], stream)
}

/// What the model says at one of its calls.
fn answer(at: usize, calls: usize) -> String {
    if at == 0 {
        let titles = (1..=ITEMS).map(|it| json!({"title": format!("Look after part {it}")}));
        return call(at, "create_todo", &json!({"items": titles.collect::<Vec<Value>>()}));
    }
    if at == calls - 1 {
        return text("Every part is looked after.");
    }
    let each = (calls - 2) / ITEMS;
    let (item, step) = ((at - 1) / each + 1, (at - 1) % each);
    let id = item.to_string();
    if item > ITEMS {
        call(at, "look", &json!({"at": at}))
    } else if step == 0 {
        call(at, "update_todo", &json!({"todoId": id, "status": "in_progress"}))
    } else if step == each - 1 {
        call(at, "complete_todo", &json!({"todoId": id, "outcome": "all is as expected"}))
    } else {
        call(at, "look", &json!({"at": at}))
    }
}

fn call(at: usize, tool: &str, arguments: &Value) -> String {
    let function = json!({"name": tool, "arguments": arguments.to_string()});
    let call =
        json!({"index": 0, "id": format!("call_{at}"), "type": "function", "function": function});
    events(&[json!({"content": "I go on. "}), json!({"tool_calls": [call]})], "tool_calls")
}

fn text(text: &str) -> String {
    events(&[json!({"role": "assistant", "content": text})], "stop")
}

fn events(deltas: &[Value], finish: &str) -> String {
    let chunk = |delta: &Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        let event = json!({"id": "c", "object": "chat.completion.chunk", "model": "m",
            "choices": [choice]});
        format!("data: {event}\n\n")
    };
    let mut stream: String = deltas.iter().map(|it| chunk(it, Value::Null)).collect();
    stream.push_str(&chunk(&json!({}), json!(finish)));
    stream
}

//! `GET /api/v1/events`: server-sent events.
//!
//! `entry` is a journal entry, with an id. `reload` says that something else may have changed.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;

use super::Served;
use super::access::Caller;
use super::hub::{News, Subscription};
use super::pairs::Query;
use super::problem::Problem;

/// How often a comment keeps an idle stream open.
const ALIVE: Duration = Duration::from_secs(15);

/// The longest id that a client may send.
const LONGEST_ID: usize = 200;

/// A stream of events.
pub(super) async fn events(
    State(served): State<Served>,
    caller: Caller,
    headers: HeaderMap,
    Query(query): Query,
) -> Result<Response, Problem> {
    // A client that cannot set headers sends the id in the address.
    let after = match headers.get("last-event-id") {
        Some(id) => Some(id.to_str().map_err(|_| bad_id())?),
        None => query.get("after"),
    };
    let after = after.filter(|it| !it.is_empty());
    if after.is_some_and(|it| !is_id(it)) {
        return Err(bad_id());
    }
    let subscription = served.hub().subscribe(&caller, after).await?;
    Ok(respond(subscription, |news| Some(frame(&news))))
}

/// Whether a text can be an id of an event: numbers, with dots and hyphens between them. A store takes a text
/// that it does not know for the beginning, and the client would get the whole journal.
fn is_id(text: &str) -> bool {
    let is_part = |it: u8| it.is_ascii_digit() || it == b'.' || it == b'-';
    let begins = text.bytes().next().is_some_and(|it| it.is_ascii_digit());
    begins && text.len() <= LONGEST_ID && text.bytes().all(is_part)
}

fn bad_id() -> Problem {
    Problem::bad_request("Last-Event-ID is not an id of an event")
        .hint("send the last id that you got, or none.")
}

/// A response with the frames that `write` makes of news; it leaves out news of which it makes none.
pub fn respond(
    subscription: Subscription,
    write: impl Fn(News) -> Option<String> + Send + 'static,
) -> Response {
    let frames = stream::unfold((subscription, write), |(mut subscription, write)| async move {
        loop {
            let frame = match tokio::time::timeout(ALIVE, subscription.next()).await {
                Err(_) => Some(":\n\n".to_owned()),
                Ok(None) => return None,
                Ok(Some(news)) => write(news),
            };
            if let Some(frame) = frame {
                return Some((Ok::<_, Infallible>(Bytes::from(frame)), (subscription, write)));
            }
        }
    });
    let mut response = Body::from_stream(frames).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // A proxy must pass events on at once.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// A piece of news as an event.
fn frame(news: &News) -> String {
    match news {
        News::Entry(it) => format!("id: {}\nevent: entry\ndata: {}\n\n", it.cursor, it.json),
        News::Reload(cursor) => {
            let mut frame = String::new();
            if let Some(cursor) = cursor.as_ref().filter(|it| !it.is_empty()) {
                // Writing to a string does not fail.
                let _ = writeln!(frame, "id: {cursor}");
            }
            frame + "event: reload\ndata: {}\n\n"
        }
    }
}

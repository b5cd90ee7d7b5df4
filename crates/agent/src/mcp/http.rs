//! The HTTP backend of rmcp's client, with limits: no answer and no event is read beyond
//! [`LARGEST_MESSAGE`], and no redirect is followed, because the headers may contain keys.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{RequestBuilder, Response, StatusCode, Url};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use super::stdio::LARGEST_MESSAGE;

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(20);
/// How much of the body of an error is read.
const LONGEST_ERROR: usize = 16 * 1024;
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: &str = "mcp-session-id";

type Failure = StreamableHttpError<io::Error>;
type Events = BoxStream<'static, Result<Sse, SseError>>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// The backend.
#[derive(Clone)]
pub(super) struct Client(reqwest::Client);

impl Client {
    /// A client for a server at this address.
    pub(super) fn new(url: &str) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|why| format!("its url cannot be read: {why}"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err("its url must begin with http:// or https://".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("its url contains a password: use headers instead".to_owned());
        }
        // Only the first caller in a process installs it; whoever comes later finds it there.
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut client = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            .redirect(reqwest::redirect::Policy::none());
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        if host == "localhost" || host.parse().is_ok_and(|it: IpAddr| it.is_loopback()) {
            client = client.no_proxy();
        }
        client.build().map(Self).map_err(|why| why.to_string())
    }
}

/// A configured header. Those that the protocol sets itself are refused.
pub(super) fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    const OURS: &[&str] =
        &["accept", "connection", "content-length", "content-type", "host", "transfer-encoding"];
    let bad = || format!("the header {name:?} cannot be sent");
    let parsed: HeaderName = name.parse().map_err(|_| bad())?;
    let is_ours = OURS.contains(&parsed.as_str());
    if is_ours || parsed.as_str().starts_with("mcp-") || parsed == "last-event-id" {
        return Err(format!("the header {name:?} is set by the protocol"));
    }
    let mut value: HeaderValue = value.parse().map_err(|_| bad())?;
    value.set_sensitive(true);
    Ok((parsed, value))
}

/// The address may contain a key, so it is in no message.
fn failed(why: reqwest::Error) -> Failure {
    let why = why.without_url();
    let mut text = why.to_string();
    let mut source = std::error::Error::source(&why);
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    StreamableHttpError::Client(io::Error::other(text))
}

fn unexpected(what: impl Into<String>) -> Failure {
    StreamableHttpError::UnexpectedServerResponse(Cow::Owned(what.into()))
}

fn with(mut request: RequestBuilder, session: Option<&str>, headers: Headers) -> RequestBuilder {
    for (name, value) in headers {
        request = request.header(name, value);
    }
    match session {
        Some(session) => request.header(SESSION, session),
        None => request,
    }
}

fn is(response: &Response, kind: &str) -> bool {
    let given = response.headers().get(CONTENT_TYPE);
    given.is_some_and(|it| it.as_bytes().to_ascii_lowercase().starts_with(kind.as_bytes()))
}

/// The body, up to a limit.
async fn body(mut response: Response, most: usize) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(failed)? {
        if body.len() + piece.len() > most {
            return Err(unexpected(format!("it sent an answer of more than {most} bytes")));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// The events of a response, each up to the limit.
fn events(response: Response) -> Events {
    let mut size = EventSize::default();
    let pieces = response.bytes_stream().map(move |piece| {
        let piece = piece.map_err(|why| io::Error::other(why.without_url()))?;
        size.add(&piece)?;
        Ok::<_, io::Error>(piece)
    });
    SseStream::from_bytes_stream(pieces).boxed()
}

/// How long the current event is so far. An empty line ends it.
#[derive(Default)]
struct EventSize {
    event: usize,
    line: usize,
}

impl EventSize {
    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        for byte in bytes {
            self.event += 1;
            match byte {
                b'\n' | b'\r' => {
                    if self.line == 0 {
                        self.event = 0;
                    }
                    self.line = 0;
                }
                _ => self.line += 1,
            }
            if self.event > LARGEST_MESSAGE {
                return Err(io::Error::other(format!(
                    "an event of more than {LARGEST_MESSAGE} bytes"
                )));
            }
        }
        Ok(())
    }
}

/// What an answer to a message means.
async fn answer(
    response: Response,
    message: &ClientJsonRpcMessage,
    had_session: bool,
) -> Result<StreamableHttpPostResponse, Failure> {
    let status = response.status();
    if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    if status == StatusCode::NOT_FOUND && had_session {
        return Err(StreamableHttpError::SessionExpired);
    }
    let session = response.headers().get(SESSION).and_then(|it| it.to_str().ok());
    let session = session.map(str::to_owned);
    let is_json = is(&response, JSON);
    if !status.is_success() {
        if is_json && let Ok(body) = body(response, LONGEST_ERROR).await {
            let error = serde_json::from_slice(&body).ok();
            if let Some(error @ ServerJsonRpcMessage::Error(_)) = error {
                return Ok(StreamableHttpPostResponse::Json(error, session));
            }
        }
        return Err(unexpected(format!("it answered HTTP {status}")));
    }
    if is(&response, EVENTS) {
        return Ok(StreamableHttpPostResponse::Sse(events(response), session));
    }
    let needs_answer = matches!(message, ClientJsonRpcMessage::Request(_));
    if !is_json {
        return if needs_answer {
            Err(unexpected("it sent an answer that is neither JSON nor a stream of events"))
        } else {
            Ok(StreamableHttpPostResponse::Accepted)
        };
    }
    let body = body(response, LARGEST_MESSAGE).await?;
    match serde_json::from_slice(&body) {
        Ok(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
        Err(_) if !needs_answer => Ok(StreamableHttpPostResponse::Accepted),
        Err(why) => Err(unexpected(format!("it sent an answer that is no message: {why}"))),
    }
}

impl StreamableHttpClient for Client {
    type Error = io::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let request = self.0.post(uri.as_ref()).header(ACCEPT, format!("{EVENTS}, {JSON}"));
        let request = with(request, session_id.as_deref(), custom_headers);
        let response = request.json(&message).send().await.map_err(failed)?;
        answer(response, &message, session_id.is_some()).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), Failure> {
        let request = with(self.0.delete(uri.as_ref()), Some(session_id.as_ref()), custom_headers);
        // A server need not support it.
        request.send().await.map(drop).map_err(failed)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<Events, Failure> {
        let mut request = self.0.get(uri.as_ref()).header(ACCEPT, EVENTS);
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let request = with(request, session_id.as_deref(), custom_headers);
        let response = request.send().await.map_err(failed)?;
        if !response.status().is_success() || !is(&response, EVENTS) {
            // The stream is optional. Whatever is wrong shows with the next message.
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        Ok(events(response))
    }
}

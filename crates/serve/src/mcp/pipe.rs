//! The connection over two streams, one JSON object per line.
//!
//! A line is parsed as a message of the MCP library, which handles it. A line that is not a message
//! is answered here and does not end the connection. Nor does a line of any length: no more of it
//! is kept than the limit. The library may drop the future that waits for the next message at any
//! moment; an answer that is being written is kept here and finished by the next wait.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::future::BoxFuture;
use punchlist_formats::text::escape;
use punchlist_model::json_text::replace_lone_surrogates;
use rmcp::model::{
    ClientNotification, ClientRequest, ErrorCode, ErrorData, GetMeta, JsonRpcMessage,
    ProtocolVersion, ServerResult,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::error::Category;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex as AsyncMutex;

use super::Server;
use super::batch::{Batch, Batches, MOST};
use crate::lines::{LONGEST, Lines, Next, TooLongLine};
use crate::skim::{Sender, Skim};

/// May precede the first character; ignored.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A connection.
pub(super) struct Pipe<R, W> {
    server: Server,
    lines: Lines<R>,
    out: Out<W>,
    /// An answer that is being written.
    writing: Option<BoxFuture<'static, ()>>,
    /// Answers to write before the next line is read.
    unwritten: Vec<u8>,
    /// Messages of a batch that the library has not received yet.
    queue: VecDeque<RxJsonRpcMessage<RoleServer>>,
    batches: Arc<Mutex<Batches>>,
    /// Whether the negotiated revision has batches.
    has_batches: bool,
    /// Whether a request has come that starts the session. Until then the library accepts no
    /// notification.
    has_session: bool,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Pipe<R, W> {
    pub(super) fn new(server: Server, read: R, write: W) -> Self {
        Self {
            server,
            lines: Lines::new(read),
            out: Out { stream: Arc::new(AsyncMutex::new(Some(write))) },
            writing: None,
            unwritten: Vec::new(),
            queue: VecDeque::new(),
            batches: Arc::default(),
            has_batches: false,
            has_session: false,
        }
    }

    /// Queues an error for a line. A notification gets no answer.
    fn queue_error(&mut self, sender: Sender, code: ErrorCode, why: String) {
        if let Some(line) = error_line(sender, code, why) {
            self.unwritten.extend_from_slice(&line);
        }
    }

    /// Parses the line. If it is not a message, queues an error and returns `None`.
    fn message(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let line = std::mem::take(&mut self.lines.line);
        let message = self.message_of(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line));
        // Put the buffer back, to reuse it.
        self.lines.line = line;
        self.lines.clear();
        message
    }

    fn message_of(&mut self, line: &[u8]) -> Option<RxJsonRpcMessage<RoleServer>> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return None;
        }
        if line.starts_with(b"[")
            && let Ok(messages) = serde_json::from_slice::<Vec<&RawValue>>(line)
        {
            self.batch(&messages);
            return self.queue.pop_front();
        }
        match serde_json::from_slice(line) {
            Ok(message) => {
                self.track(&message);
                self.is_accepted(&message).then_some(message)
            }
            Err(why) => {
                let (sender, code, why) = error_of(line, &why);
                self.queue_error(sender, code, why);
                None
            }
        }
    }

    /// Parses a batch. Its messages are queued one by one; their answers go back in one line.
    fn batch(&mut self, messages: &[&RawValue]) {
        let why = match messages.len() {
            _ if !self.has_batches => {
                "Invalid request: a line is one message; only the revision 2025-03-26 has batches"
            }
            0 => "Invalid request: the batch is empty",
            count if count > MOST => "Invalid request: a batch has at most 1000 messages",
            _ => "",
        };
        if !why.is_empty() {
            return self.queue_error(Sender::Unknown, ErrorCode::INVALID_REQUEST, why.to_owned());
        }
        let mut batch = Batch::default();
        for message in messages {
            let line = message.get().as_bytes();
            let bad = match serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(line) {
                Ok(JsonRpcMessage::Request(it)) if is_initialize(&it.request) => Some((
                    Sender::Request(it.id),
                    "initialize is not allowed in a batch".to_owned(),
                )),
                Ok(JsonRpcMessage::Request(it)) if !batch.awaits(it.id.clone()) => {
                    Some((Sender::Unknown, "two requests of the batch have the same id".to_owned()))
                }
                Ok(message) => {
                    self.track(&message);
                    if self.is_accepted(&message) {
                        self.queue.push_back(message);
                    }
                    None
                }
                Err(why) => {
                    let (sender, _, why) = error_of(line, &why);
                    Some((sender, why))
                }
            };
            if let Some((sender, why)) = bad
                && let Some(line) = error_line(sender, ErrorCode::INVALID_REQUEST, why)
            {
                batch.answer(line);
            }
        }
        let answered = locked(&self.batches).begin(batch);
        self.unwritten.extend(answered.into_iter().flatten());
    }

    /// Whether the library accepts this message. It would end the server for a notification that
    /// comes before the first request.
    fn is_accepted(&self, message: &RxJsonRpcMessage<RoleServer>) -> bool {
        self.has_session || matches!(message, JsonRpcMessage::Request(_))
    }

    /// Updates the state that later messages depend on.
    fn track(&mut self, message: &RxJsonRpcMessage<RoleServer>) {
        match message {
            JsonRpcMessage::Request(it) => self.has_session |= starts_session(&it.request),
            JsonRpcMessage::Notification(it) => {
                // A cancelled request gets no answer.
                if let ClientNotification::CancelledNotification(it) = &it.notification
                    && let Some(id) = &it.params.request_id
                {
                    let settled = locked(&self.batches).cancelled(id);
                    self.unwritten.extend(settled.into_iter().flatten());
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    /// Begins to write the queued answers.
    fn write_answers(&mut self) {
        let (line, out) = (std::mem::take(&mut self.unwritten), self.out.clone());
        self.writing = Some(Box::pin(async move {
            // If the client is gone, the end of its stream will tell.
            out.write(&line).await.ok();
        }));
    }
}

impl<R, W> Transport<RoleServer> for Pipe<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Response(it) => {
                if let ServerResult::InitializeResult(result) = &it.result {
                    self.has_batches = result.protocol_version == ProtocolVersion::V_2025_03_26;
                }
                Some(it.id.clone())
            }
            JsonRpcMessage::Error(it) => it.id.clone(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let (out, batches) = (self.out.clone(), Arc::clone(&self.batches));
        async move {
            let line = written(&item)?;
            // An answer to a request of a batch waits for the others.
            let line = match &answered {
                Some(id) => locked(&batches).answered(id, line),
                None => Some(line),
            };
            match line {
                Some(line) => out.write(&line).await,
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(writing) = &mut self.writing {
                writing.await;
                self.writing = None;
            }
            if !self.unwritten.is_empty() {
                self.write_answers();
                continue;
            }
            if let Some(message) = self.queue.pop_front() {
                return Some(message);
            }
            match self.lines.next().await {
                Next::Line => {
                    if let Cow::Owned(line) = replace_lone_surrogates(&self.lines.line) {
                        self.lines.line = line;
                    }
                    if let Some(message) = self.message() {
                        return Some(message);
                    }
                }
                Next::TooLong(TooLongLine { length, skim }) => {
                    self.queue_error(skim.sender(), ErrorCode::INVALID_REQUEST, too_long(length));
                }
                Next::End => {
                    self.server.inner.ended.send_replace(true);
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        drop(self.out.stream.lock().await.take());
        Ok(())
    }
}

/// Writes answers, a whole line at a time.
struct Out<W> {
    /// `None` once it is closed.
    stream: Arc<AsyncMutex<Option<W>>>,
}

impl<W> Clone for Out<W> {
    fn clone(&self) -> Self {
        Self { stream: Arc::clone(&self.stream) }
    }
}

impl<W: AsyncWrite + Unpin> Out<W> {
    async fn write(&self, line: &[u8]) -> io::Result<()> {
        match &mut *self.stream.lock().await {
            Some(stream) => {
                stream.write_all(line).await?;
                stream.flush().await
            }
            None => Err(io::Error::new(io::ErrorKind::NotConnected, "the connection is closed")),
        }
    }
}

/// The error for a line that is not a message, and whom to answer.
fn error_of(line: &[u8], why: &serde_json::Error) -> (Sender, ErrorCode, String) {
    match why.classify() {
        Category::Syntax | Category::Eof => {
            let why = format!("Parse error: the line is not JSON ({why})");
            (Sender::Unknown, ErrorCode::PARSE_ERROR, why)
        }
        Category::Data | Category::Io => (
            Skim::of(line),
            ErrorCode::INVALID_REQUEST,
            "Invalid request: a message is a JSON object with \"jsonrpc\": \"2.0\", a \"method\" that is a \
             string and, if it is to be answered, an \"id\" that is a string or a whole number"
                .to_owned(),
        ),
    }
}

/// The error for a line of this length.
fn too_long(length: usize) -> String {
    format!(
        "Request too long: it has {length} bytes, and at most {LONGEST} (16 MiB) are read. Send fewer or \
         shorter items in each call."
    )
}

/// The line with an error; `None` if nobody must be answered.
fn error_line(sender: Sender, code: ErrorCode, why: String) -> Option<Vec<u8>> {
    let error = ErrorData::new(code, why, None);
    match sender {
        Sender::Notification => None,
        Sender::Request(id) => {
            written(&TxJsonRpcMessage::<RoleServer>::error(error, Some(id))).ok()
        }
        // The library would leave out the id, and a client that finds none waits for ever.
        Sender::Unknown => {
            let message = serde_json::json!({"jsonrpc": "2.0", "id": null, "error": error});
            Some(escaped(message.to_string() + "\n").into_bytes())
        }
    }
}

/// Whether this request starts the session: it is a handshake, or has everything that a handshake
/// would contain.
fn starts_session(request: &ClientRequest) -> bool {
    if is_initialize(request) {
        return true;
    }
    // These two are answered before a session starts.
    if matches!(request, ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_)) {
        return false;
    }
    let meta = request.get_meta();
    let version = meta.protocol_version();
    meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
        && version.is_some_and(|it| ProtocolVersion::KNOWN_VERSIONS.contains(&it))
}

fn is_initialize(request: &ClientRequest) -> bool {
    matches!(request, ClientRequest::InitializeRequest(_))
}

/// A message as a line.
fn written(message: &TxJsonRpcMessage<RoleServer>) -> serde_json::Result<Vec<u8>> {
    Ok(escaped(serde_json::to_string(message)? + "\n").into_bytes())
}

/// Escapes characters that could affect a terminal. The JSON has the same values.
fn escaped(json: String) -> String {
    match escape::json(&json) {
        Cow::Owned(escaped) => escaped,
        Cow::Borrowed(_) => json,
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // No holder panics with a half-written state, so the state behind a poisoned lock is valid.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The connection over two streams, one JSON object a line: how lines are read and judged.
//!
//! A line is read as one of the library's messages, and the library does the rest. A line that is no
//! message is answered here and ends nothing; neither does one of any length, of which no more is kept than
//! what is allowed. The library may drop its wait for the next message at any moment; an answer that has been
//! begun is kept here and is finished at the next wait.

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
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex as AsyncMutex;

use super::Server;
use super::batch::{Batch, Batches, MOST};
use super::skim::{Sender, Skim};

/// The longest message that is read, with the end of its line; a longer one is refused.
const LONGEST: usize = 16 * 1024 * 1024;

/// The room for a line that is kept for the next one.
const ROOM: usize = 1024 * 1024;

/// What may stand before the first letter, and means nothing.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A connection.
pub(super) struct Pipe<R, W> {
    server: Server,
    read: BufReader<R>,
    /// What has come of the line that is being read.
    line: Vec<u8>,
    /// The line that is being read, if it is too long: nothing is kept of it.
    excess: Option<Excess>,
    out: Out<W>,
    /// An answer that is being written.
    begun: Option<BoxFuture<'static, ()>>,
    /// What is to be written before the next line is read.
    unsaid: Vec<u8>,
    /// Messages of a batch that the library has yet to get.
    queue: VecDeque<RxJsonRpcMessage<RoleServer>>,
    batches: Arc<Mutex<Batches>>,
    /// Whether the client has agreed to a revision that has batches.
    has_batches: bool,
    /// Whether a request has come with which the library begins: until then it takes no notification.
    begins: bool,
}

/// A line that is too long.
#[derive(Default)]
struct Excess {
    /// How long it is so far.
    length: usize,
    skim: Skim,
}

impl Excess {
    fn read(&mut self, piece: &[u8]) {
        self.length = self.length.saturating_add(piece.len());
        self.skim.read(piece);
    }
}

/// What has been read.
enum Next {
    /// A line, which is kept.
    Line,
    TooLong(Excess),
    /// There is no more.
    End,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Pipe<R, W> {
    pub(super) fn new(server: Server, read: R, write: W) -> Self {
        Self {
            server,
            read: BufReader::new(read),
            line: Vec::new(),
            excess: None,
            out: Out { stream: Arc::new(AsyncMutex::new(Some(write))) },
            begun: None,
            unsaid: Vec::new(),
            queue: VecDeque::new(),
            batches: Arc::default(),
            has_batches: false,
            begins: false,
        }
    }

    /// Reads up to the end of the line.
    async fn next_line(&mut self) -> Next {
        loop {
            let (taken, is_end) = match self.read.fill_buf().await {
                // A line without an end is no message.
                Ok([]) | Err(_) => return Next::End,
                Ok(come) => {
                    let end = memchr::memchr(b'\n', come);
                    let taken = end.map_or(come.len(), |end| end + 1);
                    let piece = &come[..taken];
                    if let Some(excess) = &mut self.excess {
                        excess.read(piece);
                    } else if self.line.len() + taken > LONGEST {
                        let mut excess = Excess::default();
                        excess.read(&self.line);
                        excess.read(piece);
                        self.excess = Some(excess);
                        self.line = Vec::new();
                    } else {
                        self.line.extend_from_slice(piece);
                    }
                    (taken, end.is_some())
                }
            };
            self.read.consume(taken);
            if is_end {
                return self.excess.take().map_or(Next::Line, Next::TooLong);
            }
        }
    }

    /// The line is done with.
    fn clear(&mut self) {
        self.line.clear();
        // A long line is not the rule.
        self.line.shrink_to(ROOM);
    }

    /// Says what is wrong with a line. Who only told us something is not answered.
    fn complain(&mut self, sender: Sender, code: ErrorCode, why: String) {
        if let Some(line) = complaint(sender, code, why) {
            self.unsaid.extend_from_slice(&line);
        }
    }

    /// The message that the line is, for the library; if it is none, says so to whoever sent it.
    fn message(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let line = std::mem::take(&mut self.line);
        let message = self.message_of(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line));
        // The room is used again.
        self.line = line;
        self.clear();
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
                self.note(&message);
                self.is_heard(&message).then_some(message)
            }
            Err(why) => {
                let (sender, code, why) = judged(line, &why);
                self.complain(sender, code, why);
                None
            }
        }
    }

    /// Several messages in one line: each goes its own way, and the answers go back in one line.
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
            return self.complain(Sender::Unknown, ErrorCode::INVALID_REQUEST, why.to_owned());
        }
        let mut batch = Batch::default();
        for message in messages {
            let line = message.get().as_bytes();
            let bad = match serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(line) {
                Ok(JsonRpcMessage::Request(it)) if is_initialize(&it.request) => {
                    Some((Sender::Asks(it.id), "initialize is no part of a batch".to_owned()))
                }
                Ok(JsonRpcMessage::Request(it)) if !batch.awaits(it.id.clone()) => {
                    Some((Sender::Unknown, "two requests of the batch have one id".to_owned()))
                }
                Ok(message) => {
                    self.note(&message);
                    if self.is_heard(&message) {
                        self.queue.push_back(message);
                    }
                    None
                }
                Err(why) => {
                    let (sender, _, why) = judged(line, &why);
                    Some((sender, why))
                }
            };
            if let Some((sender, why)) = bad
                && let Some(line) = complaint(sender, ErrorCode::INVALID_REQUEST, why)
            {
                batch.answer(line);
            }
        }
        let answered = locked(&self.batches).begin(batch);
        self.unsaid.extend(answered.into_iter().flatten());
    }

    /// Whether the library takes a message. What comes before the request that it begins with belongs to
    /// nothing, and the library would end the server for it.
    fn is_heard(&self, message: &RxJsonRpcMessage<RoleServer>) -> bool {
        self.begins || matches!(message, JsonRpcMessage::Request(_))
    }

    /// Notes what a message means for those behind it.
    fn note(&mut self, message: &RxJsonRpcMessage<RoleServer>) {
        match message {
            JsonRpcMessage::Request(it) => self.begins |= begins(&it.request),
            JsonRpcMessage::Notification(it) => {
                // A cancelled request is not answered any more.
                if let ClientNotification::CancelledNotification(it) = &it.notification
                    && let Some(id) = &it.params.request_id
                {
                    let settled = locked(&self.batches).cancelled(id);
                    self.unsaid.extend(settled.into_iter().flatten());
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    /// Begins to write what was not said yet.
    fn say(&mut self) {
        let (line, out) = (std::mem::take(&mut self.unsaid), self.out.clone());
        self.begun = Some(Box::pin(async move {
            // That nobody hears it any more is told by the end of what they say.
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
            // An answer of a batch waits for the others.
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
            if let Some(begun) = &mut self.begun {
                begun.await;
                self.begun = None;
            }
            if !self.unsaid.is_empty() {
                self.say();
                continue;
            }
            if let Some(message) = self.queue.pop_front() {
                return Some(message);
            }
            match self.next_line().await {
                Next::Line => {
                    if let Cow::Owned(line) = replace_lone_surrogates(&self.line) {
                        self.line = line;
                    }
                    if let Some(message) = self.message() {
                        return Some(message);
                    }
                }
                Next::TooLong(Excess { length, skim }) => {
                    self.complain(skim.sender(), ErrorCode::INVALID_REQUEST, too_long(length));
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

/// Where answers go, a whole line at a time.
struct Out<W> {
    /// Nothing once it is closed.
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

/// Whom to answer about a line that is no message, and what.
fn judged(line: &[u8], why: &serde_json::Error) -> (Sender, ErrorCode, String) {
    match why.classify() {
        Category::Syntax | Category::Eof => {
            let why = format!("Parse error: the line is no JSON ({why})");
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

/// What is wrong with a line of that length.
fn too_long(length: usize) -> String {
    format!(
        "Request too long: it has {length} bytes, and at most {LONGEST} (16 MiB) are read. Send fewer or \
         shorter items in each call."
    )
}

/// The line that says what is wrong with a message, unless nobody is to be answered.
fn complaint(sender: Sender, code: ErrorCode, why: String) -> Option<Vec<u8>> {
    let error = ErrorData::new(code, why, None);
    match sender {
        Sender::Tells => None,
        Sender::Asks(id) => written(&TxJsonRpcMessage::<RoleServer>::error(error, Some(id))).ok(),
        // The library would leave the id out, and a client that finds none waits for an answer for ever.
        Sender::Unknown => {
            let message = serde_json::json!({"jsonrpc": "2.0", "id": null, "error": error});
            Some(escaped(message.to_string() + "\n").into_bytes())
        }
    }
}

/// Whether the library begins with this request: by a handshake, or because the request says all of itself
/// that a handshake would.
fn begins(request: &ClientRequest) -> bool {
    if is_initialize(request) {
        return true;
    }
    // These two are answered before anything begins.
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

/// JSON in which nothing acts on whoever looks at it: the same values.
fn escaped(json: String) -> String {
    match escape::json(&json) {
        Cow::Owned(escaped) => escaped,
        Cow::Borrowed(_) => json,
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each holder leaves it whole at every point, so a poisoned lock is as good.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

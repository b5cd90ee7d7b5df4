//! The connection over two streams, a JSON object a line: how lines are read and judged, and the short way
//! past the library.
//!
//! A line that does not go the short way is read as one of the library's messages, and the library does the
//! rest. The short way is open to a client that has shaken hands, while nothing that came before is under
//! way: so calls are worked off, and answered, in the order in which they came. A line that is no message
//! is answered here and ends nothing; neither does one of any length, of which no more is kept than what is
//! allowed. The library may drop a wait for the next message at any moment; what has been begun is kept
//! here and goes on at the next wait.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::future::BoxFuture;
use rmcp::model::{
    ClientNotification, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, RequestId,
    ServerResult,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::error::Category;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex as Turns;

use super::skim::{Sender, Skim};
use super::{Lanes, Server};

/// The longest message that is read, with the end of its line; a longer one is refused.
const LONGEST: usize = 16 * 1024 * 1024;

/// The longest line that may go the short way, and what is kept of the room for a longer one.
const SHORT: usize = 1024 * 1024;

/// What may stand before the first letter, and means nothing.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A connection.
pub(super) struct Pipe<R, W> {
    server: Server,
    lanes: Lanes,
    read: BufReader<R>,
    /// What has come of the line that is being read.
    line: Vec<u8>,
    /// The line that is being read, if it is too long: nothing is kept of it.
    excess: Option<Excess>,
    out: Out<W>,
    /// What has been begun: it comes to whether the line is done with.
    begun: Option<BoxFuture<'static, bool>>,
    /// Whether a request has come.
    asked: bool,
    /// Whether the client has agreed to a revision whose requests say nothing of themselves.
    agreed: bool,
    /// Whether it has said that it is ready.
    ready: bool,
    /// The requests that the library has and has not answered.
    pending: Arc<Mutex<HashSet<RequestId>>>,
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
    pub(super) fn new(server: Server, read: R, write: W, lanes: Lanes) -> Self {
        Self {
            server,
            lanes,
            read: BufReader::new(read),
            line: Vec::new(),
            excess: None,
            out: Out { stream: Arc::new(Turns::new(Some(write))) },
            begun: None,
            asked: false,
            agreed: false,
            ready: false,
            pending: Arc::default(),
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
        self.line.shrink_to(SHORT);
    }

    /// Whether the short way is open.
    fn is_open(&self) -> bool {
        self.lanes == Lanes::Both
            && self.agreed
            && self.ready
            && self.line.len() <= SHORT
            && locked(&self.pending).is_empty()
    }

    /// Begins to answer the line the short way, if it can be.
    fn answer(&mut self) -> bool {
        let Some(call) = self.is_open().then(|| self.server.plain(&self.line)).flatten() else {
            return false;
        };
        let (server, out) = (self.server.clone(), self.out.clone());
        self.begun = Some(Box::pin(async move {
            match server.answer(call).await {
                Some(answer) => {
                    // That nobody hears it any more is told by the end of what they say.
                    out.write(&answer).await.ok();
                    server.settle();
                    true
                }
                None => false,
            }
        }));
        true
    }

    /// Begins to say what is wrong with a line. Who only told us something is not answered.
    fn complain(&mut self, sender: Sender, code: ErrorCode, why: String) {
        let id = match sender {
            Sender::Asks(id) => Some(id),
            Sender::Tells => return,
            // The protocol leaves the id out then.
            Sender::Unknown => None,
        };
        let error = ErrorData::new(code, why, None);
        let Ok(line) = written(&TxJsonRpcMessage::<RoleServer>::error(error, id)) else { return };
        let out = self.out.clone();
        self.begun = Some(Box::pin(async move {
            out.write(&line).await.ok();
            true
        }));
    }

    /// The message that the line is, for the library; if it is none, says so to whoever sent it.
    fn message(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let line = self.line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.line);
        let message = match serde_json::from_slice(line) {
            _ if line.trim_ascii().is_empty() => None,
            Ok(message) => Some(message),
            Err(why) => {
                let (sender, code, why) = judged(line, &why);
                self.complain(sender, code, why);
                None
            }
        };
        self.clear();
        let message = message?;
        self.note(&message);
        // What comes before the first request belongs to nothing; it must not end the server.
        self.asked.then_some(message)
    }

    /// Notes what a message that goes the long way means for those behind it.
    fn note(&mut self, message: &RxJsonRpcMessage<RoleServer>) {
        match message {
            JsonRpcMessage::Request(it) => {
                self.asked = true;
                // A subscription stays open, and nothing has to wait for it.
                if !matches!(it.request, ClientRequest::SubscriptionsListenRequest(_)) {
                    locked(&self.pending).insert(it.id.clone());
                }
            }
            JsonRpcMessage::Notification(it) => {
                if let ClientNotification::InitializedNotification(_) = &it.notification {
                    self.ready = true;
                }
                // What is cancelled is not answered any more.
                if let ClientNotification::CancelledNotification(it) = &it.notification
                    && let Some(id) = &it.params.request_id
                {
                    locked(&self.pending).remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
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
                    self.agreed = result.protocol_version.has_initialize();
                }
                Some(it.id.clone())
            }
            JsonRpcMessage::Error(it) => it.id.clone(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let (out, pending) = (self.out.clone(), Arc::clone(&self.pending));
        async move {
            let sent = out.write(&written(&item)?).await;
            if let Some(id) = answered {
                locked(&pending).remove(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(begun) = &mut self.begun {
                let is_done = begun.await;
                self.begun = None;
                if is_done {
                    self.clear();
                } else if let Some(message) = self.message() {
                    return Some(message);
                }
                continue;
            }
            match self.next_line().await {
                Next::Line => {
                    if !self.answer()
                        && let Some(message) = self.message()
                    {
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
    stream: Arc<Turns<Option<W>>>,
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

/// A message as a line.
fn written(message: &TxJsonRpcMessage<RoleServer>) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each holder leaves it whole at every point, so a poisoned lock is as good.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

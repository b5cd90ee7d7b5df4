//! The connection over two streams, a JSON object a line: what the library is given to read, and the
//! short way past it.
//!
//! The library reads and judges every line that does not go the short way, as if there were none. The
//! short way is open to a client that has shaken hands, while nothing that came before is under way:
//! so calls are worked off, and answered, in the order in which they came. The library may drop a wait
//! for the next message at any moment; what has been begun is kept here and goes on at the next wait.

use std::collections::HashSet;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_core::future::BoxFuture;
use rmcp::model::{ClientNotification, ClientRequest, JsonRpcMessage, RequestId, ServerResult};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, ReadBuf};
use tokio::sync::Mutex as Turns;

use super::{Lanes, Server};

/// The longest message that is read; a longer one is passed over.
const LONGEST: usize = 16 * 1024 * 1024;

/// The longest line that may go the short way. The library is given longer ones piece by piece.
const SHORT: usize = 1024 * 1024;

type Long = AsyncRwTransport<RoleServer, Feed, Outbox>;

/// A connection.
pub(super) struct Pipe<R, W> {
    server: Server,
    lanes: Lanes,
    read: BufReader<R>,
    /// What has come of the line that is being read.
    line: Vec<u8>,
    /// Whether the beginning of the line has been handed on already.
    torn: bool,
    /// What waits for the library to read it.
    feed: Feed,
    /// What the library answers by itself to what it cannot understand.
    outbox: Outbox,
    long: Long,
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

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Pipe<R, W> {
    pub(super) fn new(server: Server, read: R, write: W, lanes: Lanes) -> Self {
        let (feed, outbox) = (Feed::default(), Outbox::default());
        Self {
            server,
            lanes,
            read: BufReader::new(read),
            line: Vec::new(),
            torn: false,
            long: Long::new_server(feed.clone(), outbox.clone()).with_max_line_length(LONGEST),
            feed,
            outbox,
            out: Out { stream: Arc::new(Turns::new(Some(write))) },
            begun: None,
            asked: false,
            agreed: false,
            ready: false,
            pending: Arc::default(),
        }
    }

    /// Reads up to the end of the line, or a good piece of a long one; whether there was anything.
    async fn next_line(&mut self) -> bool {
        loop {
            let (taken, is_end) = match self.read.fill_buf().await {
                // A line without an end is no message.
                Ok([]) | Err(_) => return false,
                Ok(come) => {
                    let end = memchr::memchr(b'\n', come);
                    let taken = end.map_or(come.len(), |end| end + 1);
                    self.line.extend_from_slice(&come[..taken]);
                    (taken, end.is_some())
                }
            };
            self.read.consume(taken);
            if is_end || self.line.len() > SHORT {
                return true;
            }
        }
    }

    /// Whether the short way is open.
    fn is_open(&self) -> bool {
        self.lanes == Lanes::Both
            && self.agreed
            && self.ready
            && !self.torn
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

    /// Gives the line to the library.
    fn hand_on(&mut self) {
        self.torn = !self.line.ends_with(b"\n");
        self.feed.put(&self.line);
        self.line.clear();
    }

    /// What the library makes of what it was given: a message, or nothing.
    async fn understood(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let feed = self.feed.clone();
        let mut receive = pin!(self.long.receive());
        poll_fn(|cx| {
            feed.state().wanted = false;
            match receive.as_mut().poll(cx) {
                Poll::Ready(message) => Poll::Ready(message),
                // It has read all there is.
                Poll::Pending if feed.state().wanted => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
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
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let sent = out.write(&line).await;
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
                    self.line.clear();
                } else {
                    self.hand_on();
                }
            }
            if !self.feed.is_empty() {
                let message = self.understood().await;
                let said = self.outbox.take();
                if !said.is_empty() {
                    let out = self.out.clone();
                    self.begun = Some(Box::pin(async move {
                        out.write(&said).await.ok();
                        true
                    }));
                }
                if let Some(message) = message {
                    self.note(&message);
                    // What comes before the first request belongs to nothing; it must not end the
                    // server.
                    if self.asked {
                        return Some(message);
                    }
                }
                continue;
            }
            if !self.next_line().await {
                self.server.inner.ended.send_replace(true);
                return None;
            }
            if !self.answer() {
                self.hand_on();
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

/// Bytes for the library to read. It never ends: the end is told otherwise.
#[derive(Clone, Default)]
struct Feed {
    shared: Arc<Mutex<Fed>>,
}

#[derive(Default)]
struct Fed {
    bytes: Vec<u8>,
    /// How many of them have been read.
    read: usize,
    /// Whether more was wanted than there was.
    wanted: bool,
}

impl Feed {
    fn state(&self) -> MutexGuard<'_, Fed> {
        locked(&self.shared)
    }

    fn put(&self, bytes: &[u8]) {
        let mut fed = self.state();
        if fed.read == fed.bytes.len() {
            fed.bytes.clear();
            // A long line is not the rule.
            fed.bytes.shrink_to(SHORT);
            fed.read = 0;
        }
        fed.bytes.extend_from_slice(bytes);
    }

    fn is_empty(&self) -> bool {
        let fed = self.state();
        fed.read == fed.bytes.len()
    }
}

impl AsyncRead for Feed {
    /// Nobody is woken when there is more: whoever puts it there asks again.
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut fed = self.state();
        let left = &fed.bytes[fed.read..];
        if left.is_empty() {
            fed.wanted = true;
            return Poll::Pending;
        }
        let taken = left.len().min(room.remaining());
        room.put_slice(&left[..taken]);
        fed.read += taken;
        Poll::Ready(Ok(()))
    }
}

/// Keeps what is written to it.
#[derive(Clone, Default)]
struct Outbox {
    shared: Arc<Mutex<Vec<u8>>>,
}

impl Outbox {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *locked(&self.shared))
    }
}

impl AsyncWrite for Outbox {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        locked(&self.shared).extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each holder leaves it whole at every point, so a poisoned lock is as good.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

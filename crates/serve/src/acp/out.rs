//! The queue of messages to the client. A turn never waits for the client; a client that does not read
//! is not read from either.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use punchlist_formats::text::escape;
use serde_json::Value;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;

/// How many bytes may be queued before the client's next request is read.
const MOST_QUEUED: usize = 4 * 1024 * 1024;

/// Where messages to the client are queued. Clones share the queue.
#[derive(Clone)]
pub(super) struct Out {
    lines: UnboundedSender<String>,
    /// How many bytes are queued.
    queued: Arc<watch::Sender<usize>>,
}

/// The queued messages.
pub(super) struct Queue {
    lines: UnboundedReceiver<String>,
    queued: Arc<watch::Sender<usize>>,
}

/// A queue and its two ends.
pub(super) fn queue() -> (Out, Queue) {
    let (sender, receiver) = unbounded_channel();
    let queued = Arc::new(watch::Sender::new(0));
    (Out { lines: sender, queued: Arc::clone(&queued) }, Queue { lines: receiver, queued })
}

impl Out {
    /// Queues a message. If the client is gone, nobody is told.
    pub(super) fn send(&self, message: &Value) {
        let json = message.to_string() + "\n";
        // Characters that could affect a terminal are escaped. The JSON has the same values.
        let line = match escape::json(&json) {
            Cow::Owned(escaped) => escaped,
            Cow::Borrowed(_) => json,
        };
        self.queued.send_modify(|queued| *queued = queued.saturating_add(line.len()));
        self.lines.send(line).ok();
    }

    /// Whether so much is queued that only what must be said should be added.
    pub(super) fn is_full(&self) -> bool {
        *self.queued.borrow() >= MOST_QUEUED
    }

    /// Waits until the client has read most of what was queued.
    pub(super) async fn has_room(&self) {
        // The sender is ours, so the wait cannot fail.
        self.queued.subscribe().wait_for(|queued| *queued < MOST_QUEUED).await.ok();
    }

    /// Waits until nobody takes messages any more.
    pub(super) async fn closed(&self) {
        self.lines.closed().await;
    }
}

impl Queue {
    /// Writes messages until the last sender is gone or the client is.
    pub(super) async fn write(mut self, mut stream: impl AsyncWrite + Unpin) -> io::Result<()> {
        while let Some(line) = self.lines.recv().await {
            stream.write_all(line.as_bytes()).await?;
            stream.flush().await?;
            self.queued.send_modify(|queued| *queued = queued.saturating_sub(line.len()));
        }
        Ok(())
    }
}

//! The requests of a turn that are not decided yet.

use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::member::GRACE;
use super::permissions::Decided;

/// Requests that are being decided, each with what its answer needs.
pub(super) struct Asking<R> {
    deciding: JoinSet<(R, Decided)>,
    /// Ends the waiting for a request, by the program's id of it.
    open: Vec<(Value, Arc<Notify>)>,
    /// Since when somebody is asked.
    since: Option<Instant>,
}

impl<R> Default for Asking<R> {
    fn default() -> Self {
        Self { deciding: JoinSet::new(), open: Vec::new(), since: None }
    }
}

impl<R: Send + 'static> Asking<R> {
    /// Prepares a request with this id. What is returned ends the waiting for its answer.
    pub(super) fn open(&mut self, id: Value) -> Arc<Notify> {
        let take_back = Arc::new(Notify::new());
        self.open.push((id, Arc::clone(&take_back)));
        take_back
    }

    /// Decides about a request while the turn goes on.
    pub(super) fn ask(
        &mut self,
        request: R,
        decide: impl Future<Output = Decided> + Send + 'static,
    ) {
        self.since.get_or_insert_with(Instant::now);
        self.deciding.spawn(async move { (request, decide.await) });
    }

    /// Whether a request is not decided yet.
    pub(super) fn is_open(&self) -> bool {
        !self.deciding.is_empty()
    }

    /// The next request that is decided. Without one, it waits for ever. Cancel-safe.
    pub(super) async fn next(&mut self) -> (R, Decided) {
        loop {
            match self.deciding.join_next().await {
                Some(Ok(decided)) => return decided,
                // It panicked: the program never hears an answer, and its time runs out.
                Some(Err(_)) => {}
                None => pending().await,
            }
        }
    }

    /// How long somebody was asked, if nobody is any more.
    pub(super) fn waited(&mut self) -> Duration {
        if self.is_open() {
            return Duration::ZERO;
        }
        self.open.clear();
        self.since.take().map(|it| it.elapsed()).unwrap_or_default()
    }

    /// The program no longer asks this.
    pub(super) fn take_back(&mut self, id: &Value) {
        self.open.iter().filter(|it| it.0 == *id).for_each(|it| it.1.notify_one());
    }

    /// Nobody is asked any more.
    pub(super) fn take_back_all(&mut self) {
        self.open.iter().for_each(|it| it.1.notify_one());
    }

    /// The turn has ended: returns what became of the requests that were open.
    pub(super) async fn end(mut self) -> Vec<(R, Decided)> {
        self.take_back_all();
        let mut ended = Vec::new();
        while self.is_open() {
            match timeout(GRACE, self.next()).await {
                Ok(decided) => ended.push(decided),
                Err(_) => break,
            }
        }
        ended
    }
}

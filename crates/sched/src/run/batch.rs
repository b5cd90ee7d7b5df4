//! Calls that are scheduled together: planned with [`Batch`], followed with [`RunningBatch`].

use std::borrow::Borrow;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::{Run, RunOver};
use crate::call::{BatchId, CallId, CancelReason, Outcome, Request, Retry};
use crate::machine::Target;
use crate::output::Line;

/// How many lines are kept until somebody listens.
const MOST_LINES: usize = 256;

/// Calls that will be scheduled together.
#[derive(Default)]
pub struct Batch(Arc<Plan>);

#[derive(Default)]
struct Plan {
    /// Empty once the batch is scheduled.
    calls: Mutex<Vec<Planned>>,
    /// The id of the first call, once the batch is scheduled.
    first: OnceLock<CallId>,
}

#[derive(Default)]
struct Planned {
    request: Request,
    /// Dependencies in other batches.
    after_others: Vec<PlannedCall>,
    /// Dependencies in the same batch, by index.
    after: Vec<u32>,
}

impl Plan {
    fn calls(&self) -> MutexGuard<'_, Vec<Planned>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a call of a tool. The returned [`PlannedCall`] sets further options and serves as a
    /// dependency of others.
    pub fn call(&mut self, tool: impl Into<String>, arguments: Value) -> PlannedCall {
        self.add(Request { tool: tool.into(), arguments, ..Request::default() })
    }

    /// Adds a call from a complete request.
    pub fn add(&mut self, request: Request) -> PlannedCall {
        let mut calls = self.0.calls();
        let place = u32::try_from(calls.len()).unwrap_or(u32::MAX);
        calls.push(Planned { request, ..Planned::default() });
        PlannedCall { plan: Arc::clone(&self.0), place }
    }

    /// The requests, with the id of the first call.
    pub(super) fn requests(self, first: CallId) -> Vec<Request> {
        let calls = std::mem::take(&mut *self.0.calls());
        // `self` is consumed, so this is set only once.
        let _ = self.0.first.set(first);
        let request = |Planned { mut request, after_others, after }| {
            request.after.extend(after.into_iter().map(|it| nth(first, it)));
            // A call that is not scheduled has no id, so the dependency fails as unknown.
            let others = after_others.iter().map(|it| it.id().unwrap_or(CallId(u32::MAX)));
            request.after.extend(others);
            request
        };
        calls.into_iter().map(request).collect()
    }
}

impl From<Vec<Request>> for Batch {
    fn from(requests: Vec<Request>) -> Self {
        let mut batch = Self::new();
        for request in requests {
            batch.add(request);
        }
        batch
    }
}

/// A call of a batch. It can be changed until the batch is scheduled; afterwards it has an id.
#[derive(Clone)]
pub struct PlannedCall {
    plan: Arc<Plan>,
    place: u32,
}

impl PlannedCall {
    /// Makes the call depend on these. They must be in the same batch, or in a batch that was
    /// scheduled before and still exists.
    pub fn after<P: Borrow<Self>>(self, calls: impl IntoIterator<Item = P>) -> Self {
        let calls: Vec<Self> = calls.into_iter().map(|it| it.borrow().clone()).collect();
        self.change(|it| {
            for call in calls {
                if Arc::ptr_eq(&call.plan, &self.plan) {
                    it.after.push(call.place);
                } else {
                    it.after_others.push(call);
                }
            }
        })
    }

    /// Sets the priority: if several calls could run, the highest runs first.
    pub fn priority(self, priority: i32) -> Self {
        self.change(|it| it.request.priority = priority)
    }

    /// Sets the timeout of one attempt.
    pub fn timeout(self, most: Duration) -> Self {
        let most = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
        self.change(|it| it.request.timeout_ms = Some(most))
    }

    /// Retries the call when it fails. By this, the caller declares that a second attempt does no
    /// harm.
    pub fn retry(self, retry: Retry) -> Self {
        self.change(|it| it.request.retry = retry)
    }

    /// If this call fails, no further call of the run starts.
    pub fn vital(self) -> Self {
        self.change(|it| it.request.vital = true)
    }

    /// The id, once the batch is scheduled.
    pub fn id(&self) -> Option<CallId> {
        self.plan.first.get().map(|first| nth(*first, self.place))
    }

    fn change(&self, change: impl FnOnce(&mut Planned)) -> Self {
        let place = usize::try_from(self.place).unwrap_or(usize::MAX);
        if let Some(it) = self.plan.calls().get_mut(place) {
            change(it);
        }
        self.clone()
    }
}

impl fmt::Debug for PlannedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlannedCall").field("place", &self.place).field("id", &self.id()).finish()
    }
}

fn nth(first: CallId, place: u32) -> CallId {
    CallId(first.0.saturating_add(place))
}

/// A scheduled batch. If it is dropped, its calls go on, and are forgotten when they have ended.
pub struct RunningBatch {
    pub(super) run: Run,
    pub(super) id: BatchId,
    pub(super) calls: Range<u32>,
    pub(super) listener: Arc<Listener>,
}

impl RunningBatch {
    /// The id of the batch.
    pub fn id(&self) -> BatchId {
        self.id
    }

    /// The ids of its calls, in the order in which they were added.
    pub fn calls(&self) -> impl Iterator<Item = CallId> + use<> {
        self.calls.clone().map(CallId)
    }

    /// Calls `hear` for each line that a call prints, in the thread of the call; it must not block.
    /// The last lines that were printed before are passed at once.
    pub fn on_output(&self, hear: impl FnMut(CallId, &Line) + Send + 'static) {
        self.listener.set(Box::new(hear));
    }

    /// Cancels a call. Returns once that is recorded. A running call has then been told to stop,
    /// which may take a while.
    pub async fn cancel(
        &self,
        call: impl Borrow<PlannedCall>,
        why: impl Into<String>,
    ) -> Result<(), RunOver> {
        match call.borrow().id() {
            Some(id) => self.stop(Target::Call(id), why).await,
            None => Ok(()),
        }
    }

    /// Cancels all calls of the batch.
    pub async fn cancel_all(&self, why: impl Into<String>) -> Result<(), RunOver> {
        self.stop(Target::Batch(self.id), why).await
    }

    async fn stop(&self, target: Target, why: impl Into<String>) -> Result<(), RunOver> {
        self.run.cancel(target, CancelReason::Asked(Some(why.into()))).await
    }

    /// Waits until all calls have ended, and returns their outcomes in the order in which they were
    /// added.
    pub async fn outcomes(&self) -> Result<Vec<Outcome>, RunOver> {
        self.run.outcomes(self.id).await
    }
}

impl Drop for RunningBatch {
    fn drop(&mut self) {
        self.run.release(self.id);
    }
}

impl fmt::Debug for RunningBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, calls, .. } = self;
        f.debug_struct("RunningBatch").field("id", id).field("calls", calls).finish()
    }
}

type Hear = Box<dyn FnMut(CallId, &Line) + Send>;

/// Passes on what the calls of a batch print.
#[derive(Default)]
pub(crate) struct Listener(Mutex<Listening>);

#[derive(Default)]
struct Listening {
    hear: Option<Hear>,
    /// The last lines, until somebody listens.
    unheard: VecDeque<(CallId, Line)>,
}

impl Listener {
    pub(crate) fn say(&self, call: CallId, line: &Line) {
        let mut listening = self.lock();
        if let Some(hear) = &mut listening.hear {
            return hear(call, line);
        }
        if listening.unheard.len() >= MOST_LINES {
            listening.unheard.pop_front();
        }
        listening.unheard.push_back((call, line.clone()));
    }

    fn set(&self, mut hear: Hear) {
        let mut listening = self.lock();
        for (call, line) in std::mem::take(&mut listening.unheard) {
            hear(call, &line);
        }
        listening.hear = Some(hear);
    }

    fn lock(&self) -> MutexGuard<'_, Listening> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

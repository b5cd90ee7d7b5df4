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

/// How many lines are kept for a listener that has not come yet.
const MOST_LINES: usize = 256;

/// Calls that are to be scheduled together.
#[derive(Default)]
pub struct Batch(Arc<Plan>);

#[derive(Default)]
struct Plan {
    /// Empty once the batch is scheduled.
    calls: Mutex<Vec<Planned>>,
    /// The first call, once the batch is scheduled.
    first: OnceLock<CallId>,
}

#[derive(Default)]
struct Planned {
    request: Request,
    /// The calls of other batches that it waits for.
    after_others: Vec<PlannedCall>,
    /// The calls of its own batch that it waits for, by their place.
    after: Vec<u32>,
}

impl Plan {
    fn calls(&self) -> MutexGuard<'_, Vec<Planned>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Batch {
    /// No calls.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a call of a tool. The answer says more about it, and names it to others.
    pub fn call(&mut self, tool: impl Into<String>, arguments: Value) -> PlannedCall {
        self.add(Request { tool: tool.into(), arguments, ..Request::default() })
    }

    /// Adds a call that is described already.
    pub fn add(&mut self, request: Request) -> PlannedCall {
        let mut calls = self.0.calls();
        let place = u32::try_from(calls.len()).unwrap_or(u32::MAX);
        calls.push(Planned { request, ..Planned::default() });
        PlannedCall { plan: Arc::clone(&self.0), place }
    }

    /// The requests, now that it is known what the first call is called.
    pub(super) fn requests(self, first: CallId) -> Vec<Request> {
        let calls = std::mem::take(&mut *self.0.calls());
        // A batch is scheduled once: it is consumed.
        let _ = self.0.first.set(first);
        let request = |Planned { mut request, after_others, after }| {
            request.after.extend(after.into_iter().map(|it| nth(first, it)));
            // One that is not scheduled cannot be waited for, and has no number.
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

/// A call of a batch. Before the batch is scheduled it can be changed; afterwards it has an id.
#[derive(Clone)]
pub struct PlannedCall {
    plan: Arc<Plan>,
    place: u32,
}

impl PlannedCall {
    /// It begins when these have succeeded. They are calls of the same batch, or of one that is
    /// scheduled before it and still held.
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

    /// Of several that could run, the one with the higher number goes first.
    pub fn priority(self, priority: i32) -> Self {
        self.change(|it| it.request.priority = priority)
    }

    /// One attempt may take so long.
    pub fn timeout(self, most: Duration) -> Self {
        let most = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
        self.change(|it| it.request.timeout_ms = Some(most))
    }

    /// It is tried again when it fails. Whoever says so declares that a second attempt does no harm.
    pub fn retry(self, retry: Retry) -> Self {
        self.change(|it| it.request.retry = retry)
    }

    /// If it fails for good, nothing begins that has not begun.
    pub fn vital(self) -> Self {
        self.change(|it| it.request.vital = true)
    }

    /// Which call it is, once its batch is scheduled.
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

/// A batch that is scheduled. Dropped, its calls go on, and are forgotten when they have ended.
pub struct RunningBatch {
    pub(super) run: Run,
    pub(super) id: BatchId,
    pub(super) calls: Range<u32>,
    pub(super) listener: Arc<Listener>,
}

impl RunningBatch {
    /// Which batch it is.
    pub fn id(&self) -> BatchId {
        self.id
    }

    /// Its calls, in the order in which they were planned.
    pub fn calls(&self) -> impl Iterator<Item = CallId> + use<> {
        self.calls.clone().map(CallId)
    }

    /// Has `hear` called for each line that a call prints, in the thread in which the call prints it; it
    /// must not wait. Of what was printed before, the last lines are heard at once.
    pub fn on_output(&self, hear: impl FnMut(CallId, &Line) + Send + 'static) {
        self.listener.set(Box::new(hear));
    }

    /// A call is not wanted any more. Answers once that is written down; what runs has then been told to
    /// end, and may take a while.
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

    /// None of its calls is wanted any more.
    pub async fn cancel_all(&self, why: impl Into<String>) -> Result<(), RunOver> {
        self.stop(Target::Batch(self.id), why).await
    }

    async fn stop(&self, target: Target, why: impl Into<String>) -> Result<(), RunOver> {
        self.run.cancel(target, CancelReason::Asked(Some(why.into()))).await
    }

    /// How its calls ended, in the order in which they were planned, once all have.
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

/// Who hears what the calls of a batch print.
#[derive(Default)]
pub(crate) struct Listener(Mutex<Listening>);

#[derive(Default)]
struct Listening {
    hear: Option<Hear>,
    /// What nobody has heard yet: the last lines.
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

//! Where calls are kept: what is looked at often lies close together, and what few calls have is beside.
//!
//! Requests stay in the list in which they came. Decides nothing.

use std::collections::BTreeMap;
use std::ops::Range;

use super::brief::{Briefs, Stage};
use crate::access::Access;
use crate::call::{BatchId, CallId, CallRef, Checked, Look, Request, State};

/// Calls that were scheduled together.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub(super) calls: Range<u32>,
    /// How many have not ended.
    pub(super) left: u32,
    requests: Vec<Request>,
}

/// All calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    batches: Vec<Batch>,
    states: Vec<State>,
    pub(super) briefs: Briefs,
    /// The newest look at the arguments of calls that were modified.
    looks: BTreeMap<CallId, Look>,
    /// What validation found out, of calls that it still matters for.
    checked: BTreeMap<CallId, Checked>,
}

impl Calls {
    pub(super) fn next_call(&self) -> CallId {
        CallId(u32::try_from(self.states.len()).unwrap_or(u32::MAX))
    }

    pub(super) fn next_batch(&self) -> BatchId {
        BatchId(u32::try_from(self.batches.len()).unwrap_or(u32::MAX))
    }

    /// Takes new calls in and says which they are.
    pub(super) fn add(&mut self, requests: Vec<Request>) -> Range<u32> {
        let (batch, first) = (self.next_batch(), self.next_call());
        let left = u32::try_from(requests.len()).unwrap_or(u32::MAX);
        let calls = first.0..first.0.saturating_add(left);
        self.briefs.reserve(requests.len());
        for request in &requests {
            self.briefs.push(batch, request.priority);
        }
        self.states.resize(self.states.len().saturating_add(requests.len()), State::NEW);
        self.batches.push(Batch { calls: calls.clone(), left, requests });
        calls
    }

    pub(super) fn batch(&self, batch: BatchId) -> Option<&Batch> {
        self.batches.get(usize::try_from(batch.0).ok()?)
    }

    pub(super) fn batch_mut(&mut self, batch: BatchId) -> Option<&mut Batch> {
        self.batches.get_mut(usize::try_from(batch.0).ok()?)
    }

    pub(super) fn batches(&self) -> impl Iterator<Item = &Batch> {
        self.batches.iter()
    }

    pub(super) fn ids(&self) -> impl DoubleEndedIterator<Item = CallId> + use<> {
        (0..self.next_call().0).map(CallId)
    }

    pub(super) fn call(&self, id: CallId) -> Option<CallRef<'_>> {
        let batch = self.briefs.get(id)?.batch;
        Some(CallRef { id, batch, request: self.request(id)?, state: self.state(id)? })
    }

    pub(super) fn state(&self, id: CallId) -> Option<&State> {
        self.states.get(usize::try_from(id.0).ok()?)
    }

    /// Where a call stands now.
    pub(super) fn set_state(&mut self, id: CallId, state: State) {
        if let Some(brief) = self.briefs.get_mut(id) {
            brief.stage = Stage::of(&state);
        }
        if let Some(it) = self.states.get_mut(usize::try_from(id.0).unwrap_or(usize::MAX)) {
            *it = state;
        }
    }

    pub(super) fn request(&self, id: CallId) -> Option<&Request> {
        let batch = self.batch(self.briefs.get(id)?.batch)?;
        batch.requests.get(usize::try_from(id.0.checked_sub(batch.calls.start)?).ok()?)
    }

    pub(super) fn request_mut(&mut self, id: CallId) -> Option<&mut Request> {
        let batch = self.briefs.get(id)?.batch;
        let batch = self.batch_mut(batch)?;
        batch.requests.get_mut(usize::try_from(id.0.checked_sub(batch.calls.start)?).ok()?)
    }

    /// A look at a call's arguments that no look so far was.
    pub(super) fn next_look(&mut self, id: CallId) -> Look {
        let look = self.looks.entry(id).or_default();
        *look = Look(look.0.saturating_add(1));
        *look
    }

    /// What validation found out.
    pub(super) fn checked(&self, id: CallId) -> Option<&Checked> {
        self.checked.get(&id)
    }

    /// Keeps what validation found out.
    pub(super) fn keep(&mut self, id: CallId, checked: Checked) {
        self.checked.insert(id, checked);
    }

    /// What a call touches. Said once: whoever asks keeps it.
    pub(super) fn take_access(&mut self, id: CallId) -> Access {
        self.checked.get_mut(&id).map(|it| std::mem::take(&mut it.access)).unwrap_or_default()
    }

    /// Nobody will ask any more what validation found out.
    pub(super) fn forget(&mut self, id: CallId) {
        self.checked.remove(&id);
    }
}

//! Storage for the calls of the machine, by batch. Decides nothing.
//!
//! The calls of a batch have consecutive ids, so a batch is a list. A batch is forgotten as a
//! whole.

use std::ops::Range;

use crate::call::{ArgumentsVersion, BatchId, Call, CallId, Checked, Kind, Live, Request, State};

/// A call, with the machine's own data about it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) call: Call,
    /// The newest version of its arguments.
    pub(super) version: ArgumentsVersion,
    /// The result of validation, until the call may run.
    pub(super) checked: Option<Box<Checked>>,
    pub(super) kind: Kind,
    /// Whether a person has written the arguments, so that no approval is needed.
    pub(super) is_given: bool,
}

impl Entry {
    /// Whether the call waits for other calls or a free place.
    pub(super) fn is_scheduled(&self) -> bool {
        matches!(self.call.state, State::Live(Live::Scheduled { .. }))
    }
}

/// The dependencies of a call. Stored apart from [`Entry`], so that counting down the dependants of
/// an ended call does not load their requests and states.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    /// How many dependencies have not succeeded yet.
    pub(super) unmet: u32,
    /// The calls that depend on this one.
    pub(super) dependants: Vec<CallId>,
}

/// Calls that were scheduled together.
#[derive(Clone, Debug)]
struct Batch {
    id: BatchId,
    first: CallId,
    entries: Vec<Entry>,
    /// The links of each entry.
    links: Vec<Links>,
    /// How many calls have not ended.
    left: usize,
}

impl Batch {
    /// The index of a call in the batch. It is out of range if the call belongs to a later batch.
    fn index(&self, id: CallId) -> usize {
        usize::try_from(id.0.saturating_sub(self.first.0)).unwrap_or(usize::MAX)
    }
}

/// All calls that are not forgotten.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    /// In the order in which they were scheduled, so their ids and calls are in order.
    batches: Vec<Batch>,
    next_call: u32,
    next_batch: u32,
}

impl Calls {
    pub(super) fn next_call(&self) -> CallId {
        CallId(self.next_call)
    }

    pub(super) fn next_batch(&self) -> BatchId {
        BatchId(self.next_batch)
    }

    /// Adds new calls and returns their ids. A batch without calls is not stored.
    pub(super) fn add(&mut self, requests: Vec<Request>) -> Range<u32> {
        let (id, first) = (self.next_batch(), self.next_call());
        let ids = (first.0..).map(CallId);
        let entries: Vec<Entry> = ids.zip(requests).map(|(call, it)| entry(call, id, it)).collect();
        let count = u32::try_from(entries.len()).unwrap_or(u32::MAX);
        self.next_batch = self.next_batch.saturating_add(1);
        self.next_call = self.next_call.saturating_add(count);
        if !entries.is_empty() {
            let (left, links) = (entries.len(), vec![Links::default(); entries.len()]);
            self.batches.push(Batch { id, first, entries, links, left });
        }
        first.0..self.next_call
    }

    pub(super) fn get(&self, id: CallId) -> Option<&Entry> {
        let batch = self.batches.get(self.place(id)?)?;
        batch.entries.get(batch.index(id))
    }

    pub(super) fn get_mut(&mut self, id: CallId) -> Option<&mut Entry> {
        let place = self.place(id)?;
        let batch = self.batches.get_mut(place)?;
        let index = batch.index(id);
        batch.entries.get_mut(index)
    }

    pub(super) fn links(&self, id: CallId) -> Option<&Links> {
        let batch = self.batches.get(self.place(id)?)?;
        batch.links.get(batch.index(id))
    }

    pub(super) fn links_mut(&mut self, id: CallId) -> Option<&mut Links> {
        let place = self.place(id)?;
        let batch = self.batches.get_mut(place)?;
        let index = batch.index(id);
        batch.links.get_mut(index)
    }

    /// The place of the last batch that begins with this call or an earlier one. Only this batch
    /// can have the call; if the call is forgotten, it does not.
    fn place(&self, id: CallId) -> Option<usize> {
        self.batches.partition_point(|it| it.first <= id).checked_sub(1)
    }

    /// The place of a batch.
    fn place_of(&self, batch: BatchId) -> Option<usize> {
        self.batches.binary_search_by_key(&batch, |it| it.id).ok()
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.batches.iter().flat_map(|it| &it.entries)
    }

    /// The calls of a batch, in order; empty if the batch is unknown.
    pub(super) fn of(&self, batch: BatchId) -> &[Entry] {
        self.place_of(batch).map_or(&[], |place| &self.batches[place].entries)
    }

    /// Whether a batch has calls that have not ended.
    pub(super) fn is_open(&self, batch: BatchId) -> bool {
        self.place_of(batch).is_some_and(|place| self.batches[place].left > 0)
    }

    /// Whether any call has not ended.
    pub(super) fn is_any_open(&self) -> bool {
        self.batches.iter().any(|it| it.left > 0)
    }

    /// Counts an ended call. Returns the batch if it was the last one.
    pub(super) fn ended(&mut self, id: CallId) -> Option<BatchId> {
        let place = self.place(id)?;
        let batch = self.batches.get_mut(place)?;
        batch.left = batch.left.saturating_sub(1);
        (batch.left == 0).then_some(batch.id)
    }

    /// Forgets a batch, unless one of its calls has not ended.
    pub(super) fn forget(&mut self, batch: BatchId) {
        if let Some(place) = self.place_of(batch)
            && self.batches[place].left == 0
        {
            self.batches.remove(place);
        }
    }
}

fn entry(id: CallId, batch: BatchId, request: Request) -> Entry {
    Entry {
        call: Call { id, batch, request, state: State::NEW },
        version: ArgumentsVersion::default(),
        checked: None,
        kind: Kind::OTHER,
        is_given: false,
    }
}

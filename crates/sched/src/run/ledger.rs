//! The ledger: records what happens before it has effects.
//!
//! The driver passes every transition and every question to the ledger, and goes on only when the
//! ledger says that the record would survive a crash.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use punchlist_model::Timestamp;
use punchlist_model::call::Asked;

use crate::call::{Call, CallId, State};
use crate::machine::{Effect, Scheduler};

/// Records what happens to calls.
pub trait Ledger: Send {
    /// Records a page, all of it or nothing, and returns only once it would survive a crash.
    ///
    /// Nothing on the page has had an effect yet. An error stops the driver, which stops all
    /// running calls.
    fn record<'a>(&'a mut self, page: Page<'a>) -> BoxFuture<'a, Result<(), LedgerError>>;
}

/// Why a page could not be recorded.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the ledger cannot be written: {0}")]
pub struct LedgerError(#[source] Arc<dyn std::error::Error + Send + Sync>);

impl LedgerError {
    /// An error with this cause.
    pub fn new(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(Arc::from(why.into()))
    }
}

/// What has happened since the last page.
#[derive(Debug)]
pub struct Page<'a> {
    /// The time.
    pub at: Timestamp,
    /// The questions. The ledger may add what it knows (title, place, context), so that the person
    /// sees it too.
    pub asked: &'a mut [Asked],
    /// Calls that must not run, with the reason.
    pub(super) declined: &'a mut BTreeMap<CallId, String>,
    pub(super) effects: &'a [Effect],
    pub(super) machine: &'a Scheduler,
}

impl<'a> Page<'a> {
    /// The transitions, in order: a call and its new state. A call may appear several times.
    pub fn moved(&self) -> impl Iterator<Item = (CallId, &'a State)> + use<'a> {
        self.effects.iter().filter_map(|effect| match effect {
            Effect::Record(call, state) => Some((*call, state)),
            Effect::Validate(..)
            | Effect::Ask(..)
            | Effect::Run(..)
            | Effect::Kill(..)
            | Effect::Wake { .. }
            | Effect::BatchDone(_)
            | Effect::Illegal(..) => None,
        })
    }

    /// Declines a call, for example because somebody else has done its work. Its attempt then ends
    /// as [declined](crate::call::Ended::Declined), and its tool is not called.
    pub fn decline(&mut self, call: CallId, why: String) {
        self.declined.insert(call, why);
    }

    /// A call as it is at the end of the page: its batch, request and newest state.
    pub fn call(&self, id: CallId) -> Option<&'a Call> {
        self.machine.call(id)
    }
}

/// A ledger that records nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLedger;

impl Ledger for NoLedger {
    fn record<'a>(&'a mut self, _page: Page<'a>) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

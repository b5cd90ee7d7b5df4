//! What must be written down before anything follows from it.
//!
//! The driver tells a ledger of every transition and every question, and goes on only when the ledger
//! says that this would survive a crash. Where it is kept is the ledger's business.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use punchlist_model::Timestamp;
use punchlist_model::call::Asked;

use crate::call::{Call, CallId, State};
use crate::machine::{Effect, Scheduler};

/// Keeps what happens to calls.
pub trait Ledger: Send {
    /// Writes a page down, all of it or nothing, and answers only once it would survive a crash.
    ///
    /// Nothing on the page has had an effect yet. An error stops the driver, which ends what runs.
    fn record<'a>(&'a mut self, page: Page<'a>) -> BoxFuture<'a, Result<(), LedgerError>>;
}

/// Why a page could not be written.
#[derive(Clone, Debug, thiserror::Error)]
#[error("what happened to calls cannot be written down: {0}")]
pub struct LedgerError(#[source] Arc<dyn std::error::Error + Send + Sync>);

impl LedgerError {
    /// That it could not be written, because of this.
    pub fn new(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(Arc::from(why.into()))
    }
}

/// What happened since the last page.
#[derive(Debug)]
pub struct Page<'a> {
    /// When.
    pub at: Timestamp,
    /// What people are asked. The ledger may add what it knows of it (title, place, context): whoever
    /// is asked is then shown that too.
    pub asked: &'a mut [Asked],
    /// Calls that must not run, and why.
    pub(super) declined: &'a mut BTreeMap<CallId, String>,
    pub(super) effects: &'a [Effect],
    pub(super) machine: &'a Scheduler,
}

impl<'a> Page<'a> {
    /// The transitions, in order: a call, and where it stood then. A call may be there several times.
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

    /// The call must not run, and why: for example, somebody else has done its work. Its attempt then ends as
    /// [declined](crate::call::Ended::Declined), and its tool is not called.
    pub fn decline(&mut self, call: CallId, why: String) {
        self.declined.insert(call, why);
    }

    /// A call as it stands at the end of the page: its batch, its request, its newest state.
    pub fn call(&self, id: CallId) -> Option<&'a Call> {
        self.machine.call(id)
    }
}

/// Keeps nothing: what happened is forgotten when the program ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLedger;

impl Ledger for NoLedger {
    fn record<'a>(&'a mut self, _page: Page<'a>) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

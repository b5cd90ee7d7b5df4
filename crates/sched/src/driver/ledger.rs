//! What must be written down before anything follows from it.
//!
//! The driver tells a ledger of every transition and every question, and goes on only when the ledger
//! says that this would survive a crash. Where it is kept is the ledger's business.

use futures_core::future::BoxFuture;
use punchlist_model::Timestamp;
use serde_json::Value;

use crate::call::{CallId, CallRef, QuestionId, State};
use crate::machine::{Effect, Scheduler};
use crate::policy::{Rule, Subject};
use crate::tool::Preview;

/// Keeps what happens to calls.
pub trait Ledger: Send {
    /// Writes a page down, all of it or nothing, and answers only once it would survive a crash.
    ///
    /// Nothing on the page has had an effect yet. An error stops the driver, which ends what runs.
    fn record<'a>(&'a mut self, page: Page<'a>) -> BoxFuture<'a, Result<(), LedgerError>>;
}

/// Why a page could not be written.
#[derive(Debug, thiserror::Error)]
#[error("what happened to calls cannot be written down: {0}")]
pub struct LedgerError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// What happened since the last page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// When.
    pub at: Timestamp,
    /// What people are asked.
    pub asked: &'a [Asked],
    pub(super) effects: &'a [Effect],
    pub(super) machine: &'a Scheduler,
}

impl<'a> Page<'a> {
    /// The transitions, in order: a call, and where it stood then. A call may be there several times.
    pub fn moved(&self) -> impl Iterator<Item = (CallId, &'a State)> + use<'a> {
        self.effects.iter().flat_map(|effect| {
            let (new, moved) = match effect {
                Effect::Take(calls) => (calls.clone(), None),
                Effect::Record(call, state) => (0..0, Some((*call, state))),
                Effect::Validate(..)
                | Effect::Ask(..)
                | Effect::Run(..)
                | Effect::Kill(..)
                | Effect::Wake { .. }
                | Effect::BatchDone(_)
                | Effect::Illegal(..) => (0..0, None),
            };
            new.map(|call| (CallId(call), &State::NEW)).chain(moved)
        })
    }

    /// A call as it stands at the end of the page: its batch, its request, its newest state.
    pub fn call(&self, id: CallId) -> Option<CallRef<'a>> {
        self.machine.call(id)
    }
}

/// A question to a person.
#[derive(Clone, PartialEq, Debug)]
pub struct Asked {
    /// Which: what an answer names.
    pub question: QuestionId,
    /// About which call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The arguments, as they will be used.
    pub arguments: Value,
    /// What will happen.
    pub preview: Preview,
    /// What policy looked at.
    pub subject: Subject,
    /// The rule that wants it asked; none, if no rule says anything about it.
    pub because: Option<Box<Rule>>,
    /// It was allowed, but what it would change has changed meanwhile: it is asked again.
    pub is_again: bool,
    /// What "always" may mean: sets of rules that would let it pass from now on, the narrowest first.
    pub allowing: Vec<Vec<Rule>>,
}

/// Keeps nothing: for those who embed the driver and need no memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLedger;

impl Ledger for NoLedger {
    fn record<'a>(&'a mut self, _page: Page<'a>) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

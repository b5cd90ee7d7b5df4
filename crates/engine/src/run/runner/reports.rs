//! What the ledger and the tools of a run report to its loop, in the order in which it happened.

use punchlist_model::Number;
use punchlist_model::store::Applied;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::run::steps::sub_lists::Entry;

/// One report.
pub(crate) enum Report {
    /// The ledger has changed the plan.
    Changed(Box<Applied>),
    /// Somebody else has taken or closed an item, so the run leaves it; and what the store said.
    LeftToOthers(Number, String),
    /// The session of the agent that does an item.
    Session(Number, String),
    /// The agent's own list, by the item that it does.
    List(Number, Vec<Entry>),
    /// Something that a person should know.
    Note(String),
}

/// Where reports are sent to.
#[derive(Clone)]
pub(crate) struct Reports(UnboundedSender<Report>);

impl Reports {
    /// Both ends.
    pub(crate) fn channel() -> (Self, UnboundedReceiver<Report>) {
        let (sender, receiver) = unbounded_channel();
        (Self(sender), receiver)
    }

    /// Sends one. A run that is over does not read it.
    pub(crate) fn send(&self, report: Report) {
        drop(self.0.send(report));
    }
}

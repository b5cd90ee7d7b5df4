//! Reports from a run's ledger and tools to its loop, in order.

use punchlist_model::Number;
use punchlist_model::store::Applied;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::workers::sub_lists::Entry;

/// One report.
pub(crate) enum Report {
    /// The ledger has changed the plan.
    Changed(Box<Applied>),
    /// Somebody else has taken or closed an item, so the run leaves it. The text is the store's
    /// refusal.
    LeftToOthers(Number, String),
    /// The session of the agent that does an item.
    Session(Number, String),
    /// The agent's own list, by the item that it does.
    List(Number, Vec<Entry>),
    /// A note for a person.
    Note(String),
}

/// The sending end for reports.
#[derive(Clone)]
pub(crate) struct Reports(UnboundedSender<Report>);

impl Reports {
    /// Both ends of the channel.
    pub(crate) fn channel() -> (Self, UnboundedReceiver<Report>) {
        let (sender, receiver) = unbounded_channel();
        (Self(sender), receiver)
    }

    /// Sends a report. It is lost if the run is over.
    pub(crate) fn send(&self, report: Report) {
        drop(self.0.send(report));
    }
}

//! Does what the machine says: one loop that thinks with [`crate::machine`] and acts.

pub(crate) mod attempts;
pub(crate) mod event;
mod handle;
mod ledger;
pub(crate) mod mailbox;

use std::any::Any;

pub use event::{Event, Events};
pub use handle::{Gone, Handle, Scheduled};
pub use ledger::{Asked, Ledger, LedgerError, NoLedger, Page};

/// What a panic said.
pub(crate) fn panicked(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it did not say why").to_owned()
}

//! What a run works on: a plan file, or one item that a worker has claimed.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use punchlist_model::{Attempt, Number};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::plan_file::Source;

/// What a run works on.
pub(crate) struct Workplace<'a> {
    /// A description for the store: the path of the plan file, or the worker.
    pub(crate) what: String,
    /// The plan, as the user knows it.
    pub(crate) name: String,
    /// The directory in which commands run.
    pub(crate) directory: PathBuf,
    /// The plan file, if the run is about one.
    pub(crate) file: Option<&'a Source>,
    /// The item that a worker has claimed, if the run is about one.
    pub(crate) claimed: Option<Claimed>,
}

impl<'a> From<&'a Source> for Workplace<'a> {
    fn from(source: &'a Source) -> Self {
        Self {
            what: source.path.to_string_lossy().into_owned(),
            name: source.name.clone(),
            directory: source.directory().to_owned(),
            file: Some(source),
            claimed: None,
        }
    }
}

/// An item that a worker has claimed.
#[derive(Clone)]
pub(crate) struct Claimed {
    pub(crate) item: Number,
    /// The attempt under which the worker holds it.
    pub(crate) attempt: Attempt,
    /// Whether the item's publisher is trusted. Otherwise its command needs a rule.
    pub(crate) is_trusted: bool,
    /// How long a lease lasts.
    pub(crate) lease: Duration,
    /// When the claim was requested, at the latest.
    pub(crate) since: Instant,
    pub(crate) slot: Arc<Slot>,
}

/// One of the items that a worker may execute at the same time. An item that waits for a person gives
/// its slot back.
pub(crate) struct Slot {
    all: Arc<Semaphore>,
    held: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Slot {
    /// A free slot, if there is one.
    pub(crate) fn free(all: &Arc<Semaphore>) -> Option<Self> {
        let held = Arc::clone(all).try_acquire_owned().ok()?;
        Some(Self { all: Arc::clone(all), held: Mutex::new(Some(held)) })
    }

    /// Gives the slot back while the item waits for a person.
    pub(crate) fn give_back(&self) {
        drop(self.held.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Waits for a free slot, unless this one is held. Returns whether there will be one: a worker that is
    /// being stopped has none.
    pub(crate) async fn take(&self) -> bool {
        if self.held.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return true;
        }
        let Ok(permit) = Arc::clone(&self.all).acquire_owned().await else { return false };
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(permit);
        true
    }
}

//! A stream of a plan's changes as they happen.

use std::future::poll_fn;

use punchlist_formats::text::line::{self, Line};
use punchlist_formats::view::Options;
use punchlist_formats::view::log::{Show, Times, log};
use punchlist_model::store::{Entry, Error, Following};

use super::PlanHandle;

/// Changes of one plan, in order and without gaps. The stream ends after an error.
pub struct News {
    plan: PlanHandle,
    entries: Following,
}

impl News {
    pub(super) fn new(plan: PlanHandle, entries: Following) -> Self {
        Self { plan, entries }
    }

    /// Waits for the next change; `None` if the stream has ended.
    pub async fn next(&mut self) -> Option<Result<Change, Error>> {
        let (_, entry) = match poll_fn(|context| self.entries.as_mut().poll_next(context)).await? {
            Ok(next) => next,
            Err(error) => return Some(Err(error)),
        };
        Some(describe(&self.plan, entry).await)
    }
}

async fn describe(plan: &PlanHandle, entry: Entry) -> Result<Change, Error> {
    let plan = plan.whole().await?;
    let show = Show { reader: None, times: Times::Hidden, only: None };
    let entries = [entry];
    let lines = log(&plan, &entries, show, &Options::plain(plan.updated_at));
    let [entry] = entries;
    Ok(Change { entry, lines })
}

/// One change.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// The journal entry.
    pub entry: Entry,
    lines: Vec<Line>,
}

impl Change {
    /// The change as text: who did what, in one or more lines.
    pub fn text(&self) -> String {
        line::to_plain(&self.lines)
    }
}

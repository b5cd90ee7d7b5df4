//! What happens to a plan, as it happens.

use std::future::poll_fn;

use punchlist_formats::text::line::{self, Line};
use punchlist_formats::view::Options;
use punchlist_formats::view::log::{Show, Times, log};
use punchlist_model::store::{Entry, Error, Following};

use super::PlanHandle;

/// Changes of one plan, in order and without gaps. After an error there is nothing more.
pub struct News {
    plan: PlanHandle,
    entries: Following,
}

impl News {
    pub(super) fn new(plan: PlanHandle, entries: Following) -> Self {
        Self { plan, entries }
    }

    /// The next change. It waits for one; `None` if there will be none.
    pub async fn next(&mut self) -> Option<Result<Change, Error>> {
        let (_, entry) = match poll_fn(|context| self.entries.as_mut().poll_next(context)).await? {
            Ok(next) => next,
            Err(error) => return Some(Err(error)),
        };
        Some(tell(&self.plan, entry).await)
    }
}

async fn tell(plan: &PlanHandle, entry: Entry) -> Result<Change, Error> {
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
    /// What the journal has of it.
    pub entry: Entry,
    lines: Vec<Line>,
}

impl Change {
    /// Who did what, in words, one line or more.
    pub fn text(&self) -> String {
        line::to_plain(&self.lines)
    }
}

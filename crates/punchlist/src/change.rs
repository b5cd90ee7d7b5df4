//! Makes a change and reports the result, for all verbs that change a plan.

use std::sync::Arc;

use punchlist_engine::change;
use punchlist_engine::fail::Fail;
use punchlist_engine::plan_service::choice::no_plan;
use punchlist_formats::typed::Expect;
use punchlist_formats::view;
use punchlist_model::session::Store;
use punchlist_model::store::{Applied, Change};
use punchlist_model::{Attempt, Op, Revision};

use crate::app::App;
use crate::block_on;
use crate::identity;
use crate::person;
use crate::plan_choice::{self, Missing};
use crate::print::Reply;

/// The options of every verb that changes a plan.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Changing {
    /// Refuse the change unless the plan is at this revision; `any` accepts every revision
    #[arg(long, value_name = "REV|any")]
    pub(crate) expect: Option<Expect>,
}

impl Changing {
    /// The expected revision.
    pub(crate) fn revision(&self) -> Option<Revision> {
        self.expect.and_then(Expect::revision)
    }
}

/// A change that a verb asks for.
pub(crate) struct Request {
    /// The operations.
    pub(crate) ops: Vec<Op>,
    /// Whether to create the plan if there is none.
    pub(crate) makes_plan: bool,
    /// The expected revision.
    pub(crate) changing: Changing,
    /// The attempt under which the worker writes.
    pub(crate) attempt: Option<u32>,
    /// The process that holds the claims of started items.
    pub(crate) pid: Option<u32>,
    /// Whether a person starts or completes an item although a dependency is open.
    pub(crate) anyway: bool,
}

impl Request {
    /// A change of an existing plan.
    pub(crate) fn new(ops: Vec<Op>, changing: Changing) -> Self {
        Self { ops, changing, makes_plan: false, attempt: None, pid: None, anyway: false }
    }

    /// Makes the change.
    pub(crate) fn make(self, app: &App) -> Result<(Arc<dyn Store>, Applied), Fail> {
        if !self.makes_plan && !app.has_store()? {
            return Err(no_plan());
        }
        if self.anyway {
            person::not_an_agent("blocked items are started and completed")?;
        }
        let mut ctx = app.ctx()?;
        ctx.anyway = self.anyway;
        ctx.attempt = self.attempt.map(Attempt);
        if self.pid.is_some() {
            ctx.holder = identity::holder(&ctx.holder.name, self.pid)?;
        }
        let store = app.store()?;
        let ctx = app.in_session(ctx, &*store)?;
        let change = Change { expect: self.changing.revision(), ..Change::new(self.ops, ctx) };
        let act = |id| block_on(change::change(&*store, id, change.clone(), &identity::gone));
        let check = || change::check_first(&change);
        let missing = if self.makes_plan { Missing::Make(&check) } else { Missing::Refuse };
        let applied = plan_choice::with(app, &*store, missing, act)?;
        Ok((store, applied))
    }

    /// Makes the change and reports the result.
    pub(crate) fn answer(self, app: &App) -> Result<Reply, Fail> {
        let (store, applied) = self.make(app)?;
        report(app, &*store, applied)
    }
}

/// Reports the result of a change, as text or JSON.
pub(crate) fn report(app: &App, store: &dyn Store, applied: Applied) -> Result<Reply, Fail> {
    if app.globals.json {
        let applied = block_on(change::with_obstacles(store, applied))?;
        return Ok(Reply { changed: true, ..Reply::json(&view::change::json(&applied)) });
    }
    let notes = view::change::warnings(&applied);
    Ok(Reply { notes, changed: true, ..Reply::prose(view::change::lines(&applied)) })
}

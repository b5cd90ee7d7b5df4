//! `punchlist undo`.

use punchlist_engine::{change, session};

use super::{Group, Verb};
use crate::app::{App, no_plan};
use crate::block_on;
use crate::change::{Changing, report};
use crate::fail::Fail;
use crate::plan_choice::{self, Missing};
use crate::print::Reply;

/// Undo your own last change
///
/// The call is refused if somebody else has changed the same fields since. Attempts, evidence and
/// answers cannot be undone: they record what happened outside the list. Run it again to undo the
/// change before.
#[derive(clap::Args)]
pub(crate) struct Undo {
    #[command(flatten)]
    changing: Changing,
}

impl Verb for Undo {
    const NAME: &'static str = "undo";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist undo
  punchlist undo --expect 41";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        if !app.has_store()? {
            return Err(no_plan());
        }
        let (ctx, expect) = (app.ctx()?, self.changing.revision());
        let store = app.store()?;
        let ctx = app.in_session(ctx, &*store)?;
        let act = |id| {
            block_on(async {
                let applied = store.undo(id, ctx.clone(), expect).await?;
                session::give_back(&*store, id, &applied.decision.events, &ctx).await?;
                Ok(applied)
            })
        };
        let applied = plan_choice::with(app, &*store, Missing::Refuse, act)?;
        let undid = match app.globals.json {
            true => Vec::new(),
            false => block_on(change::undid(&*store, &applied))?,
        };
        let mut reply = report(app, &*store, applied)?;
        if !undid.is_empty() {
            reply.out = undid.join("\n") + "\n";
        }
        Ok(reply)
    }
}

//! `punchlist undo`.

use punchlist_engine::session;
use punchlist_formats::view::log;
use punchlist_model::Revision;
use punchlist_model::store::{Applied, PlanStore};

use super::{Group, Verb};
use crate::app::{App, no_plan};
use crate::block_on;
use crate::change::{self, Changing};
use crate::error::Fail;
use crate::plan_choice::{self, Missing};
use crate::print::Reply;

/// Undo your own last change
///
/// Refused if somebody else has changed the same fields since. Attempts, evidence and answers are
/// never undone: they record what happened outside the list. Run it again to undo the change before.
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
        let undid = if app.globals.json { Vec::new() } else { undid(&*store, &applied)? };
        let mut reply = change::report(app, &*store, applied)?;
        if !undid.is_empty() {
            reply.out = undid.join("\n") + "\n";
        }
        Ok(reply)
    }
}

/// What was undone, in words. The journal has both changes.
fn undid(store: &dyn PlanStore, applied: &Applied) -> Result<Vec<String>, Fail> {
    let entry = |revision: Revision| {
        let before = Revision(revision.0.saturating_sub(1));
        block_on(store.journal(applied.plan.id, before, 1)).map(|it| it.into_iter().next())
    };
    let Some(undo) = entry(applied.revision())? else { return Ok(Vec::new()) };
    let undone = undo.undoes.map(entry).transpose()?.flatten();
    let told = undone.zip(applied.whole());
    Ok(told.map(|(undone, plan)| log::undid(&plan, &undone, &undo)).unwrap_or_default())
}

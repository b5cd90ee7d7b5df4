//! `punchlist undo`.

use punchlist_bridge::session;
use punchlist_model::store::PlanStore;

use super::{Group, Verb};
use crate::app::{App, no_plan};
use crate::change::{self, Changing};
use crate::error::Fail;
use crate::print::Reply;
use crate::settle::settle;
use crate::which::{self, Missing};

/// Take back your own last change
///
/// Refused if somebody has changed the same fields since. Claims, attempts and evidence are not
/// taken back: they say what happened outside the list. Said again, it takes back the one before.
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
        let ctx = app.in_session(ctx, &store)?;
        let act = |id| {
            settle(async {
                let applied = store.undo(id, ctx.clone(), expect).await?;
                session::give_back(&store, id, &applied.decision.events, &ctx).await?;
                Ok(applied)
            })
        };
        let applied = which::with(app, &store, Missing::Refuse, act)?;
        change::report(app, &store, applied)
    }
}

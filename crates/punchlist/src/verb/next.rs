//! `punchlist next`.

use punchlist_engine::next;
use punchlist_formats::text;
use punchlist_formats::view::json;
use punchlist_model::needs::Needs;
use punchlist_model::session::Store;
use punchlist_model::{Ctx, Item, Op, Slice};

use super::{Group, Verb};
use crate::app::App;
use crate::change::{self, Changing, Request};
use crate::fail::Fail;
use crate::print::Reply;
use crate::{identity, plan_choice};

/// Show the next ready item, or start it
///
/// An item is ready if it is pending, waits for nothing, has no open sub-item, and all its
/// dependencies are completed. The item that you have in progress comes first, then the ready item
/// with the highest priority, then the order of the list. The exit code is 4 if nothing is ready.
#[derive(clap::Args)]
pub(crate) struct Next {
    /// Start the item in the same transaction
    #[arg(long)]
    claim: bool,
    /// The process that does the work; the claim ends when the process ends
    #[arg(long, value_name = "PID", requires = "claim")]
    pid: Option<u32>,
    #[command(flatten)]
    changing: Changing,
}

impl Verb for Next {
    const NAME: &'static str = "next";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist next
  punchlist next --claim --as worker-1 --json
  punchlist claim                              # the same as next --claim";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        if self.claim {
            let request = Request::new(vec![Op::Next], self.changing);
            let (store, applied) = Request { pid: self.pid, ..request }.make(app)?;
            return match applied.decision.picked {
                Some(_) => change::report(app, &*store, applied),
                None => Err(next::nothing_ready(&applied.plan)),
            };
        }
        let (store, plan) = plan_choice::read_there(app, &Needs::of(&[Op::Next]))?;
        let Some(item) = picked(app, &*store, &plan)? else {
            return Err(next::nothing_ready(&plan));
        };
        if app.globals.json {
            let value = serde_json::json!({
                "plan": json::header(&plan, None),
                "item": json::item(&plan, item, false),
            });
            return Ok(Reply::json(&value));
        }
        Ok(Reply::prose(format!("{}  {}\n", item.number, text::one_line(&item.title))))
    }
}

/// The item that comes next.
pub(super) fn picked<'a>(
    app: &App,
    store: &dyn Store,
    plan: &'a Slice,
) -> Result<Option<&'a Item>, Fail> {
    let ctx = Ctx { gone: identity::gone(plan), ..app.in_session(app.ctx()?, store)? };
    Ok(next::picked(plan, &ctx)?)
}

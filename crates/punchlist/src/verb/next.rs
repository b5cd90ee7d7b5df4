//! `punchlist next`.

use punchlist_formats::text;
use punchlist_formats::view::json;
use punchlist_model::needs::Needs;
use punchlist_model::session::Store;
use punchlist_model::{Ctx, Item, Op, Slice, decide};

use super::{Group, Verb};
use crate::app::{App, no_plan};
use crate::change::{self, Changing, Request};
use crate::error::Fail;
use crate::print::Reply;
use crate::{identity, plan_choice};

/// Show the next ready item, or take it
///
/// Ready is what is pending, waits for nobody, depends on completed items only and has no open item
/// under it. Of those, the lowest priority comes first, then the list's order. What you have in progress already comes
/// before everything. Exit 4 if nothing is ready.
#[derive(clap::Args)]
pub(crate) struct Next {
    /// Start it, in the same step
    #[arg(long)]
    claim: bool,
    /// The process that does the work: when it ends, the claim ends
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
                None => Err(nothing(&applied.plan)),
            };
        }
        let Some((store, plan)) = plan_choice::read(app, &Needs::of(&[Op::Next]))? else {
            return Err(no_plan());
        };
        let Some(item) = picked(app, &*store, &plan)? else {
            return Err(nothing(&plan));
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

/// The item that comes next. The same decision that a claim would be, so that both always mean the
/// same item.
pub(super) fn picked<'a>(
    app: &App,
    store: &dyn Store,
    plan: &'a Slice,
) -> Result<Option<&'a Item>, Fail> {
    let ctx = Ctx { gone: identity::gone(plan), ..app.in_session(app.ctx()?, store)? };
    let picked = decide(plan, &[Op::Next], &ctx)?.picked;
    Ok(picked.and_then(|number| plan.get(number)))
}

pub(super) fn nothing(plan: &Slice) -> Fail {
    match plan.open {
        0 => Fail::not_found("nothing is left to do").hint("`punchlist list` shows what was done."),
        open => {
            let items = if open == 1 { "item is" } else { "items are" };
            Fail::not_found(format!(
                "nothing is ready: {open} {items} open, but in progress, waiting or blocked"
            ))
            .hint("`punchlist list` shows what each of them waits for.")
        }
    }
}

//! `punchlist forget`.

use punchlist_model::needs::{Needs, Reach};
use punchlist_model::store::PlanStore;
use punchlist_model::{Broken, Plan, Refusal};

use super::{Group, Verb};
use crate::app::{App, no_plan};
use crate::error::{Code, Fail};
use crate::items::Typed;
use crate::person;
use crate::print::{self, Reply, Said};
use crate::settle::settle;
use crate::{change, outputs, which};

/// Erase what was written in an item, or in a whole plan
///
/// The one thing that cannot be undone: texts go from the list, the journal and the database's
/// files, with what was run, put out, asked and answered for them, and a tombstone stays in their place.
/// Asks first, unless `--yes`, and is refused to agents.
#[derive(clap::Args)]
pub(crate) struct Forget {
    /// Number or id, as `punchlist list --all` shows it
    #[arg(
        value_name = "ITEM",
        required_unless_present = "whole_plan",
        conflicts_with = "whole_plan"
    )]
    item: Option<Typed>,
    /// Every text of the plan, and its name
    #[arg(long)]
    whole_plan: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl Verb for Forget {
    const NAME: &'static str = "forget";
    const GROUP: Group = Group::Keep;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist forget 4
  punchlist forget --whole-plan --plan 7f3a --yes";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        person::not_an_agent("texts are erased", Self::NAME)?;
        let item = self.item.map(|it| it.0);
        let items = item.iter().map(|item| Reach { item: item.clone(), around: Vec::new() });
        let needs = Needs { items: items.collect(), ..Needs::default() };
        let Some((_, plan)) = which::read(app, &needs)? else { return Err(no_plan()) };
        let mut number = None;
        let question = match &item {
            None => format!("Erase every text of plan {} for ever?", plan.id.short()),
            Some(item) => {
                let what = item.to_string();
                let problem = Refusal::one;
                let found = plan.find(item).map_err(problem)?;
                let found =
                    *number.insert(found.ok_or_else(|| problem(Broken::NotFound { what }))?);
                format!("Erase every text of item {found} {:?} for ever?", title(&plan, found))
            }
        };
        let said = if self.yes { Said::Yes } else { print::confirm(&question) };
        match said {
            Said::Yes => {}
            Said::No => return Err(Fail::new(Code::Interrupted, "nothing was erased")),
            Said::Nothing => {
                return Err(Fail::usage("it asks first, and there is no terminal to ask at")
                    .hint("what is erased is gone for ever; if that is meant, give `--yes`."));
            }
        }
        let store = app.store()?;
        let ctx = app.in_session(app.ctx()?, &store)?;
        // While the store still knows where they are.
        outputs::erase(&outputs::of(&store, plan.id, number)?)?;
        let applied = settle(store.forget(plan.id, item, ctx))?;
        let mut reply = change::report(app, &store, applied)?;
        if self.whole_plan && !app.globals.json {
            reply.out = format!("forgotten: every text of plan {}\n", plan.id.short());
        }
        Ok(reply)
    }
}

fn title(plan: &Plan, number: punchlist_model::Number) -> String {
    plan.get(number).map(|item| item.title.chars().take(80).collect()).unwrap_or_default()
}

//! `punchlist log`.

use punchlist_formats::view::{json, log};
use punchlist_model::needs::Needs;
use punchlist_model::store::{Entry, PlanStore};
use punchlist_model::{Event, Revision, What};

use super::{Group, Verb};
use crate::app::{App, no_plan};
use crate::error::Fail;
use crate::print::Reply;
use crate::settle::settle;
use crate::{which, who};

/// Show what happened to the plan
///
/// The newest change comes last. With `--json`, one change a line, with every value before and
/// after.
#[derive(clap::Args)]
pub(crate) struct Log {
    /// How many changes; 0 for all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 30)]
    number: u32,
}

impl Verb for Log {
    const NAME: &'static str = "log";
    const GROUP: Group = Group::Look;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist log
  punchlist log -n 5
  punchlist log -n 0 --json > journal.jsonl";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let Some((store, plan)) = which::read(app, &Needs::whole())? else { return Err(no_plan()) };
        let most = if self.number == 0 { u32::MAX } else { self.number };
        let after = Revision(plan.revision.0.saturating_sub(u64::from(most)));
        let mut entries = settle(store.journal(plan.id, after, most))?;
        if app.globals.json {
            let lines = entries.iter().map(|entry| json::render(&json::entry(entry)) + "\n");
            return Ok(Reply::text(lines.collect::<String>()));
        }
        entries.iter_mut().for_each(without_renewals);
        let reader = who::actor(&who::name(app.globals.name.as_deref())?);
        let show = log::Show { reader: Some(&reader), times: log::Times::Ago, only: None };
        let lines = log::log(&plan, &entries, show, &app.view(app.screen()));
        Ok(Reply::text(lines.into_iter().map(|line| line + "\n").collect::<String>()))
    }
}

/// Every write of a worker renews its claims; beside what else it did, that is not worth a line.
fn without_renewals(entry: &mut Entry) {
    let is_renewal = |event: &Event| matches!(event, Event::Changed { what: What::Renewed, .. });
    if !entry.events.iter().all(is_renewal) {
        entry.events.retain(|event| !is_renewal(event));
    }
}

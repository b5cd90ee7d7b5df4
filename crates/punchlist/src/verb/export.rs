//! `punchlist export`.

use punchlist_model::Revision;
use punchlist_model::needs::Needs;
use punchlist_model::store::PlanStore;

use super::{Group, Verb};
use crate::app::{App, no_plan};
use crate::archive;
use crate::error::Fail;
use crate::print::Reply;
use crate::settle::settle;
use crate::which;

/// Write a whole plan to stdout, with its journal
///
/// One JSON object a line: the plan, its items, every change that was made to it. Texts are exact.
/// `punchlist import` takes it in elsewhere. What was run and asked for it stays here.
#[derive(clap::Args)]
pub(crate) struct Export {}

impl Verb for Export {
    const NAME: &'static str = "export";
    const GROUP: Group = Group::Keep;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist export > plan.jsonl
  punchlist export --plan release | ssh other punchlist import -";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let Some((store, plan)) = which::read(app, &Needs::whole())? else { return Err(no_plan()) };
        let mut journal = settle(store.journal(plan.id, Revision(0), u32::MAX))?;
        // Somebody may have changed it between the two looks.
        journal.retain(|entry| entry.revision <= plan.revision);
        archive::write(&plan, journal).map(Reply::text)
    }
}

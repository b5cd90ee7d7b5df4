//! `punchlist export`.

use punchlist_engine::archive::export;

use super::{Group, Verb};
use crate::app::{App, no_plan};
use crate::block_on;
use crate::fail::Fail;
use crate::plan_choice;
use crate::print::Reply;

/// Write a whole plan to stdout, with its journal
///
/// Prints one JSON object per line: the plan, its items and every change. `punchlist import` reads
/// it. Outputs of runs and answered questions are not exported.
#[derive(clap::Args)]
pub(crate) struct Export {
    /// Export every plan of every project
    #[arg(long)]
    all: bool,
}

impl Verb for Export {
    const NAME: &'static str = "export";
    const GROUP: Group = Group::Keep;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist export > plan.jsonl
  punchlist export --all > plans.jsonl
  punchlist export --plan release | ssh other punchlist import -";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        if self.all {
            return all(app);
        }
        let (store, plan) = plan_choice::whole_there(app)?;
        block_on(export::one(&*store, &plan)).map(Reply::text)
    }
}

fn all(app: &App) -> Result<Reply, Fail> {
    if app.globals.plan.is_some() {
        return Err(Fail::usage("--all and --plan cannot be used together"));
    }
    let store = app.store_to_read()?.ok_or_else(no_plan)?;
    let (out, notes) = block_on(export::all(&*store))?;
    Ok(Reply { notes, ..Reply::text(out) })
}

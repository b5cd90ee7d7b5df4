//! `punchlist export`.

use punchlist_model::session::Store;
use punchlist_model::store::Filter;
use punchlist_model::{Plan, Revision};

use super::{Group, Verb};
use crate::app::{App, no_plan};
use crate::archive;
use crate::block_on;
use crate::error::Fail;
use crate::plan_choice;
use crate::print::Reply;

/// Write a whole plan to stdout, with its journal
///
/// One JSON object a line: the plan, its items, every change that was made to it. Texts are exact.
/// `punchlist import` takes it in elsewhere. What was run and asked for it stays here.
#[derive(clap::Args)]
pub(crate) struct Export {
    /// Every plan of every project, one after the other
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
        let Some((store, plan)) = plan_choice::whole(app)? else {
            return Err(no_plan());
        };
        file(&*store, &plan).map(Reply::text)
    }
}

fn file(store: &dyn Store, plan: &Plan) -> Result<String, Fail> {
    let mut journal = block_on(store.journal(plan.id, Revision(0), u32::MAX))?;
    // Somebody may have changed it between the two looks.
    journal.retain(|entry| entry.revision <= plan.revision);
    archive::write(plan, journal)
}

/// All of them. One that cannot be read is named, and the others are there.
fn all(app: &App) -> Result<Reply, Fail> {
    if app.globals.plan.is_some() {
        return Err(Fail::usage("--all and --plan cannot both be meant"));
    }
    let Some(store) = app.store_to_read()? else { return Err(no_plan()) };
    let (mut out, mut notes) = (String::new(), Vec::new());
    for summary in block_on(store.plans(Filter::default()))? {
        let plan = block_on(store.whole(summary.id)).map_err(Fail::from);
        match plan.and_then(|plan| file(&*store, &plan)) {
            Ok(text) => out.push_str(&text),
            Err(why) => {
                let id = summary.id.short();
                notes.push(format!("plan {id} cannot be read and is left out: {}", why.message));
            }
        }
    }
    Ok(Reply { notes, ..Reply::text(out) })
}

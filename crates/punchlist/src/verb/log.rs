//! `punchlist log`.

use std::future::poll_fn;

use punchlist_formats::view::{json, log};
use punchlist_model::session::Store;
use punchlist_model::store::{Cursor, Entry, Scope};
use punchlist_model::{Plan, Revision};

use super::{Group, Verb};
use crate::app::App;
use crate::block_on;
use crate::fail::Fail;
use crate::plan_choice;
use crate::print::{self, Reply};

/// Show the changes of the plan
///
/// The newest change comes last. With `--json`, prints one change per line, with old and new
/// values.
#[derive(clap::Args)]
pub(crate) struct Log {
    /// How many changes to show; 0 for all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 30)]
    number: u32,
    /// Wait for new changes and print them, until interrupted
    #[arg(long, short)]
    follow: bool,
}

impl Verb for Log {
    const NAME: &'static str = "log";
    const GROUP: Group = Group::Look;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist log
  punchlist log -n 5
  punchlist log --follow
  punchlist log -n 0 --json > journal.jsonl";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let (store, plan) = plan_choice::whole_there(app)?;
        if self.follow {
            return self.go_on(app, &*store, &plan);
        }
        let entries = self.past(&*store, &plan)?;
        Ok(Reply::prose(lines(app, &*store, &plan, entries)?))
    }
}

impl Log {
    /// The last changes, as many as asked for.
    fn past(&self, store: &dyn Store, plan: &Plan) -> Result<Vec<Entry>, Fail> {
        let most = if self.number == 0 { u32::MAX } else { self.number };
        let after = Revision(plan.revision.0.saturating_sub(u64::from(most)));
        Ok(block_on(store.journal(plan.id, after, most))?)
    }

    /// Prints the last changes, then new ones until nobody reads them.
    fn go_on(&self, app: &App, store: &dyn Store, plan: &Plan) -> Result<Reply, Fail> {
        // Subscribes before reading the past, so that no change is missed.
        let mut coming = block_on(store.follow(Cursor::Now, Scope::Plan(plan.id)))?;
        let plan = block_on(store.whole(plan.id))?;
        let past = self.past(store, &plan)?;
        let mut seen = plan.revision;
        let mut open = print::live(&lines(app, store, &plan, past)?)?;
        while open {
            let next = block_on(poll_fn(|context| coming.as_mut().poll_next(context)));
            let Some((_, entry)) = next.transpose()? else { break };
            if entry.revision > seen {
                seen = entry.revision;
                let plan = block_on(store.whole(entry.plan))?;
                open = print::live(&lines(app, store, &plan, vec![entry])?)?;
            }
        }
        Ok(Reply::default())
    }
}

/// Formats changes for printing.
fn lines(
    app: &App,
    store: &dyn Store,
    plan: &Plan,
    mut entries: Vec<Entry>,
) -> Result<String, Fail> {
    if app.globals.json {
        let lines = entries.iter().map(|entry| json::render(&json::entry(entry)) + "\n");
        return Ok(lines.collect());
    }
    entries.iter_mut().for_each(log::without_renewals);
    let reader = app.actor(store)?;
    let show = log::Show { reader: Some(&reader), times: log::Times::Ago, only: None };
    let screen = app.screen();
    let mut options = app.view(screen);
    // Followed changes are newer than the start of this call.
    options.now = entries.iter().map(|entry| entry.at).fold(options.now, Ord::max);
    Ok(screen.drawn(&log::log(plan, &entries, show, &options)))
}

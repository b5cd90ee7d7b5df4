//! `punchlist import`.

use std::path::PathBuf;

use punchlist_model::event::PlanDelta;
use punchlist_model::store::PlanStore;
use punchlist_model::{Event, Item, Level, Origin};

use super::{Group, Verb};
use crate::app::App;
use crate::error::Fail;
use crate::print::Reply;
use crate::settle::settle;
use crate::{archive, input, person, which};

/// Take in a plan that `export` wrote
///
/// It keeps its id, numbers and history and becomes a plan of this project, with the name that `--plan`
/// gives it or its own. The file is checked
/// whole before anything is stored: the journal must lead to the items.
#[derive(clap::Args)]
pub(crate) struct Import {
    /// The file; `-` is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Leave it in the project that it came from
    #[arg(long)]
    keep_project: bool,
}

impl Verb for Import {
    const NAME: &'static str = "import";
    const GROUP: Group = Group::Keep;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist import plan.jsonl
  punchlist import - --plan release < plan.jsonl";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let (mut plan, journal) = archive::read(&input::file(&self.file)?)?;
        if plan.items.values().any(is_persons_word) {
            // Whoever writes such a file could put words into a person's mouth.
            person::not_an_agent(
                "plans with commands or approvals of people are imported",
                Self::NAME,
            )?;
        }
        if !self.keep_project {
            plan.project.clone_from(&app.project()?.name);
        }
        if let Some(name) = &app.globals.plan {
            plan.name = Some(which::valid_name(name)?.to_owned());
            if journal.iter().flat_map(|entry| &entry.events).any(renames) {
                return Err(Fail::usage("this plan was renamed in its history and keeps its name")
                    .hint("import it without --plan."));
            }
        }
        let (id, items, revision) = (plan.id, plan.items.len(), plan.revision);
        settle(app.store()?.import(plan, journal))?;
        if app.globals.json {
            let value = serde_json::json!({
                "plan": id,
                "revision": revision,
                "items": items,
            });
            return Ok(Reply::json(&value));
        }
        Ok(Reply::text(format!(
            "imported plan {}: {items} items, {revision} changes\n",
            id.short()
        )))
    }
}

/// Whether an item has a command that is trusted as a person's, or a person's approval.
fn is_persons_word(item: &Item) -> bool {
    item.check.as_ref().is_some_and(|it| it.origin == Origin::Person)
        || item.run.as_ref().is_some_and(|it| it.origin == Origin::Person)
        || item.evidence.iter().any(|it| it.level == Level::Approved)
}

fn renames(event: &Event) -> bool {
    match event {
        Event::PlanChanged { deltas } => {
            deltas.iter().any(|delta| matches!(delta, PlanDelta::Name { .. }))
        }
        Event::Added { .. }
        | Event::Changed { .. }
        | Event::Moved { .. }
        | Event::Superseded { .. }
        | Event::Restored { .. }
        | Event::Forgotten { .. } => false,
    }
}

//! `punchlist import`.

use std::path::PathBuf;

use punchlist_model::store::PlanStore;

use super::{Group, Verb};
use crate::app::App;
use crate::error::Fail;
use crate::print::Reply;
use crate::settle::settle;
use crate::{archive, input};

/// Take in a plan that `export` wrote
///
/// It keeps its id, numbers and history and becomes a plan of this project. The file is checked
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
  punchlist import - < plan.jsonl";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        if app.globals.plan.is_some() {
            return Err(Fail::usage("an imported plan keeps its name; --plan has no place here"));
        }
        let (mut plan, journal) = archive::read(&input::file(&self.file)?)?;
        if !self.keep_project {
            plan.project.clone_from(&app.project()?.name);
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

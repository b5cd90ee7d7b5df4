//! `punchlist plans`.

use punchlist_formats::view::{json, plans};
use punchlist_model::store::{Filter, PlanStore};

use super::{Group, Verb};
use crate::app::App;
use crate::error::Fail;
use crate::print::Reply;
use crate::settle::settle;

/// Show the plans of this project, or of all
///
/// The one that changed last comes first.
#[derive(clap::Args)]
pub(crate) struct Plans {
    /// Those of every project
    #[arg(long)]
    all: bool,
}

impl Verb for Plans {
    const NAME: &'static str = "plans";
    const GROUP: Group = Group::Look;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist plans
  punchlist plans --all --json";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let project = if self.all { None } else { Some(app.project()?.name.clone()) };
        let mut summaries = match app.store_to_read()? {
            Some(store) => settle(store.plans(Filter { project, ..Filter::default() }))?,
            None => Vec::new(),
        };
        if app.globals.json {
            let plans: Vec<_> = summaries.iter().map(json::summary).collect();
            let value = serde_json::json!({ "plans": plans });
            return Ok(Reply::json(&value));
        }
        if summaries.is_empty() {
            let place = if self.all { "anywhere" } else { "here" };
            return Ok(Reply::text(format!(
                "No plan {place} yet. Start one: punchlist add \"…\"\n"
            )));
        }
        for plan in &mut summaries {
            if plan.title.is_empty() && plan.name.is_none() && plan.attachment.is_none() {
                plan.title = "(the project's own)".to_owned();
            }
        }
        let lines = plans::plans(&summaries, &app.view(app.screen()));
        Ok(Reply::text(lines.join("\n") + "\n"))
    }
}

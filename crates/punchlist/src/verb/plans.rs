//! `punchlist plans`.

use std::collections::BTreeSet;

use punchlist_formats::view::{json, plans};
use punchlist_model::store::{Filter, PlanStore, Summary};

use super::{Group, Verb};
use crate::app::App;
use crate::error::Fail;
use crate::print::Reply;
use crate::settle::settle;
use crate::which;

/// Show the plans of this project, or of all
///
/// The one that changed last comes first. A plan that an agent's session works on at this moment is
/// marked as live.
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
        let (mut summaries, mut live) = (Vec::new(), BTreeSet::new());
        if let Some(store) = app.store_to_read()? {
            summaries = settle(store.plans(Filter { project, ..Filter::default() }))?;
            let projects: BTreeSet<&str> = summaries.iter().map(|it| it.project.as_str()).collect();
            for project in projects.into_iter().filter(|_| app.here(&store).is_ok_and(|it| it.any))
            {
                live.extend(which::live_plans(app, &store, project)?);
            }
        }
        if app.globals.json {
            let plan = |it: &Summary| {
                let mut value = json::summary(it);
                value["live"] = serde_json::json!(live.contains(&it.id));
                value
            };
            let plans: Vec<_> = summaries.iter().map(plan).collect();
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
        let lines = plans::plans(&summaries, &live, &app.view(app.screen()));
        Ok(Reply::text(lines.join("\n") + "\n"))
    }
}

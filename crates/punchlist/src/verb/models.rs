//! `punchlist models`.

use punchlist_agent::models::{self, Report};
use punchlist_agent::provider::ModelName;
use punchlist_agent::workers::WorkerKind;

use super::{Group, Verb};
use crate::app::App;
use crate::fail::Fail;
use crate::print::{self, Reply};
use crate::session;

/// Show which models can be used, and what is missing
///
/// Lists the providers: those that are there by name, and those of your configuration. With
/// `--check`, each model that is configured is asked for one word: yours, and those of your workers.
#[derive(clap::Args)]
pub(crate) struct Models {
    /// Call the models that are configured, or those that are named
    #[arg(long)]
    check: bool,
    /// Models to check, as provider/name
    #[arg(value_name = "MODEL", requires = "check")]
    models: Vec<String>,
}

impl Verb for Models {
    const NAME: &'static str = "models";
    const GROUP: Group = Group::Look;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist models
  punchlist models --check
  punchlist models --check ollama/qwen3 anthropic/claude-sonnet-4-5";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let config = session::config(app)?;
        let providers = session::with_keys(|lookup| models::providers(&config, lookup))?;
        let chosen = session::model(None, &config).ok();
        let mut checks = Vec::new();
        if self.check {
            let mut names = self.models;
            if names.is_empty() {
                names = configured(app, chosen.as_ref())?;
            }
            if names.is_empty() {
                return Err(models::nothing_to_check(&providers));
            }
            let runtime = session::runtime()?;
            for name in names {
                let model = session::model(Some(&name), &config)?;
                print::aside(&format!("calling {model} …"), None);
                let result = match session::provider(&model, &config, 0) {
                    Ok(provider) => runtime.block_on(models::check(&*provider)),
                    Err(fail) => Err(fail.message),
                };
                checks.push((model, result));
            }
        }
        let report = Report { chosen, providers, checks };
        let exit = if report.is_well() { 0 } else { 6 };
        Ok(match app.globals.json {
            true => Reply { exit, ..Reply::json(&report.json()) },
            false => Reply { exit, ..Reply::text(report.text()) },
        })
    }
}

/// The models that are configured: the chosen one, then those of workers.
fn configured(app: &App, chosen: Option<&ModelName>) -> Result<Vec<String>, Fail> {
    let mut names: Vec<String> = chosen.map(ToString::to_string).into_iter().collect();
    for worker in session::workers::configs(app)? {
        if let (WorkerKind::Model, Some(model)) = (worker.kind, worker.model)
            && !names.contains(&model)
        {
            names.push(model);
        }
    }
    Ok(names)
}

//! `punchlist uninstall`.

use punchlist_engine::install;

use super::install::reply;
use super::{Group, Verb};
use crate::agent::{self, Goal};
use crate::app::App;
use crate::fail::Fail;
use crate::print::Reply;
use crate::{person, places};

/// Remove Punchlist from an agent's settings
///
/// Restores the files exactly as they were before the installation, if nobody has changed them
/// since; otherwise only Punchlist's entries are removed. Plans stay in the database. A call made
/// by an agent is refused, unless it has `--dry-run`.
#[derive(clap::Args)]
pub(crate) struct Uninstall {
    /// The agent: claude, codex or gemini
    #[arg(value_name = "AGENT")]
    agent: String,
    /// Remove it from your own settings (the default)
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// Remove it from the files at this project's root
    #[arg(long)]
    project: bool,
    /// Show the changes as a diff, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Accepted for scripts; this verb never asks
    #[arg(long, short)]
    yes: bool,
}

impl Verb for Uninstall {
    const NAME: &'static str = "uninstall";
    const GROUP: Group = Group::Agent;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist uninstall claude
  punchlist uninstall codex
  punchlist uninstall claude --project --dry-run";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let agent = agent::named(&self.agent)?;
        let goal = if self.project { Goal::Project } else { Goal::User };
        let options = agent::options(app, agent, goal)?;
        if self.dry_run {
            return Ok(reply(app, &install::preview_uninstall(&options)?));
        }
        let outcome = install::uninstall(&options, person::called_by())?;
        // After the last uninstall, the recorded directories for calls of agents are removed too.
        if !install::is_anything_installed(&options) {
            places::forget();
        }
        Ok(reply(app, &outcome))
    }
}

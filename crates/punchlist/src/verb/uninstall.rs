//! `punchlist uninstall`.

use punchlist_engine::install;

use super::install::reply;
use super::{Group, Verb};
use crate::agent::{self, Goal};
use crate::app::App;
use crate::fail::Fail;
use crate::print::Reply;
use crate::{person, places};

/// Take Punchlist out of an agent's settings
///
/// Gives back the files as they were, to the byte, if nobody has written them since; else only our
/// own entries go. Plans stay in the database. A call made by an agent is refused, unless `--dry-run`.
#[derive(clap::Args)]
pub(crate) struct Uninstall {
    /// Which agent: claude, codex, gemini
    #[arg(value_name = "AGENT")]
    agent: String,
    /// From your own settings (the default)
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// From the files at this project's root
    #[arg(long)]
    project: bool,
    /// Show what would change, as a diff, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask, which it never does
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
        // With the last installation goes the record of directories for the calls of agents.
        if !install::is_anything_installed(&options) {
            places::forget();
        }
        Ok(reply(app, &outcome))
    }
}

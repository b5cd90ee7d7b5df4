//! `punchlist install`.

use std::path::PathBuf;

use punchlist_bridge::install::Options;
use punchlist_engine::install::{self, Installation, Outcome};
use punchlist_formats::hook::Agent;
use punchlist_formats::text;

use super::{Group, Verb};
use crate::agent::{self, Goal};
use crate::app::App;
use crate::fail::{Code, Fail};
use crate::print::{self, Reply, Said};
use crate::{person, places};

/// Set up an agent to work with Punchlist
///
/// Writes entries into the agent's own settings: the MCP server with the plan tools, the permission
/// to use them without asking, and hooks. The hooks store the plan, show it to the agent again
/// after a compaction, and refuse the end of a turn while items are open.
///
/// Unless `--yes` is given, Punchlist first shows what it would write and asks for consent wherever
/// the agent itself would ask. Existing settings stay as they are, formatting included; `punchlist
/// uninstall` removes the entries. Without AGENT, every agent on this machine is set up.
///
/// An agent can call this verb too, but cannot consent in your place: with `--without-permission`,
/// and for Codex `--without-trust`, the agent itself asks you.
#[derive(clap::Args)]
pub(crate) struct Install {
    /// The agent: claude, codex or gemini [default: all on this machine]
    #[arg(value_name = "AGENT")]
    agent: Option<String>,
    /// Install for you, in every project (the default)
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// Install for this project, in files at its root
    #[arg(long)]
    project: bool,
    /// Show the changes as a diff, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for consent
    #[arg(long, short)]
    yes: bool,
    /// Leave out the permission: the agent asks before it uses a plan tool
    #[arg(long)]
    without_permission: bool,
    /// Codex: leave out the trust, and accept the hooks in Codex itself
    #[arg(long)]
    without_trust: bool,
    /// Codex: enable its own `update_plan` and store that list, instead of offering our plan tools
    #[arg(long)]
    own_tools: bool,
}

impl Verb for Install {
    const NAME: &'static str = "install";
    const GROUP: Group = Group::Agent;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist install
  punchlist install claude
  punchlist install codex --dry-run
  punchlist install gemini --project --yes
  punchlist install claude --plan release --yes";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let Some(name) = &self.agent else { return self.all(app) };
        let agent = agent::named(name)?;
        let codex_alone =
            [(self.own_tools, "--own-tools"), (self.without_trust, "--without-trust")];
        if agent != Agent::Codex
            && let Some((_, option)) = codex_alone.iter().find(|it| it.0)
        {
            return Err(Fail::usage(format!("{} has no such option", agent.title()))
                .hint(format!("{option} is for codex: leave it out.")));
        }
        Ok(reply(app, &self.set_up(app, agent)?))
    }
}

impl Install {
    fn options(&self, app: &App, agent: Agent) -> Result<Options, Fail> {
        let goal = if self.project { Goal::Project } else { Goal::User };
        let mut options = agent::options(app, agent, goal)?;
        options.permission = !self.without_permission;
        options.trust = !self.without_trust;
        options.own_tools = self.own_tools && agent == Agent::Codex;
        options.version = agent::version(agent);
        Ok(options)
    }

    fn set_up(&self, app: &App, agent: Agent) -> Result<Outcome, Fail> {
        let mut installation = Installation::new(self.options(app, agent)?)?;
        if self.dry_run {
            return Ok(installation.preview(person::reader()));
        }
        if !person::is_agent() {
            places::record()?;
        }
        if !installation.is_made() {
            installation.check_allowed(person::called_by())?;
            if !self.yes {
                if !app.globals.json {
                    print::say(&installation.description());
                }
                installation.ask(&mut |question| match print::confirm(question) {
                    Said::Yes => Some(true),
                    Said::No => Some(false),
                    Said::Nothing => None,
                })?;
            }
        }
        installation.apply(person::reader())
    }

    /// Sets up every agent on this machine.
    fn all(&self, app: &App) -> Result<Reply, Fail> {
        let found = agent::on_this_machine();
        if found.is_empty() {
            return Err(Fail::not_found("no agent was found on this machine")
                .hint("`punchlist install claude` (or codex, or gemini) sets one up anyway."));
        }
        if self.own_tools {
            return Err(Fail::usage("--own-tools is for one agent").hint(
                "call `punchlist install codex --own-tools`, then `punchlist install` for the rest.",
            ));
        }
        if !self.dry_run && !self.yes && !print::can_ask() {
            return Err(self.nobody_to_ask(app, &found)?);
        }
        let mut whole = Reply { prose: !self.dry_run, ..Reply::default() };
        let mut values = Vec::new();
        for (agent, program) in found {
            if !self.dry_run {
                let head = format!("{}  {}", agent.title(), program.display());
                whole.out.push_str(&format!("{}\n", text::many_lines(&head)));
            }
            match self.set_up(app, agent) {
                Ok(outcome) => {
                    whole.changed |= outcome.is_change();
                    whole.out.push_str(&outcome.text(app.screen().colour));
                    values.push(outcome.json());
                }
                // If one agent is declined or cannot be set up, the others still are.
                Err(fail) if fail.code == Code::Interrupted => {
                    whole.out.push_str(&format!("left as it is: {}\n", agent.title()));
                }
                Err(fail) => {
                    whole.exit = fail.code.exit();
                    whole.notes.push(format!("{}: {}", agent.title(), fail.message));
                    whole.notes.extend(fail.hint.map(|it| format!("hint: {it}")));
                }
            }
        }
        if app.globals.json {
            whole.out = Reply::json(&serde_json::json!({"agents": values})).out;
        }
        Ok(whole)
    }

    /// The error if there is no terminal to ask at, with the changes that each agent would get.
    fn nobody_to_ask(&self, app: &App, found: &[(Agent, PathBuf)]) -> Result<Fail, Fail> {
        let mut details = Vec::new();
        for (agent, program) in found {
            let options = self.options(app, *agent)?;
            details.push(format!("{}  {}", agent.as_str(), program.display()));
            details.extend(install::summary(&options).into_iter().map(|it| format!("  {it}")));
        }
        Ok(Fail::usage("it asks first, and there is no terminal to ask at").details(details).hint(
            "add `--yes` to agree to all of it; `--dry-run` shows it; name one agent to \
             set up that one alone.",
        ))
    }
}

/// Reports what was changed for an agent, or would be.
pub(super) fn reply(app: &App, outcome: &Outcome) -> Reply {
    let changed = outcome.is_change();
    if app.globals.json {
        return Reply { changed, ..Reply::json(&outcome.json()) };
    }
    Reply {
        changed,
        prose: !outcome.is_preview(),
        ..Reply::text(outcome.text(app.screen().colour))
    }
}

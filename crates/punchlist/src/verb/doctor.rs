//! `punchlist doctor`.

use punchlist_engine::doctor::{AgentToExamine, CallFacts, Examination, Stores};
use punchlist_formats::hook::Agent;
use punchlist_store::Options;

use super::{Group, Verb};
use crate::agent::{self, Goal};
use crate::app::App;
use crate::block_on;
use crate::fail::Fail;
use crate::print::Reply;
use crate::{config, database, identity, person, places};

/// Test the installation and the database
///
/// Calls the installed hooks and starts the installed MCP server as the agent would, and checks the
/// database. For each of them it reports whether it works and, if not, how to repair it. It changes
/// nothing. The exit code is 1 if something is broken.
#[derive(clap::Args)]
pub(crate) struct Doctor {}

impl Verb for Doctor {
    const NAME: &'static str = "doctor";
    const GROUP: Group = Group::Agent;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist doctor
  punchlist doctor --json | jq '.findings[] | select(.state == \"broken\")'";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let settings = match app.settings() {
            // The configuration files are valid, so the error is in the call itself.
            Err(fail) if config::read(app.project()?, &[]).is_ok() => return Err(fail),
            settings => settings,
        };
        let durability = settings.as_ref().map(|it| it.durability).unwrap_or_default();
        let (host, places) = (identity::host(), places::find().ok());
        let examination = Examination {
            agents: Agent::ALL.into_iter().map(|it| agent(app, it)).collect::<Result<_, _>>()?,
            project: app.project()?,
            settings,
            database: app.database()?,
            stores: Stores {
                current: &|| app.store_to_read(),
                open: &|path| Ok(database::open(&Options { path: path.to_owned(), durability })?),
            },
            call: CallFacts {
                version: env!("CARGO_PKG_VERSION"),
                host: &host,
                now: app.now,
                called_by: person::called_by(),
                places: places.as_ref(),
            },
        };
        let diagnosis = block_on(examination.run())?;
        let exit = u8::from(!diagnosis.is_well());
        if app.globals.json {
            return Ok(Reply { exit, ..Reply::json(&diagnosis.json()) });
        }
        let screen = app.screen();
        let lines = diagnosis.lines(app.view(screen).glyphs);
        Ok(Reply { exit, ..Reply::prose(screen.drawn(&lines)) })
    }
}

fn agent(app: &App, agent: Agent) -> Result<AgentToExamine, Fail> {
    let mut install = agent::options(app, agent, Goal::User)?;
    // The `--plan` of this call does not concern the installed entries.
    install.plan = None;
    Ok(AgentToExamine { install, program: agent::program(agent.as_str()) })
}

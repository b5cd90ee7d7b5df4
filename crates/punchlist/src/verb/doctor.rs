//! `punchlist doctor`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use punchlist_engine::doctor::{AgentToExamine, CallFacts, Diagnosis, Examination, Stores};
use punchlist_engine::places::Places;
use punchlist_engine::policy::human::CalledBy;
use punchlist_engine::settings::Settings;
use punchlist_formats::hook::Agent;
use punchlist_model::Timestamp;
use punchlist_model::session::Store;

use super::{Group, Verb};
use crate::agent::{self, Goal};
use crate::app::App;
use crate::args::Globals;
use crate::block_on;
use crate::fail::Fail;
use crate::print::Reply;
use crate::project::Project;
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
        let subject = Subject::of(app)?;
        let diagnosis = subject.examine(settings, &|| app.store_to_read(), app.now)?;
        let exit = u8::from(!diagnosis.is_well());
        if app.globals.json {
            return Ok(Reply { exit, ..Reply::json(&diagnosis.json()) });
        }
        let screen = app.screen();
        let lines = diagnosis.lines(app.view(screen).glyphs);
        Ok(Reply { exit, ..Reply::prose(screen.drawn(&lines)) })
    }
}

/// What is examined, collected from this call. It can be sent to another thread.
pub(crate) struct Subject {
    agents: Vec<AgentToExamine>,
    project: Project,
    /// What `--db` must say for the database.
    database: PathBuf,
    /// Beside this path are the files of this machine about the database.
    beside: PathBuf,
    /// The options of the call, for opening databases of installed entries.
    globals: Globals,
    host: String,
    called_by: CalledBy,
    places: Option<Places>,
}

impl Subject {
    /// Collects it.
    pub(crate) fn of(app: &App) -> Result<Self, Fail> {
        Ok(Self {
            agents: Agent::ALL.into_iter().map(|it| agent(app, it)).collect::<Result<_, _>>()?,
            project: app.project()?.clone(),
            database: match app.database_options() {
                Ok(options) => options.named(),
                Err(_) => app.database()?.clone(),
            },
            beside: app.database()?.clone(),
            globals: app.globals.clone(),
            host: identity::host(),
            called_by: person::called_by(),
            places: places::find().ok(),
        })
    }

    /// The project of the call.
    pub(crate) fn project(&self) -> &Project {
        &self.project
    }

    /// Examines everything. Takes seconds, because it starts programs.
    pub(crate) fn examine(
        &self,
        settings: Result<&Settings, Fail>,
        current: &dyn Fn() -> Result<Option<Arc<dyn Store>>, Fail>,
        now: Timestamp,
    ) -> Result<Diagnosis, Fail> {
        let at = |path: &Path| {
            App::new(Globals { db: Some(path.to_owned()), ..self.globals.clone() })
                .database_options()
        };
        let examination = Examination {
            agents: self.agents.clone(),
            project: &self.project,
            settings,
            database: &self.database,
            beside: &self.beside,
            stores: Stores {
                current,
                open: &|path| Ok(database::open(&at(path)?)?),
                server: &|path| Ok(database::server_facts(&at(path)?)?),
            },
            call: CallFacts {
                version: env!("CARGO_PKG_VERSION"),
                host: &self.host,
                now,
                called_by: self.called_by,
                places: self.places.as_ref(),
            },
        };
        block_on(examination.run())
    }
}

fn agent(app: &App, agent: Agent) -> Result<AgentToExamine, Fail> {
    let mut install = agent::options(app, agent, Goal::User)?;
    // The `--plan` of this call does not concern the installed entries.
    install.plan = None;
    Ok(AgentToExamine { install, program: agent::program(agent.as_str()) })
}

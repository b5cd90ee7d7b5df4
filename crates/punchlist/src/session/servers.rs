//! The MCP servers of a session: those of the user's configuration, and those of the project that a
//! person has allowed.

use std::env;
use std::sync::Arc;

use punchlist_agent::mcp::{self, Lookup, Options, ProjectServers, ServerConfig, Servers};
use punchlist_bridge::key_command;
use punchlist_engine::policy::server_consent as consent;
use punchlist_sched::Processes;

use super::world::environment;
use crate::app::App;
use crate::fail::Fail;
use crate::{places, print};

/// Takes the servers. Nothing is started yet. A person at the terminal is asked about servers of the
/// project that nobody has allowed.
pub(super) fn connect(app: &App, processes: Processes, is_there: bool) -> Result<Servers, Fail> {
    let project = app.project()?;
    let data = places::data()?;
    let mut configs: Vec<ServerConfig> = app
        .settings()?
        .mcp
        .iter()
        .map(|(name, entry)| ServerConfig::from_settings(name, entry))
        .collect();
    let of_project = ProjectServers::open(&project.root);
    print::notes(&of_project.notes, app.globals.json);
    let is_allowed = |digest: &str| consent::is_given(&data, &project.name, digest);
    if is_there {
        for server in of_project.to_ask(is_allowed) {
            print::say(&server.meaning(&project.name));
            if print::confirm("Start it in this project, now and later?") == print::Said::Yes {
                consent::give(&data, &project.name, &server.digest)?;
            }
        }
    }
    configs.extend(of_project.configs(is_allowed));
    let lookup = Lookup {
        variable: Arc::new(|name: &str| env::var(name).ok()),
        command: Arc::new(key_command::output),
    };
    let options = Options {
        environment: environment(),
        ..Options::new(project.root.clone(), processes, lookup)
    };
    Ok(mcp::connect(configs, options))
}

//! The MCP servers of a session: those of the user's configuration, and those of the project or of an
//! editor that a person has allowed.

use std::env;
use std::sync::Arc;

use punchlist_agent::config::AgentConfig;
use punchlist_agent::mcp::{
    self, ForeignServer, ForeignServers, Lookup, Options, ServerConfig, ServerConsents, Servers,
};
use punchlist_bridge::key_command;
use punchlist_sched::Processes;

use super::world::{environment, top};
use crate::app::App;
use crate::fail::Fail;
use crate::{places, print};

/// Asks the person at the terminal about servers of the project that nobody has allowed.
pub(super) fn ask(app: &App) -> Result<(), Fail> {
    for server in to_ask(app, &ForeignServers::default())? {
        print::say(&server.meaning(&app.project()?.name));
        if print::confirm("Start it in this project, now and later?") == print::Said::Yes {
            allow(app, &server)?;
        }
    }
    Ok(())
}

/// The servers of the project, and those that an editor offers, that nobody has allowed.
pub(crate) fn to_ask(app: &App, offered: &ForeignServers) -> Result<Vec<ForeignServer>, Fail> {
    Ok(consents(app)?.to_ask(&top(app)?, offered))
}

/// Records that a person has allowed a server in this project.
pub(crate) fn allow(app: &App, server: &ForeignServer) -> Result<(), Fail> {
    consents(app)?.give(server)
}

/// What a person has allowed in this project.
fn consents(app: &App) -> Result<ServerConsents, Fail> {
    Ok(ServerConsents { data: places::data()?, project: app.project()?.name.clone() })
}

/// Takes the servers. Nothing is started yet. `is_allowed_now` says of digests whether a person has
/// allowed the server for this session only.
pub(crate) fn connect(
    app: &App,
    config: &AgentConfig,
    processes: Processes,
    offered: &ForeignServers,
    is_allowed_now: impl Fn(&str) -> bool,
) -> Result<Servers, Fail> {
    let top = top(app)?;
    let own = app.settings()?.mcp.iter();
    let own = own.map(|(name, entry)| ServerConfig::from_settings(name, entry)).collect();
    let of_project = ForeignServers::of_project(&top);
    print::notes(&of_project.notes, app.globals.json);
    let configs = consents(app)?.configs(own, offered, &of_project, is_allowed_now);
    let lookup = Lookup {
        variable: Arc::new(|name: &str| env::var(name).ok()),
        command: Arc::new(key_command::output),
    };
    let options =
        Options { environment: environment(config), ..Options::new(top, processes, lookup) };
    Ok(mcp::connect(configs, options))
}

//! The workers of a session, from the user's configuration.

use std::collections::BTreeSet;
use std::env;
use std::sync::Arc;

use punchlist_agent::session::{ModelLoop, TurnTools, World};
use punchlist_agent::workers::acp::ByPolicy;
use punchlist_agent::workers::delegate::Delegate;
use punchlist_agent::workers::{ProgramEnvironment, WorkerConfig, WorkerOptions, Workers};
use punchlist_sched::Tool;

use crate::app::App;
use crate::clock;
use crate::fail::Fail;

/// The configured workers.
pub(crate) fn configs(app: &App) -> Result<Vec<WorkerConfig>, Fail> {
    let Some(tables) = app.settings()?.others.get("workers") else { return Ok(Vec::new()) };
    WorkerConfig::read_all(tables).map_err(|why| {
        Fail::usage(why).hint("fix that table of your config.toml; docs/agent.md lists the keys.")
    })
}

/// The tool `delegate`, if there are workers. `keys` are the variables that hold keys of providers.
pub(crate) fn tools(
    configs: Vec<WorkerConfig>,
    keys: BTreeSet<String>,
    world: &World,
) -> TurnTools {
    // A worker delegates nothing.
    let mut for_workers = world.clone();
    for_workers.tools.turn_tools = Arc::new(|_, _| Vec::new());
    Arc::new(move |plan, sender| {
        if configs.is_empty() {
            return Vec::new();
        }
        let models = ModelLoop::new(for_workers.clone(), plan.clone(), sender.clone());
        let options = WorkerOptions {
            root: for_workers.place.directory.clone(),
            // The programs are the user's own and may need any variable but the keys of others.
            environment: ProgramEnvironment {
                variables: env::vars_os().collect(),
                keys: keys.clone(),
            },
            worktrees: None,
            models: Arc::new(models),
            approver: Arc::new(ByPolicy(for_workers.tools.policy.clone())),
            clock: Arc::new(clock::now),
            time_zone: clock::time_zone(),
        };
        let workers = Workers::new(configs.clone(), options);
        let directory = for_workers.place.directory.clone();
        let delegate = Delegate::new(workers, Arc::new(plan.clone()), plan.agent(), directory);
        vec![Arc::new(delegate) as Arc<dyn Tool>]
    })
}

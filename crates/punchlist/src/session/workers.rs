//! The workers of a session, from the user's configuration.

use std::sync::Arc;

use punchlist_agent::session::{ModelLoop, TurnTools, World};
use punchlist_agent::workers::acp::ByPolicy;
use punchlist_agent::workers::delegate::Delegate;
use punchlist_agent::workers::{WorkerConfig, WorkerOptions, Workers};
use punchlist_sched::Tool;

use super::world::environment;
use crate::app::App;
use crate::clock;
use crate::fail::Fail;

/// The configured workers.
pub(super) fn configs(app: &App) -> Result<Vec<WorkerConfig>, Fail> {
    let Some(tables) = app.settings()?.others.get("workers") else { return Ok(Vec::new()) };
    WorkerConfig::read_all(tables).map_err(|why| {
        Fail::usage(why).hint("fix that table of your config.toml; docs/agent.md lists the keys.")
    })
}

/// The tool `delegate`, if there are workers.
pub(super) fn tools(configs: Vec<WorkerConfig>, world: &World) -> TurnTools {
    // A worker delegates nothing.
    let for_workers = World { turn_tools: Arc::new(|_, _| Vec::new()), ..world.clone() };
    Arc::new(move |plan, sender| {
        if configs.is_empty() {
            return Vec::new();
        }
        let models = ModelLoop::new(for_workers.clone(), sender.clone());
        let options = WorkerOptions {
            root: for_workers.directory.clone(),
            environment: environment(),
            worktrees: None,
            models: Arc::new(models),
            approver: Arc::new(ByPolicy(for_workers.policy.clone())),
            clock: Arc::new(clock::now),
            time_zone: clock::time_zone(),
        };
        let workers = Workers::new(configs.clone(), options);
        let directory = for_workers.directory.clone();
        let delegate = Delegate::new(workers, Arc::new(plan.clone()), plan.agent(), directory);
        vec![Arc::new(delegate) as Arc<dyn Tool>]
    })
}

//! What a session needs from the program that runs it.

use std::path::PathBuf;
use std::sync::Arc;

use punchlist_engine::fail::Fail;
use punchlist_engine::{Around, Engine};
use punchlist_model::session::Store;
use punchlist_model::{Actor, Limits, Process, remind};
use punchlist_sched::policy::Policy;
use punchlist_sched::{Processes, Tool};
use tokio::sync::mpsc::UnboundedSender;

use super::event::Event;
use super::plan::TurnPlan;
use crate::context::ContextOptions;
use crate::mcp::Servers;
use crate::provider::{ModelOptions, Price, Provider};

/// Makes the tools that work on the plan of one turn, such as `delegate`. What happens in them beside
/// their results, such as questions of a worker, is sent as events.
pub type TurnTools =
    Arc<dyn Fn(&TurnPlan, &UnboundedSender<Event>) -> Vec<Arc<dyn Tool>> + Send + Sync>;

/// Connects to another model, by its name. Returns its price, too, if one is configured.
pub type Connect =
    Arc<dyn Fn(&str) -> Result<(Arc<dyn Provider>, Option<Price>), Fail> + Send + Sync>;

/// What the system prompt says about the surroundings.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// The directory that the session works in.
    pub directory: String,
    /// The operating system.
    pub operating_system: String,
    /// The date, such as `2026-11-17`.
    pub date: String,
    /// The git branch.
    pub branch: Option<String>,
    /// The paths and texts of `AGENTS.md` and the like, from the root of the project down to the
    /// directory.
    pub instructions: Vec<(String, String)>,
    /// The names and descriptions of the workers.
    pub workers: Vec<(String, String)>,
}

/// What a session needs from the program that runs it.
#[derive(Clone)]
pub struct World {
    /// The model, and what it reads.
    pub model: SessionModel,
    /// The tools, and what they may do.
    pub tools: SessionTools,
    /// Where the session runs.
    pub place: SessionPlace,
    /// For whom it works.
    pub user: SessionUser,
}

/// The model of a session, and what it reads.
#[derive(Clone)]
pub struct SessionModel {
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// Connects to other models, for workers.
    pub connect: Connect,
    /// Its price, if one is configured.
    pub price: Option<Price>,
    /// How the model is to answer.
    pub options: ModelOptions,
    /// How much of a conversation the model reads.
    pub context: ContextOptions,
    /// When the model is reminded of its list.
    pub reminders: remind::Policy,
    /// What the system prompt says about the surroundings.
    pub facts: Facts,
}

/// The tools of a session, and what they may do.
#[derive(Clone)]
pub struct SessionTools {
    /// All tools but the plan's and those of MCP servers.
    pub all: Vec<Arc<dyn Tool>>,
    /// The MCP servers whose tools the model gets too.
    pub servers: Arc<Servers>,
    /// Tools that are made for each turn.
    pub turn_tools: TurnTools,
    /// What may run.
    pub policy: Policy,
    /// Starts processes.
    pub processes: Processes,
    /// The directory for whole outputs.
    pub outputs: PathBuf,
    /// The file that gets a rule when a person answers "always".
    pub rules_file: PathBuf,
}

/// Where a session runs.
#[derive(Clone)]
pub struct SessionPlace {
    /// The engine, which has the store.
    pub engine: Engine,
    /// Clock and ids.
    pub around: Arc<dyn Around>,
    /// The project.
    pub project: String,
    /// The directory that the session works in.
    pub directory: PathBuf,
    /// This process.
    pub process: Option<Process>,
    /// Limits on sizes and counts of plans.
    pub limits: Limits,
}

/// For whom a session works, and who is asked.
#[derive(Clone)]
pub struct SessionUser {
    /// Who answers questions at the front end.
    pub person: Actor,
    /// The name under which the session asks questions, if it is not its title.
    pub asks_as: Option<String>,
    /// Whether somebody can be asked, here or elsewhere.
    pub is_attended: bool,
}

impl World {
    /// The store.
    pub(super) fn store(&self) -> &Arc<dyn Store> {
        self.place.engine.store()
    }
}

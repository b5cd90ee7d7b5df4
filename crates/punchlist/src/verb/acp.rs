//! `punchlist acp`.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use punchlist_agent::mcp::{ForeignServer, ForeignServers, Servers};
use punchlist_agent::session::World;
use punchlist_agent::turn::Strategy;
use punchlist_model::ConversationId;
use punchlist_serve::acp::{self, Opened, Sessions};

use super::r#do::strategy;
use super::{Group, Verb};
use crate::app::App;
use crate::args::Globals;
use crate::fail::Fail;
use crate::print::{self, Reply};
use crate::session::{Continued, servers, workers};
use crate::{block_on, person, session};

/// Serve the agent of `do` to an editor over ACP on stdio
///
/// The editor starts this agent and speaks the Agent Client Protocol with it: you write prompts,
/// see the plan, the calls and the changes, and answer questions in the editor. The agent ends when
/// its stdin is closed. Sessions are stored as those of `do` are: `punchlist sessions` lists them,
/// and `punchlist resume` continues them.
///
/// The model comes from `--model`, PUNCHLIST_MODEL or `model` in `[agent]` of your configuration. A
/// session that is loaded keeps its model, unless `--model` names another.
#[derive(clap::Args)]
pub(crate) struct Acp {
    /// The model, as provider/name; `scripted:FILE` plays a scenario
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Who leads: `supervisor` lets the model lead, `steps` plans and works off item by item
    #[arg(long, value_name = "NAME", value_parser = strategy)]
    strategy: Option<Strategy>,
}

impl Verb for Acp {
    const NAME: &'static str = "acp";
    const GROUP: Group = Group::Agent;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist acp
  punchlist acp --model anthropic/claude-sonnet-4-5
  punchlist acp --model ollama/qwen3 --strategy steps";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let mut globals = app.globals.clone();
        if let Some(path) = globals.db.take() {
            // Each session has a directory of its own, but the database stays the same.
            let path = app.named(path)?;
            globals.db = Some(std::path::absolute(&path).unwrap_or(path));
        }
        let is_heard = person::is_heard_through_client();
        let sessions =
            EditorSessions { globals, model: self.model, strategy: self.strategy, is_heard };
        if std::io::stdin().is_terminal() {
            // A person who started this by mistake would wait for output.
            print::say(&[
                "This is an ACP agent. It waits for an editor on stdin.".to_owned(),
                "Ctrl-D or Ctrl-C ends it; docs/agent.md says how an editor starts it.".to_owned(),
            ]);
        }
        let runtime = session::runtime()?;
        runtime.block_on(acp::serve_stdio(Arc::new(sessions)));
        // The client is gone, so pending work is dropped.
        runtime.shutdown_background();
        Ok(Reply::default())
    }
}

/// The sessions of an editor, each in the project of its directory.
struct EditorSessions {
    globals: Globals,
    model: Option<String>,
    strategy: Option<Strategy>,
    /// Whether answers through the editor are those of a person.
    is_heard: bool,
}

impl EditorSessions {
    fn app(&self, directory: &Path) -> App {
        App::new(Globals { directory: Some(directory.to_owned()), ..self.globals.clone() })
    }
}

impl Sessions for EditorSessions {
    fn create(&self, directory: &Path) -> Result<Opened, Fail> {
        let app = self.app(directory);
        let config = session::config(&app)?;
        let model = session::model(self.model.as_deref(), &config)?;
        let provider = session::provider(&model, &config, 0)?;
        let mut settings = session::settings(&app, &config, &model)?;
        settings.turn.strategy = self.strategy.unwrap_or(settings.turn.strategy);
        settings.turn.is_attended = self.is_heard;
        let mut world = session::without_servers(&app, &config, &model, provider, self.is_heard)?;
        world.model.facts.instructions = session::instructions::allowed(&app)?;
        Ok(Opened { world, settings })
    }

    fn load(&self, directory: &Path, id: ConversationId) -> Result<Opened, Fail> {
        let app = self.app(directory);
        let store = app.store()?;
        let found = block_on(store.conversation(id))?;
        if found.project != app.project()?.name {
            return Err(Fail::usage(format!("session {} works in {}", id.short(), found.project))
                .hint("load it with that directory as \"cwd\"."));
        }
        let Continued { settings, config, model, provider } =
            session::continued(&app, &*store, &found, self.model.as_deref())?;
        drop(store);
        let mut world = session::without_servers(&app, &config, &model, provider, self.is_heard)?;
        world.model.facts.instructions = session::instructions::allowed(&app)?;
        Ok(Opened { world, settings })
    }

    fn servers_to_ask(
        &self,
        world: &World,
        offered: &ForeignServers,
    ) -> Result<Vec<ForeignServer>, Fail> {
        servers::to_ask(&self.app(&world.place.directory), offered)
    }

    fn allow_server(&self, world: &World, server: &ForeignServer) -> Result<(), Fail> {
        servers::allow(&self.app(&world.place.directory), server)
    }

    fn connect(
        &self,
        world: &World,
        offered: &ForeignServers,
        allowed: &BTreeSet<String>,
    ) -> Result<Servers, Fail> {
        let app = self.app(&world.place.directory);
        let (config, processes) = (session::config(&app)?, world.tools.processes.clone());
        servers::connect(&app, &config, processes, offered, |digest| allowed.contains(digest))
    }

    fn refresh(&self, world: &mut World) -> Result<(), Fail> {
        let app = self.app(&world.place.directory);
        world.tools.policy = app.policy()?;
        world.tools.turn_tools =
            workers::tools(workers::configs(&app)?, session::config(&app)?.key_variables(), world);
        Ok(())
    }

    fn note(&self, line: &str) {
        print::say(&[line.to_owned()]);
    }
}

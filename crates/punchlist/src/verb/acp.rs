//! `punchlist acp`.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use punchlist_agent::session::{Entry, Recorded, SessionSettings, World, stored_settings};
use punchlist_agent::turn::Strategy;
use punchlist_model::ConversationId;
use punchlist_model::store::turns::EntryFilter;
use punchlist_serve::acp::{self, Opened, Sessions};

use super::r#do::strategy;
use super::{Group, Verb};
use crate::app::App;
use crate::args::Globals;
use crate::fail::Fail;
use crate::print::{self, Reply};
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
        let mut turn = config.agent.turn();
        turn.strategy = self.strategy.unwrap_or(turn.strategy);
        turn.is_attended = self.is_heard;
        let settings = SessionSettings {
            model: model.to_string(),
            turn,
            dialect: config.agent.dialect.clone(),
            plan: app.globals.plan.clone(),
            goal: None,
            schema: None,
            budget: config.agent.budget().map_err(Fail::usage)?,
            wait_for_quota: config.agent.wait_for_quota.unwrap_or(true),
        };
        let mut world = session::world(&app, &config, &model, provider, self.is_heard)?;
        world.facts.instructions = session::instructions::allowed(&app)?;
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
        let mut settings = stored_settings(&found)?;
        if let Some(model) = &self.model {
            settings.model.clone_from(model);
        }
        let config = session::config(&app)?;
        let model = session::model(Some(&settings.model), &config)?;
        let entries = block_on(store.entries(id, EntryFilter::default()))?;
        let is_answer =
            |it: &Recorded| matches!(it.entry, Entry::Answer(_) | Entry::Summary { .. });
        let answers = entries.iter().filter_map(|it| Recorded::read(it).ok()).filter(is_answer);
        let provider = session::provider(&model, &config, answers.count())?;
        drop(store);
        let mut world = session::world(&app, &config, &model, provider, self.is_heard)?;
        world.facts.instructions = session::instructions::allowed(&app)?;
        Ok(Opened { world, settings })
    }

    fn refresh(&self, world: &mut World) -> Result<(), Fail> {
        world.policy = self.app(&world.directory).policy()?;
        Ok(())
    }

    fn note(&self, line: &str) {
        print::say(&[line.to_owned()]);
    }
}

//! `punchlist mcp`.

use std::env;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use punchlist_engine::hook::spool::Spool;
use punchlist_engine::session;
use punchlist_formats::dialect::{Dialect, Surface};
use punchlist_model::session::Store;
use punchlist_model::store;
use punchlist_model::{IdSource, Process, Slice, Timestamp};
use punchlist_serve::mcp::{self, Connection, Options, Server, Surroundings, Who};
use serde_json::{Map, Value};

use super::{Group, Verb};
use crate::app::App;
use crate::database::StayingStore;
use crate::fail::Fail;
use crate::print::{self, Reply};
use crate::project::Project;
use crate::{clock, current_session, hook_event, identity, person, plan_choice, repository};

/// Serve the tools of a dialect over MCP on stdio
///
/// The agent starts this server and speaks the Model Context Protocol with it. The server ends when
/// its stdin is closed. Each session of the agent has its own plan, which the first change creates;
/// with `--plan`, all sessions share the named plan. Plans are also available as resources. If the
/// plan needs a person's approval, the server asks the user through the agent.
#[derive(clap::Args)]
pub(crate) struct Mcp {
    /// The dialect: manager, turn, todowrite, write_todos, update_plan or tasks
    #[arg(long, value_name = "DIALECT", default_value = "turn")]
    dialect: Dialect,
    /// How much of the dialect to show: off, thin (one-line descriptions) or full
    #[arg(long, value_name = "SURFACE", default_value = "thin")]
    surface: Surface,
}

impl Verb for Mcp {
    const NAME: &'static str = "mcp";
    const GROUP: Group = Group::Agent;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist mcp
  punchlist mcp --dialect todowrite --surface full
  punchlist mcp --plan release";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        person::serve_agent();
        let around = Around::look(app)?;
        let settings = app.settings()?;
        let options = Options {
            dialect: self.dialect,
            surface: self.surface,
            project: around.connection.project.clone(),
            limits: settings.limits,
            open_items_chosen: settings.open_items_chosen,
            person: identity::name(app.globals.name.as_deref())?,
            key: clock::secret()?,
            version: env!("CARGO_PKG_VERSION"),
        };
        let server = Server::new(options, around);
        if std::io::stdin().is_terminal() {
            // A person who started this by mistake would wait for output.
            print::say(&[
                "This is an MCP server. It waits for an agent on stdin.".to_owned(),
                "Ctrl-D or Ctrl-C ends it; `punchlist install` sets up an agent to start it."
                    .to_owned(),
            ]);
        }
        // One thread for the protocol. Store calls run on threads that may block.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|why| Fail::ours(format!("the server cannot be started: {why}")))?;
        let served = runtime.block_on(mcp::serve_stdio(server));
        // The client is gone, so pending work is dropped.
        runtime.shutdown_background();
        served.map_err(|why| Fail::ours(why.to_string()))?;
        Ok(Reply::default())
    }
}

/// What the server finds around itself.
struct Around {
    connection: Connection,
    /// The project, with its directory.
    project: Project,
    store: StayingStore,
    /// The spool of the database, once the database exists.
    spool: OnceLock<Spool>,
    random: clock::Random,
    calls: AtomicU32,
}

impl Around {
    fn look(app: &App) -> Result<Self, Fail> {
        let plan = match &app.globals.plan {
            Some(name) => Some(name.clone()),
            None => env::var("PUNCHLIST_PLAN").ok().filter(|name| !name.trim().is_empty()),
        };
        let plan =
            plan.map(|name| plan_choice::valid_name(&name).map(str::to_owned)).transpose()?;
        let pid = std::process::id();
        let process = identity::holder("", Some(pid)).ok().and_then(|holder| holder.process);
        let start = process
            .as_ref()
            .map_or_else(|| app.now.as_millisecond().to_string(), |it| it.start_time.to_string());
        Ok(Self {
            connection: Connection {
                project: app.project()?.name.clone(),
                plan,
                above: session::reach(&identity::up_to_agent()),
                told: current_session::in_environment(|name| env::var(name).ok()),
                name: format!("mcp-{pid}-{start}"),
                process,
            },
            project: app.project()?.clone(),
            store: StayingStore::new(app.database_options()?),
            spool: OnceLock::new(),
            random: clock::Random::default(),
            calls: AtomicU32::default(),
        })
    }

    /// Applies spooled hook events before the store is used.
    fn catch_up(&self) {
        let options = self.store.options();
        if self.spool.get().is_none() && options.is_absent() {
            // The path is not final yet: the database may be created behind a symbolic link.
            hook_event::catch_up(options, &hook_event::spool(options.path()), None);
            return;
        }
        let spool = self.spool.get_or_init(|| hook_event::spool(options.path()));
        hook_event::catch_up(options, spool, None);
    }

    /// Records the repository of the project, on a thread of its own: git may be slow.
    fn note_repository(&self) {
        let (database, project) = (self.store.options().path().to_owned(), self.project.clone());
        thread::spawn(move || repository::note(&database, &project, repository::PATIENCE));
    }
}

impl Surroundings for Around {
    fn store(&self) -> Result<Arc<dyn Store>, store::Error> {
        self.catch_up();
        self.store.store(|| self.note_repository())
    }

    fn store_to_read(&self) -> Result<Option<Arc<dyn Store>>, store::Error> {
        self.catch_up();
        self.store.store_if_there(|| self.note_repository())
    }

    fn who<'a>(
        &'a self,
        store: Option<&'a dyn Store>,
        meta: &'a Map<String, Value>,
    ) -> punchlist_serve::BoxFuture<'a, Result<Arc<Who>, store::Error>> {
        Box::pin(async move { Ok(Arc::new(self.connection.who(store, meta).await?)) })
    }

    fn now(&self) -> Timestamp {
        clock::now()
    }

    fn ids(&self, at: Timestamp) -> Result<IdSource, store::Error> {
        let unusable = |fail: Fail| store::Error::Unusable { what: fail.message, source: None };
        let mut ids = self.random.ids(at).map_err(unusable)?;
        // Different for each call, even if a test fixes the seed.
        let [_, _, call @ ..] = self.calls.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        for (byte, count) in ids.random[8..].iter_mut().zip(call) {
            *byte ^= count;
        }
        Ok(ids)
    }

    fn hears_person(&self) -> bool {
        person::is_heard_through_client()
    }

    fn gone(&self, plan: &Slice) -> Vec<Process> {
        identity::gone(plan)
    }
}

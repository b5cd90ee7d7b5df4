//! `punchlist mcp`.

use std::env;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use punchlist_engine::Which;
use punchlist_engine::session;
use punchlist_engine::tool_service::Caller;
use punchlist_formats::dialect::{Dialect, Surface};
use punchlist_model::session::{Session, SessionKey, Store};
use punchlist_model::store::{self, AttachmentKey};
use punchlist_model::{Actor, Holder, IdSource, Process, Slice, Timestamp};
use punchlist_serve::mcp::{self, Options, Server, Surroundings, Who};
use serde_json::{Map, Value};

use super::{Group, Verb};
use crate::app::App;
use crate::database::StayingStore;
use crate::error::Fail;
use crate::print::{self, Reply};
use crate::project::Project;
use crate::{clock, current_session, hook_event, identity, person, plan_choice, repository};

/// Serve a dialect's tools to an agent, over MCP on stdio
///
/// The agent's client starts it and speaks the Model Context Protocol with it; it ends when stdin does.
/// Each session of the agent has a plan of its own, made by its first change; `--plan` gives all of
/// them one by name. Plans are offered as resources too, and the user is asked where the plan needs a
/// person's approval.
#[derive(clap::Args)]
pub(crate) struct Mcp {
    /// The tools: manager, turn, todowrite, write_todos, update_plan or tasks
    #[arg(long, value_name = "DIALECT", default_value = "turn")]
    dialect: Dialect,
    /// How much of them: off, thin (one-line descriptions) or full
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
            project: around.project.clone(),
            limits: settings.limits,
            open_items_chosen: settings.open_items_chosen,
            person: identity::name(app.globals.name.as_deref())?,
            key: clock::secret()?,
            version: env!("CARGO_PKG_VERSION"),
        };
        let server = Server::new(options, around);
        if std::io::stdin().is_terminal() {
            // A person would wait for it, as it does for them.
            print::say(&[
                "This is an MCP server for agents, and waits for one to speak to it on stdin."
                    .to_owned(),
                "Ctrl-D or Ctrl-C ends it; `punchlist install` sets an agent up to start it."
                    .to_owned(),
            ]);
        }
        // One thread for the protocol. What uses the store runs on threads that may block.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|why| Fail::ours(format!("the server cannot be started: {why}")))?;
        let served = runtime.block_on(mcp::serve_stdio(server));
        // Whatever still waits for something waits for nobody.
        runtime.shutdown_background();
        served.map_err(|why| Fail::ours(why.to_string()))?;
        Ok(Reply::default())
    }
}

/// What the server finds around itself.
struct Around {
    project: String,
    /// The same project, with its directory.
    root: Project,
    /// `--plan`, or `PUNCHLIST_PLAN`.
    plan: Option<String>,
    /// The processes above this one in which its session may run, nearest first.
    above: Vec<Process>,
    /// The session that the environment names; one from before the agent began a new one, it may be.
    told: Option<SessionKey>,
    /// What the connection is called where nothing names a session.
    connection: String,
    /// This process, where the system can tell it apart.
    process: Option<Process>,
    store: StayingStore,
    random: clock::Random,
    calls: AtomicU32,
}

/// What a client says with a call of who it is.
struct Named {
    session: Option<String>,
    thread: Option<String>,
    /// It speaks as Codex does.
    is_codex: bool,
}

impl Named {
    fn of(meta: &Map<String, Value>) -> Self {
        // Most calls come without anything.
        let id = |name: &str| meta.get(name)?.as_str().filter(|id| current_session::is_id(id));
        Self {
            session: id("sessionId").map(str::to_owned),
            thread: id("threadId").map(str::to_owned),
            is_codex: meta.contains_key("x-codex-turn-metadata"),
        }
    }

    /// The session that Codex names with a call, whether or not a hook has seen it: its hooks may not
    /// be trusted, and a conversation that is resumed shall find its list all the same.
    fn codex(&self) -> Option<SessionKey> {
        let (_, id) = (self.thread.as_ref()?, self.session.as_ref()?);
        self.is_codex.then(|| SessionKey { agent: "codex".to_owned(), id: id.clone() })
    }
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
            project: app.project()?.name.clone(),
            root: app.project()?.clone(),
            plan,
            above: session::reach(&identity::up_to_agent()),
            told: current_session::told(|name| env::var(name).ok()),
            connection: format!("mcp-{pid}-{start}"),
            process,
            store: StayingStore::new(app.database_options()?),
            random: clock::Random::default(),
            calls: AtomicU32::default(),
        })
    }

    /// Applies what hooks could not write, before the store is used.
    fn catch_up(&self) {
        hook_event::catch_up(&self.store.options().path, None);
    }

    /// Notes the repository of the project. Nobody waits for git.
    fn note_repository(&self) {
        let (database, root) = (self.store.options().path.clone(), self.root.clone());
        thread::spawn(move || repository::note(&database, &root, repository::PATIENCE));
    }
}

/// The session that the client itself names with a call, if a hook has seen it and it has not ended:
/// what else is named so is of no use here.
async fn named(store: &dyn Store, named: &Named) -> Result<Option<Session>, store::Error> {
    let Some(id) = &named.session else { return Ok(None) };
    for agent in session::AGENTS {
        let key = SessionKey { agent: agent.to_owned(), id: id.clone() };
        if let Some(session) = store.session(key).await?.filter(|it| it.ended_at.is_none()) {
            return Ok(Some(session));
        }
    }
    Ok(None)
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
        let named = Named::of(meta);
        Box::pin(async move { Ok(Arc::new(self.look_up(store, &named).await?)) })
    }

    fn now(&self) -> Timestamp {
        clock::now()
    }

    fn ids(&self, at: Timestamp) -> Result<IdSource, store::Error> {
        let mut ids = self.random.ids(at).map_err(no_random)?;
        // Apart from each other also where the seed is fixed.
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

impl Around {
    /// Who makes a call, by what the client says and what the store knows.
    async fn look_up(&self, store: Option<&dyn Store>, said: &Named) -> Result<Who, store::Error> {
        let own = said.codex();
        let session = match store {
            Some(store) => match (named(store, said).await?, &own) {
                (Some(session), _) => Some(session),
                // Another session above is not the one that is named.
                (None, Some(key)) => store.session(key.clone()).await?,
                (None, None) => session::current(store, &self.above, self.told.as_ref()).await?,
            },
            None => None,
        };
        let told = own.as_ref().or(self.told.as_ref());
        let (key, name) = match (&session, told) {
            (Some(session), _) => (session.attachment(), session.actor_name("")),
            (None, Some(told)) => (told.attachment(&self.project, ""), told.actor_name("")),
            (None, None) => (self.connection(), self.connection.clone()),
        };
        let plan = self.plan.clone().map(Which::Named);
        let title = session.as_ref().and_then(|session| session.memory.prompt.clone());
        let title = title.unwrap_or_default();
        let known = session.as_ref().and_then(|session| session.process.clone());
        let process = known.or_else(|| self.process.clone());
        Ok(Who {
            caller: Caller { key, plan, title },
            actor: Actor::agent(name.clone()),
            holder: Holder { name, process },
            session,
        })
    }

    /// The conversation of a connection of which no session is known.
    fn connection(&self) -> AttachmentKey {
        AttachmentKey {
            project: self.project.clone(),
            agent: "mcp".to_owned(),
            conversation: self.connection.clone(),
            sub_agent: String::new(),
            turn: String::new(),
        }
    }
}

fn no_random(fail: Fail) -> store::Error {
    store::Error::Unusable { what: fail.message, source: None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_session_that_codex_names_is_known_by_all_that_it_says() {
        let id =
            |meta: Value| Named::of(meta.as_object().unwrap()).codex().map(|it| (it.agent, it.id));
        let full =
            json!({"threadId": "t", "sessionId": "s", "x-codex-turn-metadata": {}, "callId": "c"});
        assert_eq!(id(full.clone()), Some(("codex".to_owned(), "s".to_owned())));
        for missing in ["threadId", "sessionId", "x-codex-turn-metadata"] {
            let mut meta = full.clone();
            meta.as_object_mut().unwrap().remove(missing);
            assert_eq!(id(meta), None, "{missing}");
        }
        let mut odd = full;
        odd["sessionId"] = json!("\u{1b}[2J");
        assert_eq!(id(odd), None);
    }
}

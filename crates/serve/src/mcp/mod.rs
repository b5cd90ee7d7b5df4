//! The MCP server: the tools of a dialect, plans as resources, prompts, and questions to the user.
//!
//! All that lasts is in the store; a server remembers nothing but who listens, so that any number of
//! them may run at once and a request may meet a fresh one. Who calls, the clock, random numbers and
//! the store itself come from the program around it, through [`Surroundings`]. Nothing here writes to
//! stdout but the protocol.

mod approval;
mod batch;
mod call;
mod handler;
mod pipe;
mod prompts;
mod resources;
mod skim;
mod stdio;
mod watch;

use std::sync::Arc;

use futures_core::future::BoxFuture;
use punchlist_formats::dialect::{Dialect, Surface};
use punchlist_formats::prompt::prompt_section;
use punchlist_model::session::{Session, Store};
use punchlist_model::store::Error;
use punchlist_model::{Actor, Holder, IdSource, Limits, Process, Slice, Timestamp};
use rmcp::model::{
    Implementation, RequestStateCodec, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, watch as signal};

use punchlist_engine::tool_service::Caller;

pub use stdio::{serve_stdio, serve_streams};

/// What a server is told once.
#[derive(Clone, Debug)]
pub struct Options {
    /// The tools that it offers.
    pub dialect: Dialect,
    /// How much of them.
    pub surface: Surface,
    /// The project whose plans it shows.
    pub project: String,
    /// How much of anything.
    pub limits: Limits,
    /// Whether somebody chose the cap of open items, so that the dialect's own does not hold.
    pub open_items_chosen: bool,
    /// The person before it, whose yes is an approval.
    pub person: String,
    /// Signs what a client hands back: random, and never shown.
    pub key: [u8; 32],
    /// The program's version.
    pub version: &'static str,
}

/// Who makes a call.
#[derive(Clone, Debug)]
pub struct Who {
    /// The conversation and its plan.
    pub caller: Caller,
    /// Under whose name the journal has it.
    pub actor: Actor,
    /// For whom items are claimed.
    pub holder: Holder,
    /// The agent's session, where one is known.
    pub session: Option<Session>,
}

/// What a server finds around itself. What opens or uses a store is called on a thread that may block.
pub trait Surroundings: Send + Sync + 'static {
    /// The store, made if it is not there.
    fn store(&self) -> Result<Arc<dyn Store>, Error>;

    /// The store, if there is one: reading makes none.
    fn store_to_read(&self) -> Result<Option<Arc<dyn Store>>, Error>;

    /// Who makes a call that came with this `_meta`. Asked for each call: a session may end and
    /// another begin in the same connection.
    fn who<'a>(
        &'a self,
        store: Option<&'a dyn Store>,
        meta: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<Arc<Who>, Error>>;

    /// The time.
    fn now(&self) -> Timestamp;

    /// Where the ids of one change come from.
    fn ids(&self, at: Timestamp) -> Result<IdSource, Error>;

    /// Whether an answer that comes through the client is its user's. It is not where an agent stands above
    /// that is not the client itself: such a one may have started the server to answer for its user.
    fn hears_person(&self) -> bool;

    /// Which of the processes behind the plan's claims have ended.
    fn gone(&self, plan: &Slice) -> Vec<Process>;
}

/// A server, or a handle to it: clones are the same one.
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
    /// Who listens on this connection.
    listeners: Arc<watch::Listeners>,
    /// Held by the call of this connection that is under way: a connection's calls are done one after the
    /// other, in the order in which they came. Those of other connections do not wait for it.
    order: Arc<Mutex<()>>,
}

struct Inner {
    options: Options,
    around: Box<dyn Surroundings>,
    config: ServerConfig,
    tools: Vec<Tool>,
    codec: RequestStateCodec,
    /// Goes to true when the client is gone.
    ended: signal::Sender<bool>,
}

impl Server {
    /// A server with these options.
    pub fn new(options: Options, around: impl Surroundings) -> Self {
        let tools: Vec<Tool> =
            options.dialect.tools(options.surface).into_iter().map(offered).collect();
        let inner = Inner {
            config: config(&options, !tools.is_empty()),
            codec: RequestStateCodec::new_unchecked(options.key.to_vec()),
            ended: signal::Sender::new(false),
            around: Box::new(around),
            tools,
            options,
        };
        Self { inner: Arc::new(inner), listeners: Arc::default(), order: Arc::default() }
    }

    /// The same server for another connection: nobody listens on that one yet.
    #[must_use]
    pub fn connection(&self) -> Self {
        let inner = Arc::clone(&self.inner);
        Self { inner, listeners: Arc::default(), order: Arc::default() }
    }

    /// Works with the store on one of the runtime's threads that may block: opening and using a store may
    /// take as long as another process holds its lock, and everybody else is served meanwhile.
    async fn with_store<T, W, F>(&self, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce(Self) -> F + Send + 'static,
        F: Future<Output = Result<T, Error>>,
    {
        let (server, runtime) = (self.clone(), Handle::current());
        let done = tokio::task::spawn_blocking(move || runtime.block_on(work(server)));
        let failed =
            |why| Error::Unusable { what: format!("the work failed: {why}"), source: None };
        done.await.unwrap_or_else(|why| Err(failed(why)))
    }
}

/// What a client learns of the server.
fn config(options: &Options, has_tools: bool) -> ServerConfig {
    let capabilities = ServerCapabilities::builder()
        .enable_tools()
        .enable_prompts()
        .enable_resources()
        .enable_resources_subscribe()
        .enable_resources_list_changed()
        .build();
    let name = Implementation::new("punchlist", options.version)
        .with_title("Punchlist")
        .with_description("A durable plan for AI agents");
    let config = ServerConfig::new(capabilities).with_server_info(name);
    match prompt_section(options.dialect, Surface::Full, has_tools) {
        Some(section) => config.with_instructions(section),
        None => config,
    }
}

/// A tool as a client is offered it.
fn offered(spec: punchlist_formats::dialect::ToolSpec) -> Tool {
    // Schemas of arguments and results are objects.
    let object = |schema: Value| Arc::new(schema.as_object().cloned().unwrap_or_default());
    let hints = ToolAnnotations::new().open_world(false);
    let hints = if spec.read_only {
        hints.read_only(true)
    } else {
        hints.read_only(false).destructive(false)
    };
    let tool = Tool::new(spec.name, spec.description, object(spec.input_schema))
        .with_title(spec.title)
        .with_annotations(hints);
    match spec.output_schema {
        Some(schema) => tool.with_raw_output_schema(object(schema)),
        None => tool,
    }
}

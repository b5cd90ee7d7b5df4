//! The MCP server: the tools of a dialect, plans as resources, prompts, and questions to the user.
//!
//! All durable state is in the store; a server keeps only its subscribers, so any number of servers
//! may run at once, and a request may reach a new one. The caller's identity, the clock, random
//! numbers and the store come from the surrounding program, through [`Surroundings`]. Only messages
//! of the protocol are written to stdout.

mod approval;
mod batch;
mod call;
mod connection;
mod handler;
mod pipe;
mod prompts;
mod resources;
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

pub use connection::Connection;
pub use stdio::{serve_stdio, serve_streams};

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The tools that the server offers.
    pub dialect: Dialect,
    /// How much of the tools models are shown.
    pub surface: Surface,
    /// The project whose plans the server shows.
    pub project: String,
    /// Limits on the sizes of texts and lists.
    pub limits: Limits,
    /// Whether the user set the maximum of open items. If not, the dialect's own applies.
    pub open_items_chosen: bool,
    /// The user's name, for approvals.
    pub person: String,
    /// Signs the state that a client sends back. Random and never shown.
    pub key: [u8; 32],
    /// The program's version.
    pub version: &'static str,
}

/// Who makes a call.
#[derive(Clone, Debug)]
pub struct Who {
    /// The conversation and its plan.
    pub caller: Caller,
    /// The author of changes, for the journal.
    pub actor: Actor,
    /// The holder of claims.
    pub holder: Holder,
    /// The agent's session, if known.
    pub session: Option<Session>,
}

/// What the surrounding program provides. Methods that open or use a store are called on a thread
/// that may block.
pub trait Surroundings: Send + Sync + 'static {
    /// The store; created if there is none.
    fn store(&self) -> Result<Arc<dyn Store>, Error>;

    /// The store, if there is one. Reading never creates one.
    fn store_to_read(&self) -> Result<Option<Arc<dyn Store>>, Error>;

    /// Who makes a call with this `_meta`. Asked for every call: during a connection, a session may
    /// end and another begin.
    fn who<'a>(
        &'a self,
        store: Option<&'a dyn Store>,
        meta: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<Arc<Who>, Error>>;

    /// The time.
    fn now(&self) -> Timestamp;

    /// The source of ids for one change.
    fn ids(&self, at: Timestamp) -> Result<IdSource, Error>;

    /// Whether an answer through the client is the user's. It is not if the server runs under an
    /// agent that is not the client: such an agent may have started the server to answer in the
    /// user's place.
    fn hears_person(&self) -> bool;

    /// The processes behind the plan's claims that have ended.
    fn gone(&self, plan: &Slice) -> Vec<Process>;
}

/// A server. Clones share their state.
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
    /// The subscribers on this connection.
    listeners: Arc<watch::Listeners>,
    /// The lock of the running call: the calls of a connection run one after the other, in the
    /// order in which they came. Calls of other connections do not wait for it.
    order: Arc<Mutex<()>>,
}

struct Inner {
    options: Options,
    around: Box<dyn Surroundings>,
    config: ServerConfig,
    tools: Vec<Tool>,
    codec: RequestStateCodec,
    /// Becomes true when the client is gone.
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

    /// The same server for another connection, which has no subscribers yet.
    #[must_use]
    pub fn connection(&self) -> Self {
        let inner = Arc::clone(&self.inner);
        Self { inner, listeners: Arc::default(), order: Arc::default() }
    }

    /// Runs `work` on a thread that may block: opening and using a store may take as long as
    /// another process holds its lock, and other requests are served meanwhile.
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

/// What a client is told about the server.
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

/// A tool as it is listed to clients.
fn offered(spec: punchlist_formats::dialect::ToolSpec) -> Tool {
    // The schemas of arguments and results are always objects.
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

//! The agent for editors: the runtime of `punchlist do` over the Agent Client Protocol (ACP), one JSON
//! object per line.
//!
//! A client opens sessions and sends prompts; each prompt is one turn of a session. `connection` reads
//! requests and answers them, `turn` works on a prompt, `servers` asks about MCP servers. `rpc`, `prompt`, `updates`, `tool_call`,
//! `permission` and `replay` convert between the protocol and the runtime; they are pure, except that
//! `tool_call` reads the old text of a file that a call replaces.
//!
//! A session is held only while a prompt is worked on. Between prompts, and after the connection has
//! ended, any other process may continue it.

mod client;
mod connection;
mod out;
mod outputs;
mod permission;
mod prompt;
mod replay;
mod rpc;
mod servers;
mod tool_call;
mod turn;
mod updates;

use std::collections::BTreeSet;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use punchlist_agent::mcp::{ForeignServer, ForeignServers, Servers};
use punchlist_agent::session::{SessionSettings, World};
use punchlist_engine::fail::Fail;
use punchlist_model::ConversationId;
use tokio::io::{AsyncRead, AsyncWrite};

use connection::Connection;

/// How long turns may take to stop after the client has gone, and a client to read the rest.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the surrounding program provides. The methods are called on a thread that may block.
pub trait Sessions: Send + Sync + 'static {
    /// What a new session in this directory needs. Stores nothing yet.
    fn create(&self, directory: &Path) -> Result<Opened, Fail>;

    /// What a stored session needs to go on in this directory. Fails if there is no such session, or
    /// if it belongs to another project.
    fn load(&self, directory: &Path, id: ConversationId) -> Result<Opened, Fail>;

    /// The MCP servers that a person must allow before a session uses them: of those that the client
    /// offers, and of the project's.
    fn servers_to_ask(
        &self,
        world: &World,
        offered: &ForeignServers,
    ) -> Result<Vec<ForeignServer>, Fail>;

    /// Records that the person has allowed a server in the project of a session, now and later.
    fn allow_server(&self, world: &World, server: &ForeignServer) -> Result<(), Fail>;

    /// The MCP servers of a session. Those with a digest in `allowed` are allowed for this session.
    fn connect(
        &self,
        world: &World,
        offered: &ForeignServers,
        allowed: &BTreeSet<String>,
    ) -> Result<Servers, Fail>;

    /// Brings the policy and the workers of a session up to date, before each prompt: the user may have
    /// added rules, for example by answering "always".
    fn refresh(&self, world: &mut World) -> Result<(), Fail>;

    /// Prints a line for whoever looks after the client.
    fn note(&self, line: &str);
}

/// A session that can be worked on.
pub struct Opened {
    /// What it needs from the program, without MCP servers.
    pub world: World,
    /// What the user chose for it.
    pub settings: SessionSettings,
}

/// Serves a client on stdin and stdout until stdin ends. Turns that run then are stopped like those
/// that a user cancels. Needs a tokio runtime with everything enabled.
pub async fn serve_stdio(sessions: Arc<dyn Sessions>) {
    let (read, write) = rmcp::transport::stdio_pipes();
    serve_streams(sessions, read, write).await;
}

/// Serves a client on two streams until the input ends.
pub async fn serve_streams(
    sessions: Arc<dyn Sessions>,
    read: impl AsyncRead + Unpin,
    write: impl AsyncWrite + Unpin,
) {
    let (out, queue) = out::queue();
    let mut writing = pin!(queue.write(write));
    let mut running = pin!(Connection::new(sessions, read, out).run());
    tokio::select! {
        () = &mut running => {
            // A client that does not read the rest is not waited for.
            tokio::time::timeout(PATIENCE, writing).await.ok();
        }
        // A client that cannot be written to is gone. The connection notices the end of the queue.
        _ = &mut writing => running.await,
    }
}

/// Runs work on a thread that may block: opening a store may take as long as another process holds its
/// lock.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fail> + Send + 'static,
) -> Result<T, Fail> {
    let failed = |why| Fail::ours(format!("the work failed: {why}"));
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|why| Err(failed(why)))
}

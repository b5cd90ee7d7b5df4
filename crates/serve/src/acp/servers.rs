//! The MCP servers of a session: those of the user's settings, those that the client offers, and those of
//! the project. Before the first prompt the user of the client is asked about each server that needs
//! consent. The servers then stay until the session is closed.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punchlist_agent::mcp::{ForeignServer, ForeignServers, Servers};
use punchlist_agent::session::{Input, World};
use punchlist_engine::fail::Fail;
use punchlist_formats::prompt::fence;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use super::client::Client;
use super::permission::ServerAnswer;
use super::tool_call::content;
use super::updates::update;
use super::{Sessions, blocking};

/// The MCP servers of a session.
pub(super) struct SessionServers {
    offered: Arc<ForeignServers>,
    /// The servers, once the user was asked.
    connected: Mutex<Option<Arc<Servers>>>,
}

/// The session that asks.
pub(super) struct Asking<'a> {
    pub(super) sessions: &'a Arc<dyn Sessions>,
    pub(super) world: &'a World,
    /// Its id.
    pub(super) session: &'a str,
}

impl SessionServers {
    pub(super) fn new(offered: ForeignServers) -> Self {
        Self { offered: Arc::new(offered), connected: Mutex::new(None) }
    }

    /// The servers. The first time, the user is asked about those that need consent; `None` if the
    /// prompt is cancelled meanwhile.
    pub(super) async fn get(
        &self,
        asking: &Asking<'_>,
        client: &Client,
        inputs: &mut UnboundedReceiver<Input>,
    ) -> Result<Option<Arc<Servers>>, Fail> {
        if let Some(servers) = self.connected().clone() {
            return Ok(Some(servers));
        }
        let Asking { sessions, world, .. } = asking;
        let mut allowed = BTreeSet::new();
        // Without a person behind the client nobody can consent.
        if world.user.is_attended {
            let (sessions, world) = (Arc::clone(sessions), (*world).clone());
            let offered = Arc::clone(&self.offered);
            let to_ask = blocking(move || sessions.servers_to_ask(&world, &offered)).await?;
            for server in to_ask {
                match asking.ask(&server, client, inputs).await? {
                    Some(true) => drop(allowed.insert(server.digest)),
                    Some(false) => {}
                    None => return Ok(None),
                }
            }
        }
        let (sessions, world) = (Arc::clone(sessions), (*world).clone());
        let offered = Arc::clone(&self.offered);
        let servers = blocking(move || sessions.connect(&world, &offered, &allowed)).await?;
        let servers = Arc::new(servers);
        *self.connected() = Some(Arc::clone(&servers));
        Ok(Some(servers))
    }

    /// Ends the servers.
    pub(super) async fn shut_down(&self) {
        let servers = self.connected().clone();
        if let Some(servers) = servers {
            servers.shut_down().await;
        }
    }

    fn connected(&self) -> MutexGuard<'_, Option<Arc<Servers>>> {
        self.connected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asking<'_> {
    /// Whether the user allows a server; `None` if the prompt is cancelled.
    async fn ask(
        &self,
        server: &ForeignServer,
        client: &Client,
        inputs: &mut UnboundedReceiver<Input>,
    ) -> Result<Option<bool>, Fail> {
        let shown = self.shown(server);
        client.update(self.session, update("tool_call", shown.clone()));
        let answer = client.ask_about_server(self.session, &shown);
        // Nothing else is asked or steered before the turn begins, so any input ends it.
        let answer = tokio::select! {
            answer = answer => answer.ok(),
            _ = inputs.recv() => None,
        };
        let is_allowed = match answer {
            Some(ServerAnswer::Project) => {
                let (sessions, world) = (Arc::clone(self.sessions), self.world.clone());
                let server = server.clone();
                blocking(move || sessions.allow_server(&world, &server)).await?;
                true
            }
            Some(ServerAnswer::Session) => true,
            Some(ServerAnswer::No) | None => false,
        };
        let status = if is_allowed { "completed" } else { "failed" };
        let ended = json!({"toolCallId": shown["toolCallId"], "status": status});
        client.update(self.session, update("tool_call_update", ended));
        Ok(answer.map(|_| is_allowed))
    }

    /// The question as a call, which is how the protocol shows what permission is asked for.
    fn shown(&self, server: &ForeignServer) -> Value {
        let meaning = server.meaning(&self.world.place.project).join("\n");
        json!({
            "toolCallId": format!("mcp-server-{}", server.digest),
            "title": format!("Use the MCP server {}", server.config.name),
            "kind": "other",
            "status": "pending",
            "content": [content(&fence("text", &meaning))],
        })
    }
}

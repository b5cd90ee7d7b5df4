//! A server of a session: its connection, its tools, and how it stands.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::time::Instant;

use super::announced::{self, Announced};
use super::connection::{CLOSED, CallFailure, Connection, Line, open};
use super::stdio::Log;
use super::{Launch, Options, ServerConfig, ServerState, Status, results};

/// How long asking again for the tools may take. A model call waits for it.
const REFRESH: Duration = Duration::from_secs(5);

/// How long the end of a session waits for a connection that is being made.
const SHUT_DOWN: Duration = Duration::from_secs(1);

/// A server.
pub(super) struct Server {
    config: ServerConfig,
    options: Arc<Options>,
    log: Arc<Log>,
    /// The connection. Locked while it is made, so that it is made once.
    connection: AsyncMutex<Option<Connection>>,
    view: Mutex<View>,
    /// Whether the first attempt to connect is over.
    settled: watch::Sender<bool>,
}

/// The result of a call.
pub(super) struct CallText {
    pub(super) text: String,
    /// Whether the tool reports an error.
    pub(super) is_error: bool,
}

/// What is known of a server without asking it.
struct View {
    status: Status,
    why: Option<String>,
    announced: Vec<Arc<Announced>>,
    offered: Vec<String>,
    is_over: bool,
}

impl Server {
    pub(super) fn new(config: ServerConfig, options: Arc<Options>) -> Self {
        let (status, why) = match &config.launch {
            Launch::Not(why) => (Status::Off, Some(why.clone())),
            Launch::Program { .. } | Launch::Http { .. } => (Status::Waiting, None),
        };
        let is_off = status == Status::Off;
        let (announced, offered) = (Vec::new(), Vec::new());
        Self {
            config,
            options,
            log: Arc::default(),
            connection: AsyncMutex::new(None),
            view: Mutex::new(View { status, why, announced, offered, is_over: false }),
            settled: watch::Sender::new(is_off),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.config.name
    }

    /// Whether the server runs elsewhere and cannot touch the project's files.
    pub(super) fn is_remote(&self) -> bool {
        matches!(self.config.launch, Launch::Http { .. })
    }

    pub(super) fn log(&self) -> String {
        self.log.text()
    }

    pub(super) fn announced(&self) -> Vec<Arc<Announced>> {
        self.view().announced.clone()
    }

    /// Notes the names under which models see the tools.
    pub(super) fn offer(&self, names: Vec<String>) {
        self.view().offered = names;
    }

    pub(super) fn state(&self) -> ServerState {
        let view = self.view();
        ServerState {
            name: self.name().to_owned(),
            status: view.status,
            tools: view.offered.clone(),
            why: view.why.clone(),
        }
    }

    /// Connects for the first time.
    pub(super) async fn start(&self) {
        if !matches!(self.config.launch, Launch::Not(_)) {
            let line = self.line().await;
            if let Ok(line) = line {
                let limit = self.config.timeout.unwrap_or(self.options.start_timeout);
                self.list(&line, Instant::now() + limit).await;
            }
        }
        self.settled.send_replace(true);
    }

    /// Waits for the end of the first attempt to connect.
    pub(super) async fn settled(&self) {
        // The sender is in this server, so it is not gone.
        drop(self.settled.subscribe().wait_for(|it| *it).await);
    }

    /// Asks for the tools again if they have changed.
    pub(super) async fn refresh(&self) {
        // If the lock is taken, somebody connects; the tools are then asked for the next time.
        let Ok(connection) = self.connection.try_lock() else { return };
        let (line, is_closed) = match connection.as_ref() {
            Some(connection) => (connection.line(), connection.is_closed()),
            None => return,
        };
        drop(connection);
        if is_closed {
            let why = "it has ended; the next call starts it again".to_owned();
            self.stands(Status::Failed, Some(why));
        } else if *self.settled.borrow() {
            self.list(&line, Instant::now() + REFRESH).await;
        }
    }

    /// Calls a tool. Connects again if the server has ended since the last call. `Err` is a message for
    /// the model.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        stopping: impl Future<Output = ()>,
    ) -> Result<CallText, String> {
        let name = self.name();
        let limit = self.config.timeout.unwrap_or(self.options.call_timeout);
        let deadline = Instant::now() + limit;
        tokio::pin!(stopping);
        let line = tokio::select! {
            line = self.line() => line.map_err(|why| format!("MCP server {name}: {why}"))?,
            () = &mut stopping => return Err("stopped".to_owned()),
        };
        match line.call(tool, arguments, stopping, deadline).await {
            Ok(result) => {
                let text = line.hide(&results::text(&result));
                Ok(CallText { text, is_error: result.is_error == Some(true) })
            }
            Err(CallFailure::Other(why)) => Err(format!("MCP server {name}: {why}")),
            Err(CallFailure::Closed) => {
                let why = self.why_closed().await;
                Err(format!("MCP server {name}: {why}; the call may have happened"))
            }
        }
    }

    /// Ends the connection for good.
    pub(super) async fn shut_down(&self) {
        self.view().is_over = true;
        // If the lock is taken, a call connects; it sees that the session is over when it has.
        if let Ok(mut connection) = tokio::time::timeout(SHUT_DOWN, self.connection.lock()).await
            && let Some(connection) = connection.take()
        {
            connection.close().await;
        }
        let mut view = self.view();
        view.announced.clear();
        view.offered.clear();
        if view.status != Status::Off {
            (view.status, view.why) = (Status::Off, Some("the session is over".to_owned()));
        }
    }

    /// The connection, made if there is none.
    async fn line(&self) -> Result<Line, String> {
        let mut connection = self.connection.lock().await;
        if self.view().is_over {
            return Err("the session is over".to_owned());
        }
        if let Some(open) = connection.as_ref().filter(|it| !it.is_closed()) {
            return Ok(open.line());
        }
        drop(connection.take());
        match open(&self.config, &self.options, &self.log).await {
            Ok(new) => {
                if self.view().is_over {
                    new.close().await;
                    return Err("the session is over".to_owned());
                }
                let line = new.line();
                *connection = Some(new);
                self.stands(Status::Connected, None);
                Ok(line)
            }
            Err(why) => {
                self.stands(Status::Failed, Some(why.clone()));
                Err(why)
            }
        }
    }

    async fn why_closed(&self) -> String {
        let closed = self.connection.lock().await.take_if(|it| it.is_closed());
        let why = match closed {
            Some(connection) => connection.why_closed().await,
            // Another call has seen it first, and perhaps connected again.
            None => return CLOSED.to_owned(),
        };
        self.stands(Status::Failed, Some(why.clone()));
        why
    }

    async fn list(&self, line: &Line, deadline: Instant) {
        if !line.has_changed() {
            return;
        }
        match line.tools(deadline).await {
            Ok((all, more)) => {
                let wanted = self.config.tools.as_deref();
                let checked = announced::checked(self.name(), all, more, wanted);
                let mut view = self.view();
                view.announced = checked.tools;
                let notes = checked.notes.join("; ");
                view.why = Some(notes).filter(|it| !it.is_empty());
            }
            Err(why) => {
                // The tools that were known stay; the next time they are asked for again.
                line.note_change();
                self.view().why = Some(why);
            }
        }
    }

    fn stands(&self, status: Status, why: Option<String>) {
        let mut view = self.view();
        (view.status, view.why) = (status, why);
    }

    fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

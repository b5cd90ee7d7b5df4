//! A connection to a server: the handshake, and what the server may ask of us.

#[expect(deprecated, reason = "servers of earlier revisions of the protocol still ask for roots")]
mod handler;
mod line;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport};
use tokio::time::Instant;

use super::stdio::{self, LARGEST_MESSAGE, Log, Program};
use super::template::Template;
use super::words::one_line;
use super::{Launch, Lookup, Options, ServerConfig, http};
use crate::provider::Secret;
use handler::Handler;
pub(super) use line::{CallFailure, Line};

/// The longest message of a server that is repeated.
const LONGEST_WORDS: usize = 300;
/// What is known of a server that closed the connection.
pub(super) const CLOSED: &str = "the connection was closed";
/// How long closing may take.
const CLOSE: Duration = Duration::from_secs(2);
/// The shortest value that is hidden in messages. A shorter one would hide parts of other words.
const SHORTEST_SECRET: usize = 6;

/// A connection.
pub(super) struct Connection {
    service: RunningService<RoleClient, Handler>,
    program: Option<Program>,
    secrets: Vec<Secret>,
}

/// A server's configuration with all values looked up.
struct Resolved {
    launch: ResolvedLaunch,
    secrets: Vec<Secret>,
}

enum ResolvedLaunch {
    Program { command: Vec<String>, env: BTreeMap<String, String>, directory: Option<PathBuf> },
    Http { url: String, headers: BTreeMap<String, String> },
}

/// Starts or reaches a server. `Err` says why that failed.
pub(super) async fn open(
    config: &ServerConfig,
    options: &Options,
    log: &Arc<Log>,
) -> Result<Connection, String> {
    let limit = config.timeout.unwrap_or(options.start_timeout);
    let deadline = Instant::now() + limit;
    let late = format!("it did not answer within {} s", limit.as_secs());
    // A key command may take a while.
    let (launch, lookup) = (config.launch.clone(), options.lookup.clone());
    let looked_up = tokio::task::spawn_blocking(move || resolve(&launch, &lookup));
    let resolved = tokio::time::timeout_at(deadline, looked_up).await;
    let resolved = resolved.map_err(|_| late.clone())?.map_err(|why| why.to_string())??;
    let opening = Opening { resolved, options, log, deadline, late };
    match opening.attempt(ClientLifecycleMode::Initialize).await {
        Ok(connection) => Ok(connection),
        Err(Refused::Handshake(first)) => {
            // The server may know only the revision of the protocol that has no handshake.
            let preferred_versions = vec![ProtocolVersion::LATEST];
            let again = opening.attempt(ClientLifecycleMode::Discover { preferred_versions }).await;
            again.map_err(|_| format!("it refused the connection: {first}"))
        }
        Err(Refused::Closed) => Err(CLOSED.to_owned()),
        Err(Refused::NotSent(why) | Refused::Other(why)) => Err(why),
    }
}

/// Why a connection was not made.
enum Refused {
    /// The server answered the handshake with this error.
    Handshake(String),
    /// The connection was closed.
    Closed,
    /// A message could not be sent, for this reason.
    NotSent(String),
    /// Anything else, in words.
    Other(String),
}

/// A connection that is being made.
struct Opening<'a> {
    resolved: Resolved,
    options: &'a Options,
    log: &'a Arc<Log>,
    deadline: Instant,
    /// What is said of a server that has not answered at the deadline.
    late: String,
}

impl Opening<'_> {
    async fn attempt(&self, mode: ClientLifecycleMode) -> Result<Connection, Refused> {
        let secrets = self.resolved.secrets.clone();
        match &self.resolved.launch {
            ResolvedLaunch::Program { command, env, directory } => {
                self.log.begin(secrets.clone());
                let directory = directory.as_deref();
                let started = stdio::start(command, env, directory, self.options, self.log);
                let started = tokio::time::timeout_at(self.deadline, started).await;
                let started = started.map_err(|_| Refused::Other(self.late.clone()))?;
                let (program, pipes) = started.map_err(Refused::Other)?;
                match self.shake_hands(pipes, mode).await {
                    Ok(service) => Ok(Connection { service, program: Some(program), secrets }),
                    Err(Refused::Closed | Refused::NotSent(_)) => {
                        Err(Refused::Other(program.why_closed().await))
                    }
                    Err(Refused::Other(why)) => Err(Refused::Other(program.with_last_words(why))),
                    Err(refused @ Refused::Handshake(_)) => Err(refused),
                }
            }
            ResolvedLaunch::Http { url, headers } => {
                let client = http::Client::new(url).map_err(Refused::Other)?;
                let headers = headers.iter().map(|(name, value)| http::header(name, value));
                let headers: HashMap<_, _> =
                    headers.collect::<Result<_, _>>().map_err(Refused::Other)?;
                let settings = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                    .custom_headers(headers)
                    .max_sse_event_size(LARGEST_MESSAGE);
                let transport = StreamableHttpClientTransport::with_client(client, settings);
                let service = self.shake_hands(transport, mode).await?;
                Ok(Connection { service, program: None, secrets })
            }
        }
    }

    async fn shake_hands<T, E, A>(
        &self,
        transport: T,
        mode: ClientLifecycleMode,
    ) -> Result<RunningService<RoleClient, Handler>, Refused>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let handler = Handler {
            root: root_uri(self.options),
            // The first list is asked for as if it had changed.
            changed: Arc::new(AtomicBool::new(true)),
        };
        let words = |text: &str| words(&self.resolved.secrets, text);
        let shaken = Box::pin(handler.serve_with_lifecycle(transport, mode));
        match tokio::time::timeout_at(self.deadline, shaken).await {
            Ok(Ok(service)) => Ok(service),
            Ok(Err(ClientInitializeError::JsonRpcError(error))) => {
                Err(Refused::Handshake(words(&error.message)))
            }
            Ok(Err(ClientInitializeError::ConnectionClosed(_))) => Err(Refused::Closed),
            Ok(Err(ClientInitializeError::TransportError { error, .. })) => {
                Err(Refused::NotSent(words(&error.error.to_string())))
            }
            Ok(Err(_)) => {
                Err(Refused::Other("it does not answer as an MCP server does".to_owned()))
            }
            Err(_) => Err(Refused::Other(self.late.clone())),
        }
    }
}

fn resolve(launch: &Launch, lookup: &Lookup) -> Result<Resolved, String> {
    let mut secrets = Vec::new();
    let all = |values: &BTreeMap<String, Template>, secrets: &mut Vec<Secret>| {
        let values = values.iter();
        let values = values.map(|(name, it)| Ok((name.clone(), it.resolve(lookup, secrets)?)));
        values.collect::<Result<BTreeMap<_, _>, String>>()
    };
    let launch = match launch {
        Launch::Program { command, env, directory } => {
            let env = all(env, &mut secrets)?;
            let command = command.iter().map(|it| it.resolve(lookup, &mut secrets));
            let command = command.collect::<Result<_, _>>()?;
            ResolvedLaunch::Program { command, env, directory: directory.clone() }
        }
        Launch::Http { url, headers } => {
            let headers = all(headers, &mut secrets)?;
            ResolvedLaunch::Http { url: url.resolve(lookup, &mut secrets)?, headers }
        }
        Launch::Not(why) => return Err(why.clone()),
    };
    secrets.retain(|it| it.len() >= SHORTEST_SECRET);
    Ok(Resolved { launch, secrets })
}

fn hide(secrets: &[Secret], text: &str) -> String {
    secrets.iter().fold(text.to_owned(), |text, it| it.hide_in(&text))
}

/// The words of a server or of its connection, in one line. The secrets go first: a cut one would not
/// be found.
fn words(secrets: &[Secret], text: &str) -> String {
    let text = hide(secrets, text);
    // What rmcp writes before the words of our HTTP client.
    let ours = ["unexpected server response: ", "Client error: "];
    let ours = ours.iter().find_map(|it| text.strip_prefix(it));
    one_line(ours.unwrap_or(&text), LONGEST_WORDS)
}

fn root_uri(options: &Options) -> String {
    let url = reqwest::Url::from_directory_path(&options.root);
    url.map_or_else(|()| "file:///".to_owned(), |it| it.to_string())
}

impl Connection {
    /// Whether the server is gone.
    pub(super) fn is_closed(&self) -> bool {
        self.service.peer().is_transport_closed()
    }

    /// The other side, for requests.
    pub(super) fn line(&self) -> Line {
        let has_handshake =
            self.service.peer_info().is_none_or(|it| it.protocol_version.has_initialize());
        Line {
            peer: self.service.peer().clone(),
            changed: Arc::clone(&self.service.service().changed),
            is_program: self.program.is_some(),
            is_quiet: !has_handshake,
            secrets: self.secrets.clone(),
        }
    }

    /// Why the connection is closed.
    pub(super) async fn why_closed(self) -> String {
        let why = match self.program {
            Some(program) => program.why_closed().await,
            None => CLOSED.to_owned(),
        };
        hide(&self.secrets, &why)
    }

    /// Ends the connection, and the program that was started for it.
    pub(super) async fn close(mut self) {
        drop(self.service.close_with_timeout(CLOSE).await);
        if let Some(program) = self.program {
            program.end().await;
        }
    }
}

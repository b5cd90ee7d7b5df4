//! Connections: how they are opened, and what is known about each.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deadpool::managed::{self, Metrics, RecycleError, RecycleResult};
use punchlist_model::store::Error;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{AsyncMessage, Client, Config, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::Address;
use super::error::Failure;
use super::tx::Sql;
use super::values::Value;
use super::{hosts, migrate, tls};

/// The oldest version that has what the statements use (`xid8`, `gen_random_uuid`).
const OLDEST_SERVER: i32 = 130_000;

/// A setting that only a server knows, not a pooler in front of it: a connection that has it leads to
/// one and the same server process for as long as it lasts.
const DIRECT: &str = "punchlist.direct";

/// Opens connections.
pub(crate) struct Manager {
    /// One for each host.
    hosts: Vec<Config>,
    /// The host that is tried first: the last one that answered.
    first: AtomicUsize,
    /// How long a host may take to connect, and how long an answer may take before the host is looked at.
    pub(crate) limit: Duration,
    tls: MakeRustlsConnect,
    /// The last connection led to a pooler.
    is_pooled: AtomicBool,
}

/// A connection.
pub(crate) struct Connection {
    pub(crate) client: Arc<Client>,
    /// The number of its host in the address.
    pub(crate) host: usize,
    /// No pooler is between. Behind a pooler, prepared statements and `LISTEN` may end up at another
    /// server process than the one that needs them.
    pub(crate) is_direct: bool,
    /// The version of the schema that the database had when it was connected; 0 if it has none.
    pub(crate) schema: u32,
    statements: Arc<Mutex<HashMap<Sql, Known>>>,
    cleaned: AtomicBool,
}

/// What is known about a statement on a connection.
struct Known {
    uses: u32,
    kinds: Vec<Type>,
    /// It is being prepared, or was.
    is_wanted: bool,
    prepared: Option<Statement>,
}

/// How often a statement is used before it is prepared. A verb uses most of them once.
const OFTEN: u32 = 2;
/// How many statements are known at most.
const MOST_STATEMENTS: usize = 200;

impl Manager {
    /// For an address, and a caller that waits as long as `patience`.
    pub(crate) fn new(address: &Address, patience: Duration) -> Result<Self, Error> {
        let mut config = address.config.clone();
        if config.get_application_name().is_none() {
            config.application_name("punchlist");
        }
        let hosts = hosts::each(&config);
        let limit = hosts::share(hosts.len(), patience, config.get_connect_timeout().copied());
        let (first, is_pooled) = (AtomicUsize::new(0), AtomicBool::new(false));
        Ok(Self { hosts, first, limit, tls: tls::connector(address)?, is_pooled })
    }

    /// Connects to the first host that answers. `on_message` gets what the server sends unasked.
    pub(crate) async fn connect(
        &self,
        on_message: impl Fn(AsyncMessage) + Send + Clone + 'static,
    ) -> Result<Connection, Failure> {
        let mut failed = None;
        let (first, count) = (self.first.load(Ordering::Relaxed), self.hosts.len());
        for host in (first..count).chain(0..first.min(count)) {
            match self.connect_to(host, on_message.clone()).await {
                Ok(connection) => {
                    self.first.store(host, Ordering::Relaxed);
                    return Ok(connection);
                }
                // Of several failures, that of a host that answered says most.
                Err(failure @ Failure::Silent) => failed = failed.or(Some(failure)),
                Err(failure) => failed = Some(failure),
            }
        }
        Err(failed.unwrap_or(Failure::Silent))
    }

    /// A host does not answer, so the next one is tried before it.
    pub(crate) fn is_gone(&self, host: usize) {
        self.first.store((host + 1) % self.hosts.len().max(1), Ordering::Relaxed);
    }

    /// Connects to one of the hosts, within its limit.
    pub(crate) async fn connect_to(
        &self,
        host: usize,
        on_message: impl Fn(AsyncMessage) + Send + Clone + 'static,
    ) -> Result<Connection, Failure> {
        let Some(config) = self.hosts.get(host) else { return Err(Failure::Silent) };
        let connected = tokio::time::timeout(self.limit, self.past_pooler(config, on_message));
        let connected = connected.await.unwrap_or(Err(Failure::Silent))?;
        Ok(Connection { host, ..connected })
    }

    /// Connects, past a pooler if there is one.
    async fn past_pooler(
        &self,
        config: &Config,
        on_message: impl Fn(AsyncMessage) + Send + Clone + 'static,
    ) -> Result<Connection, Failure> {
        if !self.is_pooled.load(Ordering::Relaxed) {
            let mut config = config.clone();
            let own = config.get_options().map(|it| format!("{it} ")).unwrap_or_default();
            config.options(format!("{own}-c {DIRECT}=on -c jit=off"));
            match self.connect_with(&config, on_message.clone()).await {
                // Poolers refuse parameters that they do not know.
                Err(Failure::Postgres(error)) if is_refused_parameter(&error) => {}
                connected => return connected,
            }
        }
        let connected = self.connect_with(config, on_message).await?;
        self.is_pooled.store(true, Ordering::Relaxed);
        Ok(connected)
    }

    async fn connect_with(
        &self,
        config: &Config,
        on_message: impl Fn(AsyncMessage) + Send + 'static,
    ) -> Result<Connection, Failure> {
        let (client, connection) = config.connect(self.tls.clone()).await?;
        tokio::spawn(drive(connection, on_message));
        let client = Arc::new(client);
        let facts = "SELECT coalesce(current_setting($1, true), '') = 'on', \
                     current_setting('server_version_num')::int4";
        let facts = client.query_typed(facts, &[(&DIRECT, Type::TEXT)]).await?;
        let facts = facts.first().ok_or_else(|| super::tx::missing("version"))?;
        let server: i32 = facts.try_get(1)?;
        if server < OLDEST_SERVER {
            let what = format!(
                "this server is PostgreSQL {}; Punchlist needs 13 or later",
                server / 10_000
            );
            return Err(Error::Server { what, source: None }.into());
        }
        let schema = migrate::version(&client).await?;
        Ok(Connection {
            client,
            host: 0,
            is_direct: facts.try_get(0)?,
            schema,
            statements: Arc::default(),
            cleaned: AtomicBool::new(false),
        })
    }
}

/// Runs a connection until it ends.
async fn drive<S, T>(
    mut connection: tokio_postgres::Connection<S, T>,
    on_message: impl Fn(AsyncMessage),
) where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    // An error ends the connection; whoever uses it gets that error.
    while let Some(Ok(message)) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
        on_message(message);
    }
}

fn is_refused_parameter(error: &tokio_postgres::Error) -> bool {
    let code = error.code();
    code == Some(&SqlState::PROTOCOL_VIOLATION)
        || code == Some(&SqlState::INVALID_PARAMETER_VALUE)
        || code == Some(&SqlState::FEATURE_NOT_SUPPORTED)
        || error.as_db_error().is_some_and(|it| it.message().contains("startup parameter"))
}

impl managed::Manager for Manager {
    type Type = Connection;
    type Error = Failure;

    async fn create(&self) -> Result<Connection, Failure> {
        self.connect(drop).await
    }

    async fn recycle(&self, connection: &mut Connection, _: &Metrics) -> RecycleResult<Failure> {
        if connection.client.is_closed() {
            return Err(RecycleError::message("the connection was closed"));
        }
        Ok(())
    }
}

impl Connection {
    fn statements(&self) -> MutexGuard<'_, HashMap<Sql, Known>> {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The prepared form of a statement, if it has one.
    pub(crate) fn statement(&self, sql: &Sql, params: &[Value]) -> Option<Statement> {
        if !self.is_direct {
            return None;
        }
        let mut statements = self.statements();
        if let Some(known) = statements.get_mut(sql) {
            known.uses = known.uses.saturating_add(1);
            return known.prepared.clone();
        }
        if statements.len() < MOST_STATEMENTS {
            let kinds = params.iter().map(Value::kind).collect();
            statements
                .insert(sql.clone(), Known { uses: 1, kinds, is_wanted: false, prepared: None });
        }
        None
    }

    /// Prepares the statements that were used often. Nobody waits for it.
    pub(crate) fn prepare_often_used(&self) {
        let mut wanted: Vec<(Sql, Vec<Type>)> = Vec::new();
        for (sql, known) in self.statements().iter_mut() {
            if known.uses >= OFTEN && !known.is_wanted {
                known.is_wanted = true;
                wanted.push((sql.clone(), known.kinds.clone()));
            }
        }
        if wanted.is_empty() {
            return;
        }
        let (client, statements) = (Arc::clone(&self.client), Arc::clone(&self.statements));
        tokio::spawn(async move {
            for (sql, kinds) in wanted {
                // If it cannot be prepared, it is sent as text as before.
                if let Ok(prepared) = client.prepare_typed(&sql, &kinds).await {
                    let mut statements = statements.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Some(known) = statements.get_mut(&sql) {
                        known.prepared = Some(prepared);
                    }
                }
            }
        });
    }

    /// Whether old write ids should be deleted: once for each connection.
    pub(crate) fn should_clean(&self) -> bool {
        !self.cleaned.swap(true, Ordering::Relaxed)
    }
}

//! A server with a store in memory, on a port of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use punchlist_engine::tool_service::{Caller, Wanted};
use punchlist_formats::dialect::{Dialect, Surface};
use punchlist_model::session::Store;
use punchlist_model::store::memory::Memory;
use punchlist_model::store::{AttachmentKey, Error};
use punchlist_model::{Actor, Holder, IdSource, Limits, Plan, Process, Timestamp};
use punchlist_serve::BoxFuture;
use punchlist_serve::mcp::{Options, Server, Surroundings, Who};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Map, Value};

/// What a server finds around itself in a test.
struct Around {
    store: Arc<Memory>,
    calls: AtomicU32,
}

impl Surroundings for Around {
    fn store(&self) -> Result<Arc<dyn Store>, Error> {
        let store: Arc<Memory> = Arc::clone(&self.store);
        Ok(store)
    }

    fn store_to_read(&self) -> Result<Option<Arc<dyn Store>>, Error> {
        self.store().map(Some)
    }

    fn who<'a>(
        &'a self,
        _store: Option<&'a dyn Store>,
        _meta: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<Arc<Who>, Error>> {
        Box::pin(async {
            let key = AttachmentKey {
                project: "/p".to_owned(),
                agent: "mcp".to_owned(),
                conversation: "c".to_owned(),
                sub_agent: String::new(),
                turn: String::new(),
            };
            Ok(Arc::new(Who {
                caller: Caller { key, wanted: Wanted::Attached, title: String::new() },
                actor: Actor::agent("mcp"),
                holder: Holder::named("mcp"),
                session: None,
            }))
        })
    }

    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn ids(&self, at: Timestamp) -> Result<IdSource, Error> {
        let mut ids = IdSource::fixed(at, 1);
        let [_, _, call @ ..] = self.calls.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        ids.random[8..].copy_from_slice(&call);
        Ok(ids)
    }

    fn hears_person(&self) -> bool {
        true
    }

    fn gone(&self, _plan: &Plan) -> Vec<Process> {
        Vec::new()
    }
}

/// A server of a dialect, with nothing in its store.
pub(crate) fn server_of(dialect: Dialect) -> Server {
    let options = Options {
        dialect,
        surface: Surface::Full,
        project: "/p".to_owned(),
        limits: Limits::default(),
        open_items_chosen: false,
        person: "me@host".to_owned(),
        key: [7; 32],
        version: "0",
    };
    let store = Arc::new(Memory::default());
    Server::new(options, Around { store, calls: AtomicU32::default() })
}

/// Serves on loopback while `work` runs, which is told where.
pub(crate) fn while_served<T>(work: impl FnOnce(SocketAddr) -> T) -> T {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = server_of(Dialect::Turn);
    let service: StreamableHttpService<Server, LocalSessionManager> = StreamableHttpService::new(
        move || Ok(server.connection()),
        Arc::default(),
        StreamableHttpServerConfig::default(),
    );
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async move { axum::serve(listener, router).await });
    let came = work(address);
    runtime.shutdown_background();
    came
}

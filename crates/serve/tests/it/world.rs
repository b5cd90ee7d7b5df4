//! A server with a store in memory, on its own port.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use punchlist_engine::tool_service::Caller;
use punchlist_formats::dialect::{Dialect, Surface};
use punchlist_model::session::Store;
use punchlist_model::store::memory::Memory;
use punchlist_model::store::{AttachmentKey, Error};
use punchlist_model::{Actor, Holder, IdSource, Limits, Process, Slice, Timestamp};
use punchlist_serve::BoxFuture;
use punchlist_serve::mcp::{Options, Server, Surroundings, Who};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Map, Value};

/// The surroundings of a server in a test.
struct Around {
    store: Arc<Memory>,
    calls: AtomicU32,
    /// What the first call that changes something waits for.
    gate: Mutex<Option<Gate>>,
}

/// A store that cannot be opened yet: the server's side.
struct Gate {
    asked: tokio::sync::oneshot::Sender<()>,
    opened: Receiver<()>,
    given_up: Arc<AtomicBool>,
}

/// A store that cannot be opened yet: the test's side.
pub(crate) struct SlowStore {
    asked: Mutex<Option<tokio::sync::oneshot::Receiver<()>>>,
    open: Sender<()>,
    given_up: Arc<AtomicBool>,
}

impl SlowStore {
    /// Waits until a call waits for the store.
    pub(crate) async fn wait_until_asked(&self) {
        let asked = self.asked.lock().unwrap().take();
        asked.unwrap().await.unwrap();
    }

    /// Lets the store be opened.
    pub(crate) fn open(&self) {
        self.open.send(()).unwrap();
    }

    /// Whether the call stopped waiting for the store.
    pub(crate) fn was_given_up(&self) -> bool {
        self.given_up.load(Ordering::SeqCst)
    }
}

impl Surroundings for Around {
    fn store(&self) -> Result<Arc<dyn Store>, Error> {
        let gate = self.gate.lock().unwrap().take();
        if let Some(Gate { asked, opened, given_up }) = gate {
            asked.send(()).unwrap();
            given_up.store(opened.recv_timeout(Duration::from_secs(10)).is_err(), Ordering::SeqCst);
        }
        let store: Arc<Memory> = Arc::clone(&self.store);
        Ok(store)
    }

    fn store_to_read(&self) -> Result<Option<Arc<dyn Store>>, Error> {
        let store: Arc<Memory> = Arc::clone(&self.store);
        Ok(Some(store))
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
                caller: Caller::new(key),
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

    fn gone(&self, _plan: &Slice) -> Vec<Process> {
        Vec::new()
    }
}

/// A server of a dialect with an empty store.
pub(crate) fn server_of(dialect: Dialect) -> Server {
    server(dialect, None)
}

/// A server whose first change must wait for its store.
pub(crate) fn slow_server() -> (Server, SlowStore) {
    let (asked, was_asked) = tokio::sync::oneshot::channel();
    let (open, opened) = channel();
    let given_up = Arc::new(AtomicBool::new(false));
    let gate = Gate { asked, opened, given_up: Arc::clone(&given_up) };
    let slow = SlowStore { asked: Mutex::new(Some(was_asked)), open, given_up };
    (server(Dialect::Turn, Some(gate)), slow)
}

fn server(dialect: Dialect, gate: Option<Gate>) -> Server {
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
    let calls = AtomicU32::default();
    Server::new(options, Around { store, calls, gate: Mutex::new(gate) })
}

/// Serves on loopback while `work` runs, which gets the address.
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

//! The HTTP server on a port of its own, with a store in memory.

mod access;
mod api;
mod events;
mod limits;
mod mcp;
mod others;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use punchlist_engine::access::{self as grants};
use punchlist_engine::around::Around;
use punchlist_engine::doctor::Diagnosis;
use punchlist_engine::fail::Fail;
use punchlist_engine::{Engine, Options as EngineOptions};
use punchlist_model::session::Store;
use punchlist_model::store::access::Role;
use punchlist_model::store::memory::Memory;
use punchlist_model::store::{Error, NewPlan};
use punchlist_model::{IdSource, Limits, PlanId, Process, Timestamp};
use punchlist_serve::BoxFuture;
use punchlist_serve::http::guard::Times;
use punchlist_serve::http::listen::{self, Patience};
use punchlist_serve::http::origin::Origin;
use punchlist_serve::http::{self, Options, Served, World as Surroundings};
use punchlist_serve::pages::Facts;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use punchlist_testkit::http_client::{Got, Request};

/// The path of the pages.
pub(crate) const SITE: &str = "5ite";

/// A clock that a test moves, and ids that count.
#[derive(Clone)]
pub(crate) struct Clock {
    now: Arc<Mutex<Timestamp>>,
    ids: Arc<AtomicU32>,
}

impl Around for Clock {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }

    fn ids(&self, at: Timestamp) -> Result<IdSource, Error> {
        let mut ids = IdSource::fixed(at, 1);
        ids.random[4..8].copy_from_slice(&self.ids.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        Ok(ids)
    }

    fn has_ended(&self, _: &Process) -> bool {
        false
    }
}

struct Projects {
    store: Arc<dyn Store>,
    clock: Clock,
}

impl Surroundings for Projects {
    fn facts(&self) -> Facts {
        Facts::default()
    }

    fn examine(&self) -> BoxFuture<'static, Result<Diagnosis, Fail>> {
        Box::pin(async { Ok(Diagnosis { parts: Vec::new() }) })
    }

    fn engine(&self, project: &str) -> Result<Engine, Fail> {
        let options = EngineOptions { project: project.to_owned(), ..EngineOptions::default() };
        Ok(Engine::with(Arc::clone(&self.store), self.clock.clone(), options))
    }

    fn limits(&self, _: &str) -> Result<(Limits, bool), Fail> {
        Ok((Limits::default(), false))
    }
}

/// A server and its store.
pub(crate) struct World {
    pub(crate) runtime: Runtime,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Clock,
    pub(crate) address: SocketAddr,
    end: watch::Sender<bool>,
    serving: Option<JoinHandle<std::io::Result<()>>>,
}

/// How a server is started.
#[derive(Clone, Copy)]
pub(crate) struct How {
    pub(crate) rate: u32,
    pub(crate) connections: usize,
    pub(crate) head: Duration,
    pub(crate) times: Times,
    /// The name under which a proxy with TLS reaches it.
    pub(crate) behind: Option<&'static str>,
}

impl Default for How {
    fn default() -> Self {
        Self {
            rate: 100_000,
            connections: 1000,
            head: Duration::from_secs(15),
            times: Times::default(),
            behind: None,
        }
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(How::default())
    }

    pub(crate) fn with(how: How) -> Self {
        let clock = Clock {
            now: Arc::new(Mutex::new(Timestamp::from_second(1_800_000_000).unwrap())),
            ids: Arc::default(),
        };
        let store: Arc<dyn Store> = Arc::new(Memory::new());
        let runtime = Runtime::new().unwrap();
        let (end, address, serving) =
            runtime.block_on(start(how, Arc::clone(&store), clock.clone()));
        Self { runtime, store, clock, address, end, serving: Some(serving) }
    }

    /// Ends the server and starts another one on the same store, at another port.
    pub(crate) fn restart(&mut self) {
        self.end();
        let (store, clock) = (Arc::clone(&self.store), self.clock.clone());
        let (end, address, serving) = self.runtime.block_on(start(How::default(), store, clock));
        (self.end, self.address, self.serving) = (end, address, Some(serving));
    }

    /// Tells the server to end, and waits until it has.
    pub(crate) fn end(&mut self) {
        self.end.send_replace(true);
        let serving = self.serving.take().expect("it runs");
        let ended = async { tokio::time::timeout(Duration::from_secs(20), serving).await };
        self.runtime.block_on(ended).expect("it ends").unwrap().unwrap();
    }

    pub(crate) fn pass(&self, seconds: i64) {
        let mut now = self.clock.now.lock().unwrap();
        *now = Timestamp::from_second(now.as_second() + seconds).unwrap();
    }

    /// A token.
    pub(crate) fn token(&self, name: &str, role: Role, project: Option<&str>) -> String {
        let project = project.map(str::to_owned);
        let made = grants::create_token(&*self.store, &self.clock, name, role, project);
        self.runtime.block_on(made).unwrap().expose().to_owned()
    }

    /// A code for a browser.
    pub(crate) fn code(&self) -> String {
        let made = grants::create_code(&*self.store, &self.clock, "ann@here");
        self.runtime.block_on(made).unwrap().expose().to_owned()
    }

    /// The cookie of a browser that signed in, as it sends it.
    pub(crate) fn cookie(&self) -> String {
        let got = self.post_code(&self.code());
        assert_eq!(got.status, 200, "{got:?}");
        got.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
    }

    pub(crate) fn post_code(&self, code: &str) -> Got {
        self.send(Request::post(&format!("/{SITE}/login")).form(&format!("code={code}")))
    }

    /// An empty plan.
    pub(crate) fn plan(&self, project: &str) -> PlanId {
        let now = self.clock.now();
        let id = PlanId(self.clock.ids(now).unwrap().nth(0));
        let new = NewPlan::new(id, project, now);
        self.runtime.block_on(self.store.create(new)).unwrap();
        id
    }

    /// Sends a request and reads the whole answer.
    pub(crate) fn send(&self, request: Request) -> Got {
        request.send(self.address)
    }

    /// Reads JSON with a token.
    pub(crate) fn get(&self, token: &str, path: &str) -> Got {
        self.send(Request::get(path).token(token))
    }
}

async fn start(
    how: How,
    store: Arc<dyn Store>,
    clock: Clock,
) -> (watch::Sender<bool>, SocketAddr, JoinHandle<std::io::Result<()>>) {
    let listener = listen::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut origin = Origin::of(address, how.behind).unwrap();
    origin.listens_on(address);
    let (end, ending) = listen::ending();
    let options = Options {
        world: Arc::new(Projects { store: Arc::clone(&store), clock: clock.clone() }),
        store,
        around: Arc::new(clock),
        hosts: origin.hosts,
        scheme: origin.scheme,
        site: SITE.to_owned(),
        rate: how.rate,
        watch: None,
        times: how.times,
        key: [7; 32],
        version: "0",
    };
    let served = Served::start(options, ending.clone()).await.unwrap();
    let patience = Patience { head: how.head, ..Patience::default() };
    let places = listen::Places::new(how.connections);
    let router = http::router(&served);
    let serving = tokio::spawn(listen::serve(listener, router, places, patience, ending));
    (end, address, serving)
}

//! The HTTP server: the API for programs, the pages for people, MCP, and what operating it needs.
//!
//! Handlers are thin: they call the engine and write its answer as JSON or HTML. Everything durable is in the
//! store, also who may do what; a server keeps open streams and counters only, so any number of servers may
//! run on one store.
//!
//! [`access`] knows who sends a request, [`guard`] refuses requests before a handler sees them, [`login`]
//! signs a browser in, [`listen`] accepts connections. Programs send a bearer token to `/api/v1` and `/mcp`.
//! Browsers have a cookie for everything below the site's random path, because cookies ignore ports: another
//! server on this machine must not get it.

pub mod access;
pub mod agents;
mod api;
pub mod events;
pub mod guard;
pub mod hub;
pub mod listen;
pub mod login;
mod mcp;
pub mod operating;
pub mod origin;
pub mod pairs;
pub mod problem;

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Redirect;
use axum::routing::get;
use futures_core::future::BoxFuture;
use punchlist_engine::Engine;
use punchlist_engine::around::Around;
use punchlist_engine::doctor::Diagnosis;
use punchlist_engine::fail::Fail;
use punchlist_engine::notices::Notice;
use punchlist_engine::watch;
use punchlist_model::session::Store;
use punchlist_model::store::Error;
use punchlist_model::{ConversationId, Limits};
use tokio::sync::watch as signal;

use crate::pages;

/// What a server is given.
pub struct Options {
    /// The store. Its futures do not block.
    pub store: Arc<dyn Store>,
    /// The clock.
    pub around: Arc<dyn Around>,
    /// The programs around the server.
    pub world: Arc<dyn World>,
    /// The only values of `Host` that are accepted, in lower case: `127.0.0.1:7878`.
    pub hosts: Vec<String>,
    /// `http`, or `https` behind a proxy.
    pub scheme: &'static str,
    /// The path below which browsers find the pages, without slashes.
    pub site: String,
    /// How many requests a second a token or a browser may send.
    pub rate: u32,
    /// How agents are watched; `None` if they are not.
    pub watch: Option<watch::Options>,
    /// How long requests may take.
    pub times: guard::Times,
    /// Signs what MCP clients send back. Random and never shown.
    pub key: [u8; 32],
    /// The program's version.
    pub version: &'static str,
}

/// What the surrounding program provides.
pub trait World: Send + Sync + 'static {
    /// An engine for a project: with its limits, its policy for checks, and the environment of checks.
    fn engine(&self, project: &str) -> Result<Engine, Fail>;

    /// Where rules and outputs are kept, and how agents are set up.
    fn facts(&self) -> pages::Facts;

    /// Examines the installation, as `punchlist doctor` does.
    fn examine(&self) -> BoxFuture<'static, Result<Diagnosis, Fail>>;

    /// The limits of agents in a project, and whether the user set the maximum of open items.
    fn limits(&self, project: &str) -> Result<(Limits, bool), Fail>;

    /// Tells the person what they want to know at once, unless another process has. It may block.
    fn tell(&self, _: &Notice) {}

    /// Whether the hooks of agents tell the person of the end of their turns.
    fn hooks_tell(&self) -> bool {
        false
    }

    /// Lets a session of our own agent that no process runs go on in the background.
    fn wake(&self, _: ConversationId, _: &str) -> Result<(), Fail> {
        Err(Fail::refused("this server starts no sessions"))
    }
}

/// What all handlers share. Cheap to clone.
#[derive(Clone)]
pub struct Served {
    inner: Arc<Inner>,
}

struct Inner {
    options: Options,
    hub: hub::Hub,
    agents: Option<agents::Agents>,
    mcp: mcp::Services,
    metrics: operating::Metrics,
    places: listen::Places,
    failures: guard::Rate,
    rates: guard::Rates,
}

impl Served {
    /// A server. Its tasks end when `ending` becomes true. Needs a tokio runtime.
    pub async fn start(
        mut options: Options,
        ending: signal::Receiver<bool>,
    ) -> Result<Self, Error> {
        let (store, around) = (Arc::clone(&options.store), Arc::clone(&options.around));
        let hub = hub::Hub::start(store, around, ending).await?;
        let agents = options.watch.take().map(|watch| {
            let (store, around) = (Arc::clone(&options.store), Arc::clone(&options.around));
            agents::Agents::start(watch, store, around, Arc::clone(&options.world))
        });
        let places = listen::Places::new(listen::MOST_CONNECTIONS);
        let inner = Inner {
            hub,
            agents,
            mcp: mcp::Services::default(),
            metrics: operating::Metrics::new(places.clone()),
            places,
            failures: guard::Rate::failures(),
            rates: guard::Rates::new(options.rate),
            options,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// What happens in the store.
    pub fn hub(&self) -> &hub::Hub {
        &self.inner.hub
    }

    /// The agents of this machine, if they are watched.
    pub fn agents(&self) -> Option<&agents::Agents> {
        self.inner.agents.as_ref()
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.options.store
    }

    /// The clock.
    pub fn around(&self) -> &Arc<dyn Around> {
        &self.inner.options.around
    }

    /// An engine for a project.
    pub fn engine(&self, project: &str) -> Result<Engine, Fail> {
        self.inner.options.world.engine(project)
    }

    /// Where rules and outputs are kept, and how agents are set up.
    pub fn facts(&self) -> pages::Facts {
        self.inner.options.world.facts()
    }

    /// Lets a session of our own agent go on in the background.
    pub(crate) fn wake(&self, id: ConversationId, project: &str) -> Result<(), Fail> {
        self.inner.options.world.wake(id, project)
    }

    /// Examines the installation, as `punchlist doctor` does.
    pub fn examine(&self) -> BoxFuture<'static, Result<Diagnosis, Fail>> {
        self.inner.options.world.examine()
    }

    /// The path below which browsers find the pages: `/` and a random word.
    pub fn site(&self) -> String {
        format!("/{}", self.inner.options.site)
    }

    pub(crate) fn options(&self) -> &Options {
        &self.inner.options
    }

    /// The places for connections.
    pub fn places(&self) -> &listen::Places {
        &self.inner.places
    }

    pub(crate) fn mcp(&self) -> &mcp::Services {
        &self.inner.mcp
    }

    pub(crate) fn metrics(&self) -> &operating::Metrics {
        &self.inner.metrics
    }

    pub(crate) fn rates(&self) -> &guard::Rates {
        &self.inner.rates
    }

    /// Somebody sent a wrong secret; fails if that happens too often.
    pub(crate) fn wrong_secret(&self) -> Result<(), problem::Problem> {
        self.inner.metrics.wrong_secret();
        self.inner.failures.take()
    }
}

/// All routes.
pub fn router(served: &Served) -> Router {
    let programs = api::router(served.clone())
        .merge(mcp::router(served.clone()))
        .layer(from_fn_with_state(served.clone(), access::program));
    let pages = pages::router(served.clone())
        .merge(api::router(served.clone()))
        .layer(from_fn_with_state(served.clone(), access::browser))
        .merge(login::router(served.clone()));
    let site = format!("{}/", served.site());
    let pages_begin = site.clone();
    Router::new()
        .merge(operating::router(served.clone()))
        .merge(programs)
        .route("/", get(login::how))
        .route(&served.site(), get(move || async move { Redirect::to(&pages_begin) }))
        .nest(&site, pages)
        .fallback(|| async { problem::Problem::not_found("there is nothing at this address") })
        .layer(from_fn_with_state(served.clone(), guard::limits))
        .layer(from_fn_with_state(served.clone(), guard::host))
        .layer(from_fn(guard::headers))
        .layer(from_fn_with_state(served.clone(), operating::count))
}

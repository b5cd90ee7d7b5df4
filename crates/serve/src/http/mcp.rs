//! MCP over streamable HTTP. Each token has a service of its own, so that no token reaches the sessions of
//! another. The worker is the token's name, and the plan is the token's, unless the client names a
//! conversation in `_meta`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::any;
use futures_core::future::BoxFuture;
use punchlist_engine::around::{self, Around};
use punchlist_engine::tool_service;
use punchlist_formats::dialect::{Dialect, Surface};
use punchlist_model::session::Store;
use punchlist_model::store::access::Role;
use punchlist_model::store::{AttachmentKey, Error};
use punchlist_model::{Actor, GrantId, Holder, IdSource, Process, Slice, Timestamp};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Map, Value};

use super::access::Caller;
use super::problem::Problem;
use super::{Served, guard};
use crate::mcp::{Options, Server, Surroundings, Who};

/// The name in `_meta` with which a client names its conversation.
const CONVERSATION: &str = "punchlist/conversation";

/// The name in `_meta` with which a client names its project, if its token sees all.
const PROJECT: &str = "punchlist/project";

/// The longest of both, in bytes.
const LONGEST: usize = 500;

type Service = StreamableHttpService<Server, LocalSessionManager>;

/// The services of all tokens that were used.
#[derive(Default)]
pub(crate) struct Services {
    by_grant: Mutex<HashMap<GrantId, Service>>,
}

/// The route.
pub(super) fn router(served: Served) -> Router {
    Router::new().route("/mcp", any(handle)).with_state(served)
}

async fn handle(
    State(served): State<Served>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    let service = service(&served, &caller)?;
    Ok(service.handle(request).await.map(Body::new))
}

/// The service of the caller's token.
fn service(served: &Served, caller: &Caller) -> Result<Service, Problem> {
    let mut services = served.mcp().by_grant.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(service) = services.get(&caller.grant) {
        return Ok(service.clone());
    }
    let project = caller.project.clone().unwrap_or_default();
    let (limits, open_items_chosen) = served.options().world.limits(&project)?;
    let options = Options {
        dialect: Dialect::Turn,
        surface: Surface::Thin,
        project,
        limits,
        open_items_chosen,
        person: caller.name.clone(),
        key: served.options().key,
        version: served.options().version,
    };
    let around = Connection {
        store: Arc::clone(served.store()),
        around: Arc::clone(served.around()),
        caller: caller.clone(),
    };
    let server = Server::new(options, around);
    let mut config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(served.options().hosts.clone())
        .with_allowed_origins(served.options().hosts.iter().map(|it| {
            let scheme = served.options().scheme;
            format!("{scheme}://{it}")
        }));
    config.max_request_body_bytes = guard::MOST_BODY;
    let cancel = config.cancellation_token.clone();
    let service: Service =
        StreamableHttpService::new(move || Ok(server.connection()), Arc::default(), config);
    services.insert(caller.grant, service.clone());
    // Its streams end with the grant.
    let (hub, served, grant) = (served.hub().clone(), served.clone(), caller.grant);
    tokio::spawn(async move {
        hub.wait_for_end(grant).await;
        cancel.cancel();
        served.mcp().by_grant.lock().unwrap_or_else(PoisonError::into_inner).remove(&grant);
    });
    Ok(service)
}

/// A token's connections.
struct Connection {
    store: Arc<dyn Store>,
    around: Arc<dyn Around>,
    caller: Caller,
}

impl Connection {
    /// Who makes a call with this `_meta`.
    fn found(&self, meta: &Map<String, Value>) -> Result<Who, Error> {
        let named = |name: &str| {
            let text = meta.get(name).and_then(Value::as_str);
            text.filter(|it| is_name(it)).map(str::to_owned)
        };
        let project = self.caller.project.clone().or_else(|| named(PROJECT));
        let project = project.ok_or_else(|| Error::Unusable {
            what: format!(
                "the token sees all projects, so each call must name one in _meta as {PROJECT:?}"
            ),
            source: None,
        })?;
        let name = self.caller.name.clone();
        let key = AttachmentKey {
            project,
            agent: "mcp".to_owned(),
            conversation: named(CONVERSATION).unwrap_or_else(|| name.clone()),
            sub_agent: String::new(),
            turn: String::new(),
        };
        Ok(Who {
            caller: tool_service::Caller::new(key),
            // Whoever holds the token, tools are called by a model.
            actor: Actor::agent(name.clone()),
            holder: Holder::named(name),
            session: None,
        })
    }
}

/// Whether a text may be a name: not empty, of sensible length, without control characters.
fn is_name(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= LONGEST && !text.contains(char::is_control)
}

impl Surroundings for Connection {
    fn store(&self) -> Result<Arc<dyn Store>, Error> {
        if self.caller.role < Role::Worker {
            let why = "the token's role is viewer, and only workers change plans";
            return Err(Error::ReadOnly(why.to_owned()));
        }
        Ok(Arc::clone(&self.store))
    }

    fn store_to_read(&self) -> Result<Option<Arc<dyn Store>>, Error> {
        Ok(Some(Arc::clone(&self.store)))
    }

    fn who<'a>(
        &'a self,
        _: Option<&'a dyn Store>,
        meta: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<Arc<Who>, Error>> {
        Box::pin(async move { self.found(meta).map(Arc::new) })
    }

    fn now(&self) -> Timestamp {
        self.around.now()
    }

    fn ids(&self, at: Timestamp) -> Result<IdSource, Error> {
        self.around.ids(at)
    }

    /// An answer through the client is a person's only if the token is.
    fn hears_person(&self) -> bool {
        self.caller.role == Role::Admin
    }

    fn gone(&self, plan: &Slice) -> Vec<Process> {
        around::gone(&*self.around, plan)
    }
}

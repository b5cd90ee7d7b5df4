//! Who sends a request: a program with a token, or a person's browser with a cookie.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use punchlist_engine::access;
use punchlist_model::store::access::{Grant, GrantKind, Role};
use punchlist_model::{Actor, GrantId};

use super::Served;
use super::problem::Problem;

/// The name of the cookie.
pub const COOKIE: &str = "punchlist";

/// Who sends a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caller {
    /// The token's name, or the person's.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// The only project that they see; `None` means all.
    pub project: Option<String>,
    /// The grant that says so.
    pub grant: GrantId,
    /// Whether a browser sends the request.
    pub is_browser: bool,
}

impl Caller {
    fn new(grant: Grant) -> Self {
        Self {
            is_browser: grant.kind == GrantKind::Browser,
            name: grant.name,
            role: grant.role,
            project: grant.project,
            grant: grant.id,
        }
    }

    /// Whether they may see this project.
    pub fn sees(&self, project: &str) -> bool {
        self.project.as_deref().is_none_or(|own| own == project)
    }

    /// The author of their changes: a person, if they are one.
    pub fn actor(&self) -> Actor {
        match self.role {
            Role::Admin => Actor::person(self.name.clone()),
            Role::Viewer | Role::Worker => Actor::agent(self.name.clone()),
        }
    }

    /// Refuses what needs a stronger role.
    pub fn needs(&self, role: Role) -> Result<(), Problem> {
        if self.role >= role {
            return Ok(());
        }
        let what =
            format!("this needs the role {}, and yours is {}", role.as_str(), self.role.as_str());
        Err(Problem::forbidden(what).hint("a person creates tokens with `punchlist token create`."))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        // The layer that checked the secret put it there; a route without that layer has no caller.
        parts.extensions.get::<Self>().cloned().ok_or_else(unknown)
    }
}

fn unknown() -> Problem {
    Problem::unauthorized("a token is needed").hint(
        "send `Authorization: Bearer TOKEN`; a person creates one with `punchlist token create`.",
    )
}

/// Lets a request through that has a bearer token.
pub async fn program(
    State(served): State<Served>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let Some(token) = bearer(request.headers()) else { return Err(unknown()) };
    let caller = checked(&served, GrantKind::Token, token).await?.ok_or_else(|| {
        Problem::unauthorized("the token is unknown or was revoked")
            .hint("a person creates tokens with `punchlist token create`.")
    });
    request.extensions_mut().insert(caller?);
    Ok(next.run(request).await)
}

/// Lets a request through that has a browser's cookie, or a bearer token. A browser that is not signed in is
/// shown how to.
pub async fn browser(
    State(served): State<Served>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if bearer(request.headers()).is_some() {
        return program(State(served), request, next).await;
    }
    let caller = match cookie(request.headers()) {
        Some(secret) => checked(&served, GrantKind::Browser, secret).await?,
        None => None,
    };
    let Some(caller) = caller else {
        let is_page = request.method() == Method::GET && wants_page(request.headers());
        if is_page {
            return Ok(Redirect::to(&format!("{}/login", served.site())).into_response());
        }
        return Err(unknown());
    };
    if !matches!(*request.method(), Method::GET | Method::HEAD)
        && !has_our_origin(&served, &request)
    {
        return Err(Problem::forbidden("the request does not come from our own pages"));
    }
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

/// The caller with this secret; `None` if it is wrong. Wrong ones are counted.
async fn checked(
    served: &Served,
    kind: GrantKind,
    secret: &str,
) -> Result<Option<Caller>, Problem> {
    let now = served.around().now();
    let grant = access::check(&**served.store(), kind, secret, now).await?;
    if grant.is_none() {
        served.wrong_secret()?;
    }
    if let Some(grant) = &grant {
        served.rates().take(grant.id)?;
    }
    Ok(grant.map(Caller::new))
}

/// The token in `Authorization: Bearer TOKEN`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The value of our cookie.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let values = headers.get_all(header::COOKIE).iter().filter_map(|it| it.to_str().ok());
    let mut pairs = values.flat_map(|it| it.split(';')).filter_map(|it| it.trim().split_once('='));
    pairs.find(|it| it.0 == COOKIE).map(|it| it.1)
}

fn wants_page(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
    accepted.is_some_and(|it| it.contains("text/html"))
}

/// Whether a request comes from a page of this server. `Host` was checked already.
pub(super) fn has_our_origin(served: &Served, request: &Request) -> bool {
    let Some(origin) = request.headers().get(header::ORIGIN) else { return false };
    let host = request.headers().get(header::HOST).and_then(|it| it.to_str().ok());
    let scheme = served.options().scheme;
    host.is_some_and(|host| *origin == *format!("{scheme}://{}", host.to_ascii_lowercase()))
}

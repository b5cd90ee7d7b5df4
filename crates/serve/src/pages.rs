//! The dashboard: pages for people, below the site's path. Every route has a [`Caller`].
//!
//! A handler reads what a page shows and calls a function of `view`, which writes it. Everything
//! that pages load is inside the binary (`assets`). A page that something has changed for is loaded
//! again by its script, so a handler never writes parts of pages.
//!
//! [`Caller`]: crate::http::access::Caller

mod assets;
mod events;
mod form;
mod layered;
mod overview;
mod plans;
mod questions;
mod view;
mod visit;

use std::path::PathBuf;

use axum::Router;
use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{MethodRouter, get, post};

use crate::http::{Served, guard, login};

/// What pages show of the program around the server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// The file of the user's rules, to which "always" adds.
    pub rules_file: PathBuf,
    /// The directory of the outputs of calls.
    pub outputs: PathBuf,
    /// For agents that are not set up: the agent, and the command to run.
    pub offers: Vec<(String, String)>,
    /// This machine's name.
    pub host: String,
}

/// All pages.
pub fn router(served: Served) -> Router {
    Router::new()
        .route("/", beginning(&served))
        .route("/agents", get(overview::agents))
        .route("/agents/one", get(overview::agent))
        .route("/plans", get(plans::plans))
        .route("/plans/{plan}", get(plans::plan))
        .route("/plans/{plan}/items/{item}", get(plans::item))
        .route("/plans/{plan}/act", post(plans::act))
        .route("/questions", get(questions::questions))
        .route("/questions/{id}", post(questions::answer))
        .route("/sessions", get(overview::sessions))
        .route("/sessions/{id}", get(overview::session).post(overview::reply))
        .route("/search", get(overview::search))
        .route("/health", get(overview::health))
        .route("/events", get(events::events))
        .route("/sign-out", post(login::sign_out))
        .route("/assets/{name}", get(asset))
        .layer(guard::body_limit())
        .with_state(served)
}

/// The address without a page leads to the agents.
fn beginning<S: Clone + Send + Sync + 'static>(served: &Served) -> MethodRouter<S> {
    let agents = format!("{}/agents", served.site());
    get(move || async move { Redirect::to(&agents) })
}

/// A file that pages load. Its name changes with its content, so it is kept for ever.
async fn asset(Path(name): Path<String>) -> Response {
    match assets::find(&name) {
        Some(asset) => {
            let kept = "private, max-age=31536000, immutable";
            let headers = [(header::CONTENT_TYPE, asset.kind), (header::CACHE_CONTROL, kept)];
            (headers, asset.content).into_response()
        }
        None => (StatusCode::NOT_FOUND, "there is no such file\n").into_response(),
    }
}

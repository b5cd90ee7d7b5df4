//! The API for programs. The routes and their roles are the table of [`punchlist_formats::api`].

mod body;
mod page;
mod plans;
mod questions;
mod work;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{MethodRouter, get, post};
use punchlist_formats::api::{self, ROUTES, Route};
use punchlist_model::store::access::Role;
use serde_json::{Value, json};

use super::access::Caller;
use super::problem::Problem;
use super::{Served, events, guard};

/// The answer of a handler.
type Answer = Result<Json<Value>, Problem>;

/// All routes, with their roles. The caller is known already.
pub(super) fn router(served: Served) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let role = route.role;
        let checked = handler(route)
            .route_layer(from_fn(move |caller, request, next| needs(role, caller, request, next)));
        router = router.route(&format!("{}{}", api::PREFIX, route.path), checked);
    }
    router.method_not_allowed_fallback(not_offered).layer(guard::body_limit()).with_state(served)
}

/// Lets a caller through who has the role.
async fn needs(role: Role, caller: Caller, request: Request, next: Next) -> Response {
    match caller.needs(role) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

async fn not_offered() -> Problem {
    let status = axum::http::StatusCode::METHOD_NOT_ALLOWED;
    Problem::new(status, "method", "this method is not offered here")
        .hint("`Allow` has those that are.")
}

/// The handler of a route.
fn handler(route: &Route) -> MethodRouter<Served> {
    match route.id {
        "me" => get(me),
        "listProjects" => get(plans::projects),
        "listPlans" => get(plans::list),
        "createPlan" => post(plans::create),
        "getPlan" => get(plans::one),
        "listItems" => get(plans::items),
        "getItem" => get(plans::item),
        "changePlan" => post(plans::change),
        "undo" => post(plans::undo),
        "approveItem" => post(plans::approve),
        "verifyItem" => post(plans::verify),
        "listJournal" => get(plans::journal),
        "listQuestions" => get(questions::list),
        "getQuestion" => get(questions::one),
        "answerQuestion" => post(questions::answer),
        "listSessions" => get(work::sessions),
        "getSession" => get(work::session),
        "listSessionEntries" => get(work::session_entries),
        "listRuns" => get(work::runs),
        "getRun" => get(work::run),
        "listAgents" => get(work::agents),
        "search" => get(work::search),
        "events" => get(events::events),
        "openapi" => get(openapi),
        // A test asks every route of the table.
        _ => MethodRouter::new(),
    }
}

async fn me(caller: Caller) -> Json<Value> {
    Json(json!({ "name": caller.name, "role": caller.role, "project": caller.project }))
}

async fn openapi(State(served): State<Served>) -> Json<Value> {
    Json(api::document(served.options().version))
}

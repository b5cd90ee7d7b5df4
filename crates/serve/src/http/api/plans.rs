//! Projects, plans, items, changes and the journal.

use std::collections::BTreeSet;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use punchlist_engine::engine::ChangeRequest as Wanted;
use punchlist_engine::{PlanHandle, change as changing};
use punchlist_formats::api::{ChangeRequest, NewPlanRequest, UndoRequest};
use punchlist_formats::view::{change as changed, json};
use punchlist_model::needs::Needs;
use punchlist_model::store::access::Role;
use punchlist_model::store::{Applied, Error, Filter, NewPlan, ProjectSums};
use punchlist_model::{Number, Origin, Plan, PlanId, Revision, Status, WriteId};
use serde_json::{Value, json};

use super::Answer;
use super::body::Body;
use super::page::{self, Page, recent};
use crate::http::access::Caller;
use crate::http::pairs::{Pairs, Query};
use crate::http::problem::Problem;
use crate::http::{Served, guard};

/// A plan that the caller sees.
pub(super) async fn handle(
    served: &Served,
    caller: &Caller,
    id: &str,
) -> Result<PlanHandle, Problem> {
    let missing = || Problem::not_found("there is no such plan");
    let id: PlanId = id.parse().map_err(|_| missing())?;
    let header = match served.store().read(id, Needs::header()).await {
        Ok(header) => header,
        Err(Error::NoPlan(_)) => return Err(missing()),
        Err(error) => return Err(error.into()),
    };
    if !caller.sees(&header.project) {
        return Err(missing());
    }
    Ok(served.engine(&header.project)?.at(id))
}

pub(super) async fn projects(
    State(served): State<Served>,
    caller: Caller,
    Query(query): Query,
) -> Answer {
    let page = Page::of(&query)?;
    let all = served.store().projects(caller.project.clone()).await?;
    let (page, next) = page.cut(all, |it| it.project.clone());
    let value = |it: ProjectSums| json!({ "project": it.project, "plans": it.plans, "open": it.open, "updatedAt": json::time(it.updated_at) });
    Ok(Json(page::json("projects", page.into_iter().map(value).collect(), next)))
}

pub(super) async fn list(
    State(served): State<Served>,
    caller: Caller,
    Query(query): Query,
) -> Answer {
    let page = Page::of(&query)?;
    let project = page::project(&caller, &query)?;
    let name = query.given("name").map(str::to_owned);
    let after = page.after.map(page::of_recent).transpose()?;
    let filter = Filter { project, name, after, most: Some(page.and_one()), ..Filter::default() };
    let plans = served.store().plans(filter).await?;
    let shown = &plans[..page.limit.min(plans.len())];
    let last = shown.last().filter(|_| plans.len() > page.limit);
    let next = last.map(|it| recent(it.updated_at, &it.id));
    Ok(Json(page::json("plans", shown.iter().map(json::summary).collect(), next)))
}

pub(super) async fn create(
    State(served): State<Served>,
    caller: Caller,
    Body(request): Body<NewPlanRequest>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    request.check().map_err(Problem::bad_request)?;
    let project = match (&request.project, &caller.project) {
        (Some(project), _) if !caller.sees(project) => {
            return Err(Problem::forbidden("the token does not see this project"));
        }
        (Some(project), _) | (None, Some(project)) => project.clone(),
        (None, None) => {
            return Err(Problem::bad_request("project is missing: the token sees all").refused());
        }
    };
    let at = served.around().now();
    let id = PlanId(served.around().ids(at)?.nth(0));
    let plan = served.store().create(request.fill(NewPlan::new(id, project, at))).await?;
    Ok((StatusCode::CREATED, Json(header(&plan))))
}

fn header(plan: &Plan) -> Value {
    json!({ "plan": json::header(plan, None), "progress": json::progress(plan.progress()) })
}

pub(super) async fn one(
    State(served): State<Served>,
    caller: Caller,
    Path(plan): Path<String>,
) -> Answer {
    let plan = handle(&served, &caller, &plan).await?.whole().await?;
    Ok(Json(header(&plan)))
}

pub(super) async fn items(
    State(served): State<Served>,
    caller: Caller,
    Path(plan): Path<String>,
    Query(query): Query,
) -> Answer {
    let page = Page::of(&query)?;
    let status = status(&query)?;
    let plan = handle(&served, &caller, &plan).await?.whole().await?;
    let listed = plan.listed().into_iter().filter(|it| status.is_none_or(|is| it.status == is));
    let (page, next) =
        page.cut(listed.collect(), |it| format!("{:010}", it.position.map_or(0, |it| it.0)));
    let stale = BTreeSet::new();
    Ok(Json(page::json("items", json::items(&plan, page, &stale), next)))
}

fn status(query: &Pairs) -> Result<Option<Status>, Problem> {
    let Some(text) = query.get("status") else { return Ok(None) };
    let found = Status::ALL.into_iter().find(|it| it.as_str() == text);
    found.map(Some).ok_or_else(|| {
        Problem::bad_request("status must be pending, in_progress, completed or cancelled")
    })
}

pub(super) async fn item(
    State(served): State<Served>,
    caller: Caller,
    Path((plan, item)): Path<(String, String)>,
) -> Answer {
    let plan = handle(&served, &caller, &plan).await?.whole().await?;
    let number = number(&item)?;
    let found = plan.get(number).ok_or_else(|| no_item(number))?;
    Ok(Json(json::item(&plan, found, false)))
}

fn number(text: &str) -> Result<Number, Problem> {
    text.parse().map_err(|_| Problem::not_found("there is no such item"))
}

fn no_item(number: Number) -> Problem {
    Problem::not_found(format!("the plan has no item {number}"))
}

/// Whose commands a caller brings.
fn origin(caller: &Caller) -> Origin {
    if caller.role == Role::Admin { Origin::Person } else { Origin::Agent }
}

pub(super) async fn change(
    State(served): State<Served>,
    caller: Caller,
    Path(plan): Path<String>,
    Body(request): Body<ChangeRequest>,
) -> Answer {
    let plan = handle(&served, &caller, &plan).await?;
    let bad = |_| Problem::bad_request("write must be a UUID");
    let write: Option<WriteId> =
        request.write.as_deref().map(|it| it.parse().map_err(bad)).transpose()?;
    let (expect, anyway) = (request.expected(), request.anyway);
    let ops = request.operations(origin(&caller)).map_err(Problem::bad_request)?;
    let wanted = Wanted { actor: caller.actor(), ops, expect, write, anyway };
    Ok(result(&plan.request(wanted).await?))
}

fn result(applied: &Applied) -> Json<Value> {
    Json(changed::json(applied))
}

pub(super) async fn undo(
    State(served): State<Served>,
    caller: Caller,
    Path(plan): Path<String>,
    Body(request): Body<UndoRequest>,
) -> Answer {
    let plan = handle(&served, &caller, &plan).await?;
    let applied = plan.take_back(caller.actor(), request.expected()).await?;
    Ok(result(&applied))
}

pub(super) async fn approve(
    State(served): State<Served>,
    caller: Caller,
    Path((plan, item)): Path<(String, String)>,
) -> Answer {
    let plan = handle(&served, &caller, &plan).await?;
    let applied = plan.by_person(caller.name).approve(number(&item)?).await?;
    let applied = changing::with_obstacles(&**served.store(), applied).await?;
    Ok(result(&applied))
}

pub(super) async fn verify(
    State(served): State<Served>,
    caller: Caller,
    Path((plan, item)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let plan = handle(&served, &caller, &plan).await?;
    let number = number(&item)?;
    let check =
        guard::check(served.options().times.check, async move { plan.verify_item(number).await });
    let verified = check.await.map_err(|fail| Problem::from(fail).refused())?;
    Ok(match verified {
        Some(it) => Json(json!({
            "passed": it.passed,
            "ended": it.ended,
            "output": it.output,
            "revision": it.revision,
        }))
        .into_response(),
        None => (StatusCode::ACCEPTED, Json(json!({ "running": true }))).into_response(),
    })
}

pub(super) async fn journal(
    State(served): State<Served>,
    caller: Caller,
    Path(plan): Path<String>,
    Query(query): Query,
) -> Answer {
    let page = Page::of(&query)?;
    let plan = handle(&served, &caller, &plan).await?;
    let after = Revision(page.number()?);
    let mut entries = plan.journal(after, page.and_one()).await?;
    let has_more = entries.len() > page.limit;
    entries.truncate(page.limit);
    let next = entries.last().filter(|_| has_more).map(|it| it.revision.to_string());
    Ok(Json(page::json("entries", entries.iter().map(json::entry).collect(), next)))
}

//! The pages of plans, and what a person does there.

use std::collections::BTreeSet;

use axum::extract::Path;
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::Markup;
use punchlist_engine::Which;
use punchlist_engine::check::evidence;
use punchlist_engine::engine::{PlanAct, PlanHandle};
use punchlist_engine::fail::Fail;
use punchlist_engine::outputs::last_call;
use punchlist_formats::text::line::to_plain;
use punchlist_formats::view::Options;
use punchlist_formats::view::log;
use punchlist_model::store::access::Role;
use punchlist_model::store::{Entry, Filter, ProjectSums, Summary};
use punchlist_model::{ActorKind, Event, Number, Plan, PlanId, Revision};

use super::form::{Wanted, wanted};
use super::view::item::ItemParts;
use super::view::plan::{self as plan_view, PlanPage, PlanView};
use super::view::plans::{self as plans_view, PlansPage};
use super::view::shell::{Section, Told};
use super::visit::{Visit, refused, status};
use crate::http::guard;
use crate::http::pairs::{Form, Pairs, Query};

/// How many plans are listed.
const MOST_PLANS: u32 = 200;
/// How many changes a page of the timeline shows.
const MOST_CHANGES: u64 = 200;
/// How many entries of the journal are searched for the history of an item, the last ones.
const MOST_HISTORY: u64 = 5_000;
/// What the address says after a check that runs longer than a request waits.
const RUNNING: &str = "running";

/// The list of plans.
pub(super) async fn plans(visit: Visit, Query(query): Query) -> Response {
    let with_archived = query.get("archived") == Some("yes");
    visit.answer(plans_page(&visit, with_archived).await)
}

async fn plans_page(visit: &Visit, with_archived: bool) -> Result<Markup, Fail> {
    let (store, project) = (visit.served.store(), visit.caller.project.clone());
    let sums = store.projects(project.clone()).await?;
    let sum = |of: fn(&ProjectSums) -> u32| sums.iter().map(of).fold(0, u32::saturating_add);
    let (all, archived) = (sum(|it| it.plans), sum(|it| it.archived));
    let listed = if with_archived { all } else { all.saturating_sub(archived) };
    let archived_only = if with_archived { None } else { Some(false) };
    let filter =
        Filter { project, archived: archived_only, most: Some(MOST_PLANS), ..Filter::default() };
    let mut plans = store.plans(filter).await?;
    let others = listed.saturating_sub(u32::try_from(plans.len()).unwrap_or(u32::MAX));
    // Open plans first; the sort is stable.
    plans.sort_by_key(|it: &Summary| it.open == 0);
    let unfinished = sum(|it| it.unfinished);
    let page = PlansPage { plans, with_archived, archived, unfinished, all, others };
    Ok(plans_view::plans(&visit.shell(Section::Plans).await?, &page))
}

/// One plan.
pub(super) async fn plan(visit: Visit, Path(id): Path<String>, Query(query): Query) -> Response {
    visit.answer(plan_page(&visit, &id, None, &query, None).await)
}

/// One item, beside its plan.
pub(super) async fn item(
    visit: Visit,
    Path((id, item)): Path<(String, String)>,
    Query(query): Query,
) -> Response {
    let Ok(number) = item.parse() else {
        return visit.failed(Fail::not_found(format!("{item:?} is no number of an item")));
    };
    visit.answer(plan_page(&visit, &id, Some(number), &query, None).await)
}

/// Finds a plan that the caller may see.
async fn find(visit: &Visit, id: &str) -> Result<(PlanHandle, Plan), Fail> {
    let gone = || Fail::not_found("there is no such plan").hint("it may have been deleted.");
    let id: PlanId = id.parse().map_err(|_| gone())?;
    let plan = visit.served.store().whole(id).await?;
    if !visit.caller.sees(&plan.project) {
        return Err(gone());
    }
    let engine = visit.served.engine(&plan.project)?;
    let handle = engine.plan(Which::Id(id)).await?.ok_or_else(gone)?;
    Ok((handle, plan))
}

async fn plan_page(
    visit: &Visit,
    id: &str,
    item: Option<Number>,
    query: &Pairs,
    told: Option<Told>,
) -> Result<Markup, Fail> {
    let (handle, plan) = find(visit, id).await?;
    let view = PlanView::parse(query.get("view").unwrap_or_default());
    let journal = match view {
        PlanView::Timeline => timeline(&handle, &plan, query).await?,
        PlanView::Tree | PlanView::Board | PlanView::Graph => Vec::new(),
    };
    let item = match item {
        None => None,
        Some(number) if plan.get(number).is_none() => {
            return Err(Fail::not_found(format!("the plan has no item {number}")));
        }
        Some(number) => Some((number, item_parts(visit, &handle, &plan, number).await?)),
    };
    let told = told.or_else(|| (query.get("done") == Some(RUNNING)).then(still_running));
    let told = match (told, query.number::<u64>("done").ok().flatten()) {
        (Some(told), _) => Some(told),
        (None, Some(revision)) => done(visit, &handle, &plan, Revision(revision)).await?,
        (None, None) => None,
    };
    let filter = Filter { id: Some(plan.id.to_string()), ..Filter::default() };
    let summary = visit.served.store().plans(filter).await?.into_iter().next();
    let mut shell = visit.shell(Section::Plans).await?;
    shell.told = told;
    let (plan, stale) = looked_at(plan).await?;
    let page =
        PlanPage { stale, key: summary.and_then(|it| it.attachment), plan, view, journal, item };
    Ok(plan_view::plan(&shell, &page))
}

/// The items with stale evidence. This looks at files, so it happens on a thread of its own.
async fn looked_at(plan: Plan) -> Result<(Plan, BTreeSet<Number>), Fail> {
    let look = move || {
        let stale = evidence::stale(&plan);
        (plan, stale)
    };
    let looked = tokio::task::spawn_blocking(look).await;
    looked.map_err(|why| Fail::ours(format!("the covered files were not looked at: {why}")))
}

/// The changes of one page of the timeline: the last ones, or those before a revision.
async fn timeline(handle: &PlanHandle, plan: &Plan, query: &Pairs) -> Result<Vec<Entry>, Fail> {
    let before = query.number::<u64>("before").ok().flatten();
    let last = before.map_or(plan.revision.0, |it| it.saturating_sub(1));
    let after = last.saturating_sub(MOST_CHANGES);
    let most = u32::try_from(last - after).unwrap_or(u32::MAX);
    let mut entries = handle.journal(Revision(after), most).await?;
    entries.iter_mut().for_each(log::without_renewals);
    Ok(entries)
}

/// The history and the last output of an item.
async fn item_parts(
    visit: &Visit,
    handle: &PlanHandle,
    plan: &Plan,
    item: Number,
) -> Result<ItemParts, Fail> {
    let after = Revision(plan.revision.0.saturating_sub(MOST_HISTORY));
    let mut history = handle.journal(after, u32::MAX).await?;
    history.retain(|it| it.events.iter().any(|it| it.number() == Some(item)));
    for entry in &mut history {
        entry.events.retain(|it| it.number() == Some(item));
        log::without_renewals(entry);
    }
    let (store, outputs) = (visit.served.store(), visit.served.facts().outputs);
    let call = last_call::of(&**store, &outputs, plan.id, item).await?;
    let output = call.map(|it| to_plain(&it.view(&Options::plain(visit.now))));
    Ok(ItemParts { history, output })
}

/// What the change with this revision did, if the caller made it, or it is evidence that they asked
/// for. The address carries only the number, so nobody can put words into a page by a link.
async fn done(
    visit: &Visit,
    handle: &PlanHandle,
    plan: &Plan,
    revision: Revision,
) -> Result<Option<Told>, Fail> {
    // An undo is told with the words of the change that it undid.
    let after = Revision(revision.0.saturating_sub(MOST_CHANGES));
    let most = u32::try_from(revision.0 - after.0).unwrap_or(u32::MAX);
    let entries = handle.journal(after, most).await?;
    let words = log::phrases_of(plan, &entries, None);
    let last = entries.iter().zip(words).find(|it| it.0.revision == revision);
    Ok(last.filter(|it| is_by(visit, it.0)).map(|it| Told::Done(it.1.join("\n"))))
}

fn is_by(visit: &Visit, entry: &Entry) -> bool {
    let is_evidence =
        |it: &Event| matches!(it, Event::Changed { what: punchlist_model::What::Evidence, .. });
    let is_check = entry.actor.kind == ActorKind::Engine && entry.events.iter().any(is_evidence);
    entry.actor == visit.caller.actor() || is_check
}

/// Does what a form asks for, in the name of the person who is signed in.
pub(super) async fn act(visit: Visit, Path(id): Path<String>, Form(form): Form) -> Response {
    if let Err(problem) = visit.caller.needs(Role::Admin) {
        return problem.into_response();
    }
    let item: Option<Number> = form.given("item").and_then(|it| it.parse().ok());
    let view = PlanView::parse(form.get("view").unwrap_or_default());
    // A key in a view leaves the person there; a form of an item leaves them at the item.
    let is_beside = item.filter(|_| form.given("item_id").is_some());
    let address = address(&visit, &id, is_beside, view);
    match perform(&visit, &id, &form).await {
        Ok(done) => {
            let between = if address.contains('?') { '&' } else { '?' };
            let told = match done {
                Done::Change(revision) => format!("{between}done={revision}"),
                Done::Nothing => String::new(),
                Done::Running => format!("{between}done={RUNNING}"),
            };
            Redirect::to(&format!("{address}{told}")).into_response()
        }
        Err(fail) => {
            let told = refused(&fail);
            let query = Pairs::one("view", view.as_str());
            let visit = visit.at(address);
            let page = plan_page(&visit, &id, is_beside, &query, Some(told)).await;
            match page {
                Ok(page) => (status(fail), Html(page.into_string())).into_response(),
                Err(fail) => visit.failed(fail),
            }
        }
    }
}

fn address(visit: &Visit, id: &str, item: Option<Number>, view: PlanView) -> String {
    let item = item.map(|it| format!("/items/{it}")).unwrap_or_default();
    let view = match view {
        PlanView::Tree => String::new(),
        PlanView::Board | PlanView::Timeline | PlanView::Graph => {
            format!("?view={}", view.as_str())
        }
    };
    let id: String = id.chars().filter(|it| it.is_ascii_alphanumeric() || *it == '-').collect();
    format!("{}/plans/{id}{item}{view}", visit.served.site())
}

/// The result of an act.
enum Done {
    /// The last change that the person made or caused.
    Change(Revision),
    /// Nothing was changed.
    Nothing,
    /// A check that goes on.
    Running,
}

fn still_running() -> Told {
    Told::Done(
        "The check takes long and goes on. Its result appears here when it has ended.".into(),
    )
}

/// Performs the act.
async fn perform(visit: &Visit, id: &str, form: &Pairs) -> Result<Done, Fail> {
    let (handle, plan) = find(visit, id).await?;
    let person = visit.caller.name.clone();
    match wanted(&plan, form)? {
        Wanted::Act(act @ PlanAct::Verify(_)) => {
            // The check must not end with the request; its evidence appears when it has ended.
            let task = handle.clone();
            let check = async move { task.perform(&person, act).await };
            match guard::check(visit.served.options().times.check, check).await? {
                Some(checked) => checked,
                None => return Ok(Done::Running),
            }
        }
        Wanted::Act(act) => handle.perform(&person, act).await?,
        Wanted::Edit(acts) if acts.is_empty() => return Ok(Done::Nothing),
        Wanted::Edit(acts) => handle.perform_all(&person, &acts).await?,
    };
    let entries = handle.journal(plan.revision, u32::MAX).await?;
    let last = entries.iter().rev().find(|it| is_by(visit, it));
    Ok(last.map_or(Done::Nothing, |it| Done::Change(it.revision)))
}

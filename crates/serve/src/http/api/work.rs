//! Sessions, runs, agents and search.

use axum::extract::{Path, State};
use axum::response::Json;
use punchlist_formats::api;
use punchlist_model::agents::{self, Row};
use punchlist_model::call::{RunFilter, RunRecord};
use punchlist_model::store::turns::{Conversation, ConversationFilter, EntryFilter};
use punchlist_model::store::{Error, FoundItem, ItemSearch};
use punchlist_model::{ConversationId, PlanId, RunId, Timestamp};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Answer;
use super::page::{self, Page, Rest, SearchCursor, recent};
use crate::http::Served;
use crate::http::access::Caller;
use crate::http::agents::Seen;
use crate::http::pairs::Query;
use crate::http::problem::Problem;

pub(super) async fn sessions(
    State(served): State<Served>,
    caller: Caller,
    Query(query): Query,
) -> Answer {
    let page = Page::of(&query)?;
    let project = page::project(&caller, &query)?;
    let filter = ConversationFilter { project, ..ConversationFilter::default() };
    let mut all = served.store().conversations(filter).await?;
    let key = |it: &Conversation| recent(it.changed_at, &it.id);
    all.sort_by_key(key);
    let (page, next) = page.cut(all, key);
    let now = served.around().now();
    let page = page.iter().map(|it| api::conversation(it, now)).collect();
    Ok(Json(page::json("sessions", page, next)))
}

/// A session that the caller sees.
async fn find(served: &Served, caller: &Caller, id: &str) -> Result<Conversation, Problem> {
    let missing = || Problem::not_found("there is no such session");
    let id: ConversationId = id.parse().map_err(|_| missing())?;
    match served.store().conversation(id).await {
        Ok(found) if caller.sees(&found.project) => Ok(found),
        Ok(_) | Err(Error::NoConversation(_)) => Err(missing()),
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn session(
    State(served): State<Served>,
    caller: Caller,
    Path(session): Path<String>,
) -> Answer {
    let session = find(&served, &caller, &session).await?;
    Ok(Json(api::conversation(&session, served.around().now())))
}

pub(super) async fn session_entries(
    State(served): State<Served>,
    caller: Caller,
    Path(session): Path<String>,
    Query(query): Query,
) -> Answer {
    let page = Page::of(&query)?;
    let session = find(&served, &caller, &session).await?;
    let filter = EntryFilter { after: page.number()?, ..EntryFilter::default() };
    let entries = served.store().entries(session.id, filter).await?;
    let has_more = entries.len() > page.limit;
    let shown = &entries[..page.limit.min(entries.len())];
    let next = shown.last().filter(|_| has_more).map(|it| it.number.to_string());
    Ok(Json(page::json("entries", shown.iter().map(api::turn_entry).collect(), next)))
}

pub(super) async fn runs(
    State(served): State<Served>,
    caller: Caller,
    Query(query): Query,
) -> Answer {
    let page = Page::of(&query)?;
    let project = page::project(&caller, &query)?;
    let bad = |_| Problem::bad_request("plan must be a UUID");
    let plan: Option<PlanId> = query.get("plan").map(|it| it.parse().map_err(bad)).transpose()?;
    let running = page::flag(&query, "running")?.unwrap_or(false);
    let filter = RunFilter { project, plan, running, most: None };
    let mut all = served.store().runs(filter).await?;
    let key = |it: &RunRecord| recent(it.begun_at, &it.id);
    all.sort_by_key(key);
    let (page, next) = page.cut(all, key);
    Ok(Json(page::json("runs", page.iter().map(api::run).collect(), next)))
}

pub(super) async fn run(
    State(served): State<Served>,
    caller: Caller,
    Path(run): Path<String>,
) -> Answer {
    let missing = || Problem::not_found("there is no such run");
    let id: RunId = run.parse().map_err(|_| missing())?;
    let filter = RunFilter { project: caller.project.clone(), ..RunFilter::default() };
    let runs = served.store().runs(filter).await?;
    let run = runs.iter().find(|it| it.id == id).ok_or_else(missing)?;
    let calls: Vec<Value> = served.store().calls(id).await?.iter().map(api::call).collect();
    Ok(Json(json!({ "run": api::run(run), "calls": calls })))
}

pub(super) async fn agents(
    State(served): State<Served>,
    caller: Caller,
    Query(query): Query,
) -> Answer {
    let page = Page::of(&query)?;
    let project = page::project(&caller, &query)?;
    let seen = match served.agents() {
        Some(agents) => agents.seen().await,
        None => Seen::default(),
    };
    let is_own = |it: &&Row| project.as_ref().is_none_or(|own| *own == it.project);
    let mut rows: Vec<&Row> = seen.rows.iter().filter(is_own).collect();
    rows.sort_by_cached_key(|it| agent_key(it));
    let (page, next) = page.cut(rows, |it| agent_key(it));
    let agents: Vec<Value> = page.into_iter().map(api::agent).collect();
    // Notes may name files of other projects.
    let notes: &[String] = if caller.project.is_none() { &seen.notes } else { &[] };
    Ok(Json(json!({ "agents": agents, "next": next, "notes": notes })))
}

/// The place of an agent in the list: those that wait for a person come first, then the newest. An agent's
/// place does not change while it works, so that pages have every agent once.
fn agent_key(row: &Row) -> String {
    let began = Timestamp::from_millisecond(row.began).unwrap_or_default();
    // A cursor has at most 500 characters, and a key may be longer.
    let digest = Sha256::digest(&row.key);
    let digest: String = digest.iter().map(|it| format!("{it:02x}")).collect();
    let asks = matches!(row.state, agents::State::Asks(_));
    format!("{}-{}", u8::from(!asks), recent(began, &digest))
}

pub(super) async fn search(
    State(served): State<Served>,
    caller: Caller,
    Query(query): Query,
) -> Answer {
    let page = Page::of(&query)?;
    let project = page::project(&caller, &query)?;
    let text = query.given("q").filter(|it| it.chars().count() <= 500);
    let text = text.ok_or_else(|| Problem::bad_request("q must have 1 to 500 characters"))?;
    let cursor = SearchCursor::parse(page.after)?;
    let (most, store) = (page.and_one(), served.store());
    let mut items = match cursor.items.last_read() {
        Some(after) => {
            let (text, project) = (text.to_owned(), project.clone());
            store.search(ItemSearch { text, project, after, most }).await?
        }
        None => Vec::new(),
    };
    let mut sessions = match cursor.sessions.last_read() {
        Some(after) => {
            let (text, id) = (Some(text.to_owned()), None);
            store.conversations(ConversationFilter { project, id, text, after, most }).await?
        }
        None => Vec::new(),
    };
    let next = SearchCursor {
        items: rest(&mut items, page.limit, |it| it.at),
        sessions: rest(&mut sessions, page.limit, |it| (it.changed_at, it.id)),
    };
    let now = served.around().now();
    let sessions: Vec<Value> = sessions.iter().map(|it| api::conversation(it, now)).collect();
    let items: Vec<Value> = items.iter().map(found).collect();
    Ok(Json(json!({ "items": items, "sessions": sessions, "next": next.next() })))
}

/// Cuts what does not fit on the page, and says where the next one begins.
fn rest<T, K>(found: &mut Vec<T>, limit: usize, key: impl Fn(&T) -> K) -> Rest<K> {
    let has_more = found.len() > limit;
    found.truncate(limit);
    match found.last().filter(|_| has_more) {
        Some(last) => Rest::After(key(last)),
        None => Rest::Nothing,
    }
}

fn found(it: &FoundItem) -> Value {
    json!({
        "plan": it.at.plan,
        "project": it.project,
        "planTitle": it.plan_title,
        "number": it.at.number,
        "title": it.title,
        "status": it.status,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_come_in_pages_those_that_wait_first_then_the_newest() {
        let row = |key: &str, began: i64, state: agents::State| Row {
            key: key.to_owned(),
            began,
            state,
            ..Row::default()
        };
        let asks = || agents::State::Asks("why?".to_owned());
        let long = "x".repeat(2000);
        let mut rows = [
            row("a", 10, agents::State::Working),
            row("b", 30, agents::State::Idle),
            row(&long, 20, agents::State::Working),
            row("c", 5, asks()),
            row("d", 20, agents::State::Died),
            row("e", 7, asks()),
        ];
        rows.sort_by_cached_key(agent_key);
        let order: Vec<String> = rows.iter().map(|it| it.key[..1].to_owned()).collect();
        assert_eq!([&order[..3], &order[5..]].concat(), ["e", "c", "b", "a"]);
        let (mut found, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let page = Page { after: cursor.as_deref(), limit: 2 };
            let (page, next) = page.cut(rows.iter().collect(), |it| agent_key(it));
            found.extend(page.iter().map(|it| it.key[..1].to_owned()));
            let Some(next) = next else { break };
            assert!(next.len() <= 500, "{next}");
            cursor = Some(next);
            // An agent that works has its place, whatever it does meanwhile.
            rows.iter_mut().for_each(|it| it.at += 1);
        }
        assert_eq!(found, order);
    }
}

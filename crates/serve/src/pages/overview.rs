//! The pages that only show something: agents, sessions, search, health.

use axum::extract::Path;
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::Markup;
use punchlist_agent::leader::LedBy;
use punchlist_agent::session::{self, Entry, Recorded, listing};
use punchlist_engine::fail::Fail;
use punchlist_model::PlanId;
use punchlist_model::agents::Row;
use punchlist_model::store::access::Role;
use punchlist_model::store::turns::{
    Conversation, ConversationFilter, ConversationState, EntryFilter,
};
use punchlist_model::store::{AttachmentKey, Filter, ItemSearch};

use super::view::agents::{self, AgentsPage};
use super::view::search::Found;
use super::view::sessions::{self, SessionPage};
use super::view::shell::{Section, Told};
use super::view::{health as health_view, search as search_view};
use super::visit::{Visit, refused, status};
use crate::http::pairs::{Form, Query};
use crate::http::problem::Problem;

/// How many sessions are listed.
const MOST_SESSIONS: u32 = 100;
/// How many entries of a session are shown, the last ones.
const MOST_ENTRIES: u32 = 400;
/// How many results of each kind a search shows.
const MOST_FOUND: usize = 50;

/// What the address says after a message was sent to a session.
const SENT: &str = "sent";

/// All agents.
pub(super) async fn agents(visit: Visit) -> Response {
    visit.answer(agents_page(&visit).await)
}

async fn agents_page(visit: &Visit) -> Result<Markup, Fail> {
    let seen = match visit.served.agents() {
        Some(agents) => agents.seen().await,
        None => Default::default(),
    };
    let rows: Vec<Row> =
        seen.rows.iter().filter(|it| visit.caller.sees(&it.project)).cloned().collect();
    // Notes may name files of other projects.
    let sees_all = visit.caller.project.is_none();
    let notes = if sees_all { seen.notes.as_ref().clone() } else { Vec::new() };
    let page = AgentsPage { rows, offers: visit.served.facts().offers, notes };
    Ok(agents::agents(&visit.shell(Section::Agents).await?, &page))
}

/// One agent.
pub(super) async fn agent(visit: Visit, Query(query): Query) -> Response {
    let key = query.get("key").unwrap_or_default();
    visit.answer(agent_page(&visit, key).await)
}

async fn agent_page(visit: &Visit, key: &str) -> Result<Markup, Fail> {
    let seen = match visit.served.agents() {
        Some(agents) => agents.seen().await,
        None => Default::default(),
    };
    let row = seen.rows.iter().find(|it| it.key == key && visit.caller.sees(&it.project));
    let plan = match row {
        Some(row) => plan_of(visit, row).await?,
        None => None,
    };
    Ok(agents::agent(&visit.shell(Section::Agents).await?, row, plan))
}

/// The plan that an agent's session is attached to.
async fn plan_of(visit: &Visit, row: &Row) -> Result<Option<PlanId>, Fail> {
    let mut parts = row.key.splitn(3, '/').map(str::to_owned);
    let mut part = || parts.next().unwrap_or_default();
    let (agent, conversation, sub_agent) = (part(), part(), part());
    let project = row.project.clone();
    let key = AttachmentKey { project, agent, conversation, sub_agent, turn: String::new() };
    Ok(visit.served.store().attached(key).await?)
}

/// The sessions of our own agent.
pub(super) async fn sessions(visit: Visit) -> Response {
    visit.answer(sessions_page(&visit).await)
}

async fn sessions_page(visit: &Visit) -> Result<Markup, Fail> {
    let filter = ConversationFilter {
        project: visit.caller.project.clone(),
        most: MOST_SESSIONS,
        ..ConversationFilter::default()
    };
    let store = visit.served.store();
    let mut all = Vec::new();
    for mut it in store.conversations(filter).await? {
        let is_running = listing::is_running(&it, &**visit.served.around());
        if is_running {
            listing::note_question(&**store, &mut it).await?;
        }
        all.push((it, is_running));
    }
    Ok(sessions::sessions(&visit.shell(Section::Sessions).await?, &all))
}

/// One session.
pub(super) async fn session(visit: Visit, Path(id): Path<String>, Query(query): Query) -> Response {
    let is_sent = query.get("done") == Some(SENT);
    let told = is_sent.then(|| Told::Done("Sent: the session goes on with it.".to_owned()));
    visit.answer(session_page(&visit, &id, told).await)
}

async fn session_page(visit: &Visit, id: &str, told: Option<Told>) -> Result<Markup, Fail> {
    let store = visit.served.store();
    let mut conversation = find_session(visit, id).await?;
    let id = conversation.id;
    let but = Some(Entry::USED);
    let filter = EntryFilter { last: MOST_ENTRIES, but, ..EntryFilter::default() };
    let entries = store.entries(id, filter).await?;
    let is_cut = entries.first().is_some_and(|it| it.number > 1);
    // An entry of a newer version that cannot be read is left out.
    let entries = entries.iter().filter_map(|it| Recorded::read(it).ok()).collect();
    let queued = store.messages(id.to_string()).await?.into_iter().map(|it| it.text).collect();
    let is_running = listing::is_running(&conversation, &**visit.served.around());
    if is_running {
        listing::note_question(&**store, &mut conversation).await?;
    }
    let asks = match conversation.state {
        ConversationState::Asked => listing::last_text(&**store, id).await,
        ConversationState::Idle
        | ConversationState::Working
        | ConversationState::Waiting { .. } => None,
    };
    let page = SessionPage {
        is_running,
        asks,
        is_led: LedBy::of(&conversation).is_some(),
        may_reply: visit.caller.role >= Role::Admin,
        turns: store.turns(id).await?,
        conversation,
        entries,
        is_cut,
        queued,
    };
    let mut shell = visit.shell(Section::Sessions).await?;
    shell.told = told;
    Ok(sessions::session(&shell, &page))
}

/// Sends what a person says next to a session, or their reply to its question.
pub(super) async fn reply(visit: Visit, Path(id): Path<String>, Form(form): Form) -> Response {
    if let Err(problem) = visit.caller.needs(Role::Admin) {
        return problem.into_response();
    }
    let id: String = id.chars().filter(|it| it.is_ascii_alphanumeric() || *it == '-').collect();
    let address = format!("{}/sessions/{id}", visit.served.site());
    match send_reply(&visit, &id, form.get("text").unwrap_or_default()).await {
        // A page that answers a form would send it again when it is reloaded.
        Ok(()) => Redirect::to(&format!("{address}?done={SENT}")).into_response(),
        Err(fail) => {
            let visit = visit.at(address);
            match session_page(&visit, &id, Some(refused(&fail))).await {
                Ok(page) => (status(fail), Html(page.into_string())).into_response(),
                Err(fail) => visit.failed(fail),
            }
        }
    }
}

async fn send_reply(visit: &Visit, id: &str, text: &str) -> Result<(), Fail> {
    let conversation = find_session(visit, id).await?;
    if LedBy::of(&conversation).is_some() {
        return Err(Fail::refused("another agent leads this session").hint(format!(
            "`punchlist resume {} TEXT` goes on with it.",
            conversation.id.short()
        )));
    }
    // A browser sends line breaks as `\r\n`.
    let text = text.replace("\r\n", "\n");
    if text.trim().is_empty() {
        return Err(Fail::usage("the text is empty"));
    }
    let (store, around) = (visit.served.store(), visit.served.around());
    let wake = |id, project: &str| visit.served.wake(id, project);
    session::reply(store, around, conversation.id, text, wake).await?;
    Ok(())
}

/// A session that the caller sees.
async fn find_session(visit: &Visit, id: &str) -> Result<Conversation, Fail> {
    let gone = || Fail::not_found("there is no such session").hint("it may have been forgotten.");
    let id = id.parse().map_err(|_| gone())?;
    let conversation = visit.served.store().conversation(id).await?;
    if visit.caller.sees(&conversation.project) { Ok(conversation) } else { Err(gone()) }
}

/// The search.
pub(super) async fn search(visit: Visit, Query(query): Query) -> Response {
    let text = query.get("q").unwrap_or_default();
    visit.answer(search_page(&visit, text).await)
}

async fn search_page(visit: &Visit, text: &str) -> Result<Markup, Fail> {
    let shell = visit.shell(Section::Search).await?;
    let wanted = text.trim();
    if wanted.is_empty() {
        return Ok(search_view::search(&shell, text, &Found::default()));
    }
    let (store, project) = (visit.served.store(), visit.caller.project.clone());
    // One more than is shown, to know whether there are more.
    let most = u32::try_from(MOST_FOUND + 1).unwrap_or(u32::MAX);
    let search =
        ItemSearch { text: wanted.to_owned(), project: project.clone(), after: None, most };
    let items = store.search(search).await?;
    let text_of = Some(wanted.to_owned());
    let filter = Filter {
        project: project.clone(),
        text: text_of.clone(),
        most: Some(most),
        ..Filter::default()
    };
    let plans = store.plans(filter).await?;
    let filter = ConversationFilter { project, text: text_of, most, ..Default::default() };
    let conversations = store.conversations(filter).await?;
    let mut found = Found { plans, items, conversations, is_cut: false };
    let counts = [found.plans.len(), found.items.len(), found.conversations.len()];
    found.is_cut = counts.iter().any(|it| *it > MOST_FOUND);
    found.plans.truncate(MOST_FOUND);
    found.items.truncate(MOST_FOUND);
    found.conversations.truncate(MOST_FOUND);
    Ok(search_view::search(&shell, text, &found))
}

/// What `doctor` says.
pub(super) async fn health(visit: Visit) -> Response {
    if visit.caller.project.is_some() {
        let why = "the health is that of the whole installation, and the token sees one project";
        return Problem::forbidden(why).into_response();
    }
    let diagnosis = visit.served.examine().await.map_err(|it| it.to_string());
    let shell = visit.shell(Section::Health).await;
    visit.answer(shell.map(|it| health_view::health(&it, &diagnosis)))
}

//! Which plan is meant, and how one that is not there yet is made and attached.
//!
//! Verbs, hooks, tool calls and programs that use the library all come here, so that they agree.
//! [`find`] looks for the plan that is named. [`choose`] chooses where nobody named one. [`ensure`] makes
//! a plan once, also where two callers do so at the same time. [`choice`] does both for somebody who can be
//! told why it failed. `LivePlan` is for whoever keeps a plan in memory and changes it. Nothing is printed
//! here: what a person is told of a choice is the front end's part.

use punchlist_model::event::TOMBSTONE;
use punchlist_model::session::Store;
use punchlist_model::store::{
    Attachment, AttachmentKey, Error, Filter, NewPlan, PlanStore, Summary,
};
use punchlist_model::{MadeFor, PlanId, Session, Timestamp};

use crate::session;

pub mod choice;
mod live_plan;
#[cfg(test)]
mod tests;

pub(crate) use live_plan::LivePlan;

/// Which plan is meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Which {
    /// The one with this id.
    Id(PlanId),
    /// The project's plan of this name.
    Named(String),
    /// The one that this conversation is attached to.
    Attached(AttachmentKey),
    /// The project's own, which people make by hand.
    Project,
    /// The one of a plan file.
    File {
        /// The real path of the file.
        path: String,
        /// What a new plan is called, unless another plan of the project is called so.
        name: Option<String>,
    },
}

/// The plan that is meant; `None` if there is none. Makes nothing.
pub async fn find(
    store: &dyn PlanStore,
    project: &str,
    which: &Which,
) -> Result<Option<PlanId>, Error> {
    match which {
        Which::Id(id) => {
            let filter = Filter { id: Some(id.to_string()), ..Filter::default() };
            Ok(store.plans(filter).await?.iter().find(|it| it.id == *id).map(|it| it.id))
        }
        Which::Named(name) => {
            let filter = Filter { name: Some(name.clone()), ..of_project(project) };
            Ok(store.plans(filter).await?.first().map(|it| it.id))
        }
        Which::Attached(key) => store.attached(key.clone()).await,
        Which::Project => store.plan_for(MadeFor::Project(project.to_owned())).await,
        Which::File { path, .. } => store.plan_for(MadeFor::File(path.clone())).await,
    }
}

/// A plan that shall be there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanRequest {
    /// The project that it belongs to.
    pub project: String,
    /// Which plan.
    pub which: Which,
    /// Its title, should it have to be made.
    pub title: String,
    /// Its id, should it have to be made; if another plan has that id, the next free one.
    pub id: PlanId,
    /// When.
    pub now: Timestamp,
}

/// The plan that is requested, made if it is not there. Two callers that do this at once get the same
/// plan. A conversation is not attached to it here: see [`ensure_attached`].
pub async fn ensure(store: &dyn PlanStore, request: PlanRequest) -> Result<PlanId, Error> {
    let PlanRequest { project, which, title, id, now } = request;
    let (name, made_for) = match &which {
        Which::Id(id) => {
            return find(store, &project, &which).await?.ok_or(Error::NoPlan(*id));
        }
        Which::Named(name) => (Some(name.clone()), None),
        Which::Attached(key) => (None, Some(MadeFor::Conversation(key.clone()))),
        Which::Project => (None, Some(MadeFor::Project(project.clone()))),
        Which::File { path, name } => (name.clone(), Some(MadeFor::File(path.clone()))),
    };
    let mut new = NewPlan { name, made_for, title, ..NewPlan::new(id, project.clone(), now) };
    loop {
        match store.create(new.clone()).await {
            Ok(plan) => return Ok(plan.id),
            // Somebody else was first: the plan is there, and that is all that was requested.
            Err(Error::AlreadyMade(id)) => return Ok(id),
            // The path of a file is what counts.
            Err(Error::NameTaken(_)) if matches!(which, Which::File { .. }) => new.name = None,
            Err(error @ Error::NameTaken(_)) => {
                return find(store, &project, &which).await?.ok_or(error);
            }
            // One call may make a plan for a session and one for its sub-agent.
            Err(Error::Exists(_)) => new.id = new.id.next(),
            Err(error) => return Err(error),
        }
    }
}

/// The plan that is requested, made if it is not there, with this conversation attached to it.
pub async fn ensure_attached(
    store: &dyn PlanStore,
    key: AttachmentKey,
    request: PlanRequest,
) -> Result<Attachment, Error> {
    let now = request.now;
    let plan = ensure(store, request).await?;
    store.attach(key, plan, now).await
}

/// What is asked where a plan has to be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The project.
    pub project: &'a str,
    /// The name or id that was given, if one was.
    pub name: Option<&'a str>,
    /// Where the call is made.
    pub from: CalledFrom<'a>,
    /// This host, to tell which sessions are live.
    pub host: &'a str,
    /// When.
    pub now: Timestamp,
}

/// Where a call is made.
#[derive(Clone, Copy, Debug)]
pub enum CalledFrom<'a> {
    /// In a session that the store knows.
    Session(&'a Session),
    /// In a session that the store does not know.
    UnknownSession,
    /// Outside of every session: by a person or a script.
    Outside,
}

/// What a choice came to.
#[derive(Clone, PartialEq, Debug)]
pub enum Choice {
    /// This plan.
    Found(PlanId),
    /// There is none yet.
    Missing {
        /// Which plan the first change makes.
        make: Which,
        /// To look at and to settle, instead: the plan that was changed last of those that sessions here
        /// left.
        ended: Option<Box<Summary>>,
    },
    /// Several could be meant.
    Several(Ambiguity, Vec<Summary>),
}

/// Why several plans could be meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ambiguity {
    /// Their ids all fit what was given.
    Id,
    /// Several live sessions work here, each on a plan of its own.
    LiveSessions,
    /// Several have no name, and nobody is attached to them.
    Unnamed,
}

/// Chooses a plan: the one that is named; else the one of the session that the call is made in; else, if
/// exactly one live session here has a plan, that one; else the project's own. Makes nothing.
///
/// A session that has no plan yet works on the project's own if there is one, and else begins its own; it
/// never comes upon another's.
pub async fn choose(store: &dyn Store, query: Query<'_>) -> Result<Choice, Error> {
    let Query { project, name, from, host, now } = query;
    if let Some(name) = name {
        return named_or_id(store, project, name).await;
    }
    let make = match from {
        CalledFrom::Session(session) => {
            let own = Which::Attached(session.attachment());
            if let Some(plan) = find(store, project, &own).await? {
                return Ok(Choice::Found(plan));
            }
            own
        }
        CalledFrom::UnknownSession => Which::Project,
        CalledFrom::Outside => {
            match live_plans(store, project, host, now).await?.as_slice() {
                [] => {}
                [one] => return Ok(Choice::Found(*one)),
                several => {
                    let mut plans = store.plans(of_project(project)).await?;
                    plans.retain(|plan| is_projects_own(plan) || several.contains(&plan.id));
                    return Ok(Choice::Several(Ambiguity::LiveSessions, plans));
                }
            }
            Which::Project
        }
    };
    if let Some(plan) = find(store, project, &Which::Project).await? {
        return Ok(Choice::Found(plan));
    }
    let mut plans = store.plans(of_project(project)).await?;
    // Nobody means a plan that was archived or erased.
    plans.retain(|plan| !plan.archived && plan.title != TOMBSTONE);
    // One that came from elsewhere, by import, may be the project's only one.
    let is_unnamed = |plan: &Summary| plan.name.is_none() && plan.attachment.is_none();
    let (mut unnamed, others): (Vec<_>, Vec<_>) = plans.into_iter().partition(is_unnamed);
    match unnamed.len() {
        0 => {
            let is_outside = matches!(from, CalledFrom::Outside);
            let ended = others.into_iter().filter(|plan| is_outside && is_sessions(plan));
            let ended = ended.max_by_key(|plan| plan.updated_at).map(Box::new);
            Ok(Choice::Missing { make, ended })
        }
        1 => Ok(Choice::Found(unnamed.remove(0).id)),
        _ => Ok(Choice::Several(Ambiguity::Unnamed, unnamed)),
    }
}

/// The project's plan of that name, else the plan of any project whose id ends so.
async fn named_or_id(store: &dyn PlanStore, project: &str, name: &str) -> Result<Choice, Error> {
    let make = Which::Named(name.to_owned());
    if let Some(plan) = find(store, project, &make).await? {
        return Ok(Choice::Found(plan));
    }
    if !could_be_id(name) {
        return Ok(Choice::Missing { make, ended: None });
    }
    let filter = Filter { id: Some(name.to_ascii_lowercase()), ..Filter::default() };
    let fitting = store.plans(filter).await?;
    Ok(match fitting.as_slice() {
        [] => Choice::Missing { make, ended: None },
        [one] => Choice::Found(one.id),
        _ => Choice::Several(Ambiguity::Id, fitting),
    })
}

/// The plans of the live sessions of a project, each once.
pub async fn live_plans(
    store: &dyn Store,
    project: &str,
    host: &str,
    now: Timestamp,
) -> Result<Vec<PlanId>, Error> {
    let mut plans = Vec::new();
    for session in session::live_sessions(store, project, host, now).await? {
        let attached = store.attached(session.attachment()).await?;
        plans.extend(attached.filter(|id| !plans.contains(id)));
    }
    Ok(plans)
}

/// The newest conversation that is attached to a plan. A plan made by hand has none.
pub async fn attachment(
    store: &dyn PlanStore,
    plan: PlanId,
) -> Result<Option<AttachmentKey>, Error> {
    let id = Some(plan.0.simple().to_string());
    let summaries = store.plans(Filter { id, ..Filter::default() }).await?;
    Ok(summaries.into_iter().next().and_then(|summary| summary.attachment))
}

/// Whether a text could be an id: as many digits as lists of plans show, or more. Fewer are a name:
/// `--plan a` must not find whatever plan of whatever project has an id that ends so.
pub fn could_be_id(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        && (4..=36).contains(&text.len())
}

/// Whether a plan is its project's own.
pub fn is_projects_own(plan: &Summary) -> bool {
    matches!(plan.made_for, Some(MadeFor::Project(_)))
}

/// Whether a session works on it, and not a sub-agent.
fn is_sessions(plan: &Summary) -> bool {
    plan.attachment.as_ref().is_some_and(|key| key.sub_agent.is_empty())
}

fn of_project(project: &str) -> Filter {
    Filter { project: Some(project.to_owned()), ..Filter::default() }
}

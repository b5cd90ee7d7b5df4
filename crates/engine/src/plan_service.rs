//! Finds the plan that a call is about, or creates and attaches a new one.
//!
//! Verbs, hooks, tool calls and programs that use the library all call this module, so that they
//! agree. [`find`] looks up a named plan. [`choose`] chooses if no plan was named. [`ensure`]
//! creates a plan once, even if two callers do so at the same time. [`choice`] does both and
//! returns errors for a person. `LivePlan` is for code that keeps a plan in memory and changes it.
//! Nothing is printed here; front ends do that.

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

/// How a plan is identified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Which {
    /// The plan with this id.
    Id(PlanId),
    /// The project's plan with this name.
    Named(String),
    /// The plan that this conversation is attached to.
    Attached(AttachmentKey),
    /// The project's own plan, which people use.
    Project,
    /// The plan of a plan file.
    File {
        /// The real path of the file.
        path: String,
        /// The name for a new plan, unless another plan of the project has it.
        name: Option<String>,
    },
}

/// Finds a plan; `None` if there is none. Creates nothing.
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

/// A request for a plan that is created if it does not exist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanRequest {
    /// The project of the plan.
    pub project: String,
    /// The plan.
    pub which: Which,
    /// The title for a new plan.
    pub title: String,
    /// The id for a new plan. If another plan has it, the next free id is used.
    pub id: PlanId,
    /// The time of the call.
    pub now: Timestamp,
}

/// The requested plan, created if it does not exist. Two callers that do this at the same time get
/// the same plan. No conversation is attached: see [`ensure_attached`].
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
            // Another caller created the plan first. That is what was requested.
            Err(Error::AlreadyMade(id)) => return Ok(id),
            // A plan file is identified by its path, so the name is optional.
            Err(Error::NameTaken(_)) if matches!(which, Which::File { .. }) => new.name = None,
            Err(error @ Error::NameTaken(_)) => {
                return find(store, &project, &which).await?.ok_or(error);
            }
            // One call may create a plan for a session and another one for its sub-agent.
            Err(Error::Exists(_)) => new.id = new.id.next(),
            Err(error) => return Err(error),
        }
    }
}

/// The requested plan, created if it does not exist, with this conversation attached to it.
pub async fn ensure_attached(
    store: &dyn PlanStore,
    key: AttachmentKey,
    request: PlanRequest,
) -> Result<Attachment, Error> {
    let now = request.now;
    let plan = ensure(store, request).await?;
    store.attach(key, plan, now).await
}

/// The input for choosing a plan.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The project.
    pub project: &'a str,
    /// The given name or id, if any.
    pub name: Option<&'a str>,
    /// Where the call was made.
    pub from: CalledFrom<'a>,
    /// The host name of this machine, to tell which sessions are live.
    pub host: &'a str,
    /// The time of the call.
    pub now: Timestamp,
}

/// Where a call was made.
#[derive(Clone, Copy, Debug)]
pub enum CalledFrom<'a> {
    /// In a session that the store knows.
    Session(&'a Session),
    /// In a session that the store does not know.
    UnknownSession,
    /// Outside of any session: by a person or a script.
    Outside,
}

/// The result of choosing a plan.
#[derive(Clone, PartialEq, Debug)]
pub enum Choice {
    /// This plan.
    Found(PlanId),
    /// There is no plan yet.
    Missing {
        /// The plan that the first change creates.
        make: Which,
        /// A plan that can be read and completed instead: of the plans that sessions left here, the
        /// one that was changed last.
        ended: Option<Box<Summary>>,
    },
    /// Several plans are possible.
    Several(Ambiguity, Vec<Summary>),
}

/// Why several plans are possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ambiguity {
    /// Several ids match what was given.
    Id,
    /// Several live sessions work here, each on its own plan.
    LiveSessions,
    /// Several plans have no name, and no conversation is attached to them.
    Unnamed,
}

/// Chooses a plan: the named one; else the plan of the session that the call was made in; else, if
/// exactly one live session here has a plan, that plan; else the project's own plan. Creates
/// nothing.
///
/// A session without a plan uses the project's own plan if there is one, and otherwise starts its
/// own. It never gets the plan of another session.
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
    // Archived and erased plans are never chosen.
    plans.retain(|plan| !plan.archived && plan.title != TOMBSTONE);
    // An unnamed plan that was imported may be the project's only one.
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

/// The project's plan with this name, else the plan of any project whose id ends like this.
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

/// The newest conversation that is attached to a plan. A plan that a person created has none.
pub async fn attachment(
    store: &dyn PlanStore,
    plan: PlanId,
) -> Result<Option<AttachmentKey>, Error> {
    let id = Some(plan.0.simple().to_string());
    let summaries = store.plans(Filter { id, ..Filter::default() }).await?;
    Ok(summaries.into_iter().next().and_then(|summary| summary.attachment))
}

/// Whether a text could be an id: at least as many digits as lists of plans show. A shorter text is
/// a name: `--plan a` must not find some plan of some project whose id ends in `a`.
pub fn could_be_id(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        && (4..=36).contains(&text.len())
}

/// Whether a plan is its project's own plan.
pub fn is_projects_own(plan: &Summary) -> bool {
    matches!(plan.made_for, Some(MadeFor::Project(_)))
}

/// Whether a session works on the plan, and not a sub-agent.
fn is_sessions(plan: &Summary) -> bool {
    plan.attachment.as_ref().is_some_and(|key| key.sub_agent.is_empty())
}

fn of_project(project: &str) -> Filter {
    Filter { project: Some(project.to_owned()), ..Filter::default() }
}

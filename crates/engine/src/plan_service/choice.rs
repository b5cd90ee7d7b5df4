//! Choosing a plan, with errors for a person.

use punchlist_formats::text::{nearest, one_line};
use punchlist_formats::view::duration;
use punchlist_model::session::Store;
use punchlist_model::store::{AttachmentKey, Filter, Summary};
use punchlist_model::{PlanId, SessionKey, Timestamp};

use super::{Ambiguity, CalledFrom, Choice, PlanRequest, Query, Which};
use crate::fail::{Code, Fail};

/// A plan that exists.
#[derive(Clone, PartialEq, Debug)]
pub struct Existing {
    /// The plan.
    pub id: PlanId,
    /// Set if nobody asked for this plan: an ended session left it, and there is no other.
    pub left: Option<Box<Summary>>,
}

/// The chosen plan; an error if there is none.
pub async fn existing(store: &dyn Store, query: Query<'_>) -> Result<Existing, Fail> {
    match chosen(store, query).await? {
        Chosen::Plan(id) => Ok(Existing { id, left: None }),
        Chosen::Missing { ended: Some(plan), .. } => Ok(Existing { id: plan.id, left: Some(plan) }),
        Chosen::Missing { ended: None, .. } => Err(query.name.map_or_else(no_plan, no_such_plan)),
    }
}

/// The chosen plan, created if it does not exist. A session is attached to its own plan.
///
/// `id` is the id for a new plan. `check` is called before a plan is created.
pub async fn existing_or_new(
    store: &dyn Store,
    query: Query<'_>,
    id: PlanId,
    check: impl FnOnce() -> Result<(), Fail>,
) -> Result<PlanId, Fail> {
    let which = match chosen(store, query).await? {
        Chosen::Plan(id) => return Ok(id),
        Chosen::Missing { make, .. } => make,
    };
    check()?;
    // A person who typed an id that does not exist does not want a plan with that name.
    let has_digit = |name: &str| name.bytes().any(|byte| byte.is_ascii_digit());
    if let Which::Named(name) = &which
        && super::could_be_id(name)
        && has_digit(name)
    {
        return Err(no_such_plan(name)
            .hint("it looks like an id, so no plan of that name was made; choose another."));
    }
    let (project, title, now) = (query.project.to_owned(), String::new(), query.now);
    let mut request = PlanRequest { project, which, title, id, now };
    let Which::Attached(key) = request.which.clone() else {
        return Ok(super::ensure(store, request).await?);
    };
    request.project.clone_from(&key.project);
    if let CalledFrom::Session(session) = query.from {
        request.title = session.memory.prompt.clone().unwrap_or_default();
    }
    Ok(super::ensure_attached(store, key, request).await?.plan)
}

/// The plan with this name or id.
pub async fn named(store: &dyn Store, query: Query<'_>, name: &str) -> Result<PlanId, Fail> {
    let name = valid_name(name)?;
    match chosen(store, Query { name: Some(name), ..query }).await? {
        Chosen::Plan(id) => Ok(id),
        Chosen::Missing { .. } => Err(no_such_plan(name)),
    }
}

/// A choice that is not ambiguous.
enum Chosen {
    Plan(PlanId),
    Missing { make: Which, ended: Option<Box<Summary>> },
}

async fn chosen(store: &dyn Store, query: Query<'_>) -> Result<Chosen, Fail> {
    Ok(match super::choose(store, query).await? {
        Choice::Found(id) => Chosen::Plan(id),
        Choice::Missing { make, ended } => Chosen::Missing { make, ended },
        Choice::Several(why, plans) => {
            return Err(ambiguous(why, query.name.unwrap_or_default(), &plans));
        }
    })
}

/// Checks a plan's name.
pub fn valid_name(text: &str) -> Result<&str, Fail> {
    let name = text.trim();
    let wrong = |why: &str| {
        Fail::usage(format!("the name after --plan {why}"))
            .hint("names are short and plain, such as `release`.")
    };
    if name.is_empty() {
        return Err(wrong("is empty"));
    }
    if name.chars().count() > 100 {
        return Err(wrong("is longer than 100 characters"));
    }
    if name.contains(char::is_control) {
        return Err(wrong("contains control characters"));
    }
    Ok(name)
}

/// The error if there is no plan.
pub fn no_plan() -> Fail {
    Fail::not_found("there is no plan here yet").hint(
        "start one with `punchlist add \"…\"`; `punchlist plans --all` shows those elsewhere.",
    )
}

/// The error if there is no plan with this name.
pub fn no_such_plan(name: &str) -> Fail {
    Fail::not_found(format!("there is no plan {name:?} here"))
        .hint("`punchlist plans` lists the plans; `punchlist add --plan NAME \"…\"` makes one.")
}

/// How many names of plans a hint lists.
const MOST_NAMES: usize = 5;

/// What to do about a name that no plan of the project has, if a task was to work on it.
pub async fn hint_for_task(store: &dyn Store, project: &str, name: &str) -> Result<String, Fail> {
    let filter = Filter { project: Some(project.to_owned()), ..Filter::default() };
    let plans = store.plans(filter).await?;
    let known: Vec<&str> = plans.iter().filter_map(|it| it.name.as_deref()).collect();
    let without = "without `--plan` the task gets a plan of its own.";
    if let Some(near) = nearest(name, known.iter().copied()) {
        return Ok(format!("did you mean `--plan {}`? {without}", one_line(near)));
    }
    if known.is_empty() {
        return Ok(format!("`punchlist plans` lists the plans; {without}"));
    }
    let names: Vec<_> = known.iter().take(MOST_NAMES).map(|it| one_line(it)).collect();
    Ok(format!("there are {}; `punchlist plans` lists all; {without}", names.join(", ")))
}

/// Describes the ended session that left a plan.
pub fn whose(plan: &Summary, now: Timestamp) -> Option<String> {
    let name = session_name(plan.attachment.as_ref()?);
    let (id, ago) = (plan.id.short(), duration::ago(plan.updated_at, now));
    Some(format!("plan {id} of {name}, which has ended; last changed {ago}"))
}

fn session_name(key: &AttachmentKey) -> String {
    SessionKey { agent: key.agent.clone(), id: key.conversation.clone() }.actor_name("")
}

fn ambiguous(why: Ambiguity, name: &str, plans: &[Summary]) -> Fail {
    let message = match why {
        Ambiguity::Id => format!("{name} could be any of these plans"),
        Ambiguity::LiveSessions => "several agents work here, each on a plan of its own".to_owned(),
        Ambiguity::Unnamed => "several plans could be meant".to_owned(),
    };
    let line = |plan: &Summary| {
        let called = match (&plan.name, &plan.attachment) {
            (Some(name), _) => name.clone(),
            (None, Some(key)) => session_name(key),
            (None, None) if super::is_projects_own(plan) => "(the project's own)".to_owned(),
            (None, None) => "(no name)".to_owned(),
        };
        format!("{}  {called}  {} open  {}", plan.id.0.simple(), plan.open, plan.project)
    };
    Fail::new(Code::Usage, message)
        .details(plans.iter().map(line).collect())
        .hint("choose one with `--plan` and its name or id.")
}

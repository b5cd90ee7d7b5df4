//! Which plan a verb works on.
//!
//! `--plan` names one; else it is the plan of the agent session that the verb runs in; else, if
//! exactly one live session here has a plan, that one; else the project's own, made by the first
//! `add`; else, to look at and to settle, the one that was changed last of those that sessions left,
//! and a line says whose it is. A session that has no plan yet works on the project's own if there is
//! one, and else begins its own; it never comes upon another's.

use punchlist_engine::session;
use punchlist_formats::text::Line;
use punchlist_formats::view::{duration, log};
use punchlist_model::event::TOMBSTONE;
use punchlist_model::needs::Needs;
use punchlist_model::session::Store;
use punchlist_model::store::{self, AttachmentKey, Filter, NewPlan, PlanStore, Summary};
use punchlist_model::{MadeFor, Plan, PlanId, Session, SessionKey};
use punchlist_store::Sqlite;

use crate::app::{App, no_plan};
use crate::block_on;
use crate::clock;
use crate::error::{Code, Fail};
use crate::identity;
use crate::print::{self, Screen};

/// Whether a plan that is not there may be made.
#[derive(Clone, Copy)]
pub(crate) enum Missing<'a> {
    /// The first change makes it, if this finds no fault with the change: one that is refused must
    /// leave no empty plan behind.
    Make(&'a dyn Fn() -> Result<(), Fail>),
    /// That is an error.
    Refuse,
}

/// Does something with the plan that is meant.
pub(crate) fn with<T>(
    app: &App,
    store: &dyn Store,
    missing: Missing<'_>,
    act: impl Fn(PlanId) -> Result<T, store::Error>,
) -> Result<T, Fail> {
    let project = &app.project()?.name;
    if let Some(text) = &app.globals.plan {
        let name = valid_name(text)?;
        let id = match (named(store, project, name)?, missing) {
            (Some(id), _) => id,
            (None, Missing::Make(check)) => check().and_then(|()| make(app, store, Some(name)))?,
            (None, Missing::Refuse) => return Err(no_such_plan(name)),
        };
        return act(id).map_err(|error| explain(app, store, error));
    }
    let (session, may_be_left) = match meant(app, store)? {
        Meant::Plan(id) => return act(id).map_err(|error| explain(app, store, error)),
        Meant::Own(session) => (Some(session), false),
        Meant::Project { in_a_session } => (None, !in_a_session),
    };
    if let Some(id) = own(store, project)? {
        return act(id).map_err(|error| explain(app, store, error));
    }
    let id = match (loose(store, project)?, missing) {
        (Some(id), _) => id,
        (None, Missing::Make(check)) => {
            check()?;
            match session {
                Some(session) => begin(app, store, session)?,
                None => make(app, store, None)?,
            }
        }
        (None, Missing::Refuse) => match left(store, project)?.filter(|_| may_be_left) {
            Some(plan) => {
                tell_whose(app, &plan);
                plan.id
            }
            None => return Err(no_plan()),
        },
    };
    act(id).map_err(|error| explain(app, store, error))
}

/// The project's own plan.
fn own(store: &dyn PlanStore, project: &str) -> Result<Option<PlanId>, Fail> {
    Ok(block_on(store.plan_for(MadeFor::Project(project.to_owned())))?)
}

/// The plan that was changed last of those that sessions here work or worked on, none of which is live.
fn left(store: &dyn PlanStore, project: &str) -> Result<Option<Summary>, Fail> {
    let filter = Filter { project: Some(project.to_owned()), ..Filter::default() };
    let mut plans = block_on(store.plans(filter))?;
    plans.retain(|plan| !plan.archived && plan.title != TOMBSTONE);
    plans.retain(|plan| plan.attachment.as_ref().is_some_and(|key| key.sub_agent.is_empty()));
    Ok(plans.into_iter().max_by_key(|plan| plan.updated_at))
}

/// Says whose plan it is, where nobody asked for it by name. Programs find that in the result.
fn tell_whose(app: &App, plan: &Summary) {
    let Some(key) = plan.attachment.as_ref().filter(|_| !app.globals.json) else { return };
    let name = SessionKey { agent: key.agent.clone(), id: key.conversation.clone() };
    let ago = duration::ago(plan.updated_at, app.now);
    let (name, id) = (name.actor_name(""), plan.id.short());
    print::aside(&format!("plan {id} of {name}, which has ended; last changed {ago}"), None);
}

/// What is meant where `--plan` does not say.
enum Meant<'a> {
    /// A session's plan.
    Plan(PlanId),
    /// The project's own; if there is none, this session's, which has none yet either.
    Own(&'a Session),
    /// The project's own.
    Project {
        /// Whether the call is made in a session that the store does not know.
        in_a_session: bool,
    },
}

fn meant<'a>(app: &'a App, store: &dyn Store) -> Result<Meant<'a>, Fail> {
    let here = app.current_session(store)?;
    if let Some(session) = here.recorded() {
        let attached = block_on(store.attachment(session.attachment()))?;
        return Ok(attached.map_or(Meant::Own(session), |it| Meant::Plan(it.plan)));
    }
    // Whoever is in a session must not come upon the list of another.
    if here.session.is_some() || !here.any {
        return Ok(Meant::Project { in_a_session: here.session.is_some() });
    }
    let project = &app.project()?.name;
    match live_plans(app, store, project)?.as_slice() {
        [] => Ok(Meant::Project { in_a_session: false }),
        [one] => Ok(Meant::Plan(*one)),
        several => {
            let filter = Filter { project: Some(project.clone()), ..Filter::default() };
            let mut plans = block_on(store.plans(filter))?;
            plans.retain(|plan| is_own(plan) || several.contains(&plan.id));
            Err(ambiguous("several agents work here, each on a plan of its own", &plans))
        }
    }
}

/// The plans of the live sessions of a project, each once.
pub(crate) fn live_plans(app: &App, store: &dyn Store, project: &str) -> Result<Vec<PlanId>, Fail> {
    let mut plans = Vec::new();
    for session in block_on(session::live_sessions(store, project, &identity::host(), app.now))? {
        let attached = block_on(store.attachment(session.attachment()))?;
        plans.extend(attached.map(|it| it.plan).filter(|id| !plans.contains(id)));
    }
    Ok(plans)
}

/// Makes a session's first plan. Two first changes at once make one plan.
fn begin(app: &App, store: &dyn Store, session: &Session) -> Result<PlanId, Fail> {
    let key = session.attachment();
    let new = NewPlan {
        made_for: Some(MadeFor::Conversation(key.clone())),
        title: session.memory.prompt.clone().unwrap_or_default(),
        ..NewPlan::new(clock::plan_id(app.now)?, key.project.clone(), app.now)
    };
    let id = match block_on(store.create(new)) {
        Ok(plan) => plan.id,
        Err(store::Error::AlreadyMade(id)) => id,
        Err(error) => return Err(error.into()),
    };
    Ok(block_on(store.attach(key, id, app.now))?.plan)
}

/// What went wrong, with what others did meanwhile where that is the reason.
fn explain(app: &App, store: &dyn Store, error: store::Error) -> Fail {
    let store::Error::Revision { plan, since, .. } = &error else { return error.into() };
    let lines = block_on(store.read(*plan, Needs::whole())).map(|plan| {
        let reader = app.actor(store).ok();
        let show = log::Show { reader: reader.as_ref(), times: log::Times::Hidden, only: None };
        let screen = Screen { is_terminal: false, width: 80, colour: false };
        log::log(&plan, since, show, &app.view(screen)).iter().map(Line::to_plain).collect()
    });
    Fail::from(error).details(lines.unwrap_or_default())
}

/// The plan that is meant, with what `needs` names; `None` if the project has none yet.
pub(crate) fn read(app: &App, needs: &Needs) -> Result<Option<(Sqlite, Plan)>, Fail> {
    let Some(store) = app.store_to_read()? else {
        return match &app.globals.plan {
            Some(name) => Err(no_such_plan(valid_name(name)?)),
            None => Ok(None),
        };
    };
    let read = |id| block_on(store.read(id, needs.clone()));
    match with(app, &store, Missing::Refuse, read) {
        Ok(plan) => Ok(Some((store, plan))),
        Err(fail) if fail.code == Code::NotFound && app.globals.plan.is_none() => Ok(None),
        Err(fail) => Err(fail),
    }
}

/// The plan with that name or id.
pub(crate) fn find(app: &App, store: &dyn Store, text: &str) -> Result<PlanId, Fail> {
    let name = valid_name(text)?;
    named(store, &app.project()?.name, name)?.ok_or_else(|| no_such_plan(name))
}

/// A plan without a name that nobody is attached to: one that came from elsewhere, by import, may
/// be the project's only one.
fn loose(store: &dyn PlanStore, project: &str) -> Result<Option<PlanId>, Fail> {
    let filter = Filter { project: Some(project.to_owned()), ..Filter::default() };
    let mut loose = block_on(store.plans(filter))?;
    // What was put away or erased is not what anybody means.
    loose.retain(|plan| !plan.archived && plan.title != TOMBSTONE);
    loose.retain(|plan| plan.name.is_none() && plan.attachment.is_none());
    match loose.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.id)),
        several => Err(ambiguous("several plans could be meant", several)),
    }
}

fn named(store: &dyn PlanStore, project: &str, name: &str) -> Result<Option<PlanId>, Fail> {
    let filter = Filter {
        project: Some(project.to_owned()),
        name: Some(name.to_owned()),
        ..Filter::default()
    };
    if let [plan] = block_on(store.plans(filter))?.as_slice() {
        return Ok(Some(plan.id));
    }
    if !could_be_id(name) {
        return Ok(None);
    }
    let filter = Filter { id: Some(name.to_ascii_lowercase()), ..Filter::default() };
    let fitting = block_on(store.plans(filter))?;
    match fitting.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.id)),
        several => Err(ambiguous(&format!("{name} could be any of these plans"), several)),
    }
}

/// A name that a plan may have.
pub(crate) fn valid_name(text: &str) -> Result<&str, Fail> {
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

/// As many digits as `plans` shows, or more. Fewer are a name: `--plan a` must not find whatever
/// plan of whatever project has an id that ends so.
fn could_be_id(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        && (4..=36).contains(&name.len())
}

fn make(app: &App, store: &dyn PlanStore, name: Option<&str>) -> Result<PlanId, Fail> {
    let project = &app.project()?.name;
    // Somebody who typed an id that does not exist does not want a plan of that name.
    if let Some(name) = name.filter(|it| could_be_id(it) && has_digit(it)) {
        return Err(no_such_plan(name)
            .hint("it looks like an id, so no plan of that name was made; choose another."));
    }
    let new = NewPlan {
        made_for: name.is_none().then(|| MadeFor::Project(project.clone())),
        name: name.map(str::to_owned),
        ..NewPlan::new(clock::plan_id(app.now)?, project.clone(), app.now)
    };
    match (block_on(store.create(new)), name) {
        (Ok(plan), _) => Ok(plan.id),
        // Somebody else was first: it is there, and that is all that was wanted.
        (Err(store::Error::AlreadyMade(id)), _) => Ok(id),
        (Err(store::Error::NameTaken(_)), Some(name)) => {
            named(store, project, name)?.ok_or_else(|| no_such_plan(name))
        }
        (Err(error), _) => Err(error.into()),
    }
}

fn has_digit(name: &str) -> bool {
    name.bytes().any(|byte| byte.is_ascii_digit())
}

fn no_such_plan(name: &str) -> Fail {
    Fail::not_found(format!("there is no plan {name:?} here")).hint(
        "`punchlist plans` shows those there are; `punchlist add --plan NAME \"…\"` makes one.",
    )
}

/// Whether it is its project's own.
fn is_own(plan: &Summary) -> bool {
    matches!(plan.made_for, Some(MadeFor::Project(_)))
}

fn ambiguous(message: &str, plans: &[Summary]) -> Fail {
    let line = |plan: &Summary| {
        let session = |key: &AttachmentKey| {
            let id = key.conversation.clone();
            SessionKey { agent: key.agent.clone(), id }.actor_name("")
        };
        let called = match (&plan.name, &plan.attachment) {
            (Some(name), _) => name.clone(),
            (None, Some(key)) => session(key),
            (None, None) if is_own(plan) => "(the project's own)".to_owned(),
            (None, None) => "(no name)".to_owned(),
        };
        format!("{}  {called}  {} open  {}", plan.id.0.simple(), plan.open, plan.project)
    };
    Fail::new(Code::Usage, message)
        .details(plans.iter().map(line).collect())
        .hint("choose one with `--plan` and its name or id.")
}

//! Which plan a verb works on, as people are told of it.
//!
//! The choice itself is the engine's, in [`punchlist_engine::plan_service`]: `--plan` names a plan; else it
//! is the plan of the agent session that the verb runs in; else, if exactly one live session here has a
//! plan, that one; else the project's own, made by the first `add`; else, to look at and to settle, the one
//! that was changed last of those that sessions left, and a line says whose it is. Here are the arguments of
//! that choice, and the messages about it.

use std::sync::Arc;

use punchlist_engine::plan_service::{
    self, Ambiguity, CalledFrom, Choice, PlanRequest, Query, Which,
};
use punchlist_formats::text::Line;
use punchlist_formats::view::{duration, log};
use punchlist_model::needs::Needs;
use punchlist_model::session::Store;
use punchlist_model::store::{self, AttachmentKey, Summary};
use punchlist_model::{Plan, PlanId, SessionKey, Slice};

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
    let name = app.globals.plan.as_deref().map(valid_name).transpose()?;
    let id = match (chosen(app, store, name)?, missing) {
        (Chosen::Plan(id), _) => id,
        (Chosen::Missing { make: which, .. }, Missing::Make(check)) => {
            check()?;
            make(app, store, which)?
        }
        (Chosen::Missing { ended: Some(plan), .. }, Missing::Refuse) => {
            tell_whose(app, &plan);
            plan.id
        }
        (Chosen::Missing { ended: None, .. }, Missing::Refuse) => {
            return Err(name.map_or_else(no_plan, no_such_plan));
        }
    };
    act(id).map_err(|error| explain(app, store, error))
}

/// A choice that is not between several plans.
enum Chosen {
    Plan(PlanId),
    Missing { make: Which, ended: Option<Box<Summary>> },
}

fn chosen(app: &App, store: &dyn Store, name: Option<&str>) -> Result<Chosen, Fail> {
    let from = match name {
        // A name is looked for in the same way wherever the call is made.
        Some(_) => CalledFrom::Outside,
        None => {
            let here = app.current_session(store)?;
            match (here.recorded(), &here.session) {
                (Some(session), _) => CalledFrom::Session(session),
                (None, Some(_)) => CalledFrom::UnknownSession,
                (None, None) => CalledFrom::Outside,
            }
        }
    };
    let (project, host) = (&app.project()?.name, &identity::host());
    let query = Query { project, name, from, host, now: app.now };
    Ok(match block_on(plan_service::choose(store, query))? {
        Choice::Found(id) => Chosen::Plan(id),
        Choice::Missing { make, ended } => Chosen::Missing { make, ended },
        Choice::Several(why, plans) => {
            let name = name.unwrap_or_default();
            return Err(ambiguous(&several(why, name), &plans));
        }
    })
}

/// Makes the plan that is missing. A session is attached to its own.
fn make(app: &App, store: &dyn Store, which: Which) -> Result<PlanId, Fail> {
    // Somebody who typed an id that does not exist does not want a plan of that name.
    if let Which::Named(name) = &which
        && plan_service::could_be_id(name)
        && has_digit(name)
    {
        return Err(no_such_plan(name)
            .hint("it looks like an id, so no plan of that name was made; choose another."));
    }
    let mut request = PlanRequest {
        project: app.project()?.name.clone(),
        which,
        title: String::new(),
        id: clock::plan_id(app.now)?,
        now: app.now,
    };
    let Which::Attached(key) = request.which.clone() else {
        return Ok(block_on(plan_service::ensure(store, request))?);
    };
    let session = app.current_session(store)?.recorded();
    request.project.clone_from(&key.project);
    request.title = session.and_then(|it| it.memory.prompt.clone()).unwrap_or_default();
    Ok(block_on(plan_service::ensure_attached(store, key, request))?.plan)
}

/// Says whose plan it is, where nobody asked for it by name. Programs find that in the result.
fn tell_whose(app: &App, plan: &Summary) {
    let Some(key) = plan.attachment.as_ref().filter(|_| !app.globals.json) else { return };
    let name = SessionKey { agent: key.agent.clone(), id: key.conversation.clone() };
    let ago = duration::ago(plan.updated_at, app.now);
    let (name, id) = (name.actor_name(""), plan.id.short());
    print::aside(&format!("plan {id} of {name}, which has ended; last changed {ago}"), None);
}

/// The plans of the live sessions of a project, each once.
pub(crate) fn live_plans(app: &App, store: &dyn Store, project: &str) -> Result<Vec<PlanId>, Fail> {
    Ok(block_on(plan_service::live_plans(store, project, &identity::host(), app.now))?)
}

/// What went wrong, with what others did meanwhile where that is the reason.
fn explain(app: &App, store: &dyn Store, error: store::Error) -> Fail {
    let store::Error::Revision { plan, since, .. } = &error else { return error.into() };
    let lines = block_on(store.whole(*plan)).map(|plan| {
        let reader = app.actor(store).ok();
        let show = log::Show { reader: reader.as_ref(), times: log::Times::Hidden, only: None };
        let screen = Screen { is_terminal: false, width: 80, colour: false };
        log::log(&plan, since, show, &app.view(screen)).iter().map(Line::to_plain).collect()
    });
    Fail::from(error).details(lines.unwrap_or_default())
}

/// Something that was read, and the store that it was read from.
pub(crate) type Read<T> = (Arc<dyn Store>, T);

/// The whole plan that is meant, and the store that it was read from; `None` if the project has none yet.
pub(crate) fn whole(app: &App) -> Result<Option<Read<Plan>>, Fail> {
    read_with(app, |store, id| block_on(store.whole(id)))
}

/// What `needs` names of the plan that is meant.
pub(crate) fn read(app: &App, needs: &Needs) -> Result<Option<Read<Slice>>, Fail> {
    read_with(app, |store, id| block_on(store.read(id, needs.clone())))
}

fn read_with<T>(
    app: &App,
    read: impl Fn(&dyn Store, PlanId) -> Result<T, store::Error>,
) -> Result<Option<Read<T>>, Fail> {
    let Some(store) = app.store_to_read()? else {
        return match &app.globals.plan {
            Some(name) => Err(no_such_plan(valid_name(name)?)),
            None => Ok(None),
        };
    };
    match with(app, &*store, Missing::Refuse, |id| read(&*store, id)) {
        Ok(plan) => Ok(Some((store, plan))),
        Err(fail) if fail.code == Code::NotFound && app.globals.plan.is_none() => Ok(None),
        Err(fail) => Err(fail),
    }
}

/// The plan with that name or id.
pub(crate) fn find(app: &App, store: &dyn Store, text: &str) -> Result<PlanId, Fail> {
    let name = valid_name(text)?;
    match chosen(app, store, Some(name))? {
        Chosen::Plan(id) => Ok(id),
        Chosen::Missing { .. } => Err(no_such_plan(name)),
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

fn has_digit(name: &str) -> bool {
    name.bytes().any(|byte| byte.is_ascii_digit())
}

fn no_such_plan(name: &str) -> Fail {
    Fail::not_found(format!("there is no plan {name:?} here")).hint(
        "`punchlist plans` shows those there are; `punchlist add --plan NAME \"…\"` makes one.",
    )
}

/// Why several plans could be meant, in words.
fn several(why: Ambiguity, name: &str) -> String {
    match why {
        Ambiguity::Id => format!("{name} could be any of these plans"),
        Ambiguity::LiveSessions => "several agents work here, each on a plan of its own".to_owned(),
        Ambiguity::Unnamed => "several plans could be meant".to_owned(),
    }
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
            (None, None) if plan_service::is_projects_own(plan) => "(the project's own)".to_owned(),
            (None, None) => "(no name)".to_owned(),
        };
        format!("{}  {called}  {} open  {}", plan.id.0.simple(), plan.open, plan.project)
    };
    Fail::new(Code::Usage, message)
        .details(plans.iter().map(line).collect())
        .hint("choose one with `--plan` and its name or id.")
}

//! Chooses the plan of a verb: turns the options of the call into a query for
//! [`punchlist_engine::plan_service`].

use std::sync::Arc;

use punchlist_engine::change;
use punchlist_engine::fail::{Code, Fail};
use punchlist_engine::plan_service::choice::{self, no_plan, no_such_plan};
use punchlist_engine::plan_service::{self, CalledFrom, Query};
use punchlist_model::needs::Needs;
use punchlist_model::session::Store;
use punchlist_model::store;
use punchlist_model::{Plan, PlanId, Slice};

use crate::app::App;
use crate::block_on;
use crate::clock;
use crate::identity;
use crate::print::{self, Screen};

/// Validates the name of a plan.
pub(crate) use punchlist_engine::plan_service::choice::valid_name;

/// What to do if the plan does not exist.
#[derive(Clone, Copy)]
pub(crate) enum Missing<'a> {
    /// Create it, if this function finds no error in the change.
    Make(&'a dyn Fn() -> Result<(), Fail>),
    /// Return an error.
    Refuse,
}

/// Runs a function with the chosen plan.
pub(crate) fn with<T>(
    app: &App,
    store: &dyn Store,
    missing: Missing<'_>,
    act: impl Fn(PlanId) -> Result<T, store::Error>,
) -> Result<T, Fail> {
    let name = app.globals.plan.as_deref().map(valid_name).transpose()?;
    let host = identity::host();
    let query = query(app, store, name, &host)?;
    let id = match missing {
        Missing::Make(check) => {
            let id = clock::plan_id(app.now)?;
            block_on(choice::existing_or_new(store, query, id, check))?
        }
        Missing::Refuse => {
            let existing = block_on(choice::existing(store, query))?;
            let whose = existing.left.and_then(|plan| choice::whose(&plan, app.now));
            // In JSON, the result has this information.
            if let Some(line) = whose.filter(|_| !app.globals.json) {
                print::aside(&line, None);
            }
            existing.id
        }
    };
    act(id).map_err(|error| {
        let reader = app.actor(store).ok();
        let screen = Screen { is_terminal: false, width: 80, colour: false, cuts_lines: false };
        block_on(change::explain(store, error, reader.as_ref(), &app.view(screen)))
    })
}

/// The query for the plan.
fn query<'a>(
    app: &'a App,
    store: &dyn Store,
    name: Option<&'a str>,
    host: &'a str,
) -> Result<Query<'a>, Fail> {
    let from = match name {
        // A plan is found by its name in the same way from everywhere.
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
    Ok(Query { project: &app.project()?.name, name, from, host, now: app.now })
}

/// The plans of the live sessions of a project, each once.
pub(crate) fn live_plans(app: &App, store: &dyn Store, project: &str) -> Result<Vec<PlanId>, Fail> {
    Ok(block_on(plan_service::live_plans(store, project, &identity::host(), app.now))?)
}

/// A result, and the store that it was read from.
pub(crate) type Read<T> = (Arc<dyn Store>, T);

/// The whole chosen plan, and its store; `None` if the project has no plan yet.
pub(crate) fn whole(app: &App) -> Result<Option<Read<Plan>>, Fail> {
    read_with(app, |store, id| block_on(store.whole(id)))
}

/// The slice of the chosen plan that `needs` asks for.
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

/// Like [`whole`], but a missing plan is an error.
pub(crate) fn whole_there(app: &App) -> Result<Read<Plan>, Fail> {
    whole(app)?.ok_or_else(no_plan)
}

/// Like [`read`], but a missing plan is an error.
pub(crate) fn read_there(app: &App, needs: &Needs) -> Result<Read<Slice>, Fail> {
    read(app, needs)?.ok_or_else(no_plan)
}

/// The plan with that name or id.
pub(crate) fn find(app: &App, store: &dyn Store, text: &str) -> Result<PlanId, Fail> {
    let host = identity::host();
    block_on(choice::named(store, query(app, store, Some(text), &host)?, text))
}

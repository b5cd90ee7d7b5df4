//! Which plan a verb works on: what the call says of it, for [`punchlist_engine::plan_service`].

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

/// A name that a plan may have.
pub(crate) use punchlist_engine::plan_service::choice::valid_name;

/// Whether a plan that is not there may be made.
#[derive(Clone, Copy)]
pub(crate) enum Missing<'a> {
    /// The first change makes it, if this finds no fault with the change.
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
            // Programs find that in the result.
            if let Some(line) = whose.filter(|_| !app.globals.json) {
                print::aside(&line, None);
            }
            existing.id
        }
    };
    act(id).map_err(|error| {
        let reader = app.actor(store).ok();
        let screen = Screen { is_terminal: false, width: 80, colour: false };
        block_on(change::explain(store, error, reader.as_ref(), &app.view(screen)))
    })
}

/// What the call says of the plan.
fn query<'a>(
    app: &'a App,
    store: &dyn Store,
    name: Option<&'a str>,
    host: &'a str,
) -> Result<Query<'a>, Fail> {
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
    Ok(Query { project: &app.project()?.name, name, from, host, now: app.now })
}

/// The plans of the live sessions of a project, each once.
pub(crate) fn live_plans(app: &App, store: &dyn Store, project: &str) -> Result<Vec<PlanId>, Fail> {
    Ok(block_on(plan_service::live_plans(store, project, &identity::host(), app.now))?)
}

/// What was read, and the store that it was read from.
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

/// The same as [`whole`]; that there is no plan is an error.
pub(crate) fn whole_there(app: &App) -> Result<Read<Plan>, Fail> {
    whole(app)?.ok_or_else(no_plan)
}

/// The same as [`read`]; that there is no plan is an error.
pub(crate) fn read_there(app: &App, needs: &Needs) -> Result<Read<Slice>, Fail> {
    read(app, needs)?.ok_or_else(no_plan)
}

/// The plan with that name or id.
pub(crate) fn find(app: &App, store: &dyn Store, text: &str) -> Result<PlanId, Fail> {
    let host = identity::host();
    block_on(choice::named(store, query(app, store, Some(text), &host)?, text))
}

//! Finds the agent session that a call is made in, if any.
//!
//! It looks for the session's process among the ancestors of this process, then at the variables
//! that agents set. If the store has no session, this is one query.

use std::env;

use punchlist_engine::session::{self, SessionQuery};
use punchlist_model::Session;
use punchlist_model::session::{SessionFilter, SessionStore, Store};

pub(crate) use punchlist_engine::session::in_environment;

use crate::app::App;
use crate::block_on;
use crate::fail::Fail;
use crate::identity;

/// The result of the search.
pub(crate) struct CurrentSession {
    /// The session. A session that only the environment names has version 0, because it is not in
    /// the store.
    pub(crate) session: Option<Session>,
    /// Whether the store has any session.
    pub(crate) any: bool,
}

impl CurrentSession {
    /// Searches for the session. A call with `-C` into another project is not made in the session.
    pub(crate) fn look(app: &App, store: &dyn SessionStore) -> Result<Self, Fail> {
        let named = in_environment(|name| env::var(name).ok());
        let first = SessionFilter { most: Some(1), ..SessionFilter::default() };
        let any = !block_on(store.sessions(first))?.is_empty();
        let mut found = None;
        if any {
            let processes = session::reach(&identity::up_to_agent());
            found = block_on(session::current(store, &processes, named.as_ref()))?;
        }
        let project = &app.project()?.name;
        let unknown = || named.map(|key| Session::new(key, project.clone(), app.now));
        let session = found.or_else(unknown);
        let elsewhere = |it: &Session| app.globals.directory.is_some() && it.project != *project;
        Ok(Self { session: session.filter(|it| !elsewhere(it)), any })
    }

    /// The session, if it is in the store.
    pub(crate) fn recorded(&self) -> Option<&Session> {
        self.session.as_ref().filter(|it| it.version > 0)
    }
}

/// The session that a verb with `--session` works on. `None` if there is none.
pub(crate) fn for_verb(
    app: &App,
    store: &dyn Store,
    named: Option<&str>,
) -> Result<Option<Session>, Fail> {
    let current = match named {
        Some(_) => None,
        None => app.current_session(store)?.recorded(),
    };
    let (project, host) = (&app.project()?.name, &identity::host());
    let query = SessionQuery { project, named, current, host, now: app.now };
    block_on(session::choose(store, query))
}

//! The agent session that a call is made in, if it is made in one.
//!
//! It is found through the processes above, and where those say nothing, by what the agent put into
//! the environment. A store that knows no session at all costs one look.

use std::env;

use punchlist_engine::session::{self, SessionQuery};
use punchlist_model::Session;
use punchlist_model::session::{SessionFilter, SessionStore, Store};

pub(crate) use punchlist_engine::session::in_environment as told;

use crate::app::App;
use crate::block_on;
use crate::fail::Fail;
use crate::identity;

/// What is known of it.
pub(crate) struct CurrentSession {
    /// The session. One that only the environment names has version 0: the store does not know it.
    pub(crate) session: Option<Session>,
    /// Whether the store knows any session.
    pub(crate) any: bool,
}

impl CurrentSession {
    /// Looks. A call that names another project's directory is not made in the session.
    pub(crate) fn look(app: &App, store: &dyn SessionStore) -> Result<Self, Fail> {
        let told = told(|name| env::var(name).ok());
        let first = SessionFilter { most: Some(1), ..SessionFilter::default() };
        let any = !block_on(store.sessions(first))?.is_empty();
        let mut found = None;
        if any {
            let processes = session::reach(&identity::up_to_agent());
            found = block_on(session::current(store, &processes, told.as_ref()))?;
        }
        let project = &app.project()?.name;
        let unknown = || told.map(|key| Session::new(key, project.clone(), app.now));
        let session = found.or_else(unknown);
        let elsewhere = |it: &Session| app.globals.directory.is_some() && it.project != *project;
        Ok(Self { session: session.filter(|it| !elsewhere(it)), any })
    }

    /// The session, if the store knows it.
    pub(crate) fn recorded(&self) -> Option<&Session> {
        self.session.as_ref().filter(|it| it.version > 0)
    }
}

/// The session that a verb about sessions means. `None` if there is none.
pub(crate) fn meant(
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

//! The agent session that a call is made in, if it is made in one.
//!
//! It is found through the processes above, and where those say nothing, by what the agent put into
//! the environment. A store that knows no session at all costs one look.

use std::env;

use punchlist_engine::session;
use punchlist_formats::view::duration;
use punchlist_model::session::{SessionFilter, SessionStore, Store};
use punchlist_model::{Session, SessionKey};

use crate::app::App;
use crate::block_on;
use crate::error::Fail;
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

/// The session that a verb about sessions means: the one that is named, else the one that the call
/// is made in, else the only live one of the project. `None` if there is none.
pub(crate) fn meant(
    app: &App,
    store: &dyn Store,
    named: Option<&str>,
) -> Result<Option<Session>, Fail> {
    let project = &app.project()?.name;
    let mut fitting = match named {
        Some(name) => {
            let filter = SessionFilter { project: Some(project.clone()), ..Default::default() };
            let mut all = block_on(store.sessions(filter))?;
            let ends = |it: &Session| it.actor_name("").ends_with(name);
            all.retain(|it| it.key.id.starts_with(name) || ends(it));
            if all.is_empty() {
                return Err(Fail::not_found(format!("there is no session {name:?} here"))
                    .hint("leave `--session` out if one agent runs here; `punchlist reminders --json` lists every session."));
            }
            // A whole id means that one, whatever others begin like it.
            if all.iter().any(|it| it.key.id == name) {
                all.retain(|it| it.key.id == name);
            }
            all
        }
        None => match app.current_session(store)?.recorded() {
            Some(session) => return Ok(Some(session.clone())),
            None => block_on(session::live_sessions(store, project, &identity::host(), app.now))?,
        },
    };
    if fitting.len() > 1 {
        let line = |it: &Session| {
            let seen = duration::ago(it.seen_at, app.now);
            format!("{}  seen {seen}  {}", it.key.id, it.directory)
        };
        let details = fitting.iter().take(20).map(line).collect();
        return Err(Fail::usage("several sessions could be meant")
            .details(details)
            .hint("choose one with `--session` and its id, or the beginning of it."));
    }
    Ok(fitting.pop())
}

/// The session that an agent says it is in, in the environment of what it starts.
pub(crate) fn told(variable: impl Fn(&str) -> Option<String>) -> Option<SessionKey> {
    let id = variable("CLAUDE_CODE_SESSION_ID").filter(|id| is_id(id))?;
    Some(SessionKey { agent: "claude".to_owned(), id })
}

/// Whether this may be the id of a session: not empty, of sensible length, nothing in it that no id
/// has.
pub(crate) fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= 200 && !text.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_names_its_session_in_the_environment() {
        let key = |id: &str| told(|name| (name == "CLAUDE_CODE_SESSION_ID").then(|| id.to_owned()));
        assert_eq!(
            key("12-34").unwrap(),
            SessionKey { agent: "claude".to_owned(), id: "12-34".to_owned() }
        );
        for odd in ["", "a\nb", "\u{1b}[0m", &"x".repeat(201)] {
            assert_eq!(key(odd), None, "{odd:?}");
        }
        assert_eq!(told(|_| None), None);
    }
}

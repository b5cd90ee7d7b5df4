//! Who makes a call that comes over a connection: by what the client says, what the environment says, and
//! what the store knows of sessions.

use punchlist_engine::Which;
use punchlist_engine::session;
use punchlist_engine::tool_service::Caller;
use punchlist_model::session::{Session, SessionKey, Store};
use punchlist_model::store::{AttachmentKey, Error};
use punchlist_model::{Actor, Holder, Process};
use serde_json::{Map, Value};

use super::Who;

/// What is known of a connection from its beginning.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The project that it works in.
    pub project: String,
    /// The name of the plan that all its sessions work on, if one was given.
    pub plan: Option<String>,
    /// The processes above this one in which its session may run, nearest first.
    pub above: Vec<Process>,
    /// The session that the environment names; it may be one from before the agent began a new one.
    pub told: Option<SessionKey>,
    /// What the connection is called where nothing names a session.
    pub name: String,
    /// This process, where the system can tell it apart.
    pub process: Option<Process>,
}

impl Connection {
    /// Who makes a call that came with this `_meta`.
    pub async fn who(
        &self,
        store: Option<&dyn Store>,
        meta: &Map<String, Value>,
    ) -> Result<Who, Error> {
        let said = ClientSays::of(meta);
        let own = said.codex();
        let session = match store {
            Some(store) => match (said.session(store).await?, &own) {
                (Some(session), _) => Some(session),
                // Another session above is not the one that is named.
                (None, Some(key)) => store.session(key.clone()).await?,
                (None, None) => session::current(store, &self.above, self.told.as_ref()).await?,
            },
            None => None,
        };
        let told = own.as_ref().or(self.told.as_ref());
        let (key, name) = match (&session, told) {
            (Some(session), _) => (session.attachment(), session.actor_name("")),
            (None, Some(told)) => (told.attachment(&self.project, ""), told.actor_name("")),
            (None, None) => (self.attachment(), self.name.clone()),
        };
        let plan = self.plan.clone().map(Which::Named);
        let title = session.as_ref().and_then(|session| session.memory.prompt.clone());
        let title = title.unwrap_or_default();
        let known = session.as_ref().and_then(|session| session.process.clone());
        let process = known.or_else(|| self.process.clone());
        Ok(Who {
            caller: Caller { key, plan, title },
            actor: Actor::agent(name.clone()),
            holder: Holder { name, process },
            session,
        })
    }

    /// The conversation of a connection of which no session is known.
    fn attachment(&self) -> AttachmentKey {
        AttachmentKey {
            project: self.project.clone(),
            agent: "mcp".to_owned(),
            conversation: self.name.clone(),
            sub_agent: String::new(),
            turn: String::new(),
        }
    }
}

/// What a client says with a call of who it is.
struct ClientSays {
    session: Option<String>,
    thread: Option<String>,
    /// It speaks as Codex does.
    is_codex: bool,
}

impl ClientSays {
    fn of(meta: &Map<String, Value>) -> Self {
        // Most calls come without anything.
        let id = |name: &str| meta.get(name)?.as_str().filter(|id| is_id(id));
        Self {
            session: id("sessionId").map(str::to_owned),
            thread: id("threadId").map(str::to_owned),
            is_codex: meta.contains_key("x-codex-turn-metadata"),
        }
    }

    /// The session that Codex names with a call, whether or not a hook has seen it: its hooks may not
    /// be trusted, and a conversation that is resumed shall find its list all the same.
    fn codex(&self) -> Option<SessionKey> {
        let (_, id) = (self.thread.as_ref()?, self.session.as_ref()?);
        self.is_codex.then(|| SessionKey { agent: "codex".to_owned(), id: id.clone() })
    }

    /// The session that the client itself names with a call, if a hook has seen it and it has not ended:
    /// what else is named so is of no use here.
    async fn session(&self, store: &dyn Store) -> Result<Option<Session>, Error> {
        let Some(id) = &self.session else { return Ok(None) };
        for agent in session::AGENTS {
            let key = SessionKey { agent: agent.to_owned(), id: id.clone() };
            if let Some(session) = store.session(key).await?.filter(|it| it.ended_at.is_none()) {
                return Ok(Some(session));
            }
        }
        Ok(None)
    }
}

/// Whether this may be the id of a session: not empty, of sensible length, nothing in it that no id has.
fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= 200 && !text.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_session_that_codex_names_is_known_by_all_that_it_says() {
        let id = |meta: Value| {
            ClientSays::of(meta.as_object().unwrap()).codex().map(|it| (it.agent, it.id))
        };
        let full =
            json!({"threadId": "t", "sessionId": "s", "x-codex-turn-metadata": {}, "callId": "c"});
        assert_eq!(id(full.clone()), Some(("codex".to_owned(), "s".to_owned())));
        for missing in ["threadId", "sessionId", "x-codex-turn-metadata"] {
            let mut meta = full.clone();
            meta.as_object_mut().unwrap().remove(missing);
            assert_eq!(id(meta), None, "{missing}");
        }
        let mut odd = full;
        odd["sessionId"] = json!("\u{1b}[2J");
        assert_eq!(id(odd), None);
    }
}

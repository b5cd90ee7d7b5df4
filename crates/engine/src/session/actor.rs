//! The actor of a call.

use punchlist_model::{Actor, Session};

use crate::policy::human::CalledBy;

/// The actor: the session that the call was made in, else an agent without a known session, else
/// the person `person`.
///
/// `given` is a name that the caller chose. An agent's chosen name is appended to its session's name.
/// Otherwise it could claim its items under another worker's name, and they would not hold its turn.
/// An agent never counts as the person, whatever name it chooses.
pub fn actor(
    session: Option<&Session>,
    given: Option<&str>,
    person: &str,
    called_by: CalledBy,
    host: &str,
) -> Actor {
    let within = |agent: String| match given {
        Some(name) => Actor::agent(format!("{agent}/{name}")),
        None => Actor::agent(agent),
    };
    match (session, called_by.agent()) {
        (Some(session), _) => match given {
            Some(_) => within(session.actor_name("")),
            None => session.actor(""),
        },
        (None, Some(agent)) => within(format!("{}@{host}", agent.trim_start_matches("an "))),
        (None, None) => Actor::person(given.unwrap_or(person)),
    }
}

#[cfg(test)]
mod tests {
    use punchlist_model::{SessionKey, Timestamp};

    use super::*;

    #[test]
    fn an_agent_is_never_taken_for_the_person() {
        let key = SessionKey { agent: "claude".to_owned(), id: "12-34".to_owned() };
        let session = Session::new(key, "/p".to_owned(), Timestamp::UNIX_EPOCH);
        let of = |session, given, called_by| actor(session, given, "ann@host", called_by, "host");
        let (person, agent) = (CalledBy::PersonElsewhere, CalledBy::Agent("codex"));
        assert_eq!(of(None, None, person), Actor::person("ann@host"));
        assert_eq!(of(None, Some("bob"), person), Actor::person("bob"));
        assert_eq!(of(None, None, agent), Actor::agent("codex@host"));
        assert_eq!(of(None, Some("ann@host"), agent), Actor::agent("codex@host/ann@host"));
        let unknown = CalledBy::Agent("an agent");
        assert_eq!(of(None, None, unknown), Actor::agent("agent@host"));
        assert_eq!(of(Some(&session), None, agent), session.actor(""));
        let name = format!("{}/ann@host", session.actor_name(""));
        assert_eq!(of(Some(&session), Some("ann@host"), agent), Actor::agent(name));
    }
}

//! Updates a session's memory when its list is written through a tool.

use punchlist_formats::dialect::Dialect;
use punchlist_model::Timestamp;
use punchlist_model::remind::{Agent, Input, Policy};
use punchlist_model::session::{Kept, Session, Store};

/// How often a write is retried if another process wrote first.
const TRIES: u32 = 20;

/// The agent's profile for this input. Reminders after a change are up to the dialect.
const AGENT: Agent =
    Agent { has_tools: true, reminds_itself: true, echoes_changes: false, hears_compaction: true };

/// Records that the list was written, and with which tools. The change itself has happened, so a
/// failure here is ignored.
pub async fn written(store: &dyn Store, session: &Session, with: Dialect, now: Timestamp) {
    let mut newer = None;
    for _ in 0..TRIES {
        // Usually this is recorded already, and then nothing is stored.
        let Some(next) = after(newer.as_deref().unwrap_or(session), with, now) else { return };
        match store.keep(next).await {
            Ok(Kept::Stale(Some(there))) => newer = Some(there),
            Ok(Kept::Stored(_) | Kept::Stale(None)) | Err(_) => return,
        }
    }
}

/// The session after a write; `None` if nothing changes.
fn after(session: &Session, with: Dialect, now: Timestamp) -> Option<Session> {
    let mut memory = session.memory.clone();
    // A reminder after a change is part of the tool's result, in dialects that have one.
    drop(memory.watch.step(&Policy::default(), AGENT, Input::Changed, now));
    memory.written_with = Some(with.as_str().to_owned());
    (memory != session.memory).then(|| Session { memory, ..session.clone() })
}

#[cfg(test)]
mod tests {
    use punchlist_model::SessionKey;

    use super::*;

    #[test]
    fn a_write_is_noted_once_and_again_only_after_something_else_happened() {
        let now = Timestamp::UNIX_EPOCH;
        let key = SessionKey { agent: "claude".to_owned(), id: "s".to_owned() };
        let fresh = Session::new(key, "/p", now);
        let noted = after(&fresh, Dialect::Turn, now).unwrap();
        assert_eq!(noted.memory.written_with.as_deref(), Some("turn"));
        assert_eq!(after(&noted, Dialect::Turn, now), None);
        let mut later = noted;
        let turn = Input::Turn { worked: true, open: 1 };
        drop(later.memory.watch.step(&Policy::default(), AGENT, turn, now));
        assert!(after(&later, Dialect::Turn, now).is_some());
    }
}

//! The gate setting of a session, and where it was set.

use punchlist_formats::text;
use punchlist_model::Session;
use punchlist_model::guard::Gate;
use serde_json::{Value, json};

/// The gate setting that applies to a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HoldingGate {
    /// The setting.
    pub setting: Gate,
    /// Where it was set: `session`, `configuration` or `default`.
    pub from: &'static str,
    why: &'static str,
}

impl HoldingGate {
    /// The gate of a session; without one, of future sessions.
    pub fn of(session: Option<&Session>, configured: Option<Gate>) -> Self {
        let set = session.and_then(|it| it.memory.gate);
        Self::with(set, session.and_then(|it| it.interactive), configured)
    }

    /// The gate of a session with this setting.
    pub fn with(set: Option<Gate>, interactive: Option<bool>, configured: Option<Gate>) -> Self {
        let (setting, from, why) = match (set, configured) {
            (Some(set), _) => (set, "session", "set for this session"),
            (None, Some(configured)) => (configured, "configuration", "set in the configuration"),
            (None, None) if interactive == Some(false) => {
                (Gate::default_for(false), "default", "default in headless sessions")
            }
            (None, None) => (Gate::default_for(true), "default", "default in interactive sessions"),
        };
        Self { setting, from, why }
    }

    /// The gate as JSON.
    pub fn json(self, session: Option<&Session>) -> Value {
        json!({
            "agent": session.map(|it| &it.key.agent),
            "session": session.map(|it| &it.key.id),
            "interactive": session.and_then(|it| it.interactive),
            "gate": self.setting,
            "from": self.from,
        })
    }

    /// The gate as text.
    pub fn text(self, session: Option<&Session>) -> String {
        let Self { setting, from, why } = self;
        if let Some(session) = session {
            let name = session.actor_name("");
            return format!("{}  gate {}  ({why})\n", text::one_line(&name), setting.as_str());
        }
        let mut out = format!("gate {}  ({why})\n", setting.as_str());
        if from == "default" {
            let headless = Gate::default_for(false).as_str();
            out.push_str(&format!("gate {headless}  (default in headless sessions)\n"));
        }
        out
    }
}

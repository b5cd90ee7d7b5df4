//! What versions of agents support: the hook events, and the oldest supported version.
//!
//! Found by running the releases (`cargo xtask test agents --full`). An event that appeared between
//! two tested releases counts from the newer one: a missing event only loses a feature, but an
//! unknown one may make the agent ignore the user's whole file.

use punchlist_formats::hook::{Agent, Version};

use super::{claude, codex, gemini};

/// An event with a hook, and for tool events the tools.
pub type Event = (&'static str, Option<&'static str>);

/// The first version of Claude Code with an event that not all supported versions have. Before
/// 2.1.101 one unknown event made it ignore the whole file, including the user's permissions.
const SINCE: [(&str, Version); 2] =
    [("TaskCreated", Version(2, 1, 100)), ("PostToolBatch", Version(2, 1, 150))];

/// The oldest version that Punchlist works with.
pub fn minimum(agent: Agent) -> Version {
    match agent {
        Agent::Claude => Version(2, 1, 50),
        Agent::Codex => Version(0, 135, 0),
        Agent::Gemini => Version(0, 47, 0),
    }
}

/// The events with hooks. All events if the version is unknown, because an agent that is not
/// installed yet will most likely be a new version.
pub fn events(agent: Agent, version: Option<Version>) -> Vec<Event> {
    let all: &[Event] = match agent {
        Agent::Claude => &claude::EVENTS,
        Agent::Codex => &codex::EVENTS,
        Agent::Gemini => &gemini::EVENTS,
    };
    let knows = |event: &str| {
        let since = SINCE.iter().find(|it| agent == Agent::Claude && it.0 == event);
        since.is_none_or(|(_, since)| version.is_none_or(|it| it >= *since))
    };
    all.iter().copied().filter(|(event, _)| knows(event)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_version_is_given_no_event_that_it_does_not_know() {
        let has =
            |version, event: &str| events(Agent::Claude, version).iter().any(|it| it.0 == event);
        for (version, task_created, post_tool_batch) in [
            (Some(Version(2, 1, 99)), false, false),
            (Some(Version(2, 1, 100)), true, false),
            (Some(Version(2, 1, 150)), true, true),
            (None, true, true),
        ] {
            let knows = (has(version, "TaskCreated"), has(version, "PostToolBatch"));
            assert_eq!(knows, (task_created, post_tool_batch), "{version:?}");
            assert!(has(version, "Stop"));
        }
        assert_eq!(events(Agent::Codex, Some(Version(0, 1, 0))), codex::EVENTS);
    }
}

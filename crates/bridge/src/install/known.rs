//! What a version of an agent knows: which hooks can be written for it, and how old it may be.
//!
//! Found by running the releases (`cargo xtask test agents --full`). Where an event came in between two
//! that were run, it counts as known from the newer one on: an event too few costs a convenience, and one
//! too many can cost the user's whole file.

use punchlist_formats::hook::{Agent, Version};

use super::{claude, codex, gemini};

/// An event that hooks are written for, with the tools that matter where it is about a tool.
pub type Event = (&'static str, Option<&'static str>);

/// Since when Claude Code knows events that not every supported version does. Before 2.1.101 one that
/// it does not know made it pass over the whole file, the user's permissions included.
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

/// The events that hooks are written for. Of a version that is not known, all: a program that is not
/// there yet will be a new one.
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

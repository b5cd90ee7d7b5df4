//! The files of one session together.
//!
//! Claude Code writes one file per sub-agent beside the session's own, and all of them may change
//! the session's task list. So their parsers share the list and the states of the agents. Nothing
//! is read here.

use std::path::{Path, PathBuf};

use punchlist_streams::watch::{Fold, Phase, Seen};
use punchlist_streams::{Shared, Source};

/// The directory of sub-agents' files, inside a directory named after the session.
pub(super) const SUB_AGENTS: &str = "subagents";

/// The path of a session's file without its extension, which is the same for all files of the
/// session.
pub(super) fn name(path: &Path) -> PathBuf {
    let above = path.parent().filter(|it| it.file_name().is_some_and(|it| it == SUB_AGENTS));
    match above.and_then(Path::parent) {
        Some(session) => session.to_owned(),
        None => path.with_extension(""),
    }
}

/// One session.
#[derive(Default)]
pub(super) struct Group {
    /// What its files' parsers share.
    pub(super) shared: Shared,
    /// The states of its agents.
    pub(super) fold: Fold,
    /// The agent, once it is known.
    pub(super) source: Option<Source>,
}

impl Group {
    /// A session with this working directory, if the location determines it.
    pub(super) fn within(directory: Option<String>) -> Self {
        Self { fold: Fold::within(directory), ..Self::default() }
    }

    /// A note that to-do tools were called this often without producing a list, once a turn is
    /// over. The agent's format has most likely changed, and that must not look like a session
    /// without a list.
    pub(super) fn drift(&self, calls: u64, file: &Path) -> Option<String> {
        let is_over = |it: &Seen| matches!(it.phase, Phase::Done(_));
        if calls == 0 || !self.fold.agents().iter().any(is_over) {
            return None;
        }
        let name = self.source?.name();
        let calls = match calls {
            1 => "once".to_owned(),
            n => format!("{n} times"),
        };
        let file = file.file_name().unwrap_or_default().to_string_lossy();
        Some(format!(
            "{name}: todo tools were called {calls}, but Punchlist found no list: its format may have changed ({file})"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_one_session_have_one_name() {
        for (path, expected) in [
            ("/p/s1.jsonl", "/p/s1"),
            ("/p/s1/subagents/agent-a.jsonl", "/p/s1"),
            ("/p/s1/chats/a.jsonl", "/p/s1/chats/a"),
            ("subagents/agent-a.jsonl", ""),
            ("agent-a.jsonl", "agent-a"),
        ] {
            assert_eq!(name(Path::new(path)), Path::new(expected), "{path}");
        }
    }
}

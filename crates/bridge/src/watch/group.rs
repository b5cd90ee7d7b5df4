//! What the files of one session come to together.
//!
//! Claude Code writes a file for each sub-agent beside the session's own, and all of them may tell of the
//! session's one task list. So they share what their parsers know of it, and how their agents stand. It reads
//! nothing itself.

use std::path::{Path, PathBuf};

use punchlist_streams::watch::{Fold, Phase, Seen};
use punchlist_streams::{Shared, Source};

/// Where sub-agents' files are, in a directory named like their session.
pub(super) const SUB_AGENTS: &str = "subagents";

/// What a session's file is called without its ending: the same for all files of one session.
pub(super) fn name(path: &Path) -> PathBuf {
    let above = path.parent().filter(|it| it.file_name().is_some_and(|it| it == SUB_AGENTS));
    match above.and_then(Path::parent) {
        Some(session) => session.to_owned(),
        None => path.with_extension(""),
    }
}

/// A session, whose files are read one by one.
#[derive(Default)]
pub(super) struct Group {
    /// What the files' parsers know together.
    pub(super) shared: Shared,
    /// How its agents stand.
    pub(super) fold: Fold,
    /// Whose they are, once it is known.
    pub(super) source: Option<Source>,
}

impl Group {
    /// A session that works in a directory, where its place tells.
    pub(super) fn within(directory: Option<String>) -> Self {
        Self { fold: Fold::within(directory), ..Self::default() }
    }

    /// That its todo tools were called so often and no list came of it, once a turn is over: the agent
    /// writes otherwise than it did, and that must not look like having no list.
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
            "{name}: todo tools were called {calls}, but no list came of it: its format may have changed ({file})"
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

//! A person's consent to single things that somebody else names: MCP servers of a project's file or of an
//! editor, custom commands of a project.
//!
//! It is kept in the user's data directory, one JSON object per line. A consent holds for one thing in
//! one project, and not for what the thing becomes: it is bound to the thing's digest. Front ends ask for
//! it at a terminal or through an editor, and never on behalf of an agent.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::consent::{add_line, check_project, remove_lines};
use crate::fail::Fail;

/// What a person can consent to, one by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DigestConsent {
    /// An MCP server is started or connected.
    Server,
    /// A custom command is used.
    Command,
}

/// One thing that a person consented to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AllowedThing {
    /// The project that the consent holds for.
    pub project: String,
    /// The digest of the thing.
    pub digest: String,
    /// The thing's name.
    pub name: String,
    /// What it is, for people: a server's command line or address, a command's file.
    pub what: String,
}

impl DigestConsent {
    /// Whether a person consented to the thing with this digest.
    pub fn is_given(self, data: &Path, project: &str, digest: &str) -> bool {
        self.all(data).iter().any(|it| it.project == project && it.digest == digest)
    }

    /// Records that a person consented.
    pub fn give(self, data: &Path, allowed: &AllowedThing) -> Result<(), Fail> {
        check_project(&allowed.project)?;
        let line = serde_json::to_string(allowed)
            .map_err(|why| Fail::ours(format!("a consent cannot be written: {why}")))?;
        add_line(&self.record(data), &line)
    }

    /// All consents, in the order in which they were given.
    pub fn all(self, data: &Path) -> Vec<AllowedThing> {
        let text = fs::read_to_string(self.record(data)).unwrap_or_default();
        text.lines().filter_map(read).collect()
    }

    /// Withdraws all consents to things with this name in a project. Returns whether there were any.
    pub fn take_back(self, data: &Path, project: &str, name: &str) -> Result<bool, Fail> {
        let is_about =
            |line: &str| read(line).is_some_and(|it| it.project == project && it.name == name);
        remove_lines(&self.record(data), is_about)
    }

    fn record(self, data: &Path) -> PathBuf {
        data.join(match self {
            Self::Server => "mcp-servers",
            Self::Command => "commands",
        })
    }
}

fn read(line: &str) -> Option<AllowedThing> {
    serde_json::from_str(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thing(project: &str, digest: &str, name: &str) -> AllowedThing {
        let text = str::to_owned;
        let (project, digest, name) = (text(project), text(digest), text(name));
        AllowedThing { project, digest, name, what: text("a b") }
    }

    #[test]
    fn consent_holds_for_one_thing_in_one_project_until_it_is_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        let consent = DigestConsent::Server;
        let is_given = |project, digest| consent.is_given(&data, project, digest);
        assert!(!is_given("/p", "ab"));
        consent.give(&data, &thing("/p", "ab", "db")).unwrap();
        consent.give(&data, &thing("/p", "cd", "web")).unwrap();
        consent.give(&data, &thing("/p q", "ab", "db")).unwrap();
        assert!(is_given("/p", "ab") && is_given("/p q", "ab"));
        assert!(!is_given("/p", "abc") && !is_given("/", "ab"));
        assert!(!DigestConsent::Command.is_given(&data, "/p", "ab"), "one is not the other");
        assert!(consent.take_back(&data, "/p", "db").unwrap());
        assert!(!consent.take_back(&data, "/p", "db").unwrap());
        assert!(!is_given("/p", "ab") && is_given("/p", "cd"));
        assert_eq!(consent.all(&data), [thing("/p", "cd", "web"), thing("/p q", "ab", "db")]);
        assert!(consent.give(&data, &thing("/a\n/p", "ab", "db")).is_err());
    }
}

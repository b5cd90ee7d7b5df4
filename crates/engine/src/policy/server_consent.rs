//! A person's consent to MCP servers that a project's file names, per project and entry.
//!
//! It is kept in the user's data directory, one line for each: the digest of the entry, and the
//! project. So a consent holds for one entry in one project, and not for what the entry becomes. Front
//! ends ask for it at a terminal, and never on behalf of an agent.

use std::path::{Path, PathBuf};

use super::consent::{add_line, check_project, is_recorded, remove_lines};
use crate::fail::Fail;

/// Whether a person consented to the entry with this digest.
pub fn is_given(data: &Path, project: &str, digest: &str) -> bool {
    is_recorded(&record(data), &line(project, digest))
}

/// Records that a person consented to the entry with this digest.
pub fn give(data: &Path, project: &str, digest: &str) -> Result<(), Fail> {
    check_project(project)?;
    add_line(&record(data), &line(project, digest))
}

/// Withdraws all consents for a project. Returns whether there were any.
pub fn take_back(data: &Path, project: &str) -> Result<bool, Fail> {
    let is_about =
        |line: &str| line.split_once(' ').is_some_and(|(_, of_project)| of_project == project);
    remove_lines(&record(data), is_about)
}

fn record(data: &Path) -> PathBuf {
    data.join("mcp-servers")
}

fn line(project: &str, digest: &str) -> String {
    format!("sha256:{digest} {project}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consent_holds_for_one_entry_in_one_project_until_it_is_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        assert!(!is_given(&data, "/p", "ab"));
        give(&data, "/p", "ab").unwrap();
        give(&data, "/p q", "ab").unwrap();
        assert!(is_given(&data, "/p", "ab") && is_given(&data, "/p q", "ab"));
        assert!(!is_given(&data, "/p", "abc") && !is_given(&data, "/", "ab"));
        assert!(take_back(&data, "/p").unwrap());
        assert!(!take_back(&data, "/p").unwrap());
        assert!(!is_given(&data, "/p", "ab") && is_given(&data, "/p q", "ab"));
        assert!(give(&data, "/a\nsha256:ab /p", "ab").is_err());
    }
}

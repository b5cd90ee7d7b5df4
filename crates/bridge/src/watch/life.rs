//! Whether a session's process is running, according to the agents' own files.
//!
//! Claude Code writes a file per process while it runs, Codex locks a file per session; a killed
//! process leaves both behind. Gemini CLI leaves nothing, so the state of its sessions is unknown.
//! Locks are read from the kernel's table and never taken, so that no agent finds its own file
//! locked by Punchlist.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use punchlist_streams::Source;
use punchlist_streams::watch::Life;

use super::find::Homes;
use crate::process;

/// The maximal number and length of process files that are read.
const MOST_NOTES: usize = 10_000;
const LONGEST_NOTE: u64 = 64 << 10;

/// What is known about sessions, by agent and id.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lives {
    known: BTreeMap<(Source, String), Life>,
    /// Agents for which a missing file means that the session has ended.
    notes: Vec<Source>,
}

impl Lives {
    /// Reads the current state.
    pub fn look(homes: &Homes, host: &str) -> Self {
        let mut lives = Self::default();
        if let Some(home) = &homes.claude {
            lives.claude(&home.join("sessions"), host);
        }
        if let Some(home) = &homes.codex {
            lives.codex(&home.join("thread-writer-locks"));
        }
        lives
    }

    /// What is known about a session.
    pub fn of(&self, source: Option<Source>, session: &str) -> Life {
        let Some(source) = source else { return Life::Unknown };
        let known = self.known.get(&(source, session.to_owned())).copied();
        let none = if self.notes.contains(&source) { Life::Ended } else { Life::Unknown };
        known.unwrap_or(none)
    }

    fn claude(&mut self, notes: &Path, host: &str) {
        let Ok(entries) = fs::read_dir(notes) else { return };
        self.notes.push(Source::ClaudeCode);
        for entry in entries.flatten().take(MOST_NOTES) {
            let Some(note) = read(&entry.path()) else { continue };
            let Some(session) = note.get("sessionId").and_then(|it| it.as_str()) else { continue };
            let Some(pid) = note.get("pid").and_then(serde_json::Value::as_u64) else { continue };
            let process = u32::try_from(pid).ok().and_then(|pid| process::process(host, pid));
            // The pid may belong to another process by now.
            let start = note.get("procStart").and_then(|it| it.as_str()?.parse::<u64>().ok());
            let runs = process.is_some_and(|it| start.is_none_or(|start| start == it.start_time));
            let status = note.get("status").and_then(|it| it.as_str());
            let life = match (runs, status) {
                (true, Some("busy")) => Life::Runs { busy: Some(true) },
                (true, Some("idle")) => Life::Runs { busy: Some(false) },
                (true, _) => Life::Runs { busy: None },
                (false, _) => Life::Died,
            };
            self.add(Source::ClaudeCode, session, life);
        }
    }

    fn codex(&mut self, locks: &Path) {
        let Some(locked) = locked() else { return };
        let Ok(entries) = fs::read_dir(locks) else { return };
        self.notes.push(Source::Codex);
        for entry in entries.flatten().take(MOST_NOTES) {
            let path = entry.path();
            if path.extension().is_none_or(|it| it != "lock") {
                continue;
            }
            let (Some(name), Ok(data)) = (path.file_stem(), entry.metadata()) else { continue };
            let is_held = locked.contains(&data.ino());
            let life = if is_held { Life::Runs { busy: None } } else { Life::Died };
            self.add(Source::Codex, &name.to_string_lossy(), life);
        }
    }

    /// A resumed session may also have a file of its earlier, dead process.
    fn add(&mut self, source: Source, session: &str, life: Life) {
        let known = self.known.entry((source, session.to_owned())).or_default();
        *known = life.or(*known);
    }
}

fn read(path: &Path) -> Option<serde_json::Value> {
    if path.extension().is_none_or(|it| it != "json") || !path.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(LONGEST_NOTE).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// The inodes of all locked files, from the kernel's table: `1: FLOCK  ADVISORY  WRITE 812
/// 08:01:1311 0 EOF`.
fn locked() -> Option<Vec<u64>> {
    let table = fs::read_to_string("/proc/locks").ok()?;
    Some(table.lines().filter_map(inode).collect())
}

fn inode(line: &str) -> Option<u64> {
    // Processes that wait for a lock have an arrow; they do not hold it.
    if line.contains("->") {
        return None;
    }
    line.split_whitespace().nth(5)?.rsplit(':').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_table_names_inodes() {
        assert_eq!(inode("1: FLOCK  ADVISORY  WRITE 812 08:01:1311 0 EOF"), Some(1311));
        assert_eq!(inode("1: -> FLOCK  ADVISORY  WRITE 812 08:01:1311 0 EOF"), None);
        assert_eq!(inode("nonsense"), None);
        assert_eq!(inode(""), None);
    }
}

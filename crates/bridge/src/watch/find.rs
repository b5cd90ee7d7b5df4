//! Finds the session files of each agent, and which of them are recent.
//!
//! Only names and times are read. A directory that cannot be read counts as empty, because agents
//! create and delete files at any time.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use punchlist_streams::Source;

use super::group::{self, SUB_AGENTS};

/// Most directories to watch; the others are polled.
const MOST_DIRECTORIES: usize = 4_000;

/// The longest path that is read from a file.
const LONGEST_PATH: u64 = 8 << 10;

/// The agents' own directories, if they are known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Homes {
    /// Claude Code's configuration: `~/.claude`.
    pub claude: Option<PathBuf>,
    /// Codex's: `~/.codex`.
    pub codex: Option<PathBuf>,
    /// Gemini CLI's: `~/.gemini`.
    pub gemini: Option<PathBuf>,
    /// Where `acp-tap` stores what it observes.
    pub acp: Option<PathBuf>,
}

impl Homes {
    /// The directories that the agents' variables name, else those in the user's home.
    pub fn find(
        variable: impl Fn(&str) -> Option<PathBuf>,
        home: Option<&Path>,
        acp: Option<PathBuf>,
    ) -> Self {
        let in_home = |name: &str| home.map(|it| it.join(name));
        // Unlike the others, Gemini's variable names the parent of its directory.
        let gemini = variable("GEMINI_CLI_HOME").map(|it| it.join(".gemini"));
        Self {
            claude: variable("CLAUDE_CONFIG_DIR").or_else(|| in_home(".claude")),
            codex: variable("CODEX_HOME").or_else(|| in_home(".codex")),
            gemini: gemini.or_else(|| in_home(".gemini")),
            acp,
        }
    }
}

/// A session's file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// Its path.
    pub path: PathBuf,
    /// Its agent, if the location determines it.
    pub source: Option<Source>,
    /// Its modification time, in milliseconds since 1970.
    pub modified: i64,
    /// Its length.
    pub bytes: u64,
    /// The agent's working directory, if the location determines it.
    pub directory: Option<String>,
}

impl File {
    /// A file that a person named.
    pub fn named(path: PathBuf) -> Self {
        Self { path, source: None, modified: i64::MAX, bytes: 0, directory: None }
    }
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// Recent session files.
    pub files: Vec<File>,
    /// Directories in which session files may appear or grow.
    pub directories: Vec<PathBuf>,
    /// Directories in which agents record their running processes.
    pub notes: Vec<PathBuf>,
}

/// The session files of all agents that were modified since then.
pub fn sessions(homes: &Homes, since: i64) -> Found {
    let mut found = Found::default();
    if let Some(home) = &homes.claude {
        claude(home, since, &mut found);
        found.notes.push(home.join("sessions"));
    }
    if let Some(home) = &homes.codex {
        codex(home, since, &mut found);
        found.notes.push(home.join("thread-writer-locks"));
    }
    if let Some(home) = &homes.gemini {
        gemini(home, since, &mut found);
    }
    if let Some(home) = &homes.acp {
        acp(home, since, &mut found);
    }
    found.notes.retain(|it| it.is_dir());
    found.directories.truncate(MOST_DIRECTORIES);
    found
}

/// `projects/DIRECTORY/SESSION.jsonl`, and `SESSION/subagents/agent-ID.jsonl` beside it. If one
/// file of a session is recent, all of them are needed, because they share one list.
fn claude(home: &Path, since: i64, found: &mut Found) {
    let projects = home.join("projects");
    found.directories.push(standing(&projects));
    // Where a session records its process.
    found.directories.push(standing(&home.join("sessions")));
    for project in newest(directories(&projects)) {
        let first = found.files.len();
        files(&project, i64::MIN, Source::ClaudeCode, found);
        let sessions = directories(&project);
        for session in &sessions {
            files(&session.join(SUB_AGENTS), i64::MIN, Source::ClaudeCode, found);
        }
        let all = found.files.split_off(first);
        let is_new = |it: &&File| it.modified >= since;
        let wanted: BTreeSet<PathBuf> =
            all.iter().filter(is_new).map(|it| group::name(&it.path)).collect();
        let is_wanted = |it: &File| wanted.contains(&group::name(&it.path));
        found.files.extend(all.into_iter().filter(is_wanted));
        for session in sessions {
            if wanted.contains(&session) || written(&session) >= since {
                found.directories.push(standing(&session.join(SUB_AGENTS)));
            }
        }
        found.directories.push(project);
    }
}

/// `sessions/YEAR/MONTH/DAY/rollout-….jsonl`. A resumed session stays under its first day.
fn codex(home: &Path, since: i64, found: &mut Found) {
    let sessions = home.join("sessions");
    found.directories.push(standing(&sessions));
    found.directories.push(standing(&home.join("thread-writer-locks")));
    for (y, year) in latest(directories(&sessions)).into_iter().enumerate() {
        for (m, month) in latest(directories(&year)).into_iter().enumerate() {
            for (d, day) in latest(directories(&month)).into_iter().enumerate() {
                let before = found.files.len();
                files(&day, since, Source::Codex, found);
                // New days appear in the newest month, new sessions on the newest day.
                if found.files.len() > before || (y == 0 && m == 0 && d < 2) {
                    found.directories.push(day);
                }
            }
            if y == 0 && m == 0 {
                found.directories.push(month);
            }
        }
        if y == 0 {
            found.directories.push(year);
        }
    }
}

/// `tmp/PROJECT/chats/session-….jsonl` (`.json` of older versions), and `chats/SESSION/ID.jsonl` for sub-agents.
fn gemini(home: &Path, since: i64, found: &mut Found) {
    let projects = home.join("tmp");
    found.directories.push(standing(&projects));
    for project in newest(directories(&projects)) {
        let chats = project.join("chats");
        let first = found.files.len();
        for parent in directories(&chats) {
            let before = found.files.len();
            files(&parent, since, Source::Gemini, found);
            if found.files.len() > before || written(&parent) >= since {
                found.directories.push(parent);
            }
        }
        files(&chats, since, Source::Gemini, found);
        if found.files.len() > first {
            let root = root(&project.join(".project_root"));
            found.files[first..].iter_mut().for_each(|it| it.directory.clone_from(&root));
        }
        found.directories.push(standing(&chats));
    }
}

/// `RUN.jsonl`, and `RUN.root` beside it.
fn acp(home: &Path, since: i64, found: &mut Found) {
    found.directories.push(standing(home));
    let first = found.files.len();
    files(home, since, Source::Acp, found);
    for file in &mut found.files[first..] {
        file.directory = root(&file.path.with_extension("root"));
    }
}

/// The agent's working directory, read from a file.
fn root(path: &Path) -> Option<String> {
    let mut text = String::new();
    fs::File::open(path).ok()?.take(LONGEST_PATH).read_to_string(&mut text).ok()?;
    Some(text.trim().to_owned()).filter(|it| !it.is_empty())
}

/// The recent session files of a directory.
fn files(directory: &Path, since: i64, source: Source, found: &mut Found) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if !is_session(&path, source) {
            continue;
        }
        // Opening a pipe or device with such a name would block.
        let Ok(data) = fs::metadata(&path) else { continue };
        let modified = modified(&data);
        if data.is_file() && modified >= since {
            found.files.push(File {
                path,
                source: Some(source),
                modified,
                bytes: data.len(),
                directory: None,
            });
        }
    }
}

/// Whether a file is a session file, by its name. Older versions of Gemini CLI wrote a session as
/// one JSON object.
fn is_session(path: &Path, source: Source) -> bool {
    let is_old =
        |it: &Path| it.file_name().is_some_and(|it| it.to_string_lossy().starts_with("session-"));
    match path.extension() {
        Some(it) if it == "jsonl" => true,
        Some(it) if it == "json" => source == Source::Gemini && is_old(path),
        Some(_) | None => false,
    }
}

fn directories(of: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(of) else { return Vec::new() };
    let is_directory = |it: &fs::DirEntry| it.file_type().is_ok_and(|it| it.is_dir());
    entries.flatten().filter(is_directory).map(|it| it.path()).collect()
}

/// Sorted by name, the last first.
fn latest(mut directories: Vec<PathBuf>) -> Vec<PathBuf> {
    directories.sort_by(|one, other| other.cmp(one));
    directories
}

/// Sorted by modification time, the newest first.
fn newest(directories: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut dated: Vec<(i64, PathBuf)> =
        directories.into_iter().map(|it| (written(&it), it)).collect();
    dated.sort_by(|one, other| other.cmp(one));
    dated.into_iter().map(|it| it.1).collect()
}

fn written(path: &Path) -> i64 {
    fs::metadata(path).map_or(0, |it| modified(&it))
}

/// The modification time, in milliseconds since 1970.
pub(super) fn modified(data: &fs::Metadata) -> i64 {
    data.mtime().saturating_mul(1000).saturating_add(data.mtime_nsec() / 1_000_000)
}

/// The directory, or its nearest existing ancestor, in which it will appear.
pub(super) fn standing(path: &Path) -> PathBuf {
    path.ancestors().find(|it| it.is_dir()).unwrap_or(path).to_owned()
}

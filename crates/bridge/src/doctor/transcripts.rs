//! Whether Punchlist can still read the agent's newest session files. Their format changes between
//! versions, and then lists would be missed silently.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use punchlist_formats::hook::Agent;
use punchlist_streams::event::{Event, KindName, KindSet};
use punchlist_streams::{Options, Source, Stream};

use super::Finding;

/// How many of the newest files are read.
const FILES: usize = 5;
/// How much of each file is read, in bytes.
const BYTES: u64 = 16 * 1024 * 1024;
/// Most directory entries that are examined.
const ENTRIES: usize = 20_000;

/// Where an agent stores its sessions, below its own directory, and how deep.
fn place(agent: Agent) -> (&'static str, usize) {
    match agent {
        Agent::Claude => ("projects", 2),
        Agent::Codex => ("sessions", 4),
        Agent::Gemini => ("tmp", 3),
    }
}

/// The finding about the newest session files; `None` if there are none.
pub(super) fn look(agent: Agent, home: &Path, config_dir: Option<&Path>) -> Option<Finding> {
    let own = format!(".{}", agent.as_str());
    let directory = config_dir.map_or_else(|| home.join(own), Path::to_owned);
    let (folder, depth) = place(agent);
    let mut found = Vec::new();
    let mut left = ENTRIES;
    walk(&directory.join(folder), depth, &mut left, &mut found);
    found.sort();
    let newest: Vec<PathBuf> = found.into_iter().rev().take(FILES).map(|it| it.1).collect();
    let (mut calls, mut lists) = (0, 0);
    let mut unread = None;
    for path in newest {
        let Some((called, listed)) = read(agent, &path) else { continue };
        if called > 0 && listed == 0 {
            unread.get_or_insert((path, called));
        }
        (calls, lists) = (calls + called, lists + listed);
    }
    if let Some((path, called)) = unread {
        let said = format!(
            "{} called its todo tools {called} times in {}, but Punchlist found no list: its format may \
             have changed",
            agent.title(),
            path.display()
        );
        return Some(Finding::bad("transcripts", said, "install a newer Punchlist"));
    }
    let s = |n: u64| if n == 1 { "" } else { "s" };
    let said = format!("{lists} list{} of {calls} call{}", s(lists), s(calls));
    (calls > 0).then(|| Finding::good("transcripts", said))
}

/// How many to-do tool calls and how many lists a file contains.
fn read(agent: Agent, path: &Path) -> Option<(u64, u64)> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(BYTES).read_to_end(&mut bytes).ok()?;
    let source = match agent {
        Agent::Claude => Source::ClaudeCode,
        Agent::Codex => Source::Codex,
        Agent::Gemini => Source::Gemini,
    };
    let options = Options { only: KindSet::of([KindName::TodoList]), ..Options::default() };
    let mut stream = Stream::new(source, options);
    stream.push(&bytes, &mut |_: &Event<'_>| {});
    stream.end(&mut |_: &Event<'_>| {});
    Some((stream.tally().todo_calls, stream.tally().lists))
}

/// The session files in a directory, with their modification times.
fn walk(folder: &Path, depth: usize, left: &mut usize, found: &mut Vec<(SystemTime, PathBuf)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Some(fewer) = left.checked_sub(1) else { return };
        *left = fewer;
        // Links are not followed, because they may form a cycle.
        let Ok(meta) = entry.metadata() else { continue };
        let path = entry.path();
        if meta.is_dir() && depth > 1 {
            walk(&path, depth - 1, left, found);
        } else if meta.is_file() && path.extension().is_some_and(|it| it == "jsonl") {
            found.extend(meta.modified().ok().map(|at| (at, path)));
        }
    }
}

//! Watches the sessions of other agents: which exist, what they write, and whether they still run.
//!
//! The agents' files are only read. [`find`] finds them, `file_watch` subscribes to changes, `tail`
//! reads what is new, `group` combines the files of one session, and [`life`] finds out whether a
//! process is running. The environment and the clock are not used: directories and times are
//! arguments.

mod file_watch;
pub mod find;
mod group;
pub mod life;
mod tail;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use punchlist_streams::event::Event;
use punchlist_streams::watch::{Life, Seen};

use file_watch::FileWatch;
use find::Homes;
use group::Group;
use life::Lives;
use tail::{Came, Tail, Target};

pub use tail::{LIST_ONLY, Piped};

/// The interval between full scans while changes are reported; and while they are not.
const SELDOM_MS: i64 = 15_000;
const OFTEN_MS: i64 = 2_000;

/// How often a scan is repeated at most because of new directories.
const MOST_LOOKS: usize = 16;

/// The interval between looks at processes.
const LIVES_MS: i64 = 3_000;

/// Most session files that are followed, newest first.
const MOST_FILES: usize = 2_000;

/// What to watch, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The agents' directories. Empty if only named files are watched.
    pub homes: Homes,
    /// Files that the user named.
    pub files: Vec<PathBuf>,
    /// How recently a session must have been modified, in milliseconds.
    pub since_ms: i64,
    /// The host name of this machine.
    pub host: String,
    /// When watching began, in milliseconds since 1970.
    pub started: i64,
    /// Most directories that are watched.
    pub most_watches: usize,
}

impl Options {
    /// Whether a path is below a directory of sessions, or an ancestor of one. Watching an ancestor
    /// also reports unrelated changes.
    fn concerns(&self, path: &Path) -> bool {
        let homes = [&self.homes.claude, &self.homes.codex, &self.homes.gemini];
        let places = homes.into_iter().flatten().chain(&self.files);
        let mut places = places.map(PathBuf::as_path);
        places.any(|it| path.starts_with(it) || it.starts_with(path))
    }
}

/// Receives what happens.
pub trait Told {
    /// An event. `live` is false for events from before watching began.
    fn event(&mut self, event: &Event<'_>, live: bool);

    /// How many bytes of the existing files have been read, and how many there are.
    fn progress(&mut self, _done: u64, _total: u64) {}
}

/// The state of watching.
pub struct Watch {
    options: Options,
    file_watch: FileWatch,
    tails: BTreeMap<PathBuf, Tail>,
    /// The sessions, each with what its files share.
    groups: BTreeMap<PathBuf, Group>,
    lives: Lives,
    /// Directories with the agents' own files about running processes.
    notes_in: BTreeSet<PathBuf>,
    scanned: Option<i64>,
    looked: Option<i64>,
    /// A file that does not exist yet, whose creation must be reported.
    awaited: Option<PathBuf>,
}

impl Watch {
    /// Begins to watch. `wake` is called from another thread after each change.
    pub fn new(options: Options, wake: impl Fn() + Send + Sync + 'static) -> Self {
        let file_watch = FileWatch::new(options.most_watches, wake);
        Self {
            options,
            file_watch,
            tails: BTreeMap::new(),
            groups: BTreeMap::new(),
            lives: Lives::default(),
            notes_in: BTreeSet::new(),
            scanned: None,
            looked: None,
            awaited: None,
        }
    }

    /// Wakes when this file appears, from the next scan on; `None` stops that.
    pub fn awaits(&mut self, file: Option<PathBuf>) {
        self.awaited = file;
    }

    /// Reads what is new, scans if it is due, and returns whether anything changed.
    pub fn go_on(&mut self, now: i64, told: &mut dyn Told) -> bool {
        let changes = self.file_watch.changes();
        let is_due = self.scanned.is_none_or(|it| now.saturating_sub(it) >= self.patience());
        let mut scan_now = changes.everything || is_due;
        let mut lives = false;
        let mut waiting = BTreeSet::new();
        for path in changes.paths {
            if self.tails.contains_key(&path) {
                waiting.insert(path);
            } else if path.parent().is_some_and(|it| self.notes_in.contains(it)) {
                lives = true;
            } else if self.awaited.as_ref().is_some_and(|it| it.starts_with(&path)) {
                // A directory on the path to it appeared: the scan will watch it.
                scan_now = true;
            } else if self.options.concerns(&path) {
                // A new file or directory, or one that was too old before.
                scan_now = true;
            }
        }
        let mut changed = false;
        if scan_now {
            changed |= self.scan(now, told);
        } else {
            for path in waiting {
                changed |= self.read(&path, now, told);
            }
        }
        changed | self.look(now, lives)
    }

    /// When to continue even without a notification.
    pub fn next(&self) -> i64 {
        let scan = self.scanned.map_or(0, |it| it.saturating_add(self.patience()));
        let look = self.looked.map_or(0, |it| it.saturating_add(LIVES_MS));
        if self.tails.is_empty() { scan } else { scan.min(look) }
    }

    /// Notes about the watching itself, for the viewer.
    pub fn notes(&self) -> Vec<String> {
        let unread = self.tails.values().filter_map(Tail::trouble);
        self.file_watch.trouble().into_iter().chain(unread).chain(self.drift()).collect()
    }

    /// Sessions whose to-do tools were called without producing a list. This is called for every
    /// frame, so sessions without such a file are skipped.
    fn drift(&self) -> Vec<String> {
        let mut all: BTreeMap<&Path, (u64, &Path)> = BTreeMap::new();
        for (path, tail) in &self.tails {
            let (calls, lists) = tail.calls_and_lists();
            if calls > 0 && lists == 0 {
                let known = all.entry(tail.group()).or_insert((0, path));
                known.0 = known.0.saturating_add(calls);
            }
        }
        let has_list = |name: &Path| {
            self.tails.values().any(|it| it.calls_and_lists().1 > 0 && it.group() == name)
        };
        all.retain(|name, _| !has_list(name));
        let told = |(name, (calls, path)): (&Path, (u64, &Path))| {
            self.groups.get(name)?.drift(calls, path)
        };
        all.into_iter().filter_map(told).collect()
    }

    /// All agents, and what is known about their processes.
    pub fn streams(&self) -> Vec<(&Seen, Life)> {
        let mut all = Vec::new();
        for group in self.groups.values() {
            for seen in group.fold.agents() {
                all.push((seen, self.lives.of(group.source, seen.names().0)));
            }
        }
        all
    }

    /// How many files are followed.
    pub fn len(&self) -> usize {
        self.tails.len()
    }

    /// Whether no file is followed.
    pub fn is_empty(&self) -> bool {
        self.tails.is_empty()
    }

    fn patience(&self) -> i64 {
        if self.file_watch.trouble().is_some() { OFTEN_MS } else { SELDOM_MS }
    }

    /// Scans all directories: follows new files, and drops deleted ones.
    fn scan(&mut self, now: i64, told: &mut dyn Told) -> bool {
        self.scanned = Some(now);
        let mut found = self.found(now);
        // Changes between reading a directory and watching it are not reported, so the scan is
        // repeated.
        for _ in 0..MOST_LOOKS {
            if !self.file_watch.listen(found.directories.iter().chain(&found.notes)) {
                break;
            }
            found = self.found(now);
        }
        self.notes_in = found.notes.iter().cloned().collect();
        in_order(&mut found.files);
        found.files.truncate(MOST_FILES);
        let wanted: BTreeSet<&PathBuf> = found.files.iter().map(|it| &it.path).collect();
        let before = self.tails.len();
        self.tails.retain(|path, tail| wanted.contains(path) || tail.stays(now));
        let names: BTreeSet<&Path> = self.tails.values().map(Tail::group).collect();
        self.groups.retain(|name, _| names.contains(name.as_path()));
        let mut changed = self.tails.len() != before;
        let new = |tails: &BTreeMap<PathBuf, Tail>, it: &&find::File| !tails.contains_key(&it.path);
        let total: u64 =
            found.files.iter().filter(|it| new(&self.tails, it)).map(|it| it.bytes).sum();
        let mut done = 0;
        // The directories are watched before the files are read, so no later write is missed.
        for file in &found.files {
            let bytes = if self.tails.contains_key(&file.path) { 0 } else { file.bytes };
            let target = Target {
                path: file.path.clone(),
                source: file.source,
                directory: file.directory.clone(),
            };
            let started = self.options.started;
            self.tails.entry(file.path.clone()).or_insert_with(|| Tail::new(target, started));
            changed |= self.read(&file.path, now, told);
            // Drop the parser at once, so that a thousand old sessions do not have parsers at the
            // same time.
            if let Some(tail) = self.tails.get_mut(&file.path) {
                tail.rest(now);
            }
            done += bytes;
            if bytes > 0 {
                told.progress(done, total);
            }
        }
        self.look(now, true) | changed
    }

    /// All files that should be followed.
    fn found(&self, now: i64) -> find::Found {
        let since = now.saturating_sub(self.options.since_ms);
        let mut found = find::sessions(&self.options.homes, since);
        for path in &self.options.files {
            found.files.push(find::File::named(path.clone()));
            found.directories.extend(path.parent().map(Path::to_owned));
        }
        found
            .directories
            .extend(self.awaited.as_deref().and_then(Path::parent).map(find::standing));
        found
    }

    fn read(&mut self, path: &Path, now: i64, told: &mut dyn Told) -> bool {
        let Some(tail) = self.tails.get_mut(path) else { return false };
        let name = tail.group().to_owned();
        let group = self.groups.entry(name.clone()).or_insert_with(|| tail.new_group());
        match tail.read(now, group, told) {
            Came::Nothing => return false,
            Came::News => return true,
            Came::Other => *group = tail.new_group(),
        }
        // All files of the session are read again, because the shared state cannot be split.
        for tail in self.tails.values_mut().filter(|it| it.group() == name) {
            tail.forget();
            tail.read(now, group, told);
        }
        true
    }

    /// Looks at processes, if that is due.
    fn look(&mut self, now: i64, at_once: bool) -> bool {
        if !at_once && self.looked.is_some_and(|it| now.saturating_sub(it) < LIVES_MS) {
            return false;
        }
        self.looked = Some(now);
        let lives = Lives::look(&self.options.homes, &self.options.host);
        let changed = lives != self.lives;
        self.lives = lives;
        changed
    }
}

/// Sorts by modification time of the session, newest first. A session's own file comes before those
/// of its sub-agents, which work on its tasks.
fn in_order(files: &mut [find::File]) {
    let mut newest: BTreeMap<PathBuf, i64> = BTreeMap::new();
    for file in files.iter() {
        let known = newest.entry(group::name(&file.path)).or_insert(file.modified);
        *known = file.modified.max(*known);
    }
    files.sort_by_cached_key(|file| {
        let name = group::name(&file.path);
        let last = newest.get(&name).copied().unwrap_or(file.modified);
        let is_sub_agents = file.path.parent().is_some_and(|it| it.starts_with(&name));
        (std::cmp::Reverse(last), name, is_sub_agents, file.path.clone())
    });
}

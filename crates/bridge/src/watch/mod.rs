//! Watching the sessions of other agents: which there are, what they write, and whether they still run.
//!
//! The agents' own files are read and never touched. [`find`] knows where each agent keeps them, `file_watch`
//! hears when one changes, `tail` reads what is new, `group` is what the files of one session come to, [`life`]
//! asks whether a process is behind it. Nothing here looks at the
//! environment or a clock: homes and times are handed in. Nothing here draws.

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

/// How long until everything is looked at again, while changes are heard; and while they are not.
const SELDOM_MS: i64 = 15_000;
const OFTEN_MS: i64 = 2_000;

/// How often at most a look is repeated because there were new directories.
const MOST_LOOKS: usize = 16;

/// How long until processes are looked at again.
const LIVES_MS: i64 = 3_000;

/// The most sessions that are followed; the newest are.
const MOST_FILES: usize = 2_000;

/// What is watched, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the agents keep their sessions. None of them where only files are watched.
    pub homes: Homes,
    /// Files that were named.
    pub files: Vec<PathBuf>,
    /// How far back a session may have been written to be shown, in milliseconds.
    pub since_ms: i64,
    /// This machine's name.
    pub host: String,
    /// When watching began, in milliseconds since 1970.
    pub started: i64,
    /// The most directories that are listened to.
    pub most_watches: usize,
}

impl Options {
    /// Whether a path is below a place of sessions, or on the way to one. Other things happen beside it: a
    /// home that is not there is awaited in the directory above.
    fn concerns(&self, path: &Path) -> bool {
        let homes = [&self.homes.claude, &self.homes.codex, &self.homes.gemini];
        let places = homes.into_iter().flatten().chain(&self.files);
        let mut places = places.map(PathBuf::as_path);
        places.any(|it| path.starts_with(it) || it.starts_with(path))
    }
}

/// Whoever is told what happens.
pub trait Told {
    /// An event. `live` says that it happened while we watched; the others tell what was before.
    fn event(&mut self, event: &Event<'_>, live: bool);

    /// So much of so much was read of what was there before.
    fn progress(&mut self, _done: u64, _total: u64) {}
}

/// All that is watched.
pub struct Watch {
    options: Options,
    file_watch: FileWatch,
    tails: BTreeMap<PathBuf, Tail>,
    /// What the files of each session come to.
    groups: BTreeMap<PathBuf, Group>,
    lives: Lives,
    /// Directories with the agents' own notes about what runs.
    notes_in: BTreeSet<PathBuf>,
    scanned: Option<i64>,
    looked: Option<i64>,
    /// A file that is not there yet, and whose coming is to be heard.
    awaited: Option<PathBuf>,
}

impl Watch {
    /// Begins to listen. `wake` is called whenever something was heard, from another thread.
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

    /// Wakes when this file comes, from the next look around on; `None` if nothing is awaited any more.
    pub fn awaits(&mut self, file: Option<PathBuf>) {
        self.awaited = file;
    }

    /// Reads what is new, looks everywhere if it is time to, and says whether anything has changed.
    pub fn go_on(&mut self, now: i64, told: &mut dyn Told) -> bool {
        let heard = self.file_watch.heard();
        let is_due = self.scanned.is_none_or(|it| now.saturating_sub(it) >= self.patience());
        let mut look_around = heard.everything || is_due;
        let mut lives = false;
        let mut waiting = BTreeSet::new();
        for path in heard.paths {
            if self.tails.contains_key(&path) {
                waiting.insert(path);
            } else if path.parent().is_some_and(|it| self.notes_in.contains(it)) {
                lives = true;
            } else if self.awaited.as_ref().is_some_and(|it| it.starts_with(&path)) {
                // A directory on the way to it: from now on that one is listened to.
                look_around = true;
            } else if self.options.concerns(&path) {
                // A new file or directory, or one that was too old until now.
                look_around = true;
            }
        }
        let mut changed = false;
        if look_around {
            changed |= self.scan(now, told);
        } else {
            for path in waiting {
                changed |= self.read(&path, now, told);
            }
        }
        changed | self.look(now, lives)
    }

    /// When to go on even if nothing is heard.
    pub fn next(&self) -> i64 {
        let scan = self.scanned.map_or(0, |it| it.saturating_add(self.patience()));
        let look = self.looked.map_or(0, |it| it.saturating_add(LIVES_MS));
        if self.tails.is_empty() { scan } else { scan.min(look) }
    }

    /// What a viewer should know of the watching itself.
    pub fn notes(&self) -> Vec<String> {
        let unread = self.tails.values().filter_map(Tail::trouble);
        self.file_watch.trouble().into_iter().chain(unread).chain(self.drift()).collect()
    }

    /// Sessions of which the todo tools were called in vain. Hardly any has a file that says so, and this is
    /// asked for every frame: so others are looked at only where one does.
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

    /// Every agent that was seen, and what is known of its process.
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

    /// Whether nothing is followed.
    pub fn is_empty(&self) -> bool {
        self.tails.is_empty()
    }

    fn patience(&self) -> i64 {
        if self.file_watch.trouble().is_some() { OFTEN_MS } else { SELDOM_MS }
    }

    /// Looks at all places: what is new is taken up, what is gone is let go.
    fn scan(&mut self, now: i64, told: &mut dyn Told) -> bool {
        self.scanned = Some(now);
        let mut found = self.found(now);
        // What was made in a directory between its being looked at and listened to, nobody hears of.
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
        // The directories are watched before anything is read: no later write is missed.
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
            // At once: of a thousand old sessions no two need their parsers.
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

    /// All that is there to be watched.
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
        // All files of the session are read anew: what they came to together cannot be taken apart.
        for tail in self.tails.values_mut().filter(|it| it.group() == name) {
            tail.forget();
            tail.read(now, group, told);
        }
        true
    }

    /// Looks at processes, if it is time to.
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

/// The sessions that were written last come first, and of each its own file before those of its sub-agents,
/// which work on what it gave them.
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

//! Watches all agents at once: their session files, the plans and sessions of the store, and a
//! pipe.
//!
//! [`Watcher`] joins them into rows, prints JSON lines for programs and records lists as plans. It
//! starts no thread and draws nothing: a front end waits for changes ([`Viewer::follow`], and
//! `wake` in [`Watcher::new`]), calls [`Watcher::look`] and shows the rows. `streams` decides what
//! a row contains.

pub mod archive;
mod json_events;
mod plans;
mod recorder;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use punchlist_bridge::watch::{self, Piped, Watch};
use punchlist_model::PlanId;
use punchlist_model::agents::{Row, SessionFacts, State};
use punchlist_model::call::{News, Question};
use punchlist_model::session::Store;
use punchlist_model::store::Following;
use punchlist_model::store::turns::Conversation;
use punchlist_streams::event::{KindName, KindSet};
use punchlist_streams::watch::{Known, Life, Seen, group, rows, tell};

use crate::around::Around;
use crate::fail::Fail;
use crate::notices::rows::SeenRows;
use crate::notices::{Notice, NoticeKind};
use crate::project;
use json_events::JsonEvents;
use plans::Plans;

pub use punchlist_bridge::watch::find::Homes;
pub use recorder::Recorder;

/// Maximum of directories that are watched.
const MOST_WATCHES: usize = 4_096;

/// The beginning of the note that the store cannot be followed any more.
const LOST: &str = "plans are no longer followed: ";

/// How often the store's sessions are read again: if nothing is heard of the store, and at most while
/// something is.
const SESSIONS_MS: i64 = 5_000;
const SESSIONS_WITH_NEWS_MS: i64 = 1_000;

/// Maximum of notes that are shown.
const MOST_NOTES: usize = 3;

/// What is watched.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the agents keep their sessions. They are watched if no file is named and nothing is
    /// piped in.
    pub homes: Homes,
    /// Files to watch instead, absolute.
    pub files: Vec<PathBuf>,
    /// Whether a stream is piped in, through [`Watcher::pipe`].
    pub is_piped: bool,
    /// Maximum age of a session's last event, in milliseconds.
    pub since_ms: i64,
    /// The kinds of events that are printed as JSON lines.
    pub json: KindSet,
    /// This machine's name.
    pub host: String,
}

impl Options {
    /// Whether sessions are searched for, because no file is named.
    fn finds_sessions(&self) -> bool {
        self.files.is_empty() && !self.is_piped
    }
}

/// A store that was opened, or `None` if it does not exist.
pub type Opened = Result<Option<Arc<dyn Store>>, Fail>;

/// A store that need not exist yet: the first agent that creates a plan creates it.
pub struct StoreSource<'a> {
    /// The file of the store, if known. The watcher wakes up when it appears.
    pub file: Option<PathBuf>,
    /// Opens the store for reading, if it exists.
    pub open: Box<dyn Fn() -> Opened + 'a>,
    /// Reads model and context of the sessions of our own agent.
    pub facts: ReadFacts,
}

/// Reads what only the crate `agent` understands of a stored session.
pub type ReadFacts = for<'a> fn(&'a dyn Store, &'a Conversation) -> BoxFuture<'a, SessionFacts>;

/// The front end of a watcher.
pub trait Viewer {
    /// Prints JSON lines for programs. It is never called without a line.
    fn lines(&mut self, lines: Vec<u8>) -> Result<(), Fail>;

    /// Reports how many bytes of existing sessions were read, of how many.
    fn progress(&mut self, done: u64, total: u64);

    /// A store was opened. From now on the front end waits for its changes and calls
    /// [`Watcher::plan_changed`] or [`Watcher::store_lost`].
    fn follow(&mut self, changes: Following);

    /// The same for everything else in the store: the front end waits for news and calls
    /// [`Watcher::store_changed`].
    fn hear(&mut self, news: News);
}

/// Watches sessions and plans.
pub struct Watcher<'a> {
    options: Options,
    around: Arc<dyn Around>,
    /// The store of plans; `None` if no plans are shown.
    source: Option<StoreSource<'a>>,
    watch: Watch,
    piped: Option<Piped>,
    plans: Plans,
    recorder: Option<Recorder<'a>>,
    /// When the store's sessions were last read.
    sessions_read: Option<i64>,
    /// The rows that were reported as dead.
    dead: Vec<String>,
    /// The project of each directory.
    projects: BTreeMap<String, String>,
    /// Whether questions must be read again, and sessions.
    has_news: bool,
    has_session_news: bool,
    /// The rows as they were, to notice what a person wants to know.
    seen: SeenRows,
    notes: Vec<String>,
}

impl<'a> Watcher<'a> {
    /// Starts to watch. `wake` is called from another thread whenever a file has changed.
    pub fn new(
        options: Options,
        around: Arc<dyn Around>,
        source: Option<StoreSource<'a>>,
        recorder: Option<Recorder<'a>>,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let homes = if options.finds_sessions() { options.homes.clone() } else { Homes::default() };
        let files = watch::Options {
            homes,
            files: options.files.clone(),
            since_ms: options.since_ms,
            host: options.host.clone(),
            started: around.now().as_millisecond(),
            most_watches: MOST_WATCHES,
        };
        let mut watch = Watch::new(files, wake);
        watch.awaits(source.as_ref().and_then(|it| it.file.clone()));
        Self {
            piped: options.is_piped.then(Piped::default),
            options,
            around,
            source,
            watch,
            plans: Plans::default(),
            recorder,
            sessions_read: None,
            dead: Vec::new(),
            projects: BTreeMap::new(),
            has_news: false,
            has_session_news: false,
            seen: SeenRows::default(),
            notes: Vec::new(),
        }
    }

    /// Reads everything new, records it if there is a recorder, and returns all rows.
    pub async fn look(&mut self, viewer: &mut dyn Viewer) -> Result<Vec<Row>, Fail> {
        self.read(viewer).await?;
        let rows = self.rows();
        if let Some(recorder) = &mut self.recorder {
            recorder.record(&*self.around, &streams(&self.watch, self.piped.as_ref())).await?;
        }
        self.report_deaths(&rows, viewer)?;
        Ok(rows)
    }

    /// What has changed in these rows since the last call that a person wants to know. The end of a
    /// turn is nothing while a message waits in the queue. `hooks_tell`: hooks give notices too, so the
    /// ends of their sessions' turns are left to them.
    pub async fn notices(&mut self, rows: &[Row], hooks_tell: bool) -> Vec<Notice> {
        let questions: Vec<&Question> = self.plans.questions().collect();
        let mut notices = Vec::new();
        for (row, notice) in self.seen.see(rows, &questions, self.around.now()) {
            let is_told = hooks_tell && notice.kind == NoticeKind::Done && self.plans.has_hook(row);
            if !is_told && !self.plans.has_follow_up(row).await {
                notices.push(notice);
            }
        }
        notices
    }

    /// The questions that wait for an answer, oldest first.
    pub fn questions(&self) -> impl Iterator<Item = &Question> {
        self.plans.questions()
    }

    /// The store, while it is open.
    pub fn store(&self) -> Option<&Arc<dyn Store>> {
        self.plans.store()
    }

    /// Something in the store may have changed. The next look reads the questions again, and sessions if
    /// they were not read a moment ago.
    pub fn store_changed(&mut self) {
        self.has_news = true;
        self.has_session_news = true;
    }

    /// A plan of the store has changed.
    pub async fn plan_changed(
        &mut self,
        plan: PlanId,
        viewer: &mut dyn Viewer,
    ) -> Result<(), Fail> {
        let read = self.plans.reload(plan).await;
        self.plans.note(None, read);
        self.print_plans(&[plan], viewer)
    }

    /// The store can no longer be followed. The next look opens it again.
    pub fn store_lost(&mut self, why: &str) {
        let note = format!("{LOST}{why}");
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
        self.plans.close();
    }

    /// Handles bytes from the pipe, or the end of the pipe (`None`).
    pub fn pipe(&mut self, bytes: Option<&[u8]>, viewer: &mut dyn Viewer) -> Result<(), Fail> {
        let now = self.now();
        let Some(piped) = &mut self.piped else { return Ok(()) };
        let mut progress = |_, _| {};
        let mut lines = JsonEvents::new(self.options.json, &self.plans, now, &mut progress);
        let is_known = match bytes {
            Some(bytes) => {
                piped.push(bytes, now, &mut lines);
                true
            }
            None => piped.end(now, &mut lines),
        };
        print(lines.take(), viewer)?;
        if is_known {
            return Ok(());
        }
        let why = piped.unknown().unwrap_or_default();
        Err(Fail::usage(why).hint("`punchlist events --from AGENT` reads what it is told to."))
    }

    /// Notes for the viewer about problems.
    pub fn notes(&self) -> Vec<String> {
        let recorder = self.recorder.as_ref().and_then(Recorder::note);
        let own = self.notes.iter().cloned().chain(recorder);
        own.chain(self.plans.notes()).chain(self.watch.notes()).take(MOST_NOTES).collect()
    }

    /// How long to wait before looking again if nothing happens.
    pub fn patience(&self) -> Duration {
        let due = self.watch.next().saturating_sub(self.now()).clamp(0, SESSIONS_MS);
        Duration::from_millis(due.unsigned_abs())
    }

    fn now(&self) -> i64 {
        self.around.now().as_millisecond()
    }

    /// The earliest time of what is shown, in milliseconds since 1970.
    fn since(&self, now: i64) -> i64 {
        now.saturating_sub(self.options.since_ms)
    }

    /// Reads everything new.
    async fn read(&mut self, viewer: &mut dyn Viewer) -> Result<(), Fail> {
        let now = self.now();
        self.read_store(now, viewer).await?;
        let mut progress = |done, total| viewer.progress(done, total);
        let mut lines = JsonEvents::new(self.options.json, &self.plans, now, &mut progress);
        self.watch.go_on(now, &mut lines);
        print(lines.take(), viewer)?;
        // The store may have appeared before its file was watched.
        if self.plans.is_open() { Ok(()) } else { self.read_store(now, viewer).await }
    }

    /// Reads new plans and sessions. What cannot be read becomes a note and stops nothing else.
    async fn read_store(&mut self, now: i64, viewer: &mut dyn Viewer) -> Result<(), Fail> {
        let Some(source) = &self.source else { return Ok(()) };
        let since = self.since(now);
        let mut is_new = false;
        if !self.plans.is_open() {
            let opened = self.plans.open(source).await;
            let read = opened.map(|opened| {
                is_new = opened.is_some();
                if let Some((changes, news)) = opened {
                    viewer.follow(changes);
                    viewer.hear(news);
                }
            });
            self.plans.note(None, read);
        }
        if is_new {
            self.notes.retain(|it| !it.starts_with(LOST));
            self.watch.awaits(None);
            let loaded = self.plans.load(since).await;
            self.plans.note(None, loaded);
            let ids: Vec<PlanId> = self.plans.plans().map(|it| it.1.id).collect();
            self.print_plans(&ids, viewer)?;
        }
        let every = if self.has_session_news { SESSIONS_WITH_NEWS_MS } else { SESSIONS_MS };
        let is_due = self.sessions_read.is_none_or(|it| now.saturating_sub(it) >= every);
        if self.plans.is_open() && (is_due || is_new) {
            self.sessions_read = Some(now);
            self.has_session_news = false;
            let at = self.around.now();
            let read = self.plans.read_sessions(&self.options.host, since, at).await;
            self.plans.note(None, read);
            self.plans.forget(since);
        }
        if self.plans.is_open() && std::mem::take(&mut self.has_news) {
            let read = self.plans.read_questions(since).await;
            self.plans.note(None, read);
        }
        Ok(())
    }

    /// The rows of all sessions and plans, joined.
    fn rows(&mut self) -> Vec<Row> {
        let streams = streams(&self.watch, self.piped.as_ref());
        let finds_sessions = self.options.finds_sessions();
        let now = self.now();
        // Named files are shown regardless of their age.
        let since = finds_sessions.then(|| self.since(now));
        let mut known = Known { streams, since, ..Known::default() };
        if finds_sessions {
            known.sessions = self.plans.sessions().collect();
            known.own_sessions = self.plans.own_sessions().collect();
            known.plans = self.plans.plans().collect();
            known.questions = self.plans.questions().collect();
        }
        let mut rows = rows(&known, now);
        for row in &mut rows {
            row.project = self.project(&row.project);
        }
        group(rows)
    }

    /// The project of a directory; the directory itself if it is not there.
    fn project(&mut self, directory: &str) -> String {
        if directory.is_empty() {
            return String::new();
        }
        let find = || {
            let found = project::find(Path::new(directory));
            found.map_or_else(|_| directory.to_owned(), |it| it.name)
        };
        self.projects.entry(directory.to_owned()).or_insert_with(find).clone()
    }

    /// Reports agents that died, for programs.
    fn report_deaths(&mut self, rows: &[Row], viewer: &mut dyn Viewer) -> Result<(), Fail> {
        let dead: Vec<&Row> = rows.iter().filter(|it| it.state == State::Died).collect();
        let mut lines = Vec::new();
        if self.options.json.has(KindName::Error) {
            let now = self.now();
            for row in dead.iter().filter(|it| !self.dead.contains(&it.key)) {
                tell::died(row, now, &mut lines);
            }
        }
        self.dead = dead.into_iter().map(|it| it.key.clone()).collect();
        print(lines, viewer)
    }

    fn print_plans(&self, ids: &[PlanId], viewer: &mut dyn Viewer) -> Result<(), Fail> {
        if !self.options.json.has(KindName::TodoList) {
            return Ok(());
        }
        let mut lines = Vec::new();
        for (key, plan) in ids.iter().filter_map(|id| self.plans.plan(*id)) {
            tell::plan(key, plan, &mut lines);
        }
        print(lines, viewer)
    }
}

fn print(lines: Vec<u8>, viewer: &mut dyn Viewer) -> Result<(), Fail> {
    if lines.is_empty() { Ok(()) } else { viewer.lines(lines) }
}

/// Every agent in a file or in the pipe, and what is known of its process.
fn streams<'a>(watch: &'a Watch, piped: Option<&'a Piped>) -> Vec<(&'a Seen, Life)> {
    let mut streams = watch.streams();
    let piped = piped.into_iter().flat_map(Piped::agents);
    streams.extend(piped.map(|it| (it, Life::Unknown)));
    streams
}

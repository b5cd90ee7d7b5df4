//! The engine of `punchlist watch`: one loop that is woken, reads what is new, and shows it.
//!
//! It joins the rooms: files and processes from `bridge`, plans from the store, rows and their look from
//! `formats`. What a row says is decided there, never here.

mod keep;
mod plans;
mod show;
mod told;
mod wake;

use std::env;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use punchlist_bridge::watch::find::Homes;
use punchlist_bridge::watch::{Options, Piped, Watch};
use punchlist_model::PlanId;
use punchlist_model::agents::{Row, State};
use punchlist_streams::event::{KindName, KindSet};
use punchlist_streams::watch::{Known, Life, rows, tell};

use crate::app::App;
use crate::error::{Code, Fail};
use crate::print::Reply;
use crate::{clock, identity, places, print};
use keep::Keeper;
use plans::Plans;
use show::{Pressed, Show};
use told::Lines;
use wake::{Sort, Wake};

/// The most directories that are listened to.
const MOST_WATCHES: usize = 4_096;

/// How often spans of time on the screen are brought up to date.
const TICK: Duration = Duration::from_secs(1);

/// How the note begins that says that the store is not where it was.
const LOST: &str = "plans are no longer followed: ";

/// How often the store's sessions are looked at; nobody tells when one is written.
const SESSIONS_MS: i64 = 5_000;

/// Drawing may take one part in so many of the time.
const SHARE: u32 = 5;

/// The longest that a frame may wait for what else comes.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// What is asked for.
pub(crate) struct Ask {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) since_ms: i64,
    pub(crate) record: bool,
    pub(crate) only: KindSet,
    pub(crate) once: bool,
}

/// Watches until it is told to end.
pub(crate) fn run(app: &App, ask: Ask) -> Result<Reply, Fail> {
    let (tell, woken) = channel();
    let is_piped = ask.files.iter().any(|it| it.as_os_str() == "-");
    let files: Vec<PathBuf> =
        ask.files.iter().filter(|it| it.as_os_str() != "-").map(|it| at(app, it)).collect();
    for file in &files {
        check(file)?;
    }
    let by_itself = ask.files.is_empty();
    let options = Options {
        homes: if by_itself { homes() } else { Homes::default() },
        files,
        since_ms: ask.since_ms,
        host: identity::host(),
        started: now(),
        most_watches: MOST_WATCHES,
    };
    let wake = tell.clone();
    let mut watch = Watch::new(options, move || drop(wake.send(Wake::Files)));
    // The first agent that plans something makes the database.
    watch.awaits(app.database().ok().filter(|_| by_itself || ask.record).cloned());
    // Before the terminal is taken over: whoever interrupts finds it as it was.
    wake::signals(tell.clone());
    let screen = app.screen();
    let mut engine = Engine {
        app,
        show: Show::open(app, screen, ask.once)?,
        keeper: Keeper::new(app, ask.record)?,
        with_store: by_itself || ask.record,
        ask,
        watch,
        piped: is_piped.then(Piped::default),
        plans: Plans::default(),
        tell,
        looked: None,
        dead: Vec::new(),
        notes: Vec::new(),
        exit: None,
    };
    engine.begin();
    engine.run(&woken)
}

struct Engine<'a> {
    app: &'a App,
    ask: Ask,
    watch: Watch,
    piped: Option<Piped>,
    plans: Plans,
    /// Whether plans of the store are shown.
    with_store: bool,
    show: Show,
    keeper: Keeper,
    tell: Sender<Wake>,
    /// When the store's sessions were looked at.
    looked: Option<i64>,
    /// The rows that were told to have died.
    dead: Vec<String>,
    notes: Vec<String>,
    /// Set when it is time to leave.
    exit: Option<Result<u8, Fail>>,
}

impl Engine<'_> {
    fn begin(&mut self) {
        if let Some(keyboard) = self.show.keyboard() {
            wake::keys(keyboard, self.tell.clone());
        }
        if self.piped.is_some() {
            wake::stdin(self.tell.clone());
        }
    }

    fn run(mut self, woken: &Receiver<Wake>) -> Result<Reply, Fail> {
        loop {
            let began = Instant::now();
            self.look()?;
            let rows = self.rows();
            self.keep()?;
            let open = self.tell_rows(&rows)?;
            let is_over = self.exit.is_some() || (self.ask.once && self.piped.is_none());
            let notes = self.notes();
            let open = open && self.show.rows(&rows, &notes, is_over)?;
            if !open || is_over {
                break;
            }
            // Whoever is told much draws less often.
            let pause = began.elapsed() * SHARE;
            self.wait(woken, Instant::now() + pause.min(LONGEST_PAUSE));
        }
        self.show.leave();
        let exit = match self.exit {
            Some(Ok(exit)) => exit,
            Some(Err(fail)) => return Err(fail),
            None => 0,
        };
        Ok(Reply { exit, ..Reply::default() })
    }

    /// Reads what is new, everywhere.
    fn look(&mut self) -> Result<(), Fail> {
        let now = now();
        self.look_at_store(now)?;
        let mut progress = self.show.progress();
        let only = if self.app.globals.json { self.ask.only } else { KindSet::NONE };
        let mut lines = Lines::new(only, &self.plans, now, &mut progress);
        self.watch.go_on(now, &mut lines);
        let lines = lines.take();
        drop(progress);
        self.print(lines)?;
        // It may have come while nobody listened where it came.
        if self.plans.is_open() { Ok(()) } else { self.look_at_store(now) }
    }

    /// Reads plans and sessions that are new. What cannot be read is told, and stops nothing.
    fn look_at_store(&mut self, now: i64) -> Result<(), Fail> {
        if !self.with_store {
            return Ok(());
        }
        let since = self.since(now);
        let is_due = self.looked.is_none_or(|it| now.saturating_sub(it) >= SESSIONS_MS);
        let opened = if self.plans.is_open() {
            false
        } else {
            let opened = self.plans.open(self.app, &self.tell);
            let is_new = matches!(opened, Ok(true));
            self.plans.note(None, opened.map(drop));
            is_new
        };
        if opened {
            self.notes.retain(|it| !it.starts_with(LOST));
            self.watch.awaits(None);
            let loaded = self.plans.load(since);
            self.plans.note(None, loaded);
            let ids: Vec<PlanId> = self.plans.plans().map(|it| it.1.id).collect();
            self.tell_plans(&ids)?;
        }
        if self.plans.is_open() && (is_due || opened) {
            self.looked = Some(now);
            let looked = self.plans.look(&identity::host(), since);
            self.plans.note(None, looked);
            self.plans.forget(since);
        }
        Ok(())
    }

    /// When what is shown may have begun, in milliseconds since 1970.
    fn since(&self, now: i64) -> i64 {
        now.saturating_sub(self.ask.since_ms)
    }

    /// What is known, joined.
    fn rows(&self) -> Vec<Row> {
        let mut streams = self.watch.streams();
        if let Some(piped) = &self.piped {
            streams.extend(piped.agents().iter().map(|it| (it, Life::Unknown)));
        }
        let (sessions, plans) = if self.ask.files.is_empty() {
            (self.plans.sessions().collect(), self.plans.plans().collect())
        } else {
            (Vec::new(), Vec::new())
        };
        let now = now();
        // Files that were named are shown however old they are.
        let since = self.ask.files.is_empty().then(|| self.since(now));
        rows(&Known { streams, sessions, plans, since }, now)
    }

    fn keep(&mut self) -> Result<(), Fail> {
        let mut streams = self.watch.streams();
        if let Some(piped) = &self.piped {
            streams.extend(piped.agents().iter().map(|it| (it, Life::Unknown)));
        }
        self.keeper.keep(self.app, &streams)
    }

    fn notes(&self) -> Vec<String> {
        let own = self.notes.iter().cloned().chain(self.keeper.note());
        own.chain(self.plans.notes()).chain(self.watch.notes()).take(3).collect()
    }

    /// Tells programs of agents that died.
    fn tell_rows(&mut self, rows: &[Row]) -> Result<bool, Fail> {
        let dead: Vec<&Row> = rows.iter().filter(|it| it.state == State::Died).collect();
        let mut lines = Vec::new();
        if self.app.globals.json && self.ask.only.has(KindName::Error) {
            for row in dead.iter().filter(|it| !self.dead.contains(&it.key)) {
                tell::died(row, now(), &mut lines);
            }
        }
        self.dead = dead.into_iter().map(|it| it.key.clone()).collect();
        self.print(lines)?;
        Ok(self.exit.is_none() || !self.app.globals.json)
    }

    fn tell_plans(&mut self, ids: &[PlanId]) -> Result<(), Fail> {
        if !self.app.globals.json || !self.ask.only.has(KindName::TodoList) {
            return Ok(());
        }
        let mut lines = Vec::new();
        for id in ids {
            if let Some((key, plan)) = self.plans.plan(*id) {
                tell::plan(key, plan, &mut lines);
            }
        }
        self.print(lines)
    }

    /// Prints lines for programs. When nobody reads any more, it is time to leave.
    fn print(&mut self, lines: Vec<u8>) -> Result<(), Fail> {
        if !lines.is_empty() && !print::live_json(lines)? {
            self.exit = Some(Ok(0));
        }
        Ok(())
    }

    /// Waits until something happens or it is time to look again, but not less than until `rested`.
    fn wait(&mut self, woken: &Receiver<Wake>, rested: Instant) {
        let due = self.watch.next().saturating_sub(now()).max(0);
        let due = Duration::from_millis(u64::try_from(due).unwrap_or(0));
        let patience = if self.show.is_live() { due.min(TICK) } else { due };
        let patience = patience.min(Duration::from_millis(SESSIONS_MS.unsigned_abs()));
        match woken.recv_timeout(patience.max(Duration::from_millis(1))) {
            Ok(wake) => self.take(wake),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        }
        // What comes while we would still rest from the last frame goes into the next; but a frame there
        // must be, however much comes.
        let latest = Instant::now().max(rested) + LONGEST_PAUSE;
        while self.exit.is_none() && Instant::now() < latest {
            let left = rested.saturating_duration_since(Instant::now());
            match woken.recv_timeout(left) {
                Ok(wake) => self.take(wake),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn take(&mut self, wake: Wake) {
        let came = match wake {
            Wake::Files => Ok(()),
            Wake::Plan(id) => {
                let read = self.plans.reload(id);
                self.plans.note(None, read);
                self.tell_plans(&[id])
            }
            Wake::NoPlans(why) => {
                let note = format!("{LOST}{why}");
                if !self.notes.contains(&note) {
                    self.notes.push(note);
                }
                // Whatever stands there now is opened with the next look.
                self.plans.close();
                Ok(())
            }
            Wake::Key(key) => {
                if self.show.key(key) == Pressed::Leave {
                    self.exit = Some(Ok(0));
                }
                Ok(())
            }
            Wake::Signal(Sort::Leave(code)) => {
                self.exit = Some(Ok(code));
                Ok(())
            }
            Wake::Signal(Sort::Resize) => {
                self.show.resized();
                Ok(())
            }
            Wake::Signal(Sort::Pause) => self.show.pause(),
            Wake::Signal(Sort::Resume) => self.show.resume(),
            Wake::Bytes(bytes) => self.piped_in(Some(&bytes)),
            Wake::End(why) => {
                let ended = self.piped_in(None);
                self.exit = Some(match why {
                    Some(why) => Err(Fail::ours(format!("cannot read stdin: {why}"))),
                    None => Ok(0),
                });
                ended
            }
        };
        if let Err(fail) = came {
            self.exit = Some(Err(fail));
        }
    }

    /// Takes bytes that came through the pipe, or its end.
    fn piped_in(&mut self, bytes: Option<&[u8]>) -> Result<(), Fail> {
        let Some(piped) = &mut self.piped else { return Ok(()) };
        let only = if self.app.globals.json { self.ask.only } else { KindSet::NONE };
        let mut progress = |_, _| {};
        let mut lines = Lines::new(only, &self.plans, now(), &mut progress);
        let is_known = match bytes {
            Some(bytes) => {
                piped.push(bytes, now(), &mut lines);
                true
            }
            None => piped.end(now(), &mut lines),
        };
        let lines = lines.take();
        self.print(lines)?;
        if is_known {
            return Ok(());
        }
        let why = self.piped.as_ref().and_then(Piped::unknown).unwrap_or_default();
        Err(Fail::usage(why).hint("`punchlist events --from AGENT` reads what it is told to."))
    }
}

/// The time in milliseconds since 1970.
fn now() -> i64 {
    clock::now().as_millisecond()
}

/// A file as seen from where the call is made.
fn at(app: &App, file: &Path) -> PathBuf {
    let file = app.globals.directory.as_deref().map_or_else(|| file.to_owned(), |it| it.join(file));
    std::path::absolute(&file).unwrap_or(file)
}

/// A file that is not there may yet come, if it has a place to come to.
fn check(file: &Path) -> Result<(), Fail> {
    if file.is_dir() {
        return Err(Fail::usage(format!("{} is a directory", file.display()))
            .hint("name a file; without one, all sessions are found."));
    }
    if !file.exists() && !file.parent().is_some_and(Path::is_dir) {
        return Err(Fail::new(Code::NotFound, format!("there is no {}", file.display())));
    }
    Ok(())
}

/// Where the agents keep their sessions: where they are told to, else in the user's home.
fn homes() -> Homes {
    let set = |name: &str| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let home = |name: &str| places::home().map(|it| it.join(name));
    // Unlike the others, Gemini's variable names the directory that its own is in.
    let gemini = set("GEMINI_CLI_HOME").map(|it| it.join(".gemini"));
    Homes {
        claude: set("CLAUDE_CONFIG_DIR").or_else(|| home(".claude")),
        codex: set("CODEX_HOME").or_else(|| home(".codex")),
        gemini: gemini.or_else(|| home(".gemini")),
        acp: places::acp_lists().ok(),
    }
}

//! `punchlist watch` at a terminal or for a program: one loop that is woken, looks, and shows the rows.
//!
//! The engine's watcher reads, joins and records. Here are the sources of wakes, the view and the way out.

mod show;
mod wake;

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use punchlist_engine::watch::{Homes, Options, Recorder, StoreSource, Viewer, Watcher};
use punchlist_model::agents::Row;
use punchlist_model::store::Following;
use punchlist_streams::event::KindSet;

use crate::app::App;
use crate::block_on;
use crate::clock::Clock;
use crate::error::{Code, Fail};
use crate::print::Reply;
use crate::{identity, places, print};
use show::{Pressed, Show};
use wake::{Sort, Wake};

/// How often spans of time on the screen are brought up to date.
const TICK: Duration = Duration::from_secs(1);

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
    let finds_sessions = ask.files.is_empty();
    let is_piped = ask.files.iter().any(|it| it.as_os_str() == "-");
    let files: Vec<PathBuf> =
        ask.files.iter().filter(|it| it.as_os_str() != "-").map(|it| at(app, it)).collect();
    for file in &files {
        check(file)?;
    }
    let options = Options {
        homes: homes(),
        files,
        is_piped,
        since_ms: ask.since_ms,
        json: if app.globals.json { ask.only } else { KindSet::NONE },
        host: identity::host(),
    };
    let source =
        StoreSource { file: app.database().ok().cloned(), open: Box::new(|| app.store_to_read()) };
    let source = (finds_sessions || ask.record).then_some(source);
    let recorder = if ask.record { Some(recorder(app)?) } else { None };
    let wake = tell.clone();
    let wake = move || drop(wake.send(Wake::Files));
    let watcher = Watcher::new(options, Arc::new(Clock), source, recorder, wake);
    // Before the terminal is taken over: whoever interrupts finds it as it was.
    wake::signals(tell.clone());
    let show = Show::open(app, app.screen(), ask.once)?;
    if let Some(keyboard) = show.keyboard() {
        wake::keys(keyboard, tell.clone());
    }
    if is_piped {
        wake::stdin(tell.clone());
    }
    let watching = Watching {
        watcher,
        output: Output { show, tell, is_closed: false },
        for_programs: app.globals.json,
        ends_at_once: ask.once && !is_piped,
        exit: None,
    };
    watching.run(&woken)
}

/// Records in the store, which is made if it does not exist.
fn recorder(app: &App) -> Result<Recorder<'_>, Fail> {
    let store = app.store()?;
    let mut lock = app.database()?.clone().into_os_string();
    lock.push("-watch");
    Ok(Recorder::new(store, app.settings()?.conversation(), lock.into(), identity::host()))
}

/// Where rows and lines go.
struct Output {
    show: Show,
    tell: Sender<Wake>,
    /// Nobody reads the lines any more.
    is_closed: bool,
}

impl Viewer for Output {
    fn lines(&mut self, lines: Vec<u8>) -> Result<(), Fail> {
        self.is_closed |= !print::live_json(lines)?;
        Ok(())
    }

    fn progress(&mut self, done: u64, total: u64) {
        self.show.progress(done, total);
    }

    fn follow(&mut self, changes: Following) {
        wake::plans(changes, self.tell.clone());
    }
}

struct Watching<'a> {
    watcher: Watcher<'a>,
    output: Output,
    /// Events are printed for programs, and no rows are shown.
    for_programs: bool,
    /// What is known is shown once.
    ends_at_once: bool,
    /// Set when it is time to leave.
    exit: Option<Result<u8, Fail>>,
}

impl Watching<'_> {
    fn run(mut self, woken: &Receiver<Wake>) -> Result<Reply, Fail> {
        loop {
            let began = Instant::now();
            self.output.show.begin_reading();
            let rows = block_on(self.watcher.look(&mut self.output))?;
            self.leave_if_closed();
            let is_over = self.exit.is_some() || self.ends_at_once;
            if !self.show(&rows, is_over)? || is_over {
                break;
            }
            // Whoever is told much draws less often.
            let pause = began.elapsed() * SHARE;
            self.wait(woken, Instant::now() + pause.min(LONGEST_PAUSE));
        }
        self.output.show.leave();
        let exit = match self.exit {
            Some(Ok(exit)) => exit,
            Some(Err(fail)) => return Err(fail),
            None => 0,
        };
        Ok(Reply { exit, ..Reply::default() })
    }

    /// Shows the rows. Says whether anybody looks.
    fn show(&mut self, rows: &[Row], is_over: bool) -> Result<bool, Fail> {
        if self.for_programs && self.exit.is_some() {
            return Ok(false);
        }
        self.output.show.rows(rows, &self.watcher.notes(), is_over)
    }

    /// When nobody reads the lines any more, it is time to leave.
    fn leave_if_closed(&mut self) {
        if self.output.is_closed {
            self.exit = Some(Ok(0));
        }
    }

    /// Waits until something happens or it is time to look again, but not less than until `rested`.
    fn wait(&mut self, woken: &Receiver<Wake>, rested: Instant) {
        let due = self.watcher.patience();
        let patience = if self.output.show.is_live() { due.min(TICK) } else { due };
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
            Wake::Plan(id) => block_on(self.watcher.plan_changed(id, &mut self.output)),
            Wake::NoPlans(why) => {
                self.watcher.store_lost(&why);
                Ok(())
            }
            Wake::Key(key) => {
                if self.output.show.key(key) == Pressed::Leave {
                    self.exit = Some(Ok(0));
                }
                Ok(())
            }
            Wake::Signal(Sort::Leave(code)) => {
                self.exit = Some(Ok(code));
                Ok(())
            }
            Wake::Signal(Sort::Resize) => {
                self.output.show.resized();
                Ok(())
            }
            Wake::Signal(Sort::Pause) => self.output.show.pause(),
            Wake::Signal(Sort::Resume) => self.output.show.resume(),
            Wake::Bytes(bytes) => self.watcher.pipe(Some(&bytes), &mut self.output),
            Wake::End(why) => {
                let ended = self.watcher.pipe(None, &mut self.output);
                self.exit = Some(match why {
                    Some(why) => Err(Fail::ours(format!("cannot read stdin: {why}"))),
                    None => Ok(0),
                });
                ended
            }
        };
        if let Err(fail) = came {
            self.exit = Some(Err(fail));
        } else if self.exit.is_none() {
            self.leave_if_closed();
        }
    }
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

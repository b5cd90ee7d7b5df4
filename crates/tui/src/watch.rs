//! Shows all agents, at a terminal or for a program: one loop that waits for a wake-up, reads, and
//! shows the rows.
//!
//! The engine's watcher reads, joins and records. `wake` has the sources of wake-ups, `selection`
//! the viewer's selection, `show` the outputs.

mod selection;
mod show;
mod wake;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use pollster::block_on;
use punchlist_engine::Around;
use punchlist_engine::fail::Fail;
use punchlist_engine::watch::{self, Recorder, StoreSource, Viewer, Watcher};
use punchlist_model::agents::Row;
use punchlist_model::store::Following;

use crate::options::Options;
use crate::terminal::output;
use crate::terminal::signals::Request;
use show::Show;
use wake::Wake;

/// How often durations on the screen are updated.
const TICK: Duration = Duration::from_secs(1);

/// Drawing may take at most one part in this many of the time.
const SHARE: u32 = 5;

/// How long a frame may be delayed to include further changes.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// The options of a watch.
pub struct Watch<'a> {
    /// The sessions and files to watch.
    pub options: watch::Options,
    /// The store to read plans from, if plans are shown.
    pub source: Option<StoreSource<'a>>,
    /// Records lists as plans, if given.
    pub recorder: Option<Recorder<'a>>,
    /// The clock.
    pub around: Arc<dyn Around>,
    /// Whether to show the present state once and end.
    pub once: bool,
    /// Suggestions for agents without a list: the agent, and the command that sets it up.
    pub offers: Vec<(String, String)>,
}

/// Watches until it is interrupted. Returns the exit code.
pub fn run(watch: Watch<'_>, options: Options) -> Result<u8, Fail> {
    let Watch { options: watched, source, recorder, around, once, offers } = watch;
    let (tell, woken) = channel();
    let wake = tell.clone();
    let wake = move || drop(wake.send(Wake::Files));
    let is_piped = watched.is_piped;
    let watcher = Watcher::new(watched, around.clone(), source, recorder, wake);
    // Before the terminal is taken over, so that an interrupt restores it.
    wake::signals(tell.clone());
    let for_programs = options.json;
    let show = Show::open(options, once, offers, around)?;
    if let Some(keyboard) = show.keyboard() {
        wake::keys(keyboard, tell.clone());
    }
    if is_piped {
        wake::stdin(tell.clone());
    }
    let watching = Watching {
        watcher,
        output: Output { show, tell, is_closed: false },
        for_programs,
        ends_at_once: once && !is_piped,
        exit: None,
    };
    watching.run(&woken)
}

/// The outputs for rows and lines.
struct Output {
    show: Show,
    tell: Sender<Wake>,
    /// Whether nobody reads the lines any more.
    is_closed: bool,
}

impl Viewer for Output {
    fn lines(&mut self, lines: Vec<u8>) -> Result<(), Fail> {
        self.is_closed |= !output::live_json(lines)?;
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
    /// Whether events are printed as JSON, instead of rows.
    for_programs: bool,
    /// Whether to end after the first view.
    ends_at_once: bool,
    /// The exit code, once it is time to leave.
    exit: Option<Result<u8, Fail>>,
}

impl Watching<'_> {
    fn run(mut self, woken: &Receiver<Wake>) -> Result<u8, Fail> {
        loop {
            let began = Instant::now();
            self.output.show.begin_reading();
            let rows = block_on(self.watcher.look(&mut self.output))?;
            self.leave_if_closed();
            let is_over = self.exit.is_some() || self.ends_at_once;
            if !self.show(&rows, is_over)? || is_over {
                break;
            }
            // A slow frame is followed by a longer pause.
            let pause = began.elapsed() * SHARE;
            self.wait(woken, Instant::now() + pause.min(LONGEST_PAUSE));
        }
        self.output.show.leave();
        self.exit.unwrap_or(Ok(0))
    }

    /// Shows the rows. Returns whether anybody still reads.
    fn show(&mut self, rows: &[Row], is_over: bool) -> Result<bool, Fail> {
        if self.for_programs && self.exit.is_some() {
            return Ok(false);
        }
        self.output.show.rows(rows, &self.watcher.notes(), is_over)
    }

    /// Leaves if nobody reads the lines any more.
    fn leave_if_closed(&mut self) {
        if self.output.is_closed {
            self.exit = Some(Ok(0));
        }
    }

    /// Waits for a wake-up or the next tick, and at least until `rested`.
    fn wait(&mut self, woken: &Receiver<Wake>, rested: Instant) {
        let due = self.watcher.patience();
        let patience = if self.output.show.is_live() { due.min(TICK) } else { due };
        match woken.recv_timeout(patience.max(Duration::from_millis(1))) {
            Ok(wake) => self.take(wake),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        }
        // Wake-ups during the pause are included in the next frame, but a steady flow of them must
        // not delay the frame for ever.
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
                if self.output.show.key(&key) {
                    self.exit = Some(Ok(0));
                }
                Ok(())
            }
            Wake::Signal(Request::Leave(code)) => {
                self.exit = Some(Ok(code));
                Ok(())
            }
            Wake::Signal(Request::Resize) => {
                self.output.show.resized();
                Ok(())
            }
            Wake::Signal(Request::Pause) => self.output.show.pause(),
            Wake::Signal(Request::Resume) => self.output.show.resume(),
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

//! Shows all agents, at a terminal or for a program: one loop that waits for a wake-up, reads, and
//! shows the rows.
//!
//! `feed` has the rows for the terminal UI, whose dialog shows the same board.
//!
//! The engine's watcher reads, joins and records. `wake` has the sources of wake-ups, `selection`
//! the viewer's selection, `answering` the question that is being answered, `reply` the reply that is
//! typed, `board` the picture of all of them, `show` the outputs.

mod answering;
mod board;
mod feed;
mod own_text;
mod reply;
mod selection;
mod show;
mod wake;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use pollster::block_on;
use punchlist_engine::Around;
use punchlist_engine::fail::Fail;
use punchlist_engine::watch::archive::Archive;
use punchlist_engine::watch::{self, Recorder, StoreSource, Viewer, Watcher};
use punchlist_model::agents::Row;
use punchlist_model::call::{Answer, News, Question};
use punchlist_model::store::Following;
use punchlist_model::{ConversationId, QuestionId};

use crate::keys::Key;
use crate::notify::Notify;
use crate::options::Options;
use crate::terminal::output;
use crate::terminal::signals::Request;
use answering::answered_elsewhere;
pub(crate) use answering::{Answering, Step};
pub use answering::{Answers, Wake as WakeSession};
pub(crate) use board::Board;
pub use feed::AgentSource;
pub(crate) use feed::{AgentFeed, AgentsSeen};
pub(crate) use reply::{ReplyStep, Replying, asks_its_user};
pub(crate) use selection::Pressed;
use show::{Show, Shown};
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
    /// The rows that a person has put away, if they are kept.
    pub archive: Option<Archive>,
    /// Who answers questions in place, if a person is there.
    pub answers: Option<Answers>,
    /// Tells a person who is not at the terminal, if given.
    pub notify: Option<Notify>,
    /// Shows only one agent, in a narrow split.
    pub pane: Option<Pane>,
}

/// Which agent is shown in a narrow split.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pane {
    /// The beginning or the end of the id of its session. Without one, the agent that comes first.
    pub session: Option<String>,
    /// The project whose agents come before all others.
    pub project: Option<String>,
}

impl Pane {
    /// The agent to show.
    fn chosen<'a>(&self, rows: &'a [Row]) -> Option<&'a Row> {
        if let Some(session) = &self.session {
            let is_it = |row: &&Row| {
                let id = row.key.split('/').nth(1).unwrap_or_default();
                id.starts_with(session.as_str()) || id.ends_with(session.as_str())
            };
            return rows.iter().find(is_it);
        }
        let is_near = |row: &&Row| self.project.as_ref() == Some(&row.project);
        let agents = || rows.iter().filter(|it| it.sub_agent.is_none());
        agents().find(is_near).or_else(|| agents().next())
    }
}

/// Watches until it is interrupted. Returns the exit code.
pub fn run(watch: Watch<'_>, options: Options) -> Result<u8, Fail> {
    let Watch { options: watched, source, recorder, around, once, .. } = watch;
    let shown =
        Shown { offers: watch.offers, archive: watch.archive, is_pane: watch.pane.is_some() };
    let (tell, woken) = channel();
    let wake = tell.clone();
    let wake = move || drop(wake.send(Wake::Files));
    let is_piped = watched.is_piped;
    let watcher = Watcher::new(watched, Arc::clone(&around), source, recorder, wake);
    // Before the terminal is taken over, so that an interrupt restores it.
    wake::signals(tell.clone());
    let for_programs = options.json;
    let show = Show::open(options, once, shown, Arc::clone(&around))?;
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
        around,
        rows: Vec::new(),
        answers: watch.answers,
        notify: watch.notify,
        pane: watch.pane,
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

    fn hear(&mut self, news: News) {
        wake::news(news, self.tell.clone());
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
    around: Arc<dyn Around>,
    /// The rows of the last look.
    rows: Vec<Row>,
    answers: Option<Answers>,
    notify: Option<Notify>,
    pane: Option<Pane>,
}

impl Watching<'_> {
    fn run(mut self, woken: &Receiver<Wake>) -> Result<u8, Fail> {
        loop {
            let began = Instant::now();
            self.output.show.begin_reading();
            let rows = block_on(self.watcher.look(&mut self.output))?;
            self.tell_notices(&rows);
            self.rows = self.with_last_lines(rows);
            self.forget_answered();
            self.leave_if_closed();
            let is_over = self.exit.is_some() || self.ends_at_once;
            if !self.show(is_over)? || is_over {
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
    fn show(&mut self, is_over: bool) -> Result<bool, Fail> {
        if self.for_programs && self.exit.is_some() {
            return Ok(false);
        }
        let one = self.pane.as_ref().map(|it| it.chosen(&self.rows).cloned());
        let rows = match &one {
            Some(row) => row.as_slice(),
            None => &self.rows,
        };
        self.output.show.rows(rows, &self.watcher.notes(), is_over)
    }

    /// Tells a person who is not at the terminal what has changed.
    fn tell_notices(&mut self, rows: &[Row]) {
        let Some(notify) = &mut self.notify else { return };
        let now = self.around.now();
        for notice in block_on(self.watcher.notices(rows, notify.has_command())) {
            notify.give(&notice, now);
        }
    }

    /// The rows, with the last text of our own agent in the row that is open.
    fn with_last_lines(&self, mut rows: Vec<Row>) -> Vec<Row> {
        let opened = self.output.show.board.opened();
        let row = rows.iter_mut().find(|it| Some(it.key.as_str()) == opened && it.turns > 0);
        if let Some((row, store)) = row.zip(self.watcher.store()) {
            row.said = block_on(own_text::last(&**store, &row.key)).unwrap_or_default();
        }
        rows
    }

    /// Takes questions off the screen that were answered elsewhere.
    fn forget_answered(&mut self) {
        let waiting: Vec<QuestionId> = self.watcher.questions().map(|it| it.asked.id).collect();
        let Some(answering) = self.output.show.board.answering() else { return };
        let mut told = None;
        for id in answering.gone(&waiting) {
            told = answering.question(id).map(|it| answered_elsewhere(self.watcher.store(), it));
            answering.settle(id);
        }
        if let Some(text) = told {
            self.output.show.board.tell(text);
        }
    }

    /// Handles a key.
    fn key(&mut self, key: &Key) -> Result<(), Fail> {
        if let Some(notify) = &mut self.notify {
            notify.key(key);
        }
        if self.output.show.board.answering().is_some() && *key != Key::Ctrl('c') {
            if let Step::Answer(id, answer) = self.output.show.board.answer_key(key) {
                self.answer(id, *answer);
            }
            return Ok(());
        }
        if *key != Key::Ctrl('c')
            && let Some(step) = self.output.show.board.reply_key(key)
        {
            if let ReplyStep::Send(id, text) = step {
                self.reply(id, text);
            }
            return Ok(());
        }
        match self.output.show.board.key(key) {
            Pressed::Leave => self.exit = Some(Ok(0)),
            Pressed::Archive(row) => {
                if let Some(row) = self.rows.iter().find(|it| it.key == row) {
                    self.output.show.board.archive(row)?;
                }
            }
            Pressed::Answer(row) => self.ask(row.as_deref()),
            Pressed::Redraw => self.output.show.redraw(),
            Pressed::Stay => {}
        }
        Ok(())
    }

    /// Asks the questions of a row, or all questions, at this terminal.
    fn ask(&mut self, row: Option<&str>) {
        let row = row.and_then(|key| self.rows.iter().find(|it| it.key == key));
        let is_of = |it: &&Question| match row {
            Some(row) => row.question.is_some_and(|id| id == it.asked.id),
            None => true,
        };
        let questions: Vec<Question> = self.watcher.questions().filter(is_of).cloned().collect();
        let Some(answers) = &self.answers else {
            let text = "questions are answered by a person at a terminal";
            return self.output.show.board.tell(text.to_owned());
        };
        let replying = self.session_that_asks(row);
        match (Answering::new(questions, &answers.rules_file), replying) {
            (Some(answering), _) => self.output.show.board.ask(answering),
            (None, Some(replying)) => self.output.show.board.reply(replying),
            (None, None) => {
                let text = "no question can be answered here: answer it where the agent runs";
                self.output.show.board.tell(text.to_owned());
            }
        }
    }

    /// A session of our own agent that asks its user something: that of the row, or the first.
    fn session_that_asks(&self, row: Option<&Row>) -> Option<Replying> {
        let row = match row {
            Some(row) => Some(row).filter(|it| asks_its_user(it)),
            None => self.rows.iter().find(|it| asks_its_user(it)),
        }?;
        let store = self.watcher.store()?;
        let said = block_on(own_text::last(&**store, &row.key)).unwrap_or_default();
        Replying::to(row, &said)
    }

    /// Gives a session the reply that a person typed.
    fn reply(&mut self, id: ConversationId, text: String) {
        let Some(answers) = &self.answers else { return };
        let told = answers.reply(id, text, &self.around);
        self.output.show.board.tell(told.unwrap_or_else(|why| why.message));
        self.watcher.store_changed();
    }

    fn answer(&mut self, id: QuestionId, answer: Answer) {
        let (Some(answers), Some(answering)) = (&self.answers, self.output.show.board.answering())
        else {
            return;
        };
        let Some(question) = answering.question(id).cloned() else { return };
        answering.settle(id);
        let told = answers.give(&question, answer, self.around.now());
        self.output.show.board.tell(told.unwrap_or_else(|why| why.message));
        self.watcher.store_changed();
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
            Wake::Store => {
                self.watcher.store_changed();
                Ok(())
            }
            Wake::Key(key) => self.key(&key),
            Wake::Signal(Request::Leave(code)) => {
                self.exit = Some(Ok(code));
                Ok(())
            }
            Wake::Signal(Request::Resize) => {
                self.output.show.redraw();
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

//! The loops of a team: at a terminal, where a person types; and elsewhere, with messages one after the
//! other, as lines or as events.

use std::collections::VecDeque;
use std::io::BufRead;
use std::thread;
use std::time::Duration;

use punchlist_agent::team::{Report, Team, TeamMessage};
use punchlist_engine::fail::Fail;
use punchlist_formats::text::Line;
use punchlist_formats::view::questions::{self, Below};
use punchlist_model::call::{Answer, Asked};
use punchlist_model::{QuestionId, Timestamp};
use punchlist_streams::event::owned::{AgentEvent, Kind};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, sleep_until};

use super::model::{Intent, Model, Msg, TakeOut};
use super::notices::TeamNotices;
use super::update::{note, update, wrong};
use super::view::{finished, view};
use crate::input::Entered;
use crate::keys::Key;
use crate::notify::Notify;
use crate::options::Options;
use crate::prompt::Prompt;
use crate::terminal::frame::{Picture, Size};
use crate::terminal::inline_terminal::{self, InlineTerminal, Mode, OnTaken};
use crate::terminal::key_reader::KeyReader;
use crate::terminal::signals::{self, Request, Signals};
use crate::terminal::{ansi, output};
use crate::theme::Theme;

/// The shortest time between two frames, and how often times on the screen change.
const FRAME: Duration = Duration::from_millis(30);
const TICK: Duration = Duration::from_secs(1);
/// How often is checked whether a question gets keys.
const SOON: Duration = Duration::from_millis(100);
/// The exit code if a turn did not end well.
const FAILED: u8 = 6;
/// Most rows of a question that is printed.
const QUESTION_ROWS: usize = 60;

/// Where messages come from.
pub enum Messages {
    /// A person types them.
    Typed,
    /// This is the only one.
    One(String),
    /// Each line of this is one.
    Lines(Box<dyn BufRead + Send>),
}

/// Writes an event to the record of the conversation.
pub type Recorder = Box<dyn FnMut(&AgentEvent) -> Result<(), Fail>>;

/// What a conversation begins with.
pub struct Start {
    /// The terminal.
    pub options: Options,
    /// The name of the theme.
    pub theme: String,
    /// The team.
    pub team: Team,
    /// Its reports.
    pub reports: UnboundedReceiver<Report>,
    /// Where messages come from.
    pub messages: Messages,
    /// Writes the record.
    pub record: Recorder,
    /// The current time.
    pub clock: fn() -> Timestamp,
    /// Tells a person who looks elsewhere what happens.
    pub notify: Notify,
    /// The project.
    pub project: String,
    /// The file that gets a rule when the answer is "always".
    pub rules_file: String,
    /// Told when the terminal is taken over and given back.
    pub on_taken: OnTaken,
}

/// A conversation that is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The exit code.
    pub exit: u8,
    /// What is left of it, for the person.
    pub notes: Vec<String>,
}

/// Lets the team work until the conversation ends.
pub async fn run(start: Start) -> Result<Ended, Fail> {
    let Start { options, theme, team, reports, messages, record, clock, .. } = start;
    let (project, on_taken) = (start.project, start.on_taken);
    let theme = Theme::named(&theme).filter(|_| options.screen.colour).unwrap_or_else(Theme::plain);
    let is_live = matches!(messages, Messages::Typed);
    let size =
        if is_live { size() } else { Size { columns: options.screen.width, rows: u16::MAX } };
    let prompt = Prompt::new(start.rules_file, project.clone());
    let model = Model::new(team.members(), theme, options.view.clone(), size, prompt);
    let notices = TeamNotices::new(start.notify, project, team.members());
    let mut talk = Talk { model, team, reports, record, clock, notices, exit: None };
    let signals = Signals::hear()?;
    let ran = match messages {
        Messages::Typed => {
            let terminal = InlineTerminal::open_as(options.screen, Mode::AllKeys, Some(on_taken))?;
            live(&mut talk, terminal, signals).await
        }
        Messages::One(message) => {
            let (tell, told) = unbounded_channel();
            tell.send(message).ok();
            drop(tell);
            one_by_one(&mut talk, &options, told, signals).await
        }
        Messages::Lines(lines) => one_by_one(&mut talk, &options, lines_of(lines), signals).await,
    };
    talk.close(ran).await
}

/// The conversation.
struct Talk {
    model: Model,
    team: Team,
    reports: UnboundedReceiver<Report>,
    record: Recorder,
    clock: fn() -> Timestamp,
    notices: TeamNotices,
    exit: Option<u8>,
}

impl Talk {
    /// Updates the model and does what it intends, but for what concerns the screen.
    async fn handle(&mut self, msg: Msg) -> Result<Vec<Intent>, Fail> {
        update(&mut self.model, Msg::Tick((self.clock)()));
        if let Msg::Report(Report::Event { event, .. }) = &msg {
            (self.record)(event)?;
        }
        let report = if let Msg::Report(report) = &msg { Some(report.clone()) } else { None };
        let mut left = Vec::new();
        let mut intents = VecDeque::from(update(&mut self.model, msg));
        // What the store says about the queue leads to further intents.
        while let Some(intent) = intents.pop_front() {
            match intent {
                Intent::Answer(question, answer) => {
                    let told = self.answer(question, answer).await;
                    left.extend(told.map(|it| Intent::Print(vec![it])));
                }
                Intent::Queue(members, text) => {
                    let msg = self.queue(members, &text).await;
                    intents.extend(update(&mut self.model, msg));
                }
                Intent::TakeOut(why, message) => {
                    let msg = self.take_out(why, message).await;
                    intents.extend(update(&mut self.model, msg));
                }
                Intent::Send(member, text) => self.team.send(member, text),
                Intent::Cancel(member) => self.team.cancel(member),
                Intent::Quit => self.exit = Some(0),
                Intent::Print(_) | Intent::Refuse(_) | Intent::Suspend | Intent::Redraw => {
                    left.push(intent);
                }
            }
        }
        if let Some(report) = report {
            self.notices.report(&self.model, &report);
        }
        Ok(left)
    }

    /// Queues a message for members.
    async fn queue(&mut self, members: Vec<usize>, text: &str) -> Msg {
        let mut queued = Vec::new();
        for (at, member) in members.iter().enumerate() {
            match self.team.queue(*member, text).await {
                Ok(message) => queued.push(message),
                Err(fail) => {
                    self.model.waiting.extend(queued);
                    return Msg::NotQueued(members[at..].to_vec(), fail.message);
                }
            }
        }
        Msg::Queued(queued)
    }

    /// Takes a message out of the queue.
    async fn take_out(&mut self, why: TakeOut, message: TeamMessage) -> Msg {
        let is_out = match why {
            TakeOut::Send => self.team.take(&message).await,
            TakeOut::Edit | TakeOut::Remove => self.team.remove(&message).await,
        };
        match is_out {
            Ok(is_out) => Msg::TakenOut(why, message, is_out),
            Err(fail) => Msg::QueueFailed(fail.message),
        }
    }

    /// The messages that wait since an earlier start.
    async fn queued_before(&self) -> Msg {
        match self.team.queued_before().await {
            Ok(messages) => Msg::QueuedBefore(messages),
            Err(fail) => Msg::QueueFailed(fail.message),
        }
    }

    /// Stores an answer. Returns what the person is told about it.
    async fn answer(&self, question: QuestionId, answer: Answer) -> Option<Line> {
        match self.team.answer(question, answer).await {
            Ok(told) => told.map(|it| note(&it)),
            Err(fail) => Some(wrong(&format!("the answer was not stored: {}", fail.message))),
        }
    }

    /// Ends the team, and records what it says until then.
    async fn close(self, ran: Result<(), Fail>) -> Result<Ended, Fail> {
        let Self { model, team, mut reports, mut record, exit, .. } = self;
        let mut notes = team.close().await;
        match model.waiting.len() {
            0 => {}
            1 => notes.push("1 message stays queued; `punchlist team` has it again".to_owned()),
            count => {
                notes
                    .push(format!("{count} messages stay queued; `punchlist team` has them again"));
            }
        }
        while let Ok(report) = reports.try_recv() {
            if let Report::Event { event, .. } = report {
                record(&event)?;
            }
        }
        ran?;
        Ok(Ended { exit: exit.unwrap_or_default(), notes })
    }
}

fn size() -> Size {
    let (columns, rows) = inline_terminal::size().unwrap_or((80, 24));
    Size { columns, rows }
}

/// The lines of an input, read on a thread of their own.
fn lines_of(lines: Box<dyn BufRead + Send>) -> UnboundedReceiver<String> {
    let (tell, told) = unbounded_channel();
    thread::spawn(move || {
        let texts = lines.lines().map_while(Result::ok).filter(|it| !it.trim().is_empty());
        for text in texts {
            if tell.send(text).is_err() {
                return;
            }
        }
    });
    told
}

/// Takes messages one after the other; the next one when all members have answered.
async fn one_by_one(
    talk: &mut Talk,
    options: &Options,
    mut messages: UnboundedReceiver<String>,
    mut signals: Signals,
) -> Result<(), Fail> {
    let mut written =
        Written { options: options.clone(), has_list: vec![false; talk.model.members.len()] };
    while talk.exit.is_none() {
        let is_busy = talk.model.is_busy();
        tokio::select! {
            biased;
            request = signals.next() => match request {
                Request::Leave(code) => talk.exit = Some(code),
                Request::Resize | Request::Resume => {}
                Request::Pause => signals::pause()?,
            },
            Some(report) = talk.reports.recv() => written.report(talk, report).await?,
            message = messages.recv(), if !is_busy => match message {
                Some(message) => {
                    let intents = talk.handle(Msg::Enter(Entered::typed(&message))).await?;
                    // What is not sent ends the conversation: later messages may rely on it.
                    if let Some(Intent::Refuse(why)) = intents.first() {
                        return Err(Fail::usage(why.clone()));
                    }
                    written.write(intents)?;
                }
                None => break,
            },
        }
    }
    if talk.exit.unwrap_or_default() == 0 {
        talk.exit = Some(if talk.model.has_failed { FAILED } else { 0 });
    }
    Ok(())
}

/// Writes a conversation in lines or as events.
struct Written {
    options: Options,
    /// Whether each member has made a list in its turn.
    has_list: Vec<bool>,
}

impl Written {
    async fn report(&mut self, talk: &mut Talk, report: Report) -> Result<(), Fail> {
        let mut ended = None;
        match &report {
            Report::Event { member, event } => {
                if self.options.json {
                    let mut line = serde_json::to_vec(event)
                        .map_err(|why| Fail::ours(format!("an event cannot be written: {why}")))?;
                    line.push(b'\n');
                    self.is_read(talk, output::live_json(line)?);
                }
                let is_list = matches!(&event.kind, Kind::TodoList { .. });
                if let Some(has_list) = self.has_list.get_mut(*member) {
                    *has_list |= is_list;
                }
            }
            Report::Ended { member, .. } => ended = Some(*member),
            Report::Asked { asked, .. } => self.write(vec![Intent::Print(self.question(asked))])?,
            Report::Settled { .. } => {}
        }
        let intents = talk.handle(Msg::Report(report)).await?;
        self.write(intents)?;
        // A list is written once, when the turn has ended.
        if let Some(member) = ended
            && let Some(has_list) = self.has_list.get_mut(member)
            && std::mem::take(has_list)
        {
            let lines = finished(&talk.model, member, &talk.model.panels);
            self.write(vec![Intent::Print(lines)])?;
        }
        Ok(())
    }

    /// A question, and how it is answered elsewhere.
    fn question(&self, asked: &Asked) -> Vec<Line> {
        let how = format!("`punchlist answer {}` in another terminal answers it", asked.id.short());
        questions::asking(asked, 1, &Below::keys(vec![how]), QUESTION_ROWS, &self.options.view)
    }

    fn write(&self, intents: Vec<Intent>) -> Result<(), Fail> {
        if self.options.json {
            return Ok(());
        }
        for intent in intents {
            if let Intent::Print(lines) = intent {
                output::live(&self.options.screen.drawn(&lines))?;
            }
        }
        Ok(())
    }

    fn is_read(&self, talk: &mut Talk, is_read: bool) {
        if !is_read {
            talk.exit = Some(0);
        }
    }
}

/// The conversation of a person at a terminal.
async fn live(talk: &mut Talk, terminal: InlineTerminal, mut signals: Signals) -> Result<(), Fail> {
    let (tell, mut keys) = unbounded_channel::<Key>();
    let mut screen = LiveScreen {
        terminal,
        reader: None,
        tell,
        finished: Vec::new(),
        resized: None,
        is_dirty: true,
        drawn: Instant::now(),
    };
    screen.hear_keys()?;
    let queued = talk.queued_before().await;
    screen.perform(talk, queued).await?;
    while talk.exit.is_none() {
        let now = Instant::now();
        // A question gets keys soon, without a further event.
        let is_soon = talk.model.holds_question_back();
        let wait = if is_soon { SOON } else { TICK };
        let next_frame = screen.drawn + if screen.is_dirty { FRAME } else { wait };
        if screen.is_dirty && now >= next_frame {
            screen.draw(talk)?;
            continue;
        }
        let is_drawn = screen.is_dirty || is_soon || talk.model.is_busy();
        tokio::select! {
            biased;
            request = signals.next() => match request {
                Request::Leave(code) => talk.exit = Some(code),
                Request::Resize => {
                    screen.resized = Some(size());
                    screen.perform(talk, Msg::Resize(size())).await?;
                }
                Request::Pause => screen.suspend()?,
                Request::Resume => screen.take(talk).await?,
            },
            Some(key) = keys.recv() => {
                talk.notices.key(&key);
                screen.perform(talk, Msg::Key(key)).await?;
            }
            Some(report) = talk.reports.recv() => {
                screen.perform(talk, Msg::Report(report)).await?;
            }
            () = sleep_until(next_frame), if is_drawn => screen.draw(talk)?,
        }
    }
    // The lists go with the conversation, and what was said stays.
    talk.model.panels.clear();
    screen.write(talk, Picture::default())?;
    screen.reader = None;
    screen.terminal.leave();
    Ok(())
}

struct LiveScreen {
    terminal: InlineTerminal,
    reader: Option<KeyReader>,
    tell: tokio::sync::mpsc::UnboundedSender<Key>,
    /// Lines for the scrollback that are not written yet.
    finished: Vec<Line>,
    resized: Option<Size>,
    is_dirty: bool,
    drawn: Instant,
}

impl LiveScreen {
    async fn perform(&mut self, talk: &mut Talk, msg: Msg) -> Result<(), Fail> {
        self.is_dirty = true;
        for intent in talk.handle(msg).await? {
            match intent {
                Intent::Print(lines) => self.finished.extend(lines),
                Intent::Refuse(why) => self.finished.push(wrong(&why)),
                Intent::Redraw => self.resized = Some(size()),
                Intent::Suspend => {
                    self.write(talk, Picture::default())?;
                    self.suspend()?;
                }
                Intent::Send(..)
                | Intent::Queue(..)
                | Intent::TakeOut(..)
                | Intent::Cancel(_)
                | Intent::Answer(..)
                | Intent::Quit => {}
            }
        }
        Ok(())
    }

    fn draw(&mut self, talk: &mut Talk) -> Result<(), Fail> {
        update(&mut talk.model, Msg::Tick((talk.clock)()));
        let drawn = view(&talk.model);
        let picture = Picture { rows: ansi::rows(&drawn.buffer), cursor: drawn.cursor };
        self.write(talk, picture)?;
        update(&mut talk.model, Msg::Drawn);
        Ok(())
    }

    fn write(&mut self, talk: &mut Talk, picture: Picture) -> Result<(), Fail> {
        let finished = std::mem::take(&mut self.finished);
        let above: Vec<String> = finished.iter().map(|it| talk.model.theme.ansi(it)).collect();
        let is_read = self.terminal.update(&above, picture, self.resized.take())?;
        (self.is_dirty, self.drawn) = (false, Instant::now());
        if !is_read {
            // The terminal is gone.
            talk.exit = Some(129);
        }
        Ok(())
    }

    fn hear_keys(&mut self) -> Result<(), Fail> {
        let Some(keyboard) = self.terminal.keyboard() else {
            return Err(Fail::refused("there is no terminal to read keys from"));
        };
        let tell = self.tell.clone();
        let all = move |keys: Vec<Key>| keys.into_iter().all(|it| tell.send(it).is_ok());
        let reader = KeyReader::start(keyboard, all);
        self.reader =
            Some(reader.map_err(|why| Fail::ours(format!("keys cannot be read: {why}")))?);
        Ok(())
    }

    /// Gives the terminal back until the signal that continues the program.
    fn suspend(&mut self) -> Result<(), Fail> {
        self.reader = None;
        self.terminal.leave();
        signals::pause()
    }

    async fn take(&mut self, talk: &mut Talk) -> Result<(), Fail> {
        self.terminal.enter()?;
        self.perform(talk, Msg::Resize(size())).await?;
        if self.reader.is_none() {
            self.hear_keys()?;
        }
        Ok(())
    }
}

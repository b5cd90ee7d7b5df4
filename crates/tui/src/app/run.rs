//! The loop of the terminal UI: waits for keys, signals, reports and changes, updates the model, does
//! what it intends, and draws.

use std::future::{pending, poll_fn};
use std::time::Duration;

use punchlist_agent::session::{Report, SessionSettings};
use punchlist_engine::fail::Fail;
use punchlist_engine::notices::{Notice, NoticeKind};
use punchlist_formats::dialect::Surface;
use punchlist_formats::text::Line;
use punchlist_model::Timestamp;
use punchlist_model::call::News;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep_until};

use super::intent::{Intent, Load};
use super::model::{ActiveRun, Agent, Beginning, Facts, Model, SessionIs};
use super::msg::Msg;
use super::perform::{Choice, Current, OpenSession, Opened, Performer, Place, Sources};
use super::plan_run::RunReport;
use super::update::{begin, update};
use super::view::{full_screen, view};
use crate::keys::Key;
use crate::notify::Notify;
use crate::options::Options;
use crate::prompt::Prompt;
use crate::session::{About, Notices};
use crate::terminal::ansi;
use crate::terminal::frame::{Picture, Size};
use crate::terminal::inline_terminal::{self, InlineTerminal, Mode, OnTaken};
use crate::terminal::key_reader::KeyReader;
use crate::terminal::signals::{self, Request, Signals};
use crate::theme::Theme;

/// The shortest time between two frames, and how often times on the screen change.
const FRAME: Duration = Duration::from_millis(30);
const TICK: Duration = Duration::from_secs(1);
/// How often is checked whether a question gets keys.
const SOON: Duration = Duration::from_millis(100);
/// The exit code after Ctrl-C.
const INTERRUPTED: u8 = 130;
/// How soon after a change of the store it is read.
const LOOK_AFTER: Duration = Duration::from_millis(50);

/// What the UI begins with.
pub struct Start<'a> {
    /// The terminal.
    pub options: Options,
    /// The name of the theme, if the person has never chosen one.
    pub theme: String,
    /// Where it works.
    pub place: Place,
    /// The session to begin with; `None` without a model.
    pub session: Option<Opened>,
    /// Opens another session.
    pub open: OpenSession<'a>,
    /// What dialogs show.
    pub sources: Sources<'a>,
    /// How to configure a model, if there is none.
    pub no_model: Vec<String>,
    /// The sandbox, in a word or two.
    pub sandbox: String,
    /// Where rules are added that the person allows for always.
    pub rules_file: String,
    /// Told when the terminal is taken over and given back.
    pub on_taken: OnTaken,
    /// Tells the person what happens while they look elsewhere.
    pub notify: Notify,
}

/// Shows the UI until the person leaves. Returns the exit code. Needs a `LocalSet` of tokio.
pub async fn run(start: Start<'_>) -> Result<u8, Fail> {
    let Start { options, theme, place, session, open, sources, .. } = start;
    let (no_model, sandbox) = (start.no_model, start.sandbox);
    let history = place.state.history(&place.scope.project);
    let theme = place.state.theme().unwrap_or(theme);
    let theme = match Theme::named(&theme).filter(|_| options.screen.colour) {
        Some(theme) => theme,
        None => Theme::plain(),
    };
    let agent =
        session.as_ref().map(|it| agent(&it.settings, it.world.model.context.context_tokens));
    let prompt = Prompt::new(start.rules_file, place.scope.project.clone()).with_view();
    let model = Model::new(Beginning {
        facts: Facts { sandbox, no_model },
        agent: agent.transpose()?.unwrap_or_default(),
        size: size(),
        theme,
        view: options.view.clone(),
        prompt,
        history,
        person: place.answers.person.clone(),
    });
    let (tell, told) = unbounded_channel();
    let mut performer = Performer::new(place, tell.clone());
    let news = performer.place().engine.store().news().await?;
    let signals = Signals::hear()?;
    if let Some(opened) = session {
        // Before the terminal is taken: the person is told at once that the session cannot go on.
        Box::pin(performer.open(opened)).await?;
    }
    let terminal = InlineTerminal::open_as(options.screen, Mode::AllKeys, Some(start.on_taken))?;
    let mut ui = Ui {
        notices: None,
        notify: Some(start.notify),
        model,
        performer,
        terminal,
        signals,
        keys: None,
        tell,
        told,
        news,
        open,
        sources,
        finished: Vec::new(),
        resized: None,
        is_covered: false,
        covered_size: None,
        is_dirty: true,
        drawn: Instant::now(),
        look_at: Some(Instant::now()),
        exit: None,
    };
    ui.hear_keys()?;
    ui.terminal.ask_kind()?;
    ui.run().await
}

/// What the model works with, by the settings of a session.
fn agent(settings: &SessionSettings, context_tokens: u64) -> Result<Agent, Fail> {
    let dialect = settings.dialect().map_err(Fail::usage)?;
    let tools = dialect.tools(Surface::Full);
    Ok(Agent {
        model: Some(settings.model.clone()),
        mode: match settings.turn.strategy {
            punchlist_agent::turn::Strategy::Supervisor => "supervisor".to_owned(),
            punchlist_agent::turn::Strategy::Steps => "steps".to_owned(),
        },
        context_tokens,
        plan_tools: tools.iter().map(|it| it.name.to_owned()).collect(),
    })
}

fn size() -> Size {
    let (columns, rows) = inline_terminal::size().unwrap_or((80, 24));
    Size { columns, rows }
}

struct Ui<'a> {
    /// Gives notices about the session, once it has begun.
    notices: Option<Notices>,
    notify: Option<Notify>,
    model: Model,
    performer: Performer,
    terminal: InlineTerminal,
    signals: Signals,
    /// Reads keys, unless another program has the terminal.
    keys: Option<KeyReader>,
    tell: UnboundedSender<Msg>,
    told: UnboundedReceiver<Msg>,
    news: News,
    open: OpenSession<'a>,
    sources: Sources<'a>,
    /// Lines for the scrollback that are not written yet.
    finished: Vec<Line>,
    resized: Option<Size>,
    /// Whether a dialog covers the live part, and the size at which that was last drawn.
    is_covered: bool,
    covered_size: Option<Size>,
    is_dirty: bool,
    drawn: Instant,
    /// When the store is to be read again.
    look_at: Option<Instant>,
    exit: Option<u8>,
}

impl Ui<'_> {
    async fn run(mut self) -> Result<u8, Fail> {
        self.performer.read_commands();
        self.performer.read_files();
        let first = begin(&self.model);
        self.perform(first).await?;
        while self.exit.is_none() {
            self.step().await?;
        }
        // The live part goes, and what is finished stays.
        self.draw_last()?;
        self.keys = None;
        self.terminal.leave();
        self.performer.end_run().await;
        self.performer.close().await;
        Ok(self.exit.unwrap_or_default())
    }

    /// Waits for something, and does what follows from it.
    async fn step(&mut self) -> Result<(), Fail> {
        let now = Instant::now();
        // A question gets keys soon, without a further event.
        let is_soon = self.model.holds_question_back();
        let wait = if is_soon { SOON } else { TICK };
        let next_frame = self.drawn + if self.is_dirty { FRAME } else { wait };
        if self.is_dirty && now >= next_frame {
            self.draw()?;
            return Ok(());
        }
        let is_drawn = self.is_dirty || is_soon || self.model.is_moving();
        let look_at = self.look_at;
        tokio::select! {
            biased;
            request = self.signals.next() => self.signal(request).await?,
            Some(msg) = self.told.recv() => self.handle(msg).await?,
            report = self.performer.report() => self.handle(Msg::Report(report)).await?,
            () = changed(&mut self.news), if look_at.is_none() => {
                self.look_at = Some(Instant::now() + LOOK_AFTER);
            }
            () = sleep_until(look_at.unwrap_or(now)), if look_at.is_some() => {
                self.look_at = None;
                self.performer.look(self.model.prompt.ids());
            }
            () = sleep_until(next_frame), if is_drawn => self.draw()?,
        }
        Ok(())
    }

    /// Updates the model, and does what it intends.
    async fn handle(&mut self, msg: Msg) -> Result<(), Fail> {
        if let Msg::Key(Key::Terminal(kind)) = msg {
            self.terminal.is_of_kind(kind);
            return Ok(());
        }
        let now = self.performer.place().around.now();
        self.notice(&msg, now);
        update(&mut self.model, Msg::Tick(now));
        let intents = update(&mut self.model, msg);
        self.is_dirty = true;
        self.perform(intents).await
    }

    /// Tells a person who looks elsewhere.
    fn notice(&mut self, msg: &Msg, now: Timestamp) {
        let project = &self.performer.place().scope.project;
        match (msg, &mut self.notices) {
            (Msg::Report(Report::Opened { id, .. }), Some(notices)) => notices.is_about(*id),
            (Msg::Report(Report::Opened { id, .. }), None) => {
                let notify = self.notify.take();
                self.notices = notify.map(|it| Notices::new(it, About::Own(*id)));
            }
            (Msg::Report(Report::Event(event)), Some(notices)) => {
                notices.event(event, project, now);
            }
            (Msg::Key(key), Some(notices)) => notices.key(key),
            (Msg::Key(key), None) => {
                if let Some(notify) = &mut self.notify {
                    notify.key(key);
                }
            }
            (Msg::Run(report), notices) => {
                let notice = run_notice(report, self.model.run.as_ref(), project);
                let notify = match notices {
                    Some(notices) => Some(notices.notify()),
                    None => self.notify.as_mut(),
                };
                if let Some((notice, notify)) = notice.zip(notify) {
                    notify.give(&notice, now);
                }
            }
            (_, _) => {}
        }
    }

    async fn perform(&mut self, intents: Vec<Intent>) -> Result<(), Fail> {
        for intent in intents {
            match intent {
                Intent::Print(lines) => self.finished.extend(lines),
                Intent::Session(input) => self.performer.send(input),
                Intent::Queue(act) => {
                    if let Some(id) = self.model.session {
                        self.performer.queue(id, act);
                    }
                }
                Intent::Answer(id, answer) => self.performer.answer(id, answer),
                Intent::AnswerAgent(question, answer) => {
                    self.performer.answer_agent(*question, *answer);
                }
                Intent::ReplyAgent(id, text) => self.performer.reply_agent(id, text),
                Intent::Remember(text) => self.performer.remember(&text),
                Intent::ChooseTheme(name) => self.performer.choose_theme(&name),
                Intent::ForgetRule(rule) => {
                    self.performer.forget_rule(&rule);
                    self.performer.load(Load::Approvals, &self.sources, &self.current());
                }
                Intent::TakeBack(given) => {
                    self.performer.take_back(&given, &self.sources);
                    self.performer.load(Load::Approvals, &self.sources, &self.current());
                }
                Intent::RunFile(file, fresh) => {
                    self.performer.run_file(&file, fresh, &self.sources);
                }
                Intent::StopRun => self.performer.stop_run(),
                Intent::Watch => {
                    let options = self.model.view(self.model.size.columns);
                    let msg = match self.performer.watch(&self.sources, &options) {
                        Ok(dialog) => Msg::Opened(Box::new(dialog)),
                        Err(why) => Msg::Failed(why),
                    };
                    self.tell.send(msg).ok();
                }
                Intent::WatchAgent(row) => self.performer.watch_agent(row.as_deref()),
                Intent::EndWatch => self.performer.end_watch(),
                Intent::Shell(command) => self.shell(command).await?,
                Intent::Verb(words) => self.verb(words).await?,
                Intent::Load(load) => self.performer.load(load, &self.sources, &self.current()),
                Intent::Plan(id, act) => self.performer.plan(id, act),
                Intent::Journal(id) => self.performer.journal(id),
                Intent::Output(id, item) => self.performer.output(id, item),
                Intent::Export(id, path) => self.performer.export(id, path),
                Intent::Open(choice) => self.open(&choice).await,
                Intent::Resume(name) => match self.performer.find(name.as_deref()).await {
                    Ok(id) if self.model.session == Some(id) && self.performer.is_open() => {
                        let text = format!("session {} is open already", id.short());
                        self.tell.send(Msg::Told(text)).ok();
                    }
                    Ok(id) => self.open(&Choice { model: None, session: Some(id) }).await,
                    Err(why) => drop(self.tell.send(Msg::Failed(why))),
                },
                Intent::ForgetSession(id) => {
                    self.performer.forget_session(id);
                    self.performer.load(Load::Sessions, &self.sources, &self.current());
                }
                Intent::ChoosePlan(id) => {
                    self.performer.choose_plan(id);
                    self.look_at = Some(Instant::now());
                }
                Intent::NewPlan(title) => self.performer.new_plan(title),
                Intent::ReadCommands => self.performer.read_commands(),
                Intent::AllowCommand(command, typed) => {
                    self.performer.allow_command(&command, &typed);
                }
                Intent::RunShell(allowed) => self.performer.run_shell(allowed),
                Intent::ReadChoices(what) => self.performer.read_choices(what, &self.sources),
                Intent::ShowTools => {
                    let told = self.performer.tools(&self.model.agent.plan_tools);
                    self.tell.send(told).ok();
                }
                Intent::ShowServers => drop(self.tell.send(self.performer.servers())),
                Intent::Redraw => self.resized = Some(size()),
                Intent::Suspend => self.suspend()?,
                Intent::Quit => self.exit = Some(0),
            }
        }
        Ok(())
    }

    /// What lists of choices mark as current.
    fn current(&self) -> Current {
        Current {
            plan: self.model.plan.as_ref().map(|it| it.id),
            model: self.model.agent.model.clone(),
            options: self.model.view(self.model.size.columns),
        }
    }

    /// Opens a session, and ends the one that is open. If that cannot be, what is open stays.
    async fn open(&mut self, choice: &Choice) {
        let is_same = choice.session.is_some() && choice.session == self.model.session;
        let opened = (self.open)(choice).and_then(|opened| {
            let agent = agent(&opened.settings, opened.world.model.context.context_tokens)?;
            Ok((opened, agent))
        });
        let msg = match opened {
            Ok((opened, agent)) => {
                if is_same {
                    // Only one task at a time runs a session.
                    self.performer.close().await;
                }
                let is = match choice.session {
                    None => SessionIs::New,
                    Some(_) if is_same => SessionIs::Same,
                    Some(_) => SessionIs::Other,
                };
                let opened = Box::pin(self.performer.open(opened)).await;
                opened.map(|()| Msg::Session(Box::new(agent), is))
            }
            Err(why) => Err(why),
        };
        self.look_at = Some(Instant::now());
        self.tell.send(msg.unwrap_or_else(Msg::Failed)).ok();
    }

    async fn signal(&mut self, request: Request) -> Result<(), Fail> {
        match request {
            Request::Leave(code) => self.exit = Some(code),
            Request::Resize => {
                let size = size();
                self.resized = Some(size);
                self.handle(Msg::Resize(size)).await?;
            }
            Request::Pause => self.suspend()?,
            Request::Resume => self.take_terminal()?,
        }
        Ok(())
    }

    /// Draws, and writes what is finished above.
    fn draw(&mut self) -> Result<(), Fail> {
        update(&mut self.model, Msg::Tick(self.performer.place().around.now()));
        if let Some(dialog) = &self.model.dialog {
            let buffer = full_screen(&self.model, dialog);
            let picture = Picture { rows: ansi::rows(&buffer), cursor: None };
            let is_read = self.terminal.full_screen(picture, self.resized.take())?;
            (self.is_dirty, self.drawn) = (false, Instant::now());
            self.is_covered = true;
            if !is_read {
                self.exit = Some(129);
            }
            update(&mut self.model, Msg::Drawn);
            return Ok(());
        }
        if std::mem::take(&mut self.is_covered) && self.covered_size != Some(self.model.size) {
            self.resized = Some(self.model.size);
        }
        self.covered_size = Some(self.model.size);
        let drawn = view(&self.model);
        let picture = Picture { rows: ansi::rows(&drawn.buffer), cursor: drawn.cursor };
        self.write(picture)?;
        update(&mut self.model, Msg::Drawn);
        Ok(())
    }

    fn draw_last(&mut self) -> Result<(), Fail> {
        self.write(Picture::default())
    }

    fn write(&mut self, picture: Picture) -> Result<(), Fail> {
        let finished = std::mem::take(&mut self.finished);
        let above: Vec<String> = finished.iter().map(|it| self.model.theme.ansi(it)).collect();
        let is_read = self.terminal.update(&above, picture, self.resized.take())?;
        (self.is_dirty, self.drawn) = (false, Instant::now());
        if !is_read {
            // The terminal is gone.
            self.exit = Some(129);
        }
        Ok(())
    }

    fn hear_keys(&mut self) -> Result<(), Fail> {
        let Some(keyboard) = self.terminal.keyboard() else {
            return Err(Fail::refused("there is no terminal to read keys from"));
        };
        let tell = self.tell.clone();
        let all = move |keys: Vec<Key>| keys.into_iter().all(|it| tell.send(Msg::Key(it)).is_ok());
        let reader = KeyReader::start(keyboard, all);
        self.keys = Some(reader.map_err(|why| Fail::ours(format!("keys cannot be read: {why}")))?);
        Ok(())
    }

    /// Gives the terminal back, with the live part gone.
    fn give_terminal(&mut self) -> Result<(), Fail> {
        self.draw_last()?;
        self.keys = None;
        self.terminal.leave();
        Ok(())
    }

    /// Takes the terminal over again.
    fn take_terminal(&mut self) -> Result<(), Fail> {
        self.terminal.enter()?;
        self.model.size = size();
        self.is_dirty = true;
        if self.keys.is_none() {
            self.hear_keys()?;
        }
        Ok(())
    }

    fn suspend(&mut self) -> Result<(), Fail> {
        self.give_terminal()?;
        // It goes on with the signal that continues it.
        signals::pause()
    }

    async fn shell(&mut self, command: String) -> Result<(), Fail> {
        self.give_terminal()?;
        let ended = self.performer.shell(command).await;
        self.back(ended).await
    }

    async fn verb(&mut self, words: Vec<String>) -> Result<(), Fail> {
        self.give_terminal()?;
        let ended = self.performer.verb(words).await;
        self.back(ended).await
    }

    /// Ignores a Ctrl-C that was meant for the program that had the terminal.
    fn forget_interrupts(&mut self) {
        while let Some(request) = self.signals.pending() {
            if let Request::Leave(code) = request
                && code != INTERRUPTED
            {
                self.exit = Some(code);
            }
        }
    }

    /// Takes the terminal over again after a program that had it.
    async fn back(&mut self, ended: Msg) -> Result<(), Fail> {
        self.take_terminal()?;
        self.forget_interrupts();
        let intents = update(&mut self.model, ended);
        Box::pin(self.perform(intents)).await
    }
}

/// What a person who looks elsewhere is told of a plan file that runs.
fn run_notice(report: &RunReport, run: Option<&ActiveRun>, project: &str) -> Option<Notice> {
    match report {
        RunReport::Asked(asked) => Some(Notice::question(asked, "run", project)),
        RunReport::Ended(Ok(ended)) if !ended.is_idle && !ended.is_stopped => {
            let is_done = ended.code().is_none();
            let kind = if is_done { NoticeKind::Done } else { NoticeKind::Failed };
            Some(Notice::run(run?.id?, kind, project, ended.sum.words()))
        }
        RunReport::Ended(_)
        | RunReport::Began(_)
        | RunReport::Stands(_)
        | RunReport::Said(_)
        | RunReport::Confirm(..) => None,
    }
}

/// Waits until the store may have changed.
async fn changed(news: &mut News) {
    match poll_fn(|context| news.as_mut().poll_next(context)).await {
        Some(Ok(_)) => {}
        // The store will not wake anybody any more.
        Some(Err(_)) | None => pending().await,
    }
}

//! The front end of a run: shows it, asks questions, and handles keys and signals.

use std::time::Duration;

use futures_core::future::BoxFuture;
use punchlist_engine::fail::Fail;
use punchlist_engine::notices::{Notice, NoticeKind};
use punchlist_engine::run::{Board, Ended, Event, FrontEnd, Input};
use punchlist_formats::view::Reader;
use punchlist_model::call::Asked;
use punchlist_model::{RunId, Timestamp};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, sleep_until};

use super::show::Show;
use crate::keys::Key;
use crate::notify::Notify;
use crate::options::Options;
use crate::prompt::{Pressed, Prompt};
use crate::terminal::keyboard::{Said, confirm};
use crate::terminal::signals::{Request, Signals};
use crate::terminal::{key_reader, output};

/// The shortest time between two frames, and the interval in which durations on the screen are
/// updated.
const FRAME: Duration = Duration::from_millis(50);
const TICK: Duration = Duration::from_secs(1);

/// The front end of a run.
pub struct Terminal {
    options: Options,
    /// Whether everything that steps print is shown.
    is_verbose: bool,
    prompt: Prompt,
    /// Shown at the right of the last line.
    hint: String,
    /// Whether something has changed since the last frame.
    is_dirty: bool,
    /// When the last frame was drawn.
    drawn: Instant,
    /// The terminal, from the start of the run.
    open: Option<Open>,
    /// The run, once it has begun.
    run: Option<RunId>,
    /// Tells a person who is not at the terminal.
    notify: Option<Notify>,
    project: String,
}

/// The terminal of a run that has started.
struct Open {
    show: Show,
    signals: Signals,
    /// The keys of each read.
    keys: UnboundedReceiver<Vec<Key>>,
}

impl Terminal {
    /// Shows nothing yet. `rules_file` and `project` say where rules are added that a person allows
    /// for always.
    pub fn new(options: Options, is_verbose: bool, rules_file: String, project: String) -> Self {
        Self {
            options,
            is_verbose,
            prompt: Prompt::new(rules_file, project.clone()),
            hint: String::new(),
            is_dirty: true,
            drawn: Instant::now(),
            open: None,
            run: None,
            notify: None,
            project,
        }
    }

    /// Tells a person who is not at the terminal about questions and the end.
    #[must_use]
    pub fn with_notices(self, notify: Notify) -> Self {
        Self { notify: Some(notify), ..self }
    }

    /// Ends the front end. Prints the final event with `--json`.
    pub fn end(mut self, ended: &Ended, now: Timestamp) -> Result<(), Fail> {
        self.tell_end(ended, now);
        self.open.as_mut().map_or(Ok(()), |it| it.show.end(ended, now))
    }

    /// Tells that the run has ended, unless nothing was done or the person stopped it.
    fn tell_end(&mut self, ended: &Ended, now: Timestamp) {
        let (Some(run), Some(notify)) = (self.run, &mut self.notify) else { return };
        if ended.is_idle || ended.is_stopped {
            return;
        }
        let kind = if ended.code().is_none() { NoticeKind::Done } else { NoticeKind::Failed };
        let notice = Notice::run(run, kind, &self.project, ended.sum.words());
        notify.give(&notice, now);
    }

    /// Starts the front end: takes over the terminal.
    fn begin(&mut self, run: RunId) -> Result<(), Fail> {
        self.run = Some(run);
        let show = Show::open(self.options.clone(), self.is_verbose, run)?;
        let signals = Signals::hear()?;
        let (tell, keys) = unbounded_channel();
        if let Some(keyboard) = show.keyboard() {
            key_reader::read(keyboard, move |keys| tell.send(keys).is_ok());
        }
        self.open = Some(Open { show, signals, keys });
        "Ctrl-C stops; run again to go on".clone_into(&mut self.hint);
        Ok(())
    }

    /// Adds an open question. If stdout is no terminal, prints how to answer it.
    fn asks(&mut self, asked: &Asked, now: Timestamp) -> Result<(), Fail> {
        self.prompt.ask(asked.clone());
        if let Some(notify) = &mut self.notify {
            notify.give(&Notice::question(asked, "run", &self.project), now);
        }
        let id = asked.id.short();
        let text = if self.options.view.reader == Reader::Agent {
            format!("question {id} waits for your user's answer")
        } else {
            format!("answer in another terminal: punchlist answer {id}")
        };
        self.open.as_mut().map_or(Ok(()), |it| it.show.say(now, &text))
    }

    /// Draws the board and the open question below it.
    fn picture(&mut self, board: &Board, with_prompt: bool, now: Timestamp) -> Result<(), Fail> {
        (self.is_dirty, self.drawn) = (false, Instant::now());
        let Some(Open { show, .. }) = &mut self.open else { return Ok(()) };
        show.draw(board, &self.hint, Some(&self.prompt).filter(|_| with_prompt), now)?;
        if with_prompt {
            self.prompt.was_drawn();
        }
        Ok(())
    }

    /// Handles keys.
    fn keys(&mut self, keys: &[Key]) -> Option<Input> {
        self.is_dirty = true;
        if let Some(notify) = &mut self.notify {
            keys.iter().for_each(|it| notify.key(it));
        }
        // Keys after an answer are dropped: they were typed before the next question was shown.
        keys.iter().find_map(|key| match self.prompt.key(key) {
            Pressed::Answer(id, answer) => Some(Input::Answer(id, answer)),
            Pressed::View | Pressed::Nothing => None,
        })
    }

    fn signal(&mut self, request: Request) -> Result<Option<Input>, Fail> {
        self.is_dirty = true;
        let Some(Open { show, .. }) = &mut self.open else { return Ok(None) };
        match request {
            Request::Leave(_) => {
                "stopping; Ctrl-C again ends at once".clone_into(&mut self.hint);
                return Ok(Some(Input::Stop));
            }
            Request::Resize => {
                show.resized();
                return Ok(Some(Input::Draw));
            }
            Request::Pause => show.pause()?,
            Request::Resume => show.resume()?,
        }
        Ok(None)
    }

    /// Waits for a key, a signal or the time of the next frame.
    async fn wait(&mut self) -> Result<Input, Fail> {
        loop {
            let pause = if self.is_dirty { FRAME } else { TICK };
            let next_frame = self.drawn + pause;
            let Some(Open { show, signals, keys, .. }) = &mut self.open else {
                return std::future::pending().await;
            };
            let is_live = show.is_live();
            let input = tokio::select! {
                request = signals.next() => self.signal(request)?,
                Some(keys) = keys.recv() => self.keys(&keys),
                () = sleep_until(next_frame), if is_live => Some(Input::Draw),
            };
            if let Some(input) = input {
                return Ok(input);
            }
        }
    }
}

impl FrontEnd for Terminal {
    fn warn(&mut self, text: &str) {
        output::notes(&[text.to_owned()], self.options.json);
    }

    fn say(&mut self, text: &str, now: Timestamp) -> Result<(), Fail> {
        let Some(Open { show, .. }) = &mut self.open else {
            output::aside(text, None);
            return Ok(());
        };
        text.clone_into(&mut self.hint);
        self.is_dirty = true;
        show.say(now, text)
    }

    fn confirm<'a>(&'a mut self, question: &'a str) -> BoxFuture<'a, bool> {
        // Blocking is fine here: nothing runs yet.
        let is_yes = confirm(question) == Said::Yes;
        Box::pin(std::future::ready(is_yes))
    }

    fn event(&mut self, event: Event<'_>, board: &Board, now: Timestamp) -> Result<(), Fail> {
        self.is_dirty = true;
        if let Event::Begins { run, .. } = event {
            self.begin(run)?;
        }
        let Some(Open { show, .. }) = &mut self.open else { return Ok(()) };
        show.event(event, now)?;
        match event {
            Event::Held(item)
            | Event::Retries(item)
            | Event::Starts(item)
            | Event::Completed { item, .. }
            | Event::Asked { item, .. } => show.moved(board, item, now)?,
            Event::Printed { title, line } => show.printed(title, line, now)?,
            Event::Lost(count) => {
                let text =
                    format!("{count} lines came too fast; `punchlist show N --output` has them");
                show.printed("…", &text, now)?;
            }
            Event::Question(asked) => self.asks(asked, now)?,
            Event::Answered { asked, answered, is_by_other } => {
                self.prompt.settle(asked.id);
                if is_by_other {
                    let text = format!("{} was answered by {}", asked.title, answered.by);
                    self.say(&text, now)?;
                }
            }
            Event::Withdrawn(id) => drop(self.prompt.settle(id)),
            Event::Over => {
                self.hint.clear();
                self.picture(board, false, now)?;
                if let Some(Open { show, .. }) = &mut self.open {
                    show.leave();
                }
            }
            Event::Begins { .. }
            | Event::Plan(_)
            | Event::Planned { .. }
            | Event::Scheduled(_)
            | Event::Stops(_)
            | Event::Changed { .. } => {}
        }
        Ok(())
    }

    fn draw(&mut self, board: &Board, now: Timestamp) -> Result<(), Fail> {
        self.picture(board, true, now)
    }

    fn input(&mut self) -> BoxFuture<'_, Result<Input, Fail>> {
        Box::pin(self.wait())
    }
}

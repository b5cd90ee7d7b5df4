//! The front end of a session: prints what happens, asks questions, and hears Ctrl-C.

use std::fs::File;

use futures_core::future::BoxFuture;
use punchlist_agent::session::{Event, FrontEnd, Input, JsonEvents};
use punchlist_engine::fail::Fail;
use punchlist_formats::view::{Reader, questions};
use punchlist_model::Timestamp;
use punchlist_model::call::Asked;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::lines::Lines;
use super::notices::{About, Notices};
use crate::keys::Key;
use crate::notify::Notify;
use crate::options::Options;
use crate::prompt::{Pressed, Prompt};
use crate::terminal::inline_terminal::{self, InlineTerminal};
use crate::terminal::signals::{self, Request, Signals};
use crate::terminal::{key_reader, output};

/// What is printed.
pub enum Shown {
    /// Everything, in lines. The tools of the plan are named, because the plan itself is shown.
    Lines(Vec<String>),
    /// Unified events as JSON.
    Events(JsonEvents),
    /// Nothing: the caller prints the answer.
    Nothing,
}

/// The front end of a session.
pub struct Terminal {
    options: Options,
    way: Way,
    prompt: Prompt,
    signals: Signals,
    /// The terminal, while a question is on it.
    panel: Option<InlineTerminal>,
    /// The keys of each read, from the first question on.
    keys: Option<UnboundedReceiver<Vec<Key>>>,
    clock: fn() -> Timestamp,
    /// Whether somebody still reads the output.
    is_read: bool,
    /// Tells a person who is not at the terminal.
    notices: Option<Notices>,
    project: String,
}

enum Way {
    Lines(Box<Lines>),
    Events(JsonEvents),
    Nothing,
}

impl Terminal {
    /// A front end. Needs a tokio runtime. `rules_file` and `project` say where rules are added that a
    /// person allows for always.
    pub fn new(
        options: Options,
        shown: Shown,
        rules_file: String,
        project: String,
        clock: fn() -> Timestamp,
    ) -> Result<Self, Fail> {
        let way = match shown {
            Shown::Lines(plan_tools) => {
                let lines = Lines::new(options.screen, options.view.clone(), plan_tools);
                Way::Lines(Box::new(lines))
            }
            Shown::Events(events) => Way::Events(events),
            Shown::Nothing => Way::Nothing,
        };
        Ok(Self {
            options,
            way,
            prompt: Prompt::new(rules_file, project.clone()),
            signals: Signals::hear()?,
            panel: None,
            keys: None,
            clock,
            is_read: true,
            notices: None,
            project,
        })
    }

    /// Tells a person who is not at the terminal about questions and the end of a turn.
    #[must_use]
    pub fn with_notices(self, notify: Notify, about: About) -> Self {
        Self { notices: Some(Notices::new(notify, about)), ..self }
    }

    /// Writes to stdout. Whoever closed it is not written to again.
    fn write(&mut self, text: &str) {
        if self.is_read && !text.is_empty() {
            self.is_read = output::live(text).unwrap_or(false);
        }
    }

    fn ask(&mut self, asked: &Asked) {
        self.prompt.ask(asked.clone());
        if self.options.draws_in_place && self.options.view.reader == Reader::Person {
            self.draw();
        } else if !matches!(self.way, Way::Events(_)) {
            let id = asked.id.short();
            let text = format!("question {id} waits: punchlist answer {id}");
            output::aside(&text, None);
        }
    }

    /// Draws the first open question, or takes the last one off the screen.
    fn draw(&mut self) {
        let (width, height) = inline_terminal::size().unwrap_or((self.options.screen.width, 24));
        self.options.view.width = width;
        let rows = usize::from(height).saturating_sub(1).max(3);
        let shown = self.prompt.shown(&self.options.view);
        let Some((asked, count, below)) = shown else {
            if let Some(mut panel) = self.panel.take() {
                panel.draw(&[], None).ok();
                panel.leave();
            }
            return;
        };
        let lines = questions::asking(asked, count, &below, rows, &self.options.view);
        if self.panel.is_none() {
            let end = match &mut self.way {
                Way::Lines(lines) => lines.line_end(),
                Way::Events(_) | Way::Nothing => String::new(),
            };
            self.write(&end);
            let Ok(panel) = InlineTerminal::open(self.options.screen) else { return };
            if self.keys.is_none()
                && let Some(keyboard) = panel.keyboard()
            {
                self.keys = Some(hear_keys(keyboard));
            }
            self.panel = Some(panel);
        }
        if let Some(panel) = &mut self.panel {
            self.is_read = panel.draw(&lines, None).unwrap_or(false);
        }
        self.prompt.was_drawn();
    }

    /// Handles keys. Without a question they mean nothing.
    fn pressed(&mut self, keys: &[Key]) -> Option<Input> {
        if let Some(notices) = &mut self.notices {
            keys.iter().for_each(|it| notices.key(it));
        }
        // Keys after an answer are dropped: they were typed before the next question was shown.
        let input = keys.iter().find_map(|key| match self.prompt.key(key) {
            Pressed::Answer(id, answer) => {
                self.prompt.settle(id);
                Some(Input::Answer(id, answer))
            }
            Pressed::View | Pressed::Nothing => None,
        });
        self.draw();
        input
    }

    fn signal(&mut self, request: Request) -> Option<Input> {
        match request {
            Request::Leave(_) => return Some(Input::Abort),
            Request::Resize => self.draw(),
            Request::Pause => {
                if let Some(panel) = &mut self.panel {
                    panel.leave();
                }
                signals::pause().ok();
            }
            Request::Resume => {
                if let Some(panel) = &mut self.panel {
                    panel.enter().ok();
                }
                self.draw();
            }
        }
        None
    }

    async fn wait(&mut self) -> Input {
        loop {
            let input = tokio::select! {
                request = self.signals.next() => self.signal(request),
                keys = next_keys(&mut self.keys) => self.pressed(&keys),
            };
            if let Some(input) = input {
                return input;
            }
        }
    }
}

impl FrontEnd for Terminal {
    fn event(&mut self, event: Event) {
        if let Event::Asked { asked, .. } = &event {
            self.ask(asked);
        } else if let Event::Settled { question, .. } = &event {
            self.prompt.settle(*question);
            if self.panel.is_some() {
                self.draw();
            }
        }
        let now = (self.clock)();
        if let Some(notices) = &mut self.notices {
            notices.event(&event, &self.project, now);
        }
        match &mut self.way {
            Way::Lines(lines) => {
                let text = lines.event(&event);
                match &mut self.panel {
                    // While a question is on the screen, lines go above it.
                    Some(panel) if !text.is_empty() => {
                        for line in text.lines() {
                            self.is_read = panel.above(line).unwrap_or(false);
                        }
                    }
                    Some(_) => {}
                    None => self.write(&text),
                }
            }
            Way::Events(events) => {
                let lines = events.event(&event, now);
                if self.is_read && !lines.is_empty() {
                    self.is_read = output::live_json(lines).unwrap_or(false);
                }
            }
            Way::Nothing => {}
        }
    }

    fn input(&mut self) -> BoxFuture<'_, Input> {
        Box::pin(self.wait())
    }
}

fn hear_keys(keyboard: File) -> UnboundedReceiver<Vec<Key>> {
    let (tell, keys) = unbounded_channel();
    key_reader::read(keyboard, move |keys| tell.send(keys).is_ok());
    keys
}

/// Waits for keys; for ever if there is no keyboard.
async fn next_keys(keys: &mut Option<UnboundedReceiver<Vec<Key>>>) -> Vec<Key> {
    match keys {
        Some(heard) => match heard.recv().await {
            Some(keys) => keys,
            None => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}

//! The front end of a run in this process: it shows, asks, and hears keys and signals.

use std::time::Duration;

use futures_core::future::BoxFuture;
use punchlist_engine::run::{Board, Ended, Event, FrontEnd, Input};
use punchlist_formats::view::{Options, questions};
use punchlist_model::Timestamp;
use punchlist_model::call::{Answered, Asked};
use punchlist_streams::event::Outcome;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until};

use super::json_events::Teller;
use super::prompt::{Pressed, Prompt};
use super::show::{Look, Show};
use super::wake::{self, Signals, Sort};
use crate::app::App;
use crate::error::Fail;
use crate::keys::Decoder;
use crate::print::{self, Reply, Said};
use crate::{clock, person, places};

/// How often the picture is drawn at most, and how often its clocks tick.
const FRAME: Duration = Duration::from_millis(50);
const TICK: Duration = Duration::from_secs(1);

/// The front end of a run.
pub(super) struct Terminal {
    look: Look,
    prompt: Prompt,
    /// Makes keys of what the terminal sends.
    decoder: Decoder,
    /// Said on the right of the last line.
    hint: String,
    /// Something has changed since the last picture.
    is_dirty: bool,
    /// When the last picture was drawn.
    drawn: Instant,
    /// What there is from when the run begins.
    open: Option<Open>,
}

/// What a run that has begun is shown and heard with.
struct Open {
    show: Show,
    teller: Teller,
    signals: Signals,
    keys: UnboundedReceiver<Vec<u8>>,
}

impl Terminal {
    /// Nothing is shown yet. Rules are for this project.
    pub(super) fn new(app: &App, is_verbose: bool, project: String) -> Result<Self, Fail> {
        let file = places::config()?.display().to_string();
        Ok(Self {
            look: Look::new(app, is_verbose),
            prompt: Prompt::new(file, project),
            decoder: Decoder::default(),
            hint: String::new(),
            is_dirty: true,
            drawn: Instant::now(),
            open: None,
        })
    }

    /// The run is over: what is said last.
    pub(super) fn end(mut self, ended: Ended, json: bool) -> Result<Reply, Fail> {
        let exit = ended.code().map_or(0, |it| it.exit());
        if !json {
            let (out, notes) = (ended.words(), ended.notes);
            return Ok(Reply { out, notes, exit, changed: true, prose: false });
        }
        let status = match (exit, ended.sum.is_broken()) {
            (0, _) => Outcome::Success,
            (_, true) => Outcome::Error,
            (_, false) => Outcome::Cancelled,
        };
        let words = format!("{}\n{}", ended.sum.words(), ended.aim.words);
        if let Some(Open { show, teller, .. }) = &mut self.open {
            let mut lines = Vec::new();
            teller.ends(status, words.trim_end(), clock::now().as_millisecond(), &mut lines);
            show.events(lines)?;
        }
        Ok(Reply { notes: ended.notes, exit, changed: true, ..Reply::default() })
    }

    /// A question waits. Says elsewhere than on a terminal how it can be answered.
    fn asks(&mut self, asked: &Asked, now: Timestamp) -> Result<(), Fail> {
        self.prompt.ask(asked.clone());
        let id = asked.id.short();
        let text = if person::is_agent() {
            format!("question {id} waits for your user's answer")
        } else {
            format!("answer in another terminal: punchlist answer {id}")
        };
        self.open.as_mut().map_or(Ok(()), |it| it.show.say(now, &text))
    }

    fn answered(
        &mut self,
        asked: &Asked,
        answered: &Answered,
        is_by_other: bool,
        now: Timestamp,
    ) -> Result<(), Fail> {
        self.prompt.settle(asked.id);
        if is_by_other {
            self.say(&format!("{} was answered by {}", asked.title, answered.by), now)?;
        }
        let (Some(Open { show, teller, .. }), Some(item)) = (&mut self.open, asked.item) else {
            return Ok(());
        };
        let mut lines = Vec::new();
        let (word, by) = (questions::word(&answered.answer), Some(&*answered.by.name));
        teller.answered(item, &word, by, now.as_millisecond(), &mut lines);
        show.events(lines)
    }

    /// Draws the board, and below it what is asked.
    fn picture(&mut self, board: &Board, with_panel: bool, now: Timestamp) -> Result<(), Fail> {
        (self.is_dirty, self.drawn) = (false, Instant::now());
        let Some(Open { show, .. }) = &mut self.open else { return Ok(()) };
        let prompt = &self.prompt;
        let panel = |rows: usize, options: &Options| match prompt
            .shown(options)
            .filter(|_| with_panel)
        {
            None => Vec::new(),
            Some((asked, count, below)) => questions::asking(asked, count, &below, rows, options),
        };
        show.draw(board, &self.hint, panel, now)?;
        if with_panel {
            self.prompt.was_drawn();
        }
        Ok(())
    }

    /// What keys come to.
    fn keys(&mut self, bytes: &[u8]) -> Option<Input> {
        self.is_dirty = true;
        // What comes after an answer was typed before the next question was seen.
        self.decoder.push(bytes).iter().find_map(|key| match self.prompt.key(key) {
            Pressed::Answer(id, answer) => Some(Input::Answer(id, answer)),
            Pressed::Nothing => None,
        })
    }

    fn signal(&mut self, sort: Sort) -> Result<Option<Input>, Fail> {
        self.is_dirty = true;
        let Some(Open { show, .. }) = &mut self.open else { return Ok(None) };
        match sort {
            Sort::Leave => {
                "stopping; Ctrl-C again ends at once".clone_into(&mut self.hint);
                return Ok(Some(Input::Stop));
            }
            Sort::Resize => {
                show.resized();
                return Ok(Some(Input::Draw));
            }
            Sort::Pause => show.pause()?,
            Sort::Resume => show.resume()?,
        }
        Ok(None)
    }

    /// Waits for a key, a signal or the next picture.
    async fn wait(&mut self) -> Result<Input, Fail> {
        loop {
            let pause = if self.is_dirty { FRAME } else { TICK };
            let next_frame = self.drawn + pause;
            let Some(Open { show, signals, keys, .. }) = &mut self.open else {
                return std::future::pending().await;
            };
            let is_live = show.is_live();
            let input = tokio::select! {
                sort = signals.next() => self.signal(sort)?,
                Some(bytes) = keys.recv() => self.keys(&bytes),
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
        print::notes(&[text.to_owned()], self.look.json);
    }

    fn say(&mut self, text: &str, now: Timestamp) -> Result<(), Fail> {
        let Some(Open { show, .. }) = &mut self.open else {
            print::aside(text, None);
            return Ok(());
        };
        text.clone_into(&mut self.hint);
        self.is_dirty = true;
        show.say(now, text)
    }

    fn confirm<'a>(&'a mut self, question: &'a str) -> BoxFuture<'a, bool> {
        // Nothing runs yet that would have to wait for it.
        let is_yes = print::confirm(question) == Said::Yes;
        Box::pin(std::future::ready(is_yes))
    }

    fn event(&mut self, event: Event<'_>, board: &Board, now: Timestamp) -> Result<(), Fail> {
        self.is_dirty = true;
        let ms = now.as_millisecond();
        if let Event::Begins { run, .. } = event {
            let show = Show::open(self.look.clone())?;
            let (teller, signals) = (Teller::new(run), Signals::hear()?);
            let keys = wake::keys(show.keyboard());
            self.open = Some(Open { show, teller, signals, keys });
            "Ctrl-C stops; run again to go on".clone_into(&mut self.hint);
        }
        let Some(Open { show, teller, .. }) = &mut self.open else { return Ok(()) };
        let mut lines = Vec::new();
        match event {
            Event::Begins { directory, name, .. } => {
                teller.begins(&directory.to_string_lossy(), name, ms, &mut lines);
            }
            Event::Plan(plan) if self.look.json => teller.list(plan, &mut lines),
            Event::Plan(_) | Event::Stops(_) => {}
            Event::Planned { item, tool, arguments } => teller.knows(item, tool, arguments),
            Event::Held(item) | Event::Retries(item) => show.moved(board, item, now)?,
            Event::Scheduled(item) => teller.scheduled(item, ms, &mut lines),
            Event::Starts(item) => {
                show.moved(board, item, now)?;
                teller.started(item, ms, &mut lines);
            }
            Event::Completed { item, status, text } => {
                show.moved(board, item, now)?;
                teller.completed(item, status, text, ms, &mut lines);
            }
            Event::Printed { title, line } => show.printed(title, line, now)?,
            Event::Lost(count) => {
                let text =
                    format!("{count} lines came too fast; `punchlist show N --output` has them");
                show.printed("…", &text, now)?;
            }
            Event::Asked { item, what } => {
                show.moved(board, item, now)?;
                teller.asks(item, what, ms, &mut lines);
            }
            Event::Question(asked) => return self.asks(asked, now),
            Event::Answered { asked, answered, is_by_other } => {
                return self.answered(asked, answered, is_by_other, now);
            }
            Event::Withdrawn(id) => drop(self.prompt.settle(id)),
            Event::Changed { item, arguments } => teller.changed(item, arguments),
            Event::Over => {
                self.hint.clear();
                self.picture(board, false, now)?;
                if let Some(Open { show, .. }) = &mut self.open {
                    show.leave();
                }
                return Ok(());
            }
        }
        show.events(lines)
    }

    fn draw(&mut self, board: &Board, now: Timestamp) -> Result<(), Fail> {
        self.picture(board, true, now)
    }

    fn input(&mut self) -> BoxFuture<'_, Result<Input, Fail>> {
        Box::pin(self.wait())
    }
}

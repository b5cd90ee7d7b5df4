//! Where rows go: a view in place on a terminal, a line per change elsewhere, nothing for programs.

use std::collections::BTreeMap;
use std::fs::File;
use std::time::{Duration, Instant};

use punchlist_bridge::install;
use punchlist_formats::text::{Line, Style};
use punchlist_formats::view::watch::{Look, line, watch};
use punchlist_model::agents::Row;
use rustix::process::{Signal, getpid, kill_process};

use crate::agent::{self, Goal};
use crate::app::App;
use crate::error::Fail;
use crate::inline_terminal::{self, InlineTerminal};
use crate::print::{self, Screen};
use crate::{clock, person};

/// Reading what was there before is told of when it takes longer than this.
const LONG: Duration = Duration::from_secs(1);

/// What a key asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pressed {
    /// To leave.
    Leave,
    /// Something else, or nothing.
    Stay,
}

/// How it is shown.
enum Way {
    /// In place, on a terminal.
    Live(InlineTerminal),
    /// A line per change; these were printed.
    Lines(BTreeMap<String, String>),
    /// All at once, at the end.
    Once,
    /// Not at all: programs are told of events.
    Nothing,
}

/// Where rows go.
pub(super) struct Show {
    way: Way,
    screen: Screen,
    options: punchlist_formats::view::Options,
    /// The rows as they stand, by key; what the keys move over.
    keys: Vec<String>,
    selected: Option<String>,
    opened: Option<String>,
    /// The terminal has changed: everything is to be drawn again.
    anew: bool,
    offers: Vec<(String, String)>,
    told: Vec<String>,
    /// When reading began.
    began: Instant,
    /// When its progress was drawn.
    drawn: Instant,
}

impl Show {
    pub(super) fn open(app: &App, screen: Screen, once: bool) -> Result<Self, Fail> {
        let is_dumb = std::env::var_os("TERM").is_some_and(|it| it == "dumb");
        let way = if app.globals.json {
            Way::Nothing
        } else if once {
            Way::Once
        } else if screen.is_terminal && !is_dumb {
            Way::Live(InlineTerminal::open(screen)?)
        } else {
            Way::Lines(BTreeMap::new())
        };
        let install = |name: &str| {
            let agent = agent::named(name).ok()?;
            // Who is set up already needs no advice: the agent just has not planned anything.
            let is_set_up =
                |goal| agent::options(app, agent, goal).is_ok_and(|it| install::is_set_up(&it));
            if is_set_up(Goal::User) || is_set_up(Goal::Project) {
                return None;
            }
            // Agents are set up by people.
            (!person::is_agent()).then(|| (name.to_owned(), format!("punchlist install {name}")))
        };
        let now = Instant::now();
        Ok(Self {
            way,
            screen,
            options: app.view(screen),
            keys: Vec::new(),
            selected: None,
            opened: None,
            anew: true,
            offers: ["claude", "codex", "gemini"].into_iter().filter_map(install).collect(),
            told: Vec::new(),
            began: now,
            drawn: now,
        })
    }

    /// Whether the view is drawn in place.
    pub(super) fn is_live(&self) -> bool {
        matches!(self.way, Way::Live(_))
    }

    pub(super) fn keyboard(&self) -> Option<File> {
        match &self.way {
            Way::Live(terminal) => terminal.keyboard(),
            Way::Lines(_) | Way::Once | Way::Nothing => None,
        }
    }

    /// Shows the rows as they are now. Says whether anybody looks.
    pub(super) fn rows(
        &mut self,
        rows: &[Row],
        notes: &[String],
        last: bool,
    ) -> Result<bool, Fail> {
        self.options.now = clock::now();
        self.keys = rows.iter().map(|it| it.key.clone()).collect();
        self.selected.take_if(|it| !self.keys.contains(it));
        let (width, height) = inline_terminal::size().unwrap_or((self.screen.width, 24));
        let mut look = Look { notes, offers: &self.offers, ..Look::default() };
        match &mut self.way {
            Way::Nothing => {
                tell(&mut self.told, notes);
                Ok(true)
            }
            Way::Once => {
                let lines = watch(rows, look, &self.options);
                print::live(&self.screen.drawn(&lines))
            }
            Way::Live(terminal) => {
                self.options.width = width;
                look.selected = self.selected.as_deref().filter(|_| !last);
                look.opened = self.opened.as_deref();
                look.height = Some(usize::from(height).saturating_sub(1).max(2));
                look.keys = !last;
                let lines = watch(rows, look, &self.options);
                let anew = std::mem::take(&mut self.anew).then_some(usize::from(height));
                terminal.draw(&lines, anew)
            }
            Way::Lines(printed) => {
                tell(&mut self.told, notes);
                let mut out = String::new();
                let now = self.options.now.as_second();
                for row in rows {
                    let text = line(row);
                    if printed.get(&row.key) != Some(&text) {
                        let at = punchlist_model::Timestamp::from_second(now)
                            .unwrap_or(self.options.now);
                        out.push_str(&format!("{at}  {text}\n"));
                        printed.insert(row.key.clone(), text);
                    }
                }
                printed.retain(|key, _| self.keys.contains(key));
                if out.is_empty() { Ok(true) } else { print::live(&out) }
            }
        }
    }

    /// Reading begins, of which [`Self::progress`] may tell.
    pub(super) fn begin_reading(&mut self) {
        self.began = Instant::now();
        self.drawn = self.began;
    }

    /// Tells how far the first reading has come, if it takes long.
    pub(super) fn progress(&mut self, done: u64, total: u64) {
        let now = Instant::now();
        let is_time =
            now.duration_since(self.began) > LONG && now.duration_since(self.drawn) > LONG / 10;
        if let Way::Live(terminal) = &mut self.way
            && is_time
        {
            self.drawn = now;
            let text = format!(" reading sessions: {} of {} MB", done >> 20, total >> 20);
            // Should nobody look any more, that is found out with the first frame.
            drop(terminal.draw(&[Line::of(&text, Style::Plain)], None));
        }
    }

    pub(super) fn key(&mut self, key: u8) -> Pressed {
        let at = self.selected.as_ref().and_then(|it| self.keys.iter().position(|key| key == it));
        match key {
            // `q`, Ctrl-C where it is no signal, Ctrl-D.
            b'q' | b'Q' | 3 | 4 => return Pressed::Leave,
            b'j' => {
                let next = at.map_or(0, |it| (it + 1).min(self.keys.len().saturating_sub(1)));
                self.selected = self.keys.get(next).cloned();
            }
            b'k' => {
                let next = at.unwrap_or(0).saturating_sub(1);
                self.selected = self.keys.get(next).cloned();
            }
            b'\r' | b'\n' | b' ' => {
                if self.selected.is_none() {
                    self.selected = self.keys.first().cloned();
                }
                let is_open = self.opened.is_some() && self.opened == self.selected;
                self.opened = if is_open { None } else { self.selected.clone() };
            }
            // Escape goes back by one step; Ctrl-L draws everything again.
            0x1b if self.opened.is_some() => self.opened = None,
            0x1b => self.selected = None,
            12 => self.anew = true,
            _ => {}
        }
        Pressed::Stay
    }

    pub(super) fn resized(&mut self) {
        self.anew = true;
    }

    /// Stops until somebody wakes the process, with the terminal as it was.
    pub(super) fn pause(&mut self) -> Result<(), Fail> {
        if let Way::Live(terminal) = &mut self.way {
            terminal.leave();
        }
        kill_process(getpid(), Signal::STOP)
            .map_err(|why| Fail::ours(format!("cannot stop: {why}")))
    }

    pub(super) fn resume(&mut self) -> Result<(), Fail> {
        self.anew = true;
        match &mut self.way {
            Way::Live(terminal) => terminal.enter(),
            Way::Lines(_) | Way::Once | Way::Nothing => Ok(()),
        }
    }

    /// Gives the terminal back.
    pub(super) fn leave(&mut self) {
        if let Way::Live(terminal) = &mut self.way {
            terminal.leave();
        }
    }
}

/// Says on stderr what was not said yet.
fn tell(told: &mut Vec<String>, notes: &[String]) {
    let new: Vec<String> = notes.iter().filter(|it| !told.contains(it)).cloned().collect();
    for note in &new {
        print::aside(note, None);
    }
    told.retain(|it| notes.contains(it));
    told.extend(new);
}

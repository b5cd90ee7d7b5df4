//! The outputs of a watch: drawn in place on a terminal, one line per change elsewhere, nothing for
//! programs.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};

use punchlist_engine::Around;
use punchlist_engine::fail::Fail;
use punchlist_formats::text::{Line, Style};
use punchlist_formats::view;
use punchlist_formats::view::watch::{Look, line, watch};
use punchlist_model::Timestamp;
use punchlist_model::agents::Row;

use super::selection::{Pressed, Selection};
use crate::keys::Key;
use crate::options::{Options, Screen};
use crate::terminal::inline_terminal::{self, InlineTerminal};
use crate::terminal::{output, signals};

/// Reading old files shows its progress after this time.
const LONG: Duration = Duration::from_secs(1);

/// The kind of output.
enum Way {
    /// Drawn in place on a terminal.
    Live(InlineTerminal),
    /// One line per change, with the lines that were printed last.
    Lines(BTreeMap<String, String>),
    /// All rows at the end.
    Once,
    /// No rows: programs get events.
    Nothing,
}

/// The output for rows.
pub(super) struct Show {
    way: Way,
    screen: Screen,
    options: view::Options,
    around: Arc<dyn Around>,
    selection: Selection,
    /// Whether everything must be drawn again, because the terminal has changed.
    anew: bool,
    /// Suggestions for agents without a list: the agent, and the command that sets it up.
    offers: Vec<(String, String)>,
    /// The notes that have been printed.
    printed: Vec<String>,
    /// When reading began.
    began: Instant,
    /// When the progress was last drawn.
    drawn: Instant,
}

impl Show {
    /// Chooses the kind of output, and takes over a terminal.
    pub(super) fn open(
        options: Options,
        once: bool,
        offers: Vec<(String, String)>,
        around: Arc<dyn Around>,
    ) -> Result<Self, Fail> {
        let Options { json, screen, draws_in_place, view: options } = options;
        let way = if json {
            Way::Nothing
        } else if once {
            Way::Once
        } else if draws_in_place {
            Way::Live(InlineTerminal::open(screen)?)
        } else {
            Way::Lines(BTreeMap::new())
        };
        let now = Instant::now();
        Ok(Self {
            way,
            screen,
            options,
            around,
            selection: Selection::default(),
            anew: true,
            offers,
            printed: Vec::new(),
            began: now,
            drawn: now,
        })
    }

    /// Whether the view is drawn in place.
    pub(super) fn is_live(&self) -> bool {
        matches!(self.way, Way::Live(_))
    }

    /// The keyboard, if there is one.
    pub(super) fn keyboard(&self) -> Option<File> {
        match &self.way {
            Way::Live(terminal) => terminal.keyboard(),
            Way::Lines(_) | Way::Once | Way::Nothing => None,
        }
    }

    /// Shows the rows. Returns whether anybody still reads.
    pub(super) fn rows(
        &mut self,
        rows: &[Row],
        notes: &[String],
        last: bool,
    ) -> Result<bool, Fail> {
        self.options.now = self.around.now();
        self.selection.see(rows);
        let (width, height) = inline_terminal::size().unwrap_or((self.screen.width, 24));
        let mut look = Look { notes, offers: &self.offers, ..Look::default() };
        match &mut self.way {
            Way::Nothing => {
                print_new(&mut self.printed, notes);
                Ok(true)
            }
            Way::Once => {
                let lines = watch(rows, look, &self.options);
                output::live(&self.screen.drawn(&lines))
            }
            Way::Live(terminal) => {
                self.options.width = width;
                look.height = Some(usize::from(height).saturating_sub(1).max(2));
                let lines = self.selection.view(rows, look, last, &self.options);
                let anew = std::mem::take(&mut self.anew).then_some(usize::from(height));
                terminal.draw(&lines, anew)
            }
            Way::Lines(printed) => {
                print_new(&mut self.printed, notes);
                let mut out = String::new();
                let now = self.options.now.as_second();
                for row in rows {
                    let text = line(row);
                    if printed.get(&row.key) != Some(&text) {
                        let at = Timestamp::from_second(now).unwrap_or(self.options.now);
                        out.push_str(&format!("{at}  {text}\n"));
                        printed.insert(row.key.clone(), text);
                    }
                }
                printed.retain(|key, _| self.selection.has(key));
                if out.is_empty() { Ok(true) } else { output::live(&out) }
            }
        }
    }

    /// Starts the time for [`Self::progress`].
    pub(super) fn begin_reading(&mut self) {
        self.began = Instant::now();
        self.drawn = self.began;
    }

    /// Shows the progress of reading, if it takes long.
    pub(super) fn progress(&mut self, done: u64, total: u64) {
        let now = Instant::now();
        let is_time =
            now.duration_since(self.began) > LONG && now.duration_since(self.drawn) > LONG / 10;
        if let Way::Live(terminal) = &mut self.way
            && is_time
        {
            self.drawn = now;
            let text = format!(" reading sessions: {} of {} MB", done >> 20, total >> 20);
            // If the terminal is gone, the first frame will report it.
            drop(terminal.draw(&[Line::of(&text, Style::Plain)], None));
        }
    }

    /// Handles a key. Returns whether it asks to leave.
    pub(super) fn key(&mut self, key: &Key) -> bool {
        let pressed = self.selection.key(key);
        self.anew |= pressed == Pressed::Redraw;
        pressed == Pressed::Leave
    }

    /// Handles a new size of the terminal.
    pub(super) fn resized(&mut self) {
        self.anew = true;
    }

    /// Restores the terminal and stops the process until it is continued (Ctrl-Z).
    pub(super) fn pause(&mut self) -> Result<(), Fail> {
        if let Way::Live(terminal) = &mut self.way {
            terminal.leave();
        }
        signals::pause()
    }

    /// Takes over the terminal again.
    pub(super) fn resume(&mut self) -> Result<(), Fail> {
        self.anew = true;
        match &mut self.way {
            Way::Live(terminal) => terminal.enter(),
            Way::Lines(_) | Way::Once | Way::Nothing => Ok(()),
        }
    }

    /// Restores the terminal.
    pub(super) fn leave(&mut self) {
        if let Way::Live(terminal) = &mut self.way {
            terminal.leave();
        }
    }
}

/// Prints the notes that have not been printed before on stderr.
fn print_new(printed: &mut Vec<String>, notes: &[String]) {
    let new: Vec<String> = notes.iter().filter(|it| !printed.contains(it)).cloned().collect();
    for note in &new {
        output::aside(note, None);
    }
    printed.retain(|it| notes.contains(it));
    printed.extend(new);
}

//! The outputs of a watch: drawn in place on a terminal, one line per change elsewhere, nothing for
//! programs. Rows that were put away or do not pass the filter are not shown.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};

use punchlist_engine::Around;
use punchlist_engine::fail::Fail;
use punchlist_engine::watch::archive::Archive;
use punchlist_formats::text::{Line, Style};
use punchlist_formats::view;
use punchlist_formats::view::pane::pane;
use punchlist_formats::view::watch::line;
use punchlist_model::Timestamp;
use punchlist_model::agents::Row;

use super::board::Board;
use crate::notify::{HEAR_FOCUS, IGNORE_FOCUS};
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

/// What is shown besides rows, and how.
pub(super) struct Shown {
    /// Suggestions for agents without a list: the agent, and the command that sets it up.
    pub(super) offers: Vec<(String, String)>,
    /// The rows that were put away.
    pub(super) archive: Option<Archive>,
    /// Whether only one agent is shown, in a narrow split.
    pub(super) is_pane: bool,
}

/// The output for rows.
pub(super) struct Show {
    way: Way,
    screen: Screen,
    options: view::Options,
    around: Arc<dyn Around>,
    /// What the person sees and does.
    pub(super) board: Board,
    /// Whether only one agent is shown, in a narrow split.
    is_pane: bool,
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
        shown: Shown,
        around: Arc<dyn Around>,
    ) -> Result<Self, Fail> {
        let Shown { offers, archive, is_pane } = shown;
        let Options { json, screen, draws_in_place, view: options } = options;
        let way = if json {
            Way::Nothing
        } else if once {
            Way::Once
        } else if draws_in_place {
            let terminal = InlineTerminal::open(screen)?;
            output::live(HEAR_FOCUS)?;
            Way::Live(terminal)
        } else {
            Way::Lines(BTreeMap::new())
        };
        let now = Instant::now();
        Ok(Self {
            way,
            screen,
            options,
            around,
            board: Board::new(archive),
            is_pane,
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
        let (width, height) = inline_terminal::size().unwrap_or((self.screen.width, 24));
        if self.is_pane {
            return self.pane(rows.first(), width, height);
        }
        match &mut self.way {
            Way::Nothing => {
                print_new(&mut self.printed, notes);
                Ok(true)
            }
            Way::Once => {
                let lines = self.board.all(rows, notes, &self.offers, &self.options);
                output::live(&self.screen.drawn(&lines))
            }
            Way::Live(terminal) => {
                self.options.width = width;
                let room = usize::from(height).saturating_sub(1).max(2);
                let lines =
                    self.board.lines(rows, notes, &self.offers, (room, last), &self.options);
                let anew = std::mem::take(&mut self.anew).then_some(usize::from(height));
                terminal.draw(&lines, anew)
            }
            Way::Lines(printed) => {
                print_new(&mut self.printed, notes);
                let mut out = String::new();
                let now = self.options.now.as_second();
                for row in rows.iter().filter(|it| !self.board.is_away(it)) {
                    let text = line(row);
                    if printed.get(&row.key) != Some(&text) {
                        let at = Timestamp::from_second(now).unwrap_or(self.options.now);
                        out.push_str(&format!("{at}  {text}\n"));
                        printed.insert(row.key.clone(), text);
                    }
                }
                printed.retain(|key, _| rows.iter().any(|it| it.key == *key));
                if out.is_empty() { Ok(true) } else { output::live(&out) }
            }
        }
    }

    /// Shows one agent. Returns whether anybody still reads.
    fn pane(&mut self, row: Option<&Row>, width: u16, height: u16) -> Result<bool, Fail> {
        match &mut self.way {
            Way::Live(terminal) => {
                self.options.width = width;
                let room = usize::from(height).saturating_sub(1).max(1);
                let lines = pane(row, Some(room), &self.options);
                let anew = std::mem::take(&mut self.anew).then_some(usize::from(height));
                terminal.draw(&lines, anew)
            }
            Way::Lines(printed) => {
                let text = self.screen.drawn(&pane(row, None, &self.options));
                let is_new = printed.get("") != Some(&text);
                printed.insert(String::new(), text.clone());
                if is_new { output::live(&text) } else { Ok(true) }
            }
            Way::Once => output::live(&self.screen.drawn(&pane(row, None, &self.options))),
            Way::Nothing => Ok(true),
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

    /// Draws everything again: the terminal has changed, or the person wants it.
    pub(super) fn redraw(&mut self) {
        self.anew = true;
    }

    /// Restores the terminal and stops the process until it is continued (Ctrl-Z).
    pub(super) fn pause(&mut self) -> Result<(), Fail> {
        self.leave();
        signals::pause()
    }

    /// Takes over the terminal again.
    pub(super) fn resume(&mut self) -> Result<(), Fail> {
        self.anew = true;
        match &mut self.way {
            Way::Live(terminal) => {
                terminal.enter()?;
                output::live(HEAR_FOCUS).map(|_| ())
            }
            Way::Lines(_) | Way::Once | Way::Nothing => Ok(()),
        }
    }

    /// Restores the terminal.
    pub(super) fn leave(&mut self) {
        if let Way::Live(terminal) = &mut self.way {
            // If the terminal is gone, there is nothing to restore.
            output::live(IGNORE_FOCUS).ok();
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

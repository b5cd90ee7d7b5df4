//! The outputs of a run: drawn in place on a terminal, one line per change elsewhere, or JSON
//! events.

use std::fs::File;

use punchlist_engine::fail::Fail;
use punchlist_engine::run::{Board, Ended, Event, JsonEvents};
use punchlist_formats::text::one_line;
use punchlist_formats::view;
use punchlist_formats::view::run::{Run, line, printed_lines};
use punchlist_model::{Number, RunId, Timestamp};

use super::view::picture;
use crate::notify::{HEAR_FOCUS, IGNORE_FOCUS};
use crate::options::{Options, Screen};
use crate::prompt::Prompt;
use crate::terminal::inline_terminal::{self, InlineTerminal};
use crate::terminal::{output, signals};

/// The kind of output.
enum Way {
    /// Drawn in place on a terminal.
    Live(InlineTerminal),
    /// One line per change.
    Lines,
    /// JSON events.
    Events(JsonEvents),
}

/// The output of a run.
pub(super) struct Show {
    way: Way,
    screen: Screen,
    options: view::Options,
    /// Whether everything must be drawn again, because the terminal has changed.
    anew: bool,
    /// Whether somebody still reads the output.
    is_read: bool,
    /// Whether everything that steps print is shown.
    is_verbose: bool,
}

impl Show {
    /// Chooses the kind of output, and takes over a terminal.
    pub(super) fn open(options: Options, is_verbose: bool, run: RunId) -> Result<Self, Fail> {
        let Options { json, screen, draws_in_place, view: options } = options;
        let way = if json {
            Way::Events(JsonEvents::new(run))
        } else if draws_in_place {
            let terminal = InlineTerminal::open(screen)?;
            output::live(HEAR_FOCUS)?;
            Way::Live(terminal)
        } else {
            Way::Lines
        };
        Ok(Self { way, screen, options, anew: true, is_read: true, is_verbose })
    }

    /// The keyboard, if there is one.
    pub(super) fn keyboard(&self) -> Option<File> {
        match &self.way {
            Way::Live(terminal) => terminal.keyboard(),
            Way::Lines | Way::Events(_) => None,
        }
    }

    /// Whether the run is drawn in place.
    pub(super) fn is_live(&self) -> bool {
        matches!(self.way, Way::Live(_))
    }

    /// Reports the change of an item.
    pub(super) fn moved(
        &mut self,
        board: &Board,
        item: Number,
        now: Timestamp,
    ) -> Result<(), Fail> {
        if matches!(self.way, Way::Lines)
            && let Some(step) = board.step(item, now.as_millisecond())
        {
            self.say(now, &line(&step))?;
            if !self.is_verbose {
                self.below(&printed_lines(&step, &self.options))?;
            }
        }
        Ok(())
    }

    /// Prints lines below the last one.
    fn below(&mut self, lines: &[String]) -> Result<(), Fail> {
        if !lines.is_empty() && self.is_read {
            self.is_read = output::live(&(lines.join("\n") + "\n"))?;
        }
        Ok(())
    }

    /// Prints a line that a step has printed, if verbose.
    pub(super) fn printed(&mut self, title: &str, text: &str, now: Timestamp) -> Result<(), Fail> {
        if !self.is_verbose || text.is_empty() {
            return Ok(());
        }
        let line = format!("{} | {}", one_line(title), one_line(text));
        match &mut self.way {
            Way::Lines => self.say(now, &line),
            Way::Live(terminal) => {
                self.is_read = terminal.above(&line)?;
                Ok(())
            }
            Way::Events(_) => Ok(()),
        }
    }

    /// Prints a line with the time, unless the run is drawn in place.
    pub(super) fn say(&mut self, now: Timestamp, text: &str) -> Result<(), Fail> {
        if matches!(self.way, Way::Lines) && self.is_read {
            let at = Timestamp::from_second(now.as_second()).unwrap_or(now);
            self.is_read = output::live(&format!("{at}  {text}\n"))?;
        }
        Ok(())
    }

    /// Prints a JSON event.
    pub(super) fn event(&mut self, event: Event<'_>, now: Timestamp) -> Result<(), Fail> {
        let Way::Events(events) = &mut self.way else { return Ok(()) };
        let lines = events.event(event, now);
        self.lines(lines)
    }

    /// Prints the final JSON event.
    pub(super) fn end(&mut self, ended: &Ended, now: Timestamp) -> Result<(), Fail> {
        let Way::Events(events) = &mut self.way else { return Ok(()) };
        let lines = events.end(ended, now);
        self.lines(lines)
    }

    fn lines(&mut self, lines: Vec<u8>) -> Result<(), Fail> {
        if !lines.is_empty() && self.is_read {
            self.is_read = output::live_json(lines)?;
        }
        Ok(())
    }

    /// Draws the board with a hint, and the open question below.
    pub(super) fn draw(
        &mut self,
        board: &Board,
        hint: &str,
        prompt: Option<&Prompt>,
        now: Timestamp,
    ) -> Result<(), Fail> {
        let Way::Live(terminal) = &mut self.way else { return Ok(()) };
        let (width, height) = inline_terminal::size().unwrap_or((self.screen.width, 24));
        (self.options.width, self.options.now) = (width, now);
        let run = Run { hint: hint.to_owned(), ..board.view(now.as_millisecond()) };
        let lines = picture(&run, prompt, height, &self.options);
        let anew = std::mem::take(&mut self.anew).then_some(usize::from(height));
        self.is_read = terminal.draw(&lines, anew)?;
        Ok(())
    }

    /// Handles a new size of the terminal.
    pub(super) fn resized(&mut self) {
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
            Way::Lines | Way::Events(_) => Ok(()),
        }
    }

    /// Restores the terminal, with the last frame above the cursor.
    pub(super) fn leave(&mut self) {
        if let Way::Live(terminal) = &mut self.way {
            // If the terminal is gone, there is nothing to restore.
            output::live(IGNORE_FOCUS).ok();
            terminal.leave();
        }
    }
}

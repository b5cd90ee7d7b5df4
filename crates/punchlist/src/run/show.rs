//! Where a run is shown: in place on a terminal, a line per change elsewhere, events for programs.

use std::fs::File;

use punchlist_formats::text::{Line, one_line};
use punchlist_formats::view::Options;
use punchlist_formats::view::run::{Run, line, printed_lines, run};
use punchlist_model::{Number, Timestamp};
use rustix::process::{Signal, getpid, kill_process};

use crate::app::App;
use crate::error::Fail;
use crate::inline_terminal::{self, InlineTerminal};
use crate::print::{self, Screen};
use punchlist_engine::run::Board;

/// How it is shown.
enum Way {
    /// In place, on a terminal.
    Live(InlineTerminal),
    /// A line per change.
    Lines,
    /// As events.
    Events,
}

/// How a run is to be shown.
#[derive(Clone)]
pub(super) struct Look {
    /// Programs read it.
    pub(super) json: bool,
    screen: Screen,
    options: Options,
    /// All that steps print is shown.
    is_verbose: bool,
}

impl Look {
    /// As this call wants it.
    pub(super) fn new(app: &App, is_verbose: bool) -> Self {
        let screen = app.screen();
        Self { json: app.globals.json, screen, options: app.view(screen), is_verbose }
    }
}

/// Where a run is shown.
pub(super) struct Show {
    way: Way,
    screen: Screen,
    options: Options,
    /// The terminal has changed: everything is to be drawn again.
    anew: bool,
    /// Somebody reads what is written.
    is_read: bool,
    /// All that steps print is shown.
    is_verbose: bool,
}

impl Show {
    /// Looks where it leads, and takes a terminal over.
    pub(super) fn open(look: Look) -> Result<Self, Fail> {
        let Look { json, screen, options, is_verbose } = look;
        let is_dumb = std::env::var_os("TERM").is_some_and(|it| it == "dumb");
        let way = if json {
            Way::Events
        } else if screen.is_terminal && !is_dumb {
            Way::Live(InlineTerminal::open(screen)?)
        } else {
            Way::Lines
        };
        Ok(Self { way, screen, options, anew: true, is_read: true, is_verbose })
    }

    /// The keyboard, if somebody is at it.
    pub(super) fn keyboard(&self) -> Option<File> {
        match &self.way {
            Way::Live(canvas) => canvas.keyboard(),
            Way::Lines | Way::Events => None,
        }
    }

    /// Whether it is drawn in place.
    pub(super) fn is_live(&self) -> bool {
        matches!(self.way, Way::Live(_))
    }

    /// An item has changed.
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

    /// Lines below one that was said.
    fn below(&mut self, lines: &[String]) -> Result<(), Fail> {
        if !lines.is_empty() && self.is_read {
            self.is_read = print::live(&(lines.join("\n") + "\n"))?;
        }
        Ok(())
    }

    /// A line that a step printed, as it comes, for who wants all of them.
    pub(super) fn printed(&mut self, title: &str, text: &str, now: Timestamp) -> Result<(), Fail> {
        if !self.is_verbose || text.is_empty() {
            return Ok(());
        }
        let line = format!("{} | {}", one_line(title), one_line(text));
        match &mut self.way {
            Way::Lines => self.say(now, &line),
            Way::Live(canvas) => {
                self.is_read = canvas.above(&line)?;
                Ok(())
            }
            Way::Events => Ok(()),
        }
    }

    /// A line for people, with the time, where nothing is drawn in place.
    pub(super) fn say(&mut self, now: Timestamp, text: &str) -> Result<(), Fail> {
        if matches!(self.way, Way::Lines) && self.is_read {
            let at = Timestamp::from_second(now.as_second()).unwrap_or(now);
            self.is_read = print::live(&format!("{at}  {text}\n"))?;
        }
        Ok(())
    }

    /// Events for programs.
    pub(super) fn events(&mut self, lines: Vec<u8>) -> Result<(), Fail> {
        if !matches!(self.way, Way::Events) || lines.is_empty() || !self.is_read {
            return Ok(());
        }
        self.is_read = print::live_json(lines)?;
        Ok(())
    }

    /// Draws the board with a hint, and below it a panel, which is told how many lines it has.
    pub(super) fn draw(
        &mut self,
        board: &Board,
        hint: &str,
        panel: impl FnOnce(usize, &Options) -> Vec<Line>,
        now: Timestamp,
    ) -> Result<(), Fail> {
        let Way::Live(canvas) = &mut self.way else { return Ok(()) };
        let (width, height) = inline_terminal::size().unwrap_or((self.screen.width, 24));
        self.options.width = width;
        self.options.now = now;
        let most = usize::from(height).saturating_sub(1).max(3);
        // What is asked is more than how it stands; but that it stands somehow should be seen.
        let panel = panel(most.saturating_sub(3).max(2), &self.options);
        let room = most.saturating_sub(panel.len());
        let view = Run { hint: hint.to_owned(), ..board.view(now.as_millisecond()) };
        let mut lines = run(&view, Some(room), &self.options);
        lines.extend(panel);
        let anew = std::mem::take(&mut self.anew).then_some(usize::from(height));
        self.is_read = canvas.draw(&lines, anew)?;
        Ok(())
    }

    /// The terminal has another size.
    pub(super) fn resized(&mut self) {
        self.anew = true;
    }

    /// Stops until somebody wakes the process, with the terminal as it was.
    pub(super) fn pause(&mut self) -> Result<(), Fail> {
        self.leave();
        kill_process(getpid(), Signal::STOP)
            .map_err(|why| Fail::ours(format!("cannot stop: {why}")))
    }

    /// Goes on after that.
    pub(super) fn resume(&mut self) -> Result<(), Fail> {
        self.anew = true;
        match &mut self.way {
            Way::Live(canvas) => canvas.enter(),
            Way::Lines | Way::Events => Ok(()),
        }
    }

    /// Gives the terminal back, with the last frame above.
    pub(super) fn leave(&mut self) {
        if let Way::Live(canvas) = &mut self.way {
            canvas.leave();
        }
    }
}

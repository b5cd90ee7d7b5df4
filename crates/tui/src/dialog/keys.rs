//! The keys, each with what it does.

use punchlist_formats::text::{Glyphs, Line, Style};

use super::DialogReply;
use super::layout::{self, Hint, Page};
use super::scroller::Scroller;
use crate::keys::Key;

/// The keys of the main screen, in groups.
const MAIN: &[(&str, &[Hint])] = &[
    (
        "Input",
        &[
            ("Enter", "send; queue while the agent works"),
            ("Alt-Enter", "steer: the agent reads it before its next model call"),
            ("Tab", "complete"),
            ("Up/Down", "earlier inputs"),
            ("Ctrl-R", "search earlier inputs"),
            ("@", "name a file or a member of the team"),
            ("/", "command"),
            ("!", "run a shell command of your own (in an empty input)"),
            ("?", "show the keys (in an empty input)"),
        ],
    ),
    (
        "Agent",
        &[
            ("Esc", "end the turn; plan, queue and draft stay"),
            ("Ctrl-C twice", "quit"),
            ("Ctrl-D", "quit (in an empty input)"),
            ("Ctrl-Z", "suspend"),
        ],
    ),
    ("Plan", &[("Ctrl-T", "open the plan")]),
    (
        "In every dialog",
        &[
            ("j/k, arrows", "move"),
            ("g/G", "first, last"),
            ("PgUp/PgDn", "a page up, down"),
            ("Enter", "open"),
            ("/", "filter"),
            ("?", "show the keys of the dialog"),
            ("Esc", "go back, close; the turn goes on"),
        ],
    ),
];

const KEYS: &[Hint] = &[("j/k", "scroll"), ("g/G", "ends"), ("Esc", "close")];

/// A list of keys.
#[derive(Clone, Debug)]
pub(crate) struct KeysDialog {
    title: &'static str,
    lines: Vec<Line>,
    scroller: Scroller,
    glyphs: Glyphs,
}

impl KeysDialog {
    /// The keys of the main screen.
    pub(crate) fn main(glyphs: Glyphs) -> Self {
        let mut lines = Vec::new();
        for (group, hints) in MAIN {
            if !lines.is_empty() {
                lines.push(Line::new());
            }
            lines.push(Line::of(group, Style::Bold));
            lines.extend(layout::help(hints));
        }
        Self { title: "Keys", lines, scroller: Scroller::default(), glyphs }
    }

    /// The keys of a dialog.
    pub(super) fn of(title: &'static str, hints: &[Hint], glyphs: Glyphs) -> Self {
        Self { title, lines: layout::help(hints), scroller: Scroller::default(), glyphs }
    }

    /// Handles a key.
    pub(crate) fn key(&mut self, key: &Key) -> DialogReply {
        match key {
            Key::Escape | Key::Enter | Key::Char('q' | '?') => DialogReply::Close,
            _ => {
                self.scroller.key(key, &self.lines);
                DialogReply::Stay
            }
        }
    }

    /// Takes the size of the screen.
    pub(crate) fn resize(&mut self, width: usize, height: usize) {
        self.scroller.resize(width, height.saturating_sub(2));
    }

    pub(super) fn lines(&self, width: usize, height: usize) -> Vec<Line> {
        let place = self.scroller.place(&self.lines);
        let head = layout::head(self.title, &place, width, self.glyphs);
        let page = Page { head, foot: Vec::new(), keys: KEYS, glyphs: self.glyphs };
        page.draw(width, height, |rows| self.scroller.draw(&self.lines, width, rows))
    }
}

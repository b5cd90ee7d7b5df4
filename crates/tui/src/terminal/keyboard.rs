//! The keyboard of the terminal that this process belongs to, for what only a person may confirm.
//!
//! Questions are drawn on the controlling terminal and answered there, wherever stdin, stdout and
//! stderr lead. Whatever was typed before a question stood on the screen is discarded, so a pipe, or a
//! terminal that was filled in advance, answers nothing.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};

use punchlist_formats::text::{self, Line};
use rustix::termios::{QueueSelector, tcflush};

use crate::options::Screen;

/// The longest line that is read. A terminal gives at most 4096 bytes at once.
const MOST: usize = 64 * 1024;

/// What came of a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Said {
    /// Yes.
    Yes,
    /// Anything else.
    No,
    /// There is nobody to ask.
    Nothing,
}

/// Whether there is a terminal to ask at.
pub fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for a yes at the terminal. What was typed before the question stood there is no answer.
pub fn confirm(question: &str) -> Said {
    let Some(mut keyboard) = Keyboard::open().filter(|_| can_ask()) else { return Said::Nothing };
    if keyboard.confirms(question) { Said::Yes } else { Said::No }
}

/// The controlling terminal, open for reading and writing.
pub struct Keyboard {
    terminal: File,
}

impl Keyboard {
    /// Opens it; `None` where this process has no terminal.
    pub fn open() -> Option<Self> {
        let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        Some(Self { terminal })
    }

    /// Draws lines. Texts of others are made harmless.
    pub fn say(&mut self, lines: &[String]) {
        let text: String =
            lines.iter().map(|it| text::many_lines(it).into_owned() + "\n").collect();
        self.draw(&text);
    }

    /// Draws lines of a view, which are harmless already, with colour where the screen wants it.
    pub fn show(&mut self, lines: &[Line], screen: Screen) {
        self.draw(&screen.drawn(lines));
    }

    /// Whether a person says yes.
    pub fn confirms(&mut self, question: &str) -> bool {
        let line = self.line(&format!("{} [y/N]", text::one_line(question)));
        matches!(line.as_deref(), Some("y" | "Y" | "yes" | "Yes"))
    }

    /// Asks for a line; `None` at the end of the input.
    pub fn line(&mut self, question: &str) -> Option<String> {
        // All that the question is about stands on the screen. A key that was pressed before that is no
        // answer to it; whoever waits for the question itself sees it after this.
        tcflush(&self.terminal, QueueSelector::IFlush).ok()?;
        self.draw(&format!("{} ", text::one_line(question)));
        let mut bytes = Vec::new();
        let mut piece = [0; 4096];
        while !bytes.contains(&b'\n') && bytes.len() < MOST {
            match self.terminal.read(&mut piece).ok()? {
                0 => return None,
                count => bytes.extend_from_slice(&piece[..count]),
            }
        }
        let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        Some(String::from_utf8_lossy(line).trim().to_owned())
    }

    fn draw(&mut self, text: &str) {
        // A terminal that cannot be drawn on gives no answer either.
        self.terminal.write_all(text.as_bytes()).ok();
    }
}

//! The controlling terminal of this process, for confirmations that only a person may give.
//!
//! Questions are written to the controlling terminal and answered there, wherever stdin, stdout and
//! stderr go. Input from before the question is discarded, so that neither a pipe nor input that
//! was typed in advance can answer it.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};

use punchlist_formats::text::{self, Line};
use rustix::termios::{QueueSelector, tcflush};

use crate::options::Screen;

/// Maximum length of a line. A terminal returns at most 4096 bytes per read.
const MOST: usize = 64 * 1024;

/// The answer to a yes-or-no question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Said {
    /// Yes.
    Yes,
    /// Anything else.
    No,
    /// There was nobody to ask.
    Nothing,
}

/// Whether there is a terminal for questions.
pub fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for a yes at the terminal. Input from before the question is discarded.
pub fn confirm(question: &str) -> Said {
    let Some(mut keyboard) = Keyboard::open().filter(|_| can_ask()) else { return Said::Nothing };
    if keyboard.confirms(question) { Said::Yes } else { Said::No }
}

/// The controlling terminal, open for reading and writing.
pub struct Keyboard {
    terminal: File,
}

impl Keyboard {
    /// Opens the controlling terminal; `None` if this process has none.
    pub fn open() -> Option<Self> {
        let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        Some(Self { terminal })
    }

    /// Writes lines. Control characters in them are escaped.
    pub fn say(&mut self, lines: &[String]) {
        let text: String =
            lines.iter().map(|it| text::many_lines(it).into_owned() + "\n").collect();
        self.draw(&text);
    }

    /// Writes the lines of a view, which are escaped already, with colour if the screen has it.
    pub fn show(&mut self, lines: &[Line], screen: Screen) {
        self.draw(&screen.drawn(lines));
    }

    /// Asks a yes-or-no question.
    pub fn confirms(&mut self, question: &str) -> bool {
        let line = self.line(&format!("{} [y/N]", text::one_line(question)));
        matches!(line.as_deref(), Some("y" | "Y" | "yes" | "Yes"))
    }

    /// Asks for a line; `None` at the end of the input.
    pub fn line(&mut self, question: &str) -> Option<String> {
        // Everything that the question is about is on the screen now. Discard input from before,
        // then print the question itself.
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
        // If the terminal cannot be written, it gives no answer either.
        self.terminal.write_all(text.as_bytes()).ok();
    }
}

//! Confirmations: one action, or shell commands one by one or all together.
//!
//! A person must have seen what is confirmed. So nothing is confirmed before the first frame is
//! drawn, and a text that is longer than the screen must be scrolled to its end first.

use punchlist_formats::text::{Colour, Glyphs, Line, Style};

use super::layout::{self, Hint, Page, Status};
use super::pager::text_lines;
use super::scroller::Scroller;
use super::{DialogReply, Want};
use crate::keys::Key;

const ACTION_KEYS: &[Hint] = &[("y", "yes"), ("n", "no"), ("j/k", "scroll"), ("Esc", "no")];
const LAST_KEYS: &[Hint] = &[("y", "run it"), ("n", "skip it"), ("j/k", "scroll"), ("Esc", "none")];
const COMMAND_KEYS: &[Hint] =
    &[("y", "run it"), ("n", "skip it"), ("a", "run all"), ("j/k", "scroll"), ("Esc", "none")];

/// A question that is answered with yes or no.
#[derive(Clone, Debug)]
pub(crate) struct ConfirmDialog {
    title: String,
    /// What is asked for: the action, or one shell command each.
    asked: Vec<Vec<Line>>,
    is_commands: bool,
    answers: Vec<bool>,
    /// The lines of what is not answered yet.
    body: Vec<Line>,
    /// How many of these lines belong to what is asked now.
    first: usize,
    scroller: Scroller,
    is_drawn: bool,
    status: Option<Status>,
    glyphs: Glyphs,
}

impl ConfirmDialog {
    /// Asks for one action. `text` says what it does.
    pub(crate) fn action(title: impl Into<String>, text: &str, glyphs: Glyphs) -> Self {
        Self::new(title.into(), vec![text_lines(text)], false, glyphs)
    }

    /// Asks for shell commands, one by one.
    pub(crate) fn commands<T: AsRef<str>>(
        title: impl Into<String>,
        commands: &[T],
        glyphs: Glyphs,
    ) -> Self {
        let asked = commands.iter().map(|it| text_lines(it.as_ref())).collect();
        Self::new(title.into(), asked, true, glyphs)
    }

    fn new(title: String, asked: Vec<Vec<Line>>, is_commands: bool, glyphs: Glyphs) -> Self {
        let mut dialog = Self {
            title,
            asked,
            is_commands,
            answers: Vec::new(),
            body: Vec::new(),
            first: 0,
            scroller: Scroller::default(),
            is_drawn: false,
            status: None,
            glyphs,
        };
        // Until the size of the screen is known, nothing counts as seen.
        dialog.scroller.resize(2, 1);
        dialog.fill();
        dialog
    }

    /// Puts what is not answered yet into the body: the present one first, then the others.
    fn fill(&mut self) {
        self.body.clear();
        for (at, asked) in self.asked.iter().enumerate().skip(self.answers.len()) {
            if at == self.answers.len() + 1 {
                self.first = self.body.len();
                self.body.push(Line::new());
                self.body.push(Line::of("Then:", Style::Dim));
            }
            let style = if at == self.answers.len() { Style::Bold } else { Style::Plain };
            for line in asked {
                let mut drawn = Line::of(if self.is_commands { "  " } else { "" }, Style::Plain);
                drawn.push(&line.to_plain(), if self.is_commands { style } else { Style::Plain });
                self.body.push(drawn);
            }
        }
        if self.answers.len() + 1 >= self.asked.len() {
            self.first = self.body.len();
        }
        self.scroller.reset();
    }

    /// Notes that the question is on the screen.
    pub(crate) fn drawn(&mut self) {
        self.is_drawn = true;
    }

    /// Handles a key.
    pub(crate) fn key(&mut self, key: &Key) -> DialogReply {
        self.status = None;
        match key {
            Key::Escape => return DialogReply::Close,
            _ if !self.is_drawn => {}
            Key::Char('n') if !self.is_commands => return DialogReply::Close,
            Key::Char('n') => return self.answer(false, 1),
            Key::Char('y') if self.is_seen(self.first) => return self.answer(true, 1),
            Key::Char('a') if self.is_commands && self.is_seen(self.body.len()) => {
                return self.answer(true, self.asked.len());
            }
            Key::Char('y' | 'a') => {}
            _ => drop(self.scroller.key(key, &self.body)),
        }
        DialogReply::Stay
    }

    /// Whether the body has been read up to this line. If not, says so.
    fn is_seen(&mut self, upto: usize) -> bool {
        let is_seen = self.scroller.is_at_end(self.body.get(..upto).unwrap_or_default());
        if !is_seen {
            let words = "There is more below: scroll to the end first.";
            self.status = Some(Status::Refused(words.to_owned()));
        }
        is_seen
    }

    fn answer(&mut self, answer: bool, count: usize) -> DialogReply {
        let left = self.asked.len().saturating_sub(self.answers.len());
        self.answers.extend(vec![answer; count.min(left)]);
        if self.answers.len() >= self.asked.len() {
            return DialogReply::Want(Want::Confirmed(self.answers.clone()));
        }
        // The next command is a new question.
        self.is_drawn = false;
        self.fill();
        DialogReply::Stay
    }

    /// Takes the size of the screen.
    pub(crate) fn resize(&mut self, width: usize, height: usize) {
        self.scroller.resize(width, height.saturating_sub(3));
    }

    pub(super) fn lines(&self, width: usize, height: usize) -> Vec<Line> {
        let count = self.asked.len();
        let (note, keys) = match (self.is_commands, count) {
            (false, _) => (String::new(), ACTION_KEYS),
            (true, 0 | 1) => (String::new(), LAST_KEYS),
            (true, _) if self.answers.len() + 1 == count => {
                (format!("{count} of {count}"), LAST_KEYS)
            }
            (true, _) => (format!("{} of {count}", self.answers.len() + 1), COMMAND_KEYS),
        };
        let mut head = Line::of("? ", Style::BoldIn(Colour::Yellow));
        head.append(layout::head(&self.title, &note, width.saturating_sub(2), self.glyphs));
        let foot = layout::status(self.status.as_ref(), width, height, self.glyphs);
        Page { head, foot, keys, glyphs: self.glyphs }
            .draw(width, height, |rows| self.scroller.draw(&self.body, width, rows))
    }
}

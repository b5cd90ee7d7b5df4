//! The input: a multi-line editor with history, search, pasting and completion. Pure.
//!
//! [`Input::key`] takes a key and returns its effect. The list of completions comes from the caller:
//! after [`Typed::Complete`] the caller finds them and calls [`Input::offer`].
//!
//! Text that was pasted is never a command, whatever it begins with. In an empty input, `!` begins a
//! shell command of the person's own and `?` asks for the list of keys.

mod draft;
mod history;
mod key_list;
mod layout;
mod mentions;
mod pop_up;
mod screen;
#[cfg(test)]
mod screen_tests;
#[cfg(test)]
mod tests;

use punchlist_formats::text::Glyphs;

pub use key_list::{KEYS, KeyHelp};
pub use mentions::Mentions;
pub use pop_up::{Completion, Query};

use crate::keys::{Key, LONGEST_PASTE};
use draft::Draft;
use history::{History, Search};
use pop_up::PopUp;

/// What a key did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Typed {
    /// The key is not for the input.
    Ignored,
    /// Nothing: there is nothing to draw.
    Nothing,
    /// The input looks different now.
    Changed,
    /// The input looks different now, and completions are wanted: see [`Input::offer`].
    Complete(Query),
    /// The person entered a text, to be sent or queued. The input is empty now.
    Submit(Entered),
    /// The person entered a text that steers the agent: the next model call gets it.
    Steer(Entered),
    /// The person entered a shell command of their own.
    Shell(String),
    /// The person wants to see the keys.
    Keys,
    /// The person wants to leave.
    Leave,
    /// Nothing was done, for this reason.
    Refused(String),
}

/// A text that the person entered. It is never blank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entered {
    /// The whole text, with what was pasted.
    pub text: String,
    /// Whether its beginning was pasted: then it is a message, and never a command.
    pub is_pasted: bool,
}

impl Entered {
    /// A text that was typed.
    pub fn typed(text: &str) -> Self {
        Self { text: text.to_owned(), is_pasted: false }
    }

    /// The text for the history. What was a message stays one when it is entered again: a blank at its
    /// beginning keeps it from being a command.
    pub fn for_history(&self) -> String {
        let is_message = self.is_pasted && self.text.starts_with('/');
        let blank = if is_message || self.text.starts_with(SHELL) { " " } else { "" };
        format!("{blank}{}", self.text)
    }
}

/// Begins a shell command, in an empty input and in the history.
const SHELL: char = '!';

/// The width before the first resize.
const USUAL_WIDTH: u16 = 80;

/// The input.
#[derive(Clone, Debug)]
pub struct Input {
    draft: Draft,
    /// Whether a shell command is typed.
    is_shell: bool,
    history: History,
    search: Option<Search>,
    pop_up: PopUp,
    /// The draft that was entered last, for [`Input::restore`].
    entered: Option<(Draft, bool)>,
    width: u16,
    glyphs: Glyphs,
    hint: String,
}

impl Input {
    /// An empty input. `history` has the earlier entries, the newest last, as
    /// [`Entered::for_history`] wrote them; shell commands begin with `!`.
    pub fn new(history: Vec<String>) -> Self {
        Self {
            draft: Draft::default(),
            is_shell: false,
            history: History::new(history),
            search: None,
            pop_up: PopUp::default(),
            entered: None,
            width: USUAL_WIDTH,
            glyphs: Glyphs::default(),
            hint: String::new(),
        }
    }

    /// Tells the input its width, so that Up and Down move by the rows that are seen.
    pub fn set_width(&mut self, columns: u16) {
        self.width = columns;
    }

    /// Which signs the terminal can show.
    pub fn set_glyphs(&mut self, glyphs: Glyphs) {
        self.glyphs = glyphs;
    }

    /// The text that is shown while the input is empty.
    pub fn set_hint(&mut self, hint: &str) {
        hint.clone_into(&mut self.hint);
    }

    /// The whole text, with what was pasted.
    pub fn text(&self) -> String {
        self.draft.text()
    }

    /// Whether nothing is typed.
    pub fn is_empty(&self) -> bool {
        self.draft.is_empty() && !self.is_shell
    }

    /// Replaces the text, as if the person had typed it.
    pub fn set_text(&mut self, text: &str) {
        self.put(Draft::typed(text), false);
    }

    /// Replaces the text with a message, such as one from the queue. It is never a command.
    pub fn set_message(&mut self, text: &str) {
        self.put(Draft::message(text), false);
    }

    /// Puts the text that was entered last back, with what was pasted: after a command that failed or a
    /// message that could not be taken. What was typed meanwhile stays instead.
    pub fn restore(&mut self) {
        if let Some((draft, is_shell)) = self.entered.take()
            && self.is_empty()
        {
            self.put(draft, is_shell);
        }
    }

    fn put(&mut self, draft: Draft, is_shell: bool) {
        self.draft = draft;
        self.is_shell = is_shell;
        self.search = None;
        self.pop_up = PopUp::default();
        self.history.leave();
    }

    /// Shows completions for the last [`Typed::Complete`]. An empty list closes the pop-up.
    pub fn offer(&mut self, completions: Vec<Completion>) {
        self.pop_up.offer(completions);
    }

    /// Inserts a pasted text as one piece. A large one is shown as its number of lines, and entered
    /// whole.
    pub fn paste(&mut self, text: &str) -> Typed {
        if text.len() >= LONGEST_PASTE {
            return Typed::Refused(
                "the paste is too long; put it into a file, and name the file with @".to_owned(),
            );
        }
        if let Some(search) = &mut self.search {
            search.add(text, &self.history);
            return Typed::Changed;
        }
        self.draft.paste(text);
        self.changed()
    }

    /// Handles a key.
    pub fn key(&mut self, key: &Key) -> Typed {
        if let Key::Paste(text) = key {
            return self.paste(text);
        }
        if self.search.is_some() {
            return self.search_key(key);
        }
        if self.pop_up.is_open()
            && let Some(typed) = self.pop_up_key(key)
        {
            return typed;
        }
        self.plain_key(key)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "other keys edit the text")]
    fn plain_key(&mut self, key: &Key) -> Typed {
        match key {
            Key::Enter if self.draft.ends_in_backslash() => {
                self.draft.backspace();
                self.draft.new_line();
                self.changed()
            }
            Key::Enter => self.enter(Typed::Submit),
            Key::AltEnter => self.enter(Typed::Steer),
            Key::ShiftEnter => {
                self.draft.new_line();
                self.changed()
            }
            Key::Char('?') if self.is_empty() => Typed::Keys,
            Key::Char(SHELL) if self.is_empty() => {
                self.is_shell = true;
                Typed::Changed
            }
            Key::Backspace | Key::Escape | Key::Ctrl('d' | 'h') | Key::WordBackspace
                if self.is_shell && self.draft.is_empty() =>
            {
                self.is_shell = false;
                Typed::Changed
            }
            Key::Ctrl('d') if self.is_empty() => Typed::Leave,
            Key::Ctrl('r') => {
                self.search = Some(Search::new(&self.history));
                Typed::Changed
            }
            Key::Up => self.up(),
            Key::Down => self.down(),
            Key::Tab => match self.query() {
                Some(query) => {
                    self.pop_up.reopen();
                    Typed::Complete(query)
                }
                None => Typed::Ignored,
            },
            other => self.edit(other),
        }
    }

    /// Keys that edit the text.
    fn edit(&mut self, key: &Key) -> Typed {
        let draft = &mut self.draft;
        match key {
            Key::Char(c) => draft.type_char(*c),
            Key::Left | Key::Ctrl('b') => draft.left(),
            Key::Right | Key::Ctrl('f') => draft.right(),
            Key::WordLeft | Key::Alt('b') => draft.word_left(),
            Key::WordRight | Key::Alt('f') => draft.word_right(),
            Key::Home | Key::Ctrl('a') => draft.home(),
            Key::End | Key::Ctrl('e') => draft.end(),
            Key::Backspace | Key::Ctrl('h') => draft.backspace(),
            Key::Delete | Key::Ctrl('d') => draft.delete(),
            Key::Ctrl('w') | Key::WordBackspace => draft.delete_word_left(),
            Key::Alt('d') => draft.delete_word_right(),
            Key::Ctrl('u') => draft.delete_to_begin(),
            Key::Ctrl('k') => draft.delete_to_end(),
            Key::Ctrl('y') => draft.yank(),
            Key::Undo => draft.undo(),
            Key::Alt('z') => draft.redo(),
            Key::Ctrl('j') => draft.new_line(),
            Key::Enter
            | Key::AltEnter
            | Key::ShiftEnter
            | Key::Terminal(_)
            | Key::Escape
            | Key::Tab
            | Key::BackTab
            | Key::Up
            | Key::Down
            | Key::AltUp
            | Key::AltDown
            | Key::PageUp
            | Key::PageDown
            | Key::Function(_)
            | Key::FocusIn
            | Key::FocusOut
            | Key::Ctrl(_)
            | Key::Alt(_)
            | Key::Paste(_)
            | Key::Other => return Typed::Ignored,
        }
        self.changed()
    }

    /// Enters the text. A blank one stays where it is.
    fn enter(&mut self, typed: fn(Entered) -> Typed) -> Typed {
        let text = self.draft.text();
        if text.trim().is_empty() {
            return Typed::Nothing;
        }
        let is_shell = self.is_shell;
        let draft = std::mem::take(&mut self.draft);
        let entered = Entered { text, is_pasted: draft.begins_pasted() };
        self.put(Draft::default(), false);
        self.entered = Some((draft, is_shell));
        if is_shell {
            self.history.add(format!("{SHELL}{}", entered.text));
            return Typed::Shell(entered.text);
        }
        self.history.add(entered.for_history());
        typed(entered)
    }

    fn up(&mut self) -> Typed {
        if self.draft.up(self.text_width()) {
            return self.changed();
        }
        let current = (&self.draft, self.is_shell);
        match self.history.older(current).map(str::to_owned) {
            Some(entry) => self.recall(&entry),
            None => Typed::Nothing,
        }
    }

    fn down(&mut self) -> Typed {
        if self.draft.down(self.text_width()) {
            return self.changed();
        }
        if !self.history.is_browsed() {
            return Typed::Nothing;
        }
        match self.history.newer().map(str::to_owned) {
            Some(entry) => self.recall(&entry),
            None => {
                (self.draft, self.is_shell) = self.history.leave().unwrap_or_default();
                Typed::Changed
            }
        }
    }

    /// Shows an entry of the history.
    fn recall(&mut self, entry: &str) -> Typed {
        let shell = entry.strip_prefix(SHELL);
        self.is_shell = shell.is_some();
        self.draft = Draft::typed(shell.unwrap_or(entry));
        self.pop_up = PopUp::default();
        Typed::Changed
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "any other key ends the search")]
    fn search_key(&mut self, key: &Key) -> Typed {
        let Some(search) = &mut self.search else { return Typed::Nothing };
        match key {
            Key::Char(c) => search.add(c.encode_utf8(&mut [0; 4]), &self.history),
            Key::Backspace | Key::Ctrl('h') => search.remove(&self.history),
            Key::Ctrl('r') | Key::Up => search.older(&self.history),
            Key::Escape | Key::Ctrl('c' | 'g') => self.search = None,
            other => {
                let found = search.found(&self.history).map(str::to_owned);
                self.search = None;
                if let Some(found) = found {
                    self.recall(&found);
                }
                if !matches!(other, Key::Enter | Key::Tab) {
                    return self.plain_key(other);
                }
            }
        }
        Typed::Changed
    }

    /// Keys of the pop-up. `None` if the key is not one of them.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other keys go to the text")]
    fn pop_up_key(&mut self, key: &Key) -> Option<Typed> {
        match key {
            Key::Escape => self.pop_up.dismiss(),
            Key::Up | Key::BackTab => self.pop_up.select(false),
            Key::Down => self.pop_up.select(true),
            Key::Tab => return Some(self.accept()),
            Key::Enter if !self.pop_up.is_complete() => return Some(self.accept()),
            _ => return None,
        }
        Some(Typed::Changed)
    }

    /// Replaces the word at the cursor with the selected completion.
    fn accept(&mut self) -> Typed {
        let Some((word, insert)) = self.pop_up.accept() else { return Typed::Nothing };
        self.draft.replace_before(&word, &insert);
        self.changed()
    }

    /// What can be completed at the cursor, unless the person closed the pop-up.
    pub fn wants(&self) -> Option<Query> {
        self.query().filter(|_| !self.pop_up.is_dismissed())
    }

    /// What can be completed at the cursor.
    fn query(&self) -> Option<Query> {
        let is_in_word = !self.draft.after_cursor().chars().next().is_none_or(char::is_whitespace);
        if self.is_shell || is_in_word {
            return None;
        }
        let (row, before) = self.draft.before_cursor();
        pop_up::query(row, before, self.draft.begins_pasted())
    }

    /// After a change: asks for completions where there can be some.
    fn changed(&mut self) -> Typed {
        let query = self.query();
        if self.pop_up.ask(query.as_ref())
            && let Some(query) = query
        {
            return Typed::Complete(query);
        }
        Typed::Changed
    }
}

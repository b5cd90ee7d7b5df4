//! The pop-up with completions.

use punchlist_formats::text::width::truncate_with;
use punchlist_formats::text::{Glyphs, Line, Style, one_line, width};

/// The most rows that are shown.
pub(super) const MOST_ROWS: usize = 8;

/// What is to be completed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Query {
    /// A command, or a word behind it. This is the text before the cursor.
    Command(String),
    /// A file or a member of the team. This is the text behind `@`.
    Mention(String),
}

/// A completion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completion {
    /// What replaces the word at the cursor.
    pub insert: String,
    /// What is shown.
    pub label: String,
    /// What is said about it; may be empty.
    pub description: String,
    /// Whether the word at the cursor names exactly this.
    pub is_exact: bool,
}

impl Completion {
    /// A completion that is shown as it is inserted.
    pub fn new(insert: &str, is_exact: bool) -> Self {
        Self {
            insert: insert.to_owned(),
            label: insert.to_owned(),
            description: String::new(),
            is_exact,
        }
    }
}

/// What can be completed behind this text of a line. Text that was pasted is not a command.
pub(super) fn query(row: usize, before: &str, begins_pasted: bool) -> Option<Query> {
    let word = word(before);
    if let Some(text) = word.strip_prefix('@') {
        return Some(Query::Mention(text.to_owned()));
    }
    let is_command = row == 0 && !begins_pasted && before.strip_prefix('/').is_some_and(is_name);
    is_command.then(|| Query::Command(before.to_owned()))
}

/// Whether the first word could be a command's name.
fn is_name(text: &str) -> bool {
    let name = text.split(char::is_whitespace).next().unwrap_or_default();
    let is_blank_name = name.is_empty() && !text.is_empty();
    !is_blank_name && name.chars().all(|it| it.is_alphanumeric() || "-_.:".contains(it))
}

/// The word before the cursor; empty behind a blank.
fn word(before: &str) -> &str {
    let blank = before.char_indices().rfind(|it| it.1.is_whitespace());
    &before[blank.map_or(0, |(at, c)| at + c.len_utf8())..]
}

/// The state of the pop-up.
#[derive(Clone, Debug, Default)]
pub(super) struct PopUp {
    /// The word that is completed.
    word: String,
    /// Whether the word is the argument of a command.
    is_argument: bool,
    completions: Vec<Completion>,
    selected: usize,
    /// Whether the person moved the selection.
    is_moved: bool,
    /// Whether the person closed it. It stays closed until the word ends.
    is_dismissed: bool,
}

impl PopUp {
    /// Takes the word at the cursor over. Returns whether completions are wanted.
    pub(super) fn ask(&mut self, query: Option<&Query>) -> bool {
        self.completions.clear();
        self.is_moved = false;
        let Some(query) = query else {
            self.is_dismissed = false;
            return false;
        };
        let is_argument =
            matches!(query, Query::Command(text) if text.contains(char::is_whitespace));
        if is_argument != self.is_argument {
            self.is_dismissed = false;
        }
        self.is_argument = is_argument;
        self.word = match query {
            Query::Command(text) => word(text).to_owned(),
            Query::Mention(text) => format!("@{text}"),
        };
        !self.is_dismissed
    }

    pub(super) fn offer(&mut self, completions: Vec<Completion>) {
        self.completions = completions;
        self.selected = 0;
    }

    pub(super) fn is_open(&self) -> bool {
        !self.completions.is_empty()
    }

    pub(super) fn dismiss(&mut self) {
        self.completions.clear();
        self.is_dismissed = true;
    }

    pub(super) fn is_dismissed(&self) -> bool {
        self.is_dismissed
    }

    pub(super) fn reopen(&mut self) {
        self.is_dismissed = false;
    }

    pub(super) fn select(&mut self, is_down: bool) {
        let count = self.completions.len().max(1);
        self.selected = (self.selected + if is_down { 1 } else { count - 1 }) % count;
        self.is_moved = true;
    }

    /// Whether Enter should enter the text rather than complete it: the word is complete, or it has not
    /// begun.
    pub(super) fn is_complete(&self) -> bool {
        let has_begun = !(self.is_argument && self.word.is_empty());
        !self.is_moved && (!has_begun || self.completions.iter().any(|it| it.is_exact))
    }

    /// The word and what replaces it. The pop-up closes.
    pub(super) fn accept(&mut self) -> Option<(String, String)> {
        let chosen = self.completions.get(self.selected)?;
        // A directory is completed further.
        let blank = if chosen.insert.ends_with('/') { "" } else { " " };
        let accepted = (self.word.clone(), format!("{}{blank}", chosen.insert));
        self.completions.clear();
        Some(accepted)
    }

    /// The number of rows that it wants.
    pub(super) fn height(&self) -> usize {
        self.completions.len().min(MOST_ROWS)
    }

    /// The rows around the selection. The selected one is marked without colour too.
    pub(super) fn lines(&self, columns: usize, rows: usize, glyphs: Glyphs) -> Vec<Line> {
        let first = (self.selected + 1).saturating_sub(rows);
        let shown = self.completions.iter().enumerate().skip(first).take(rows);
        let labels = shown.clone().map(|(_, it)| width(&it.label)).max().unwrap_or(0);
        let label_column = labels.min(columns / 2 + 2);
        shown
            .map(|(at, it)| {
                let is_selected = at == self.selected;
                let mut line = Line::of(if is_selected { "> " } else { "  " }, Style::Bold);
                let style = if is_selected { Style::Caret } else { Style::Plain };
                let room = columns.saturating_sub(2);
                let most = if it.description.is_empty() { room } else { label_column.min(room) };
                line.push_text(&one_line(&it.label), most, glyphs, style);
                let left = columns.saturating_sub(label_column + 4);
                if !it.description.is_empty() && left >= 10 {
                    line.fill(label_column + 4);
                    let text = one_line(&it.description);
                    line.push(&truncate_with(&text, left, glyphs.ellipsis()), Style::Dim);
                }
                line
            })
            .collect()
    }
}

//! The reply to a session of our own agent that asks its user something: typed below the agents. Pure.

use punchlist_formats::text::{Line, Style, many_lines, width};
use punchlist_formats::view::Options;
use punchlist_model::ConversationId;
use punchlist_model::agents::{Row, State};

use crate::keys::Key;
use crate::line_editor::LineEditor;

/// How many lines of the session's last text are shown.
const MOST_SAID: usize = 6;

/// A reply that is being typed.
pub(crate) struct Replying {
    pub(super) id: ConversationId,
    /// What the session is about.
    title: String,
    /// The end of what it said last.
    said: String,
    line: LineEditor,
}

/// What a key means for a reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ReplyStep {
    /// The session waits on.
    Leave,
    /// This is the reply.
    Send(ConversationId, String),
    /// Nothing yet.
    Stay,
}

/// Whether a row is a session of our own agent that asks its user something.
pub(crate) fn asks_its_user(row: &Row) -> bool {
    row.turns > 0 && row.question.is_none() && matches!(row.state, State::Asks(_))
}

impl Replying {
    /// Asks for the reply to a session with this title that said this last.
    pub(super) fn new(id: ConversationId, title: &str, said: &str) -> Self {
        let (title, said) = (title.to_owned(), said.to_owned());
        Self { id, title, said, line: LineEditor::default() }
    }

    /// Asks for the reply to the session of a row that said this last; `None` if the row has no session of
    /// ours.
    pub(crate) fn to(row: &Row, said: &str) -> Option<Self> {
        let id = row.key.split('/').nth(1)?.parse().ok()?;
        let title = match row.place.as_str() {
            "" => row.agent.clone(),
            place => format!("{} in {place}", row.agent),
        };
        Some(Self::new(id, &title, said))
    }

    /// Handles a key.
    pub(super) fn key(&mut self, key: &Key) -> ReplyStep {
        if *key == Key::Escape {
            return ReplyStep::Leave;
        }
        let text = self.line.text().trim().to_owned();
        if *key == Key::Enter && !text.is_empty() {
            return ReplyStep::Send(self.id, text);
        }
        self.line.key(key);
        ReplyStep::Stay
    }

    /// The question and the reply in at most `rows` lines.
    pub(super) fn lines(&self, rows: usize, options: &Options) -> Vec<Line> {
        const LABEL: &str = "reply: ";
        let columns = usize::from(options.width).saturating_sub(1).max(1);
        let text = |text: &str, indent: usize, style: Style| {
            let mut line = Line::new();
            line.fill(indent).push_text(
                text,
                columns.saturating_sub(indent),
                options.glyphs,
                style,
            );
            line
        };
        let said = many_lines(self.said.trim());
        let said: Vec<&str> = said.lines().filter(|it| !it.trim().is_empty()).collect();
        let most = MOST_SAID.min(rows.saturating_sub(4));
        let said = &said[said.len().saturating_sub(most)..];
        let mut lines =
            vec![Line::new(), text(&format!("{} asks you", self.title), 1, Style::Bold)];
        lines.extend(said.iter().map(|it| text(it.trim_end(), 3, Style::Plain)));
        let mut typed = Line::new();
        typed.fill(3).push(LABEL, Style::Bold);
        let room = columns.saturating_sub(3 + width(LABEL));
        typed.append(self.line.shown(room.max(8), options.glyphs));
        lines.push(typed);
        lines.push(text("Enter sends   Esc later", 3, Style::Dim));
        lines.truncate(rows);
        lines
    }
}

//! What a person sees of all agents and does with them: rows that were put away or do not pass the
//! filter are left out, and a question that is being answered, or a reply that is being typed, is below the
//! rows.
//!
//! It does no I/O, except that the archive writes its file.

use punchlist_engine::fail::Fail;
use punchlist_engine::watch::archive::Archive;
use punchlist_formats::text::Line;
use punchlist_formats::view::Options;
use punchlist_formats::view::watch::{Look, watch};
use punchlist_model::agents::Row;

use super::answering::{Answering, Step};
use super::reply::{ReplyStep, Replying};
use super::selection::{Pressed, Selection};
use crate::keys::Key;

/// What a person sees and does.
pub(crate) struct Board {
    selection: Selection,
    /// The rows that were put away.
    archive: Option<Archive>,
    /// The question that is being answered.
    answering: Option<Answering>,
    /// The reply that is being typed.
    replying: Option<Replying>,
    /// What the person is told about the last key.
    told: Option<String>,
}

/// The rows to show.
struct Visible {
    rows: Vec<Row>,
    /// The keys of those that were put away and are shown nevertheless.
    archived: Vec<String>,
    /// How many are not shown because they were put away.
    put_away: usize,
}

impl Board {
    pub(crate) fn new(archive: Option<Archive>) -> Self {
        Self {
            selection: Selection::default(),
            archive,
            answering: None,
            replying: None,
            told: None,
        }
    }

    /// Whether a row was put away.
    pub(super) fn is_away(&self, row: &Row) -> bool {
        self.archive.as_ref().is_some_and(|it| it.has(row))
    }

    fn visible(&self, rows: &[Row]) -> Visible {
        let mut visible = Visible { rows: Vec::new(), archived: Vec::new(), put_away: 0 };
        for row in rows.iter().filter(|it| self.selection.lets_through(it)) {
            if self.is_away(row) {
                if !self.selection.shows_archived() {
                    visible.put_away += 1;
                    continue;
                }
                visible.archived.push(row.key.clone());
            }
            visible.rows.push(row.clone());
        }
        visible
    }

    /// All rows, without a limit.
    pub(super) fn all(
        &self,
        rows: &[Row],
        notes: &[String],
        offers: &[(String, String)],
        options: &Options,
    ) -> Vec<Line> {
        let Visible { rows, archived, put_away } = self.visible(rows);
        let look = Look { notes, offers, archived: &archived, put_away, ..Look::default() };
        watch(&rows, look, options)
    }

    /// The picture in at most `room` lines. The last one, which stays, shows no keys.
    pub(crate) fn lines(
        &mut self,
        rows: &[Row],
        notes: &[String],
        offers: &[(String, String)],
        (room, is_last): (usize, bool),
        options: &Options,
    ) -> Vec<Line> {
        let Visible { rows, archived, put_away } = self.visible(rows);
        self.selection.see(&rows);
        // The agents above it keep a few lines.
        let most = room.saturating_sub(2).max(3);
        let question = match (&self.replying, self.answering.as_mut().filter(|it| it.is_open())) {
            (_, _) if is_last => Vec::new(),
            (_, Some(it)) => it.lines(most, options),
            (Some(it), None) => it.lines(most, options),
            (None, None) => Vec::new(),
        };
        let notes: Vec<String> = notes.iter().chain(&self.told).cloned().collect();
        let height = Some(room.saturating_sub(question.len()).max(1));
        let look = Look {
            notes: &notes,
            offers,
            archived: &archived,
            put_away,
            height,
            ..Look::default()
        };
        let mut lines = self.selection.view(&rows, look, is_last, options);
        lines.extend(question);
        lines.truncate(room);
        lines
    }

    /// The row that is open.
    pub(crate) fn opened(&self) -> Option<&str> {
        self.selection.opened()
    }

    /// Whether Esc has nothing to go back from.
    pub(crate) fn is_at_first_step(&self) -> bool {
        self.selection.is_at_first_step()
    }

    /// Tells the person something, until the next key.
    pub(crate) fn tell(&mut self, text: String) {
        self.told = Some(text);
    }

    /// Asks the person.
    pub(crate) fn ask(&mut self, answering: Answering) {
        self.answering = Some(answering);
    }

    /// The question that is being answered.
    pub(crate) fn answering(&mut self) -> Option<&mut Answering> {
        self.answering.as_mut().filter(|it| it.is_open())
    }

    /// Lets the person type a reply.
    pub(crate) fn reply(&mut self, replying: Replying) {
        self.replying = Some(replying);
    }

    /// Handles a key while a reply is typed; `None` if there is none.
    pub(crate) fn reply_key(&mut self, key: &Key) -> Option<ReplyStep> {
        let step = self.replying.as_mut()?.key(key);
        if step != ReplyStep::Stay {
            self.replying = None;
        }
        Some(step)
    }

    /// Puts a row away, or takes it out again.
    pub(crate) fn archive(&mut self, row: &Row) -> Result<(), Fail> {
        let Some(archive) = &mut self.archive else { return Ok(()) };
        if archive.has(row) {
            return archive.take_out(row);
        }
        if !row.is_over() {
            self.tell("it is not over: only what is idle, failed or dead is put away".to_owned());
            return Ok(());
        }
        archive.put_away(row)?;
        self.tell("put away; X shows what was put away".to_owned());
        Ok(())
    }

    /// Handles a key.
    pub(crate) fn key(&mut self, key: &Key) -> Pressed {
        if matches!(key, Key::FocusIn | Key::FocusOut) {
            return Pressed::Stay;
        }
        self.told = None;
        self.selection.key(key)
    }

    /// Handles a key while a question is being answered.
    pub(crate) fn answer_key(&mut self, key: &Key) -> Step {
        let Some(answering) = &mut self.answering else { return Step::Leave };
        let step = answering.key(key);
        if matches!(step, Step::Leave) {
            self.answering = None;
        }
        step
    }
}

#[cfg(test)]
mod tests;

//! Finds in the rows of a watcher what a person wants to know. Pure.
//!
//! Only changes count: what was so when watching began is on the screen.

use std::collections::BTreeMap;

use punchlist_model::Timestamp;
use punchlist_model::agents::{Row, State};
use punchlist_model::call::Question;

use super::{Notice, NoticeKind};

/// What is remembered of a row.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Was {
    /// It worked, or waited for something that is not a person.
    Busy,
    /// It asked this.
    Asked(String),
    /// Nothing went on.
    Over,
}

/// The rows as they were.
#[derive(Clone, Debug, Default)]
pub struct SeenRows {
    rows: BTreeMap<String, Was>,
    has_begun: bool,
}

impl SeenRows {
    /// Compares the rows with those of the last call, and returns what a person wants to know.
    pub fn see<'a>(
        &mut self,
        rows: &'a [Row],
        questions: &[&Question],
        now: Timestamp,
    ) -> Vec<(&'a Row, Notice)> {
        let mut notices = Vec::new();
        let mut seen = BTreeMap::new();
        for row in rows {
            let is = was(row);
            let before = self.rows.get(&row.key);
            if self.has_begun
                && before != Some(&is)
                && let Some(kind) = kind(row, before)
            {
                notices.push((row, notice(row, kind, questions, now)));
            }
            seen.insert(row.key.clone(), is);
        }
        (self.rows, self.has_begun) = (seen, true);
        notices
    }
}

fn was(row: &Row) -> Was {
    match &row.state {
        State::Asks(question) => {
            let id = row.question.map(|it| it.to_string());
            Was::Asked(id.unwrap_or_else(|| question.clone()))
        }
        State::Working | State::Waits(_) | State::Silent => Was::Busy,
        State::Failed(_) | State::Idle | State::Died => Was::Over,
    }
}

/// What a change of a row means for a person, if anything.
fn kind(row: &Row, before: Option<&Was>) -> Option<NoticeKind> {
    // The end of a sub-agent is not the end of its agent's work. A plan without a session has no turns.
    let has_turns = row.sub_agent.is_none() && !row.is_plan();
    let was_busy = has_turns && matches!(before, Some(Was::Busy | Was::Asked(_)));
    match &row.state {
        State::Asks(_) => Some(NoticeKind::Question),
        // A question that was refused ends the turn of some agents: the person knows.
        State::Idle if has_turns && before == Some(&Was::Busy) => Some(NoticeKind::Done),
        State::Failed(_) if was_busy => Some(NoticeKind::Failed),
        State::Died if was_busy => Some(NoticeKind::Died),
        State::Working
        | State::Waits(_)
        | State::Silent
        | State::Idle
        | State::Failed(_)
        | State::Died => None,
    }
}

fn notice(row: &Row, kind: NoticeKind, questions: &[&Question], now: Timestamp) -> Notice {
    if let Some(question) = questions.iter().find(|it| Some(it.asked.id) == row.question) {
        return Notice::question(&question.asked, &row.agent, &row.project);
    }
    let said = last_sentence(&row.said);
    let text = match &row.state {
        State::Asks(text) | State::Failed(text) => text.clone(),
        State::Idle if !said.is_empty() => said.to_owned(),
        State::Idle | State::Working | State::Waits(_) | State::Silent => progress(row),
        State::Died => format!("its process is gone; {}", progress(row)),
    };
    let session = row.key.split('/').nth(1).unwrap_or_default();
    match session.parse() {
        Ok(id) if row.turns > 0 => Notice::turn(id, row.turns, kind, &row.project, text),
        Ok(_) | Err(_) => Notice::observed(kind, &row.agent, session, &row.project, text, now),
    }
}

fn progress(row: &Row) -> String {
    match &row.list {
        Some(list) => format!("{} of {} items are done", list.done, list.total),
        None => "its turn has ended".to_owned(),
    }
}

pub use punchlist_formats::text::last_sentence;

//! One agent's plan, for a narrow split beside its terminal.
//!
//! Every line is at least one column narrower than the screen. If the list is too long, items that
//! are done are counted in one line first, then the items at the end.

use punchlist_model::Status;
use punchlist_model::agents::{Entry, Listed, Row, State};

use super::{Options, list, shown};
use crate::text::glyph::Sign;
use crate::text::width::truncate_with;
use crate::text::{Colour, Line, Style, last_sentence, one_line, width};

/// The most lines of the item in progress, of a question and of the last sentence.
const MOST_LINES: usize = 3;
/// The widest progress bar.
const WIDEST_BAR: usize = 30;

/// The plan of one agent, in at most `height` lines; without an agent, that there is none.
pub fn pane(row: Option<&Row>, height: Option<usize>, options: &Options) -> Vec<Line> {
    let columns = usize::from(options.width).saturating_sub(1).max(1);
    let pane = Pane { columns, options };
    let Some(row) = row else { return vec![pane.text("no agent yet", Style::Dim)] };
    let mut lines = pane.head(row);
    let height = height.unwrap_or(usize::MAX).max(1);
    if let Some(list) = &row.list {
        lines.extend(pane.entries(list, height.saturating_sub(lines.len())));
    }
    let sentence = one_line(last_sentence(&row.said)).into_owned();
    let below = pane.wrapped("", &sentence, Style::Dim);
    if !sentence.is_empty() && lines.len() + 1 + below.len() <= height {
        lines.push(Line::new());
        lines.extend(below);
    }
    lines.truncate(height);
    lines
}

struct Pane<'a> {
    columns: usize,
    options: &'a Options,
}

impl Pane<'_> {
    fn text(&self, text: &str, style: Style) -> Line {
        let mut line = Line::new();
        line.push_text(&one_line(text), self.columns, self.options.glyphs, style);
        line
    }

    /// Who it is, how far it is, and what keeps it from going on.
    fn head(&self, row: &Row) -> Vec<Line> {
        let name = if row.is_plan() { &row.model } else { &row.agent };
        let mut lines = vec![self.text(&format!("{name} {}", row.place), Style::Bold)];
        if let Some(list) = row.list.as_ref().filter(|it| it.total > 0) {
            let mut line = Line::new();
            let count = format!("{}/{} ", list.done, list.total);
            line.push(&truncate_with(&count, self.columns, ""), Style::Plain);
            let room = self.columns.saturating_sub(line.width()).min(WIDEST_BAR);
            if room >= 4 {
                list::bar(&mut line, list.done, list.total, room, self.options);
            }
            lines.push(line);
        }
        match &row.state {
            State::Asks(question) => {
                let question = format!("asks: {}", one_line(question));
                lines.extend(self.wrapped("", &question, Style::BoldIn(Colour::Yellow)));
            }
            State::Failed(why) => {
                let why = format!("failed: {}", one_line(why));
                lines.extend(self.wrapped("", &why, Style::In(Colour::Red)));
            }
            State::Died => lines.push(self.text("died", Style::In(Colour::Red))),
            State::Waits(on) => {
                let on = format!("waits for {}", one_line(on));
                lines.extend(self.wrapped("", &on, Style::In(Colour::Yellow)));
            }
            State::Silent => lines.push(self.text("no news", Style::In(Colour::Yellow))),
            State::Working | State::Idle => {}
        }
        if row.list.is_none() {
            lines.push(self.text("no list", Style::Dim));
        }
        lines
    }

    /// The entries, in at most `room` lines.
    fn entries(&self, list: &Listed, room: usize) -> Vec<Line> {
        let all: Vec<Vec<Line>> = list.entries.iter().map(|it| self.entry(it)).collect();
        if all.iter().map(Vec::len).sum::<usize>() <= room {
            return all.into_iter().flatten().collect();
        }
        let is_done = |it: &&Entry| !it.status.is_open();
        let done = list.entries.iter().take_while(is_done).count();
        let mut lines = Vec::new();
        if done > 1 {
            let sign = self.options.glyphs.sign(Sign::Done);
            lines.push(self.text(&format!("{sign} {done} done"), Style::In(Colour::Green)));
        }
        let from = if done > 1 { done } else { 0 };
        for (at, entry) in all.iter().enumerate().skip(from) {
            let left = all.len() - at;
            // One line reports what is left out.
            let needed = entry.len() + usize::from(left > 1);
            if lines.len() + needed > room {
                let some = room.saturating_sub(lines.len() + 1).min(entry.len());
                lines.extend(entry.iter().take(some).cloned());
                let left = if some > 0 { left - 1 } else { left };
                if left == 0 {
                    break;
                }
                let ellipsis = self.options.glyphs.ellipsis();
                lines.push(self.text(&format!("{ellipsis} {left} more"), Style::Dim));
                break;
            }
            lines.extend(entry.iter().cloned());
        }
        lines
    }

    fn entry(&self, entry: &Entry) -> Vec<Line> {
        let sign = match (entry.status, &entry.waiting_on) {
            (Status::Pending, Some(_)) => Sign::Waiting,
            (status, _) => Sign::from(status),
        };
        let style = match entry.status {
            Status::InProgress => Style::In(Colour::Cyan),
            Status::Completed => Style::In(Colour::Green),
            Status::Pending => Style::Plain,
            Status::Cancelled => Style::Dim,
        };
        let indent = " ".repeat(entry.depth.min(self.columns / 8));
        let head = format!("{indent}{} ", self.options.glyphs.sign(sign));
        let label = shown(&entry.label);
        if entry.status == Status::InProgress {
            return self.wrapped(&head, &label, style);
        }
        let mut line = Line::new();
        line.push(&head, style);
        let room = self.columns.saturating_sub(line.width());
        line.push_text(&label, room, self.options.glyphs, Style::Plain);
        vec![line]
    }

    /// A text over a few lines. The first begins with `head`, the others are indented like it.
    fn wrapped(&self, head: &str, text: &str, style: Style) -> Vec<Line> {
        let indent = width(head);
        let room = self.columns.saturating_sub(indent).max(1);
        let mut pieces: Vec<String> = vec![String::new()];
        for word in text.split_whitespace() {
            let is_last = pieces.len() == MOST_LINES;
            match pieces.last_mut() {
                Some(last) if last.is_empty() => last.push_str(word),
                // The last line gets the rest, and is cut.
                Some(last) if is_last || width(last) + 1 + width(word) <= room => {
                    last.push(' ');
                    last.push_str(word);
                }
                Some(_) | None => pieces.push(word.to_owned()),
            }
        }
        let draw = |(at, text): (usize, &String)| {
            let mut line = Line::new();
            let head = if at == 0 { head } else { &" ".repeat(indent) };
            line.push(head, style);
            line.push_text(text, room, self.options.glyphs, style);
            line
        };
        pieces.iter().enumerate().map(draw).collect()
    }
}

#[cfg(test)]
mod tests;

//! What an agent said last, and what it has used.

use punchlist_model::agents::{Row, Spent};

use super::Page;
use crate::text::glyph::Glyphs;
use crate::text::{Line, Style, last_sentence, many_lines, one_line, wrap};

/// The most lines of an agent's last text.
const MOST_LINES: usize = 8;

/// `17% ctx  0.42`: how full the context is, and the cost. Empty if nothing is known.
pub fn spent(row: &Row) -> String {
    let Spent { context, window, cost_micros } = row.spent;
    let context = match (context, window.filter(|it| *it > 0)) {
        (Some(context), Some(window)) => Some(format!("{}% ctx", percent(context, window))),
        (Some(context), None) => Some(format!("{} ctx", tokens(context))),
        (None, _) => None,
    };
    let parts: Vec<String> = context.into_iter().chain(cost_micros.map(money)).collect();
    parts.join("  ")
}

fn percent(context: u64, window: u64) -> u64 {
    (context.saturating_mul(100) / window.max(1)).min(999)
}

/// `940`, `34k`, `1.2M`.
fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

fn money(micros: u64) -> String {
    let cents = micros.saturating_add(5_000) / 10_000;
    format!("{}.{:02}", cents / 100, cents % 100)
}

impl Page<'_> {
    /// The agent's last sentence, on a line.
    pub(super) fn last_sentence(&self, row: &Row) -> Option<Line> {
        let sentence = one_line(last_sentence(&row.said)).into_owned();
        if sentence.is_empty() {
            return None;
        }
        let (open, close) =
            if self.glyphs() == Glyphs::Ascii { ("\"", "\"") } else { ("“", "”") };
        let mut line = Line::new();
        line.push("   ", Style::Plain).push(open, Style::Dim);
        let room = self.columns.saturating_sub(line.width() + 1);
        line.push_text(&sentence, room, self.glyphs(), Style::Dim).push(close, Style::Dim);
        Some(line)
    }

    /// The last lines of the agent, and what it has used.
    pub(super) fn last_lines(&self, row: &Row) -> Vec<Line> {
        let bar = if self.glyphs() == Glyphs::Ascii { "   | " } else { "   │ " };
        let room = self.columns.saturating_sub(5).max(1);
        let text = many_lines(&row.said).into_owned();
        let all = text.lines().filter(|it| !it.trim().is_empty());
        let all: Vec<String> =
            all.flat_map(|it| wrap(it.trim_end(), room)).map(|it| it.to_string()).collect();
        let last = all.len().saturating_sub(MOST_LINES);
        let mut lines: Vec<Line> = Vec::new();
        for text in all.iter().skip(last) {
            let mut line = Line::new();
            line.push(bar, Style::Dim);
            line.push_text(text, room, self.glyphs(), Style::Plain);
            lines.push(line);
        }
        let spent = words(row.spent);
        if !spent.is_empty() {
            let mut line = Line::new();
            line.push("   ", Style::Plain);
            line.push_text(&spent, self.columns.saturating_sub(3), self.glyphs(), Style::Dim);
            lines.push(line);
        }
        lines
    }
}

/// `context 34k of 200k tokens (17%), cost 0.42`
fn words(spent: Spent) -> String {
    let context = spent.context.map(|context| match spent.window.filter(|it| *it > 0) {
        Some(window) => {
            let percent = percent(context, window);
            format!("context {} of {} tokens ({percent}%)", tokens(context), tokens(window))
        }
        None => format!("context {} tokens", tokens(context)),
    });
    let cost = spent.cost_micros.map(|it| format!("cost {}", money(it)));
    context.into_iter().chain(cost).collect::<Vec<_>>().join(", ")
}

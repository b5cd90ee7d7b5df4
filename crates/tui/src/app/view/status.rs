//! The status line: model, tokens or cost, context, sandbox, mode.

use punchlist_agent::session::money;
use punchlist_formats::text::{Colour, Glyphs, Line, Style, one_line, width};

use super::super::model::Model;
use super::super::transcript::tokens;

/// The status line. What does not fit goes from the right.
pub(super) fn line(model: &Model, columns: u16) -> Line {
    let room = usize::from(columns);
    let glyphs = model.view(columns).glyphs;
    let notice = model.notice.as_ref().map(|it| it.0.as_str());
    if let Some(text) = notice.or_else(|| model.typing_hint()) {
        let mut line = Line::of(" ", Style::Plain);
        line.push_text(&one_line(text), room.saturating_sub(1), glyphs, Style::In(Colour::Yellow));
        return line;
    }
    let mut parts = Vec::new();
    if model.prompt.is_open() && model.prompt.is_at_first_step() && model.input.is_empty() {
        parts.push("@ writes a message".to_owned());
    }
    match &model.agent.model {
        Some(model) => parts.push(one_line(model).into_owned()),
        None => parts.push("no model".to_owned()),
    }
    let used = &model.used;
    let total = used.input.saturating_add(used.output);
    if used.cost_micros > 0 {
        parts.push(format!("cost {}", money(used.cost_micros)));
    } else if total > 0 {
        parts.push(format!("{} tokens", tokens(total)));
    }
    if model.context_used > 0 && model.agent.context_tokens > 0 {
        let percent = model.context_used.saturating_mul(100) / model.agent.context_tokens;
        parts.push(format!("context {percent} %"));
    }
    parts.push(model.facts.sandbox.clone());
    parts.push(model.agent.mode.clone());
    if !model.prompt.is_open() {
        parts.push("? keys".to_owned());
    }
    let mut text = String::new();
    for part in parts.iter().filter(|it| !it.is_empty()) {
        let separator = match (text.is_empty(), glyphs) {
            (true, _) => " ",
            (false, Glyphs::Ascii) => " - ",
            (false, Glyphs::Unicode | Glyphs::Emoji) => " · ",
        };
        if width(&text) + width(separator) + width(part) > room && !text.is_empty() {
            break;
        }
        text.push_str(separator);
        text.push_str(part);
    }
    let mut line = Line::new();
    line.push_text(&text, room, glyphs, Style::Dim);
    line
}

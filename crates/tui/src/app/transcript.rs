//! The lines that go into the scrollback: what the person said, what the model answered, calls that
//! have ended, and changes of items. Written once.

use punchlist_agent::provider::ModelCall;
use punchlist_agent::session::{Entry, Recorded, is_for_user, money};
use punchlist_agent::turn::Ending;
use punchlist_formats::text::width::truncate_with;
use punchlist_formats::text::{Colour, Glyphs, Line, Style, many_lines, one_line, width, wrap};
use punchlist_formats::view::{Options, duration, plain};
use punchlist_model::store::turns::Used;
use punchlist_model::{Item, ItemId, Plan, Status, Timestamp};

use crate::about;
use crate::text::markdown;

/// A message of the person.
pub(crate) fn said(text: &str, options: &Options) -> Vec<Line> {
    let room = usize::from(options.width).saturating_sub(2).max(1);
    let mut lines = vec![Line::new()];
    for (at, line) in many_lines(text).lines().flat_map(|it| wrap(it, room)).enumerate() {
        let mut drawn = Line::of(if at == 0 { "> " } else { "  " }, Style::BoldIn(Colour::Cyan));
        drawn.push(&line, Style::Bold);
        lines.push(drawn);
    }
    lines.push(Line::new());
    lines
}

/// Text of the model. `is_begun`: it goes on.
pub(crate) fn answer(text: &str, options: &Options) -> Vec<Line> {
    markdown::lines(text, options.width, options.glyphs)
}

/// Something that happened beside the answer.
pub(crate) fn aside(text: &str, options: &Options) -> Vec<Line> {
    told(text, Style::Dim, options)
}

/// Something that went wrong.
pub(crate) fn wrong(text: &str, options: &Options) -> Vec<Line> {
    told(text, Style::In(Colour::Red), options)
}

fn told(text: &str, style: Style, options: &Options) -> Vec<Line> {
    let room = usize::from(options.width).max(1);
    let text = many_lines(text);
    let lines = text.lines().flat_map(|it| wrap(it, room));
    lines.map(|it| Line::of(&it, style)).collect()
}

/// A call that has ended.
pub(crate) fn call(
    call: &ModelCall,
    since: Timestamp,
    failed: Option<&str>,
    options: &Options,
) -> Vec<Line> {
    let (sign, style) = match failed {
        None => (options.glyphs.sign(punchlist_formats::text::glyph::Sign::Done), Colour::Green),
        Some(_) => {
            (options.glyphs.sign(punchlist_formats::text::glyph::Sign::Cancelled), Colour::Red)
        }
    };
    let took = options.now.as_second().saturating_sub(since.as_second());
    let took = if took < 1 {
        String::new()
    } else {
        format!("  {}", duration::between(since, options.now))
    };
    let mut line = Line::of("  ", Style::Plain);
    line.push(sign, Style::In(style)).push(" ", Style::Plain);
    let room = usize::from(options.width).saturating_sub(line.width() + width(&took));
    line.append(about(call, room, options.glyphs)).push(&took, Style::Dim);
    let mut lines = vec![line];
    let why = failed.and_then(|it| it.lines().map(str::trim).find(|it| !it.is_empty()));
    if let Some(why) = why {
        let room = usize::from(options.width).saturating_sub(4);
        let mut line = Line::of("    ", Style::Plain);
        line.push_text(&one_line(why), room, options.glyphs, Style::In(Colour::Red));
        lines.push(line);
    }
    lines
}

/// A call in a few words: `shell  cargo test`.
pub(crate) fn about(call: &ModelCall, room: usize, glyphs: Glyphs) -> Line {
    let mut line = Line::new();
    line.push_text(&one_line(&call.tool), room, glyphs, Style::Bold);
    let text = about::about(call);
    let room = room.saturating_sub(line.width() + 2);
    if room >= 4 && !text.is_empty() {
        let text = truncate_with(&text, room, glyphs.ellipsis()).into_owned();
        line.push("  ", Style::Plain).push_text(&text, room, glyphs, Style::Plain);
    }
    line
}

/// A line for each item whose status has changed.
pub(crate) fn transitions(before: Option<&Plan>, now: &Plan, options: &Options) -> Vec<Line> {
    let listed = before.map(|it| it.listed()).unwrap_or_default();
    let was = |id: ItemId| -> Status {
        listed.iter().find(|it| it.id == id).map_or(Status::Pending, |it| it.status)
    };
    let moved = |it: &&Item| was(it.id) != it.status;
    now.listed().into_iter().filter(moved).map(|it| plain::transition(it, options)).collect()
}

/// What a turn used, in a line: `answered · 3 model calls · 1.2k tokens`.
pub(crate) fn summary(words: &str, used: Used, glyphs: Glyphs) -> String {
    let mut parts = vec![one_line(words).into_owned()];
    match used.calls {
        0 => {}
        1 => parts.push("1 model call".to_owned()),
        calls => parts.push(format!("{calls} model calls")),
    }
    let total = used.input.saturating_add(used.output);
    if total > 0 {
        parts.push(format!("{} tokens", tokens(total)));
    }
    if used.cost_micros > 0 {
        parts.push(format!("cost {}", money(used.cost_micros)));
    }
    parts.join(if glyphs == Glyphs::Ascii { " - " } else { " · " })
}

/// A number of tokens: `950`, `1.2k`, `34k`, `1.5M`.
pub(crate) fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// What was recorded of a session, as it was shown when it happened.
pub(crate) fn recorded(
    entries: &[Recorded],
    plan_tools: &[String],
    options: &Options,
) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut calls: Vec<&ModelCall> = Vec::new();
    for it in entries {
        match &it.entry {
            Entry::User { text } | Entry::Steering { text } => {
                part(&mut lines, said(text, options));
            }
            Entry::Answer(given) => {
                if is_for_user(given.purpose) && !given.message.text.trim().is_empty() {
                    part(&mut lines, answer(given.message.text.trim_end(), options));
                }
                calls
                    .extend(given.message.calls.iter().filter(|it| !plan_tools.contains(&it.tool)));
            }
            Entry::Result(end) => {
                let of = calls.iter().find(|it| it.id == end.result.call);
                let failed = end.result.is_error.then_some(end.result.text.as_str());
                // How long it took is not recorded.
                lines.extend(of.into_iter().flat_map(|it| call(it, options.now, failed, options)));
            }
            Entry::Info { text } => lines.extend(aside(text, options)),
            Entry::Summary { .. } => lines.extend(aside(COMPACTED, options)),
            Entry::Ended { ending: Ending::Answered } | Entry::Told { .. } | Entry::Used { .. } => {
            }
            Entry::Ended { ending } => lines.extend(aside(&ending.words(), options)),
        }
    }
    lines
}

/// Adds lines with one blank line before them.
fn part(lines: &mut Vec<Line>, mut more: Vec<Line>) {
    let is_blank = |it: Option<&Line>| it.is_some_and(|it| it.width() == 0);
    match (is_blank(lines.last()), is_blank(more.first())) {
        (true, true) => drop(more.remove(0)),
        (false, false) => lines.push(Line::new()),
        (true, false) | (false, true) => {}
    }
    lines.append(&mut more);
}

/// What the person is told of a compaction.
pub(crate) const COMPACTED: &str = "older parts of the conversation were summarised";

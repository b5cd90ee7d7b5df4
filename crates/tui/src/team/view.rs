//! Draws a team: the lists side by side where the width allows, the members that work, the input. Pure.

use punchlist_formats::text::width::truncate_with;
use punchlist_formats::text::{Colour, Glyphs, Line, Style, one_line};
use punchlist_formats::view::Options;
use punchlist_formats::view::team::{self, Entry, Member};
use punchlist_formats::view::{duration, questions};
use punchlist_model::Status;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::model::Model;
use super::panels::{Panel, Panels};
use crate::queue_rows::{self, Waiting};
use crate::text::markdown;
use crate::theme;

/// The least width of a panel beside others, and the gap between two.
const NARROWEST: u16 = 30;
const GAP: u16 = 2;
/// The least rows of a panel: a blank one, the heading, an item.
const LEAST_ROWS: usize = 3;
/// How many rows of a text that arrives are shown.
const TEXT_ROWS: usize = 6;
/// The most columns of a name.
const NAME: usize = 20;

/// Below this height, the queue folds to a row.
const ROOMY_FROM: u16 = 16;

/// What is on the screen.
pub(super) struct Drawn {
    pub(super) buffer: Buffer,
    pub(super) cursor: Option<(u16, u16)>,
}

/// Draws the live part.
pub(super) fn view(model: &Model) -> Drawn {
    let (columns, rows) = (model.size.columns.max(1), model.size.rows.max(2));
    let options = model.options(columns);
    let question = match model.holds_question_back() {
        true => model.prompt.shown_without_keys(&options),
        false => model.prompt.shown(&options),
    };
    // While a question is open, the input only needs its rows if something is typed there.
    let wants_input = question.is_none() || !model.input.is_empty();
    let input_rows = model.input.height(columns).clamp(1, (rows / 3).max(1));
    let input_rows = if wants_input { input_rows } else { 0 };
    let mut room = usize::from(rows - input_rows).saturating_sub(1);
    let asked = question
        .map(|(asked, count, below)| questions::asking(asked, count, &below, room, &options));
    let mut asked = asked.unwrap_or_default();
    asked.truncate(room);
    room -= asked.len();
    let queue = queue(model, columns, if rows >= ROOMY_FROM { room / 3 } else { room.min(1) });
    room -= queue.len();
    let working = working(model, columns, room.min(model.members.len()));
    room -= working.len();
    let shown: Vec<(&Member, &Panel)> = model
        .panels
        .iter()
        .filter_map(|(member, panel)| Some((&model.members.get(member)?.shown, panel)))
        .collect();
    let lists = panels(&shown, room, &options);
    room -= lists.len();
    let mut above = text(model, columns, room.min(TEXT_ROWS));
    above.extend(lists);
    above.extend(working);
    above.extend(asked);
    above.extend(queue);
    let height = u16::try_from(above.len()).unwrap_or(rows) + input_rows + 1;
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, height));
    for (line, y) in above.iter().zip(0..) {
        theme::draw(&mut buffer, 0, y, columns, line, &model.theme);
    }
    let area = Rect::new(0, height - 1 - input_rows, columns, input_rows);
    let cursor =
        if input_rows > 0 { model.input.render(area, &mut buffer, &model.theme) } else { None };
    theme::draw(&mut buffer, 0, height - 1, columns, &status(model), &model.theme);
    Drawn { buffer, cursor: cursor.filter(|it| it.1 < height) }
}

/// The messages that wait.
fn queue(model: &Model, columns: u16, most: usize) -> Vec<Line> {
    let label = |member: usize| {
        let name = model.names(&[member]);
        let name = one_line(&name);
        format!(" queued for {}: ", truncate_with(&name, NAME, model.glyphs().ellipsis()))
    };
    let waiting = model.waiting.iter();
    let waiting = waiting.map(|it| Waiting { label: label(it.member), text: &it.text });
    let waiting: Vec<Waiting<'_>> = waiting.collect();
    let paused = if model.is_paused() { ", /queue go sends" } else { "" };
    queue_rows::rows(&waiting, paused, columns, most, model.glyphs())
}

/// The lists of members: side by side where the width allows, else one below the other. At most `most`
/// rows.
pub fn panels(shown: &[(&Member, &Panel)], most: usize, options: &Options) -> Vec<Line> {
    let count = u16::try_from(shown.len()).unwrap_or(u16::MAX).max(1);
    let beside = ((options.width + GAP) / (NARROWEST + GAP)).clamp(1, count);
    let width = (options.width - GAP * (beside - 1)) / beside;
    let narrow = Options { width, ..options.clone() };
    let groups = shown.chunks(usize::from(beside));
    // A blank row is above each group, and one below the last or what says that there are more.
    let is_all = groups.len() * LEAST_ROWS <= most;
    let count = if is_all { groups.len() } else { most.saturating_sub(1) / LEAST_ROWS };
    let each = (most.saturating_sub(1) / count.max(1)).max(LEAST_ROWS);
    let mut lines = Vec::new();
    for group in groups.take(count) {
        let all: Vec<Vec<Line>> =
            group.iter().map(|(member, panel)| one(member, panel, each, &narrow)).collect();
        for row in 0..all.iter().map(Vec::len).max().unwrap_or_default() {
            let mut line = Line::new();
            for (at, panel) in all.iter().enumerate() {
                line.fill(at * usize::from(width + GAP));
                line.append(panel.get(row).cloned().unwrap_or_default());
            }
            lines.push(line);
        }
    }
    let hidden = shown.len().saturating_sub(count * usize::from(beside));
    if hidden > 0 && count > 0 {
        let s = if hidden == 1 { "" } else { "s" };
        lines.push(Line::of(&format!("+{hidden} more list{s}"), Style::Dim));
    } else if !lines.is_empty() && lines.len() < most {
        lines.push(Line::new());
    }
    lines.truncate(most);
    lines
}

/// One list in at most `most` rows, with a blank row above it.
fn one(member: &Member, panel: &Panel, most: usize, options: &Options) -> Vec<Line> {
    let entries = panel.entries();
    let room = most.saturating_sub(2);
    let (first, last) = window(&entries, room);
    let mut lines = team::entries_of(&entries[first..last], member, options);
    // The blank line below the list is drawn once for all.
    lines.pop();
    let hidden = entries.len() - (last - first);
    if hidden > 0 && lines.len() >= 2 && lines.len() < most {
        let mut line = Line::new();
        let more = format!("+{hidden} more");
        line.push_text(&more, usize::from(options.width), options.glyphs, Style::Dim);
        lines.push(line);
    }
    lines.truncate(most);
    if panel.is_dim { lines.iter().map(dimmed).collect() } else { lines }
}

/// The part of a list that is shown: all, or from just before the first open item on.
fn window(entries: &[Entry<'_>], room: usize) -> (usize, usize) {
    if entries.len() <= room {
        return (0, entries.len());
    }
    // A row says how many are hidden, unless there is only one.
    let room = room.saturating_sub(1).max(room.min(1));
    let open = entries
        .iter()
        .position(|it| matches!(it.status, Status::Pending | Status::InProgress) && !it.assumed);
    let before = usize::from(room > 1);
    let first = open.unwrap_or_default().saturating_sub(before).min(entries.len() - room);
    (first, first + room)
}

fn dimmed(line: &Line) -> Line {
    let mut dim = Line::new();
    for span in line.spans() {
        dim.push(&span.text, Style::Dim);
    }
    dim
}

/// The members that work: `● Max  12 s  Bash`
fn working(model: &Model, columns: u16, most: usize) -> Vec<Line> {
    let glyphs = model.glyphs();
    let dot = if glyphs == Glyphs::Ascii { "* " } else { "● " };
    let mut lines = Vec::new();
    for (number, seat) in model.members.iter().enumerate() {
        let Some(turn) = &seat.turn else { continue };
        let mut line = Line::of(dot, Style::In(seat.shown.colour));
        line.push_text(&one_line(&seat.shown.name), NAME, glyphs, Style::BoldIn(seat.shown.colour));
        line.push(&format!("  {}  ", duration::between(turn.since, model.now)), Style::Dim);
        let doing = match turn.is_ending {
            true => "stopping",
            false if model.is_asking(number) => "asks you",
            false => &turn.doing,
        };
        let room = usize::from(columns).saturating_sub(line.width());
        line.push_text(doing, room, glyphs, Style::Dim);
        lines.push(line);
    }
    lines.truncate(most);
    lines
}

/// The end of the text that arrives, if one member writes.
fn text(model: &Model, columns: u16, most: usize) -> Vec<Line> {
    let mut writing = model.members.iter().filter_map(|it| it.turn.as_ref());
    let (Some(turn), None) = (writing.next(), writing.next()) else { return Vec::new() };
    if turn.text.trim().is_empty() {
        return Vec::new();
    }
    let width = columns.saturating_sub(3).max(1);
    let lines = markdown::lines(turn.text.trim_end(), width, model.glyphs());
    let skipped = lines.len().saturating_sub(most);
    lines.into_iter().skip(skipped).map(|it| it.indented(2)).collect()
}

fn status(model: &Model) -> Line {
    let columns = usize::from(model.size.columns);
    let glyphs = model.glyphs();
    let mut line = Line::new();
    let hint = match model.is_leaving {
        true => Some("Ctrl-C again ends the conversation"),
        false => model.typing.hint(&model.prompt, &model.input, model.now),
    };
    if let Some(hint) = hint {
        line.push_text(hint, columns, glyphs, Style::In(Colour::Yellow));
        return line;
    }
    let to = if model.last.is_empty() {
        "nobody addressed yet".to_owned()
    } else {
        format!("to {}", one_line(&model.names(&model.last)))
    };
    let waiting = match model.waiting.len() {
        0 => String::new(),
        count => format!(" · {count} queued"),
    };
    let stop = match model.is_busy() {
        true if model.prompt.is_open() => " · @ writes a message · Esc ends the turns",
        true => " · Esc ends the turns",
        false => "",
    };
    let text = format!("{to}{waiting}{stop} · /help");
    let text = if glyphs == Glyphs::Ascii { text.replace('·', "-") } else { text };
    line.push_text(&text, columns, glyphs, Style::Dim);
    line
}

/// The list of one member, in lines that are written once.
pub(super) fn finished(model: &Model, member: usize, panels: &Panels) -> Vec<Line> {
    let (Some(seat), Some(panel)) = (model.members.get(member), panels.get(member)) else {
        return Vec::new();
    };
    team::entries_of(&panel.entries(), &seat.shown, &model.options(model.size.columns))
}

//! Draws the model. Only reads.
//!
//! The areas from the top: text that arrives, the plan, running calls, what the model does, the
//! question, the queue, the input, the status. Input and status always have their rows; the question
//! comes next. On a low screen the plan, the calls and the queue fold to a row each. From 140 columns
//! on, the plan stands beside the rest, unless a question's diff needs the width.

mod status;

use punchlist_formats::text::width::truncate_with;
use punchlist_formats::text::{Colour, Line, Style, one_line, width};
use punchlist_formats::view::run::{Run, run as live_run};
use punchlist_formats::view::{duration, live, questions};
use punchlist_model::Progress;
use punchlist_model::call::Message;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::model::{Model, Phase};
use super::transcript;
use crate::dialog::Dialog;
use crate::queue_rows::{self, Waiting};
use crate::text::markdown;
use crate::theme;

/// From this width on, the plan stands beside the rest.
const BESIDE_FROM: u16 = 140;
/// The width of the plan beside the rest.
const BESIDE: u16 = 56;
/// The width of a question whose diff has the old and the new text side by side.
const WIDE_DIFF: u16 = 121;
/// Below this height, areas fold to a row each.
const ROOMY_FROM: u16 = 16;
/// How many running calls are shown.
const CALLS: usize = 5;

/// What is on the screen.
pub(crate) struct Drawn {
    pub(crate) buffer: Buffer,
    /// Column and row of the cursor.
    pub(crate) cursor: Option<(u16, u16)>,
}

/// Draws the live part.
pub(crate) fn view(model: &Model) -> Drawn {
    let (columns, rows) = (model.size.columns.max(1), model.size.rows.max(2));
    let plan = model.shown_plan();
    // A diff needs the width more than the plan does.
    let has_room = |left: u16| left >= WIDE_DIFF || !model.prompt.has_diff();
    let beside = plan.filter(|_| {
        columns >= BESIDE_FROM && model.run.is_none() && has_room(columns - BESIDE - 2)
    });
    let left = if beside.is_some() { columns - BESIDE - 2 } else { columns };
    let Sections { above, input_rows } = sections(model, left, rows, beside.is_none());
    let status = u16::try_from(above.len()).unwrap_or(u16::MAX).saturating_add(input_rows);
    let mut height = status + 1;
    let right = beside.map(|plan| live::live(plan, usize::from(rows), &model.view(BESIDE)));
    if let Some(right) = &right {
        height = height.max(u16::try_from(right.len()).unwrap_or(u16::MAX)).min(rows);
    }
    // What is beside may be taller: then the left part is at the bottom.
    let top = height.saturating_sub(status + 1);
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, height));
    for (line, y) in above.iter().zip(top..) {
        theme::draw(&mut buffer, 0, y, left, line, &model.theme);
    }
    let area = Rect::new(0, top + status - input_rows, left, input_rows);
    let cursor =
        if input_rows > 0 { model.input.render(area, &mut buffer, &model.theme) } else { None };
    theme::draw(&mut buffer, 0, height - 1, left, &status::line(model, left), &model.theme);
    for (line, y) in right.iter().flatten().zip(0..) {
        theme::draw(&mut buffer, left + 2, y, BESIDE, line, &model.theme);
    }
    Drawn { buffer, cursor: cursor.filter(|it| it.1 < height) }
}

/// Draws a dialog. If somebody asks meanwhile, its last row says so.
pub(crate) fn full_screen(model: &Model, dialog: &Dialog) -> Buffer {
    let (columns, rows) = (model.size.columns.max(1), model.size.rows.max(1));
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
    dialog.render(buffer.area, &mut buffer, &model.theme);
    let text = match model.prompt.ids().len() {
        0 => return buffer,
        1 => "  1 question waits".to_owned(),
        count => format!("  {count} questions wait"),
    };
    let mut line = Line::new();
    let glyphs = model.view(columns).glyphs;
    line.push_text(&text, usize::from(columns), glyphs, Style::BoldIn(Colour::Yellow));
    let from = columns.saturating_sub(u16::try_from(line.width()).unwrap_or(columns));
    for x in from..columns {
        if let Some(cell) = buffer.cell_mut((x, rows - 1)) {
            cell.reset();
        }
    }
    theme::draw(&mut buffer, from, rows - 1, columns - from, &line, &model.theme);
    buffer
}

struct Sections {
    /// Everything above the input.
    above: Vec<Line>,
    input_rows: u16,
}

fn sections(model: &Model, columns: u16, rows: u16, with_plan: bool) -> Sections {
    let is_roomy = rows >= ROOMY_FROM;
    let options = model.view(columns);
    let question = match model.holds_question_back() {
        true => model.prompt.shown_without_keys(&options),
        false => model.prompt.shown(&options),
    };
    // While a question is open, the input only needs its rows if something is typed there.
    let wants_input = question.is_none() || !model.input.is_empty();
    let input_rows = model.input.height(columns).clamp(1, (rows / 3).max(1));
    let input_rows = if wants_input { input_rows } else { 0 };
    let mut room = usize::from(rows).saturating_sub(1 + usize::from(input_rows));
    let asked = question
        .map(|(asked, count, below)| questions::asking(asked, count, &below, room, &options));
    let mut asked = asked.unwrap_or_default();
    asked.truncate(room);
    room -= asked.len();
    let doing = if asked.is_empty() { doing(model, columns) } else { None };
    let doing: Vec<Line> = doing.into_iter().take(room).collect();
    room -= doing.len();
    let calls = calls(model, columns, if is_roomy { CALLS.min(room) } else { room.min(1) });
    room -= calls.len();
    let queue = queue(model, columns, if is_roomy { room / 3 } else { room.min(1) });
    room -= queue.len();
    let most = if is_roomy { (room * 2 / 3).max(2) } else { room.min(3) }.min(room);
    let plan = match (running(model), model.shown_plan().filter(|_| with_plan)) {
        (Some(run), _) => {
            let mut lines = live_run(&run, Some(most), &options);
            lines.truncate(most);
            lines
        }
        (None, Some(plan)) => live::live(plan, most, &options),
        (None, None) => Vec::new(),
    };
    room -= plan.len();
    let mut above = text(model, columns, room);
    room -= above.len();
    if is_roomy && room > 0 && !model.is_after_blank {
        // A blank row parts the live rows from the finished ones.
        above.insert(0, Line::new());
    }
    above.extend(plan);
    above.extend(calls);
    above.extend(doing);
    above.extend(asked);
    above.extend(queue);
    Sections { above, input_rows }
}

/// The plan file that runs, which takes the place of the plan.
fn running(model: &Model) -> Option<Run> {
    let run = model.run.as_ref()?;
    let hint = match run.stops {
        0 => "Esc stops; /run again to go on",
        1 => "stopping; Esc again ends at once",
        _ => "ending",
    };
    let stands = run.stands.clone().unwrap_or_else(|| Run {
        title: run.file.clone(),
        how: vec!["starting".to_owned()],
        steps: Vec::new(),
        progress: Progress::of(0, 0, true),
        ms: 0,
        hint: String::new(),
    });
    Some(Run { hint: hint.to_owned(), ..stands })
}

/// The end of the text that arrives.
fn text(model: &Model, columns: u16, room: usize) -> Vec<Line> {
    if model.answer.live.trim().is_empty() {
        return Vec::new();
    }
    let width = columns.saturating_sub(1).max(1);
    let mut lines = markdown::lines(model.answer.live.trim_end(), width, model.view(width).glyphs);
    lines.drain(..lines.len().saturating_sub(room));
    lines
}

/// What the model does: `● Thinking  12 s  …`
fn doing(model: &Model, columns: u16) -> Option<Line> {
    let turn = model.turn.as_ref()?;
    let glyphs = model.view(columns).glyphs;
    let time = duration::between(turn.since, model.now);
    let (word, detail) = match &turn.phase {
        _ if turn.is_ending => ("Stopping", String::new()),
        Phase::Thinking(line) => ("Thinking", one_line(line.trim()).into_owned()),
        Phase::Writing => ("Writing", String::new()),
        Phase::Calling => ("Working", String::new()),
        Phase::Waiting(on) => ("Waiting for", on.clone()),
        Phase::Compacting => ("Compacting", String::new()),
    };
    let mut line = Line::of(" ", Style::Plain);
    line.push(
        if glyphs == punchlist_formats::text::Glyphs::Ascii { "* " } else { "● " },
        Style::In(Colour::Cyan),
    );
    line.push(word, Style::Bold).push(&format!("  {time}"), Style::Dim);
    let hint = "  Esc ends the turn";
    let room = usize::from(columns).saturating_sub(line.width());
    if !detail.is_empty() && room > 12 {
        let most = room.saturating_sub(2);
        line.push("  ", Style::Plain).push_text(&detail, most, glyphs, Style::Dim);
    } else if room >= width(hint) {
        line.push(hint, Style::Dim);
    }
    Some(line)
}

/// The running calls, each with its time and its last line.
fn calls(model: &Model, columns: u16, most: usize) -> Vec<Line> {
    let options = model.view(columns);
    let glyphs = options.glyphs;
    let all = &model.calls;
    let more = if all.len() > most { all.len() + 1 - most } else { 0 };
    let mut lines = Vec::new();
    for running in all.iter().take(if more > 0 { most.saturating_sub(1) } else { most }) {
        let time = format!("  {}", duration::between(running.since, model.now));
        let mut line = Line::of(" ", Style::Plain);
        let sign = glyphs.sign(punchlist_formats::text::glyph::Sign::Active);
        line.push(sign, Style::In(Colour::Cyan)).push(" ", Style::Plain);
        let room = usize::from(columns).saturating_sub(line.width() + width(&time));
        let for_call = if running.line.is_empty() { room } else { room / 2 };
        line.append(transcript::about(&running.call, for_call, glyphs));
        line.push(&time, Style::Dim);
        let room = usize::from(columns).saturating_sub(line.width() + 2);
        if !running.line.is_empty() && room >= 8 {
            let last = truncate_with(&running.line, room, glyphs.ellipsis()).into_owned();
            line.push("  ", Style::Plain).push_text(&last, room, glyphs, Style::Dim);
        }
        lines.push(line);
    }
    if more > 0 && most > 0 {
        let text =
            if most == 1 { format!(" {more} calls run") } else { format!("   +{more} more") };
        lines.push(Line::of(&text, Style::Dim));
    }
    lines
}

/// The messages that wait, steering ones first.
fn queue(model: &Model, columns: u16, most: usize) -> Vec<Line> {
    let label = |it: &Message| if it.steer { " steers: " } else { " queued: " }.to_owned();
    let waiting = model.queue.iter().map(|it| Waiting { label: label(it), text: &it.text });
    let waiting: Vec<Waiting<'_>> = waiting.collect();
    let paused = if model.is_paused { ", paused: /queue go" } else { "" };
    queue_rows::rows(&waiting, paused, columns, most, model.view(columns).glyphs)
}

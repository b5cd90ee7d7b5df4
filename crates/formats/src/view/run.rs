//! A run in progress: what is done, what is running and what it prints, what waits and for whom.
//!
//! A pure function of steps and options. Every line is at least one column narrower than the
//! screen, so that no terminal wraps it. Where there is little room, notes go first, then workers,
//! then times; titles are cut last.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use punchlist_model::Progress;
use punchlist_model::call::Printed;

use super::{Options, list, questions, shown};
use crate::text::glyph::{Glyphs, Sign};
use crate::text::width::{pad_left, truncate_with};
use crate::text::{Colour, Line, Style, isolated, one_line, pad, width};

/// Wider lines are hard to read.
const WIDEST: usize = 120;
/// Below this width there are no notes beside titles.
const NOTES_FROM: usize = 56;
/// Below this width there are no times.
const TIMES_FROM: usize = 34;
/// The maximal width of a worker, and the width of a time: `59 m 59 s`.
const WORKER: usize = 10;
const TIME: usize = 9;
/// The length of the bar, where there is room.
const BAR: usize = 20;

/// A run in progress.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// The title of the plan.
    pub title: String,
    /// How it runs: `2 jobs`, `plan 7f3a`.
    pub how: Vec<String>,
    /// Its steps, each after its parent.
    pub steps: Vec<Step>,
    /// The plan's progress.
    pub progress: Progress,
    /// How long this run has taken.
    pub ms: u64,
    /// The right part of the last line.
    pub hint: String,
}

/// One step of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// The title.
    pub title: String,
    /// How deep it is nested.
    pub depth: usize,
    /// The worker, if the step is not a command.
    pub worker: String,
    /// Its state.
    pub state: State,
    /// How long it took, or has taken so far.
    pub ms: Option<u64>,
    /// A note: its evidence, the last line that it printed, or what it waits for.
    pub note: String,
    /// The last lines that it printed, which are shown under it if there is room.
    pub printed: Printed,
}

/// The state of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It has not started.
    Open,
    /// It is running.
    Running,
    /// It waits for a person's answer.
    Asks,
    /// It is done.
    Done {
        /// Whether it was checked or approved, and not only reported.
        sure: bool,
    },
    /// It failed.
    Failed,
    /// A policy rule denied it.
    Denied,
    /// A person refused it.
    Refused,
    /// It cannot start in this run.
    Held,
    /// It was cancelled.
    Cancelled,
}

/// The whole screen, at most `height` lines.
pub fn run(run: &Run, height: Option<usize>, options: &Options) -> Vec<Line> {
    let columns = usize::from(options.width).saturating_sub(1).clamp(1, WIDEST);
    let page = Page { options, columns, widths: Widths::of(&run.steps, columns) };
    let room = height.map(|it| it.saturating_sub(2).max(1));
    let mut lines = vec![page.head(run)];
    lines.extend(page.steps(&run.steps, room));
    lines.push(page.foot(run));
    lines
}

/// The result of a step as a line of its own, for output that is not a terminal.
pub fn line(step: &Step) -> String {
    let word = match step.state {
        State::Open => "open",
        State::Running => "started",
        State::Asks => "asks",
        State::Done { .. } => "done",
        State::Failed => "failed",
        State::Denied => "denied",
        State::Refused => "refused",
        State::Held => "left",
        State::Cancelled => "cancelled",
    };
    let mut words = vec![format!("{word:<9}"), shown(&step.title).into_owned()];
    match step.state {
        State::Done { .. } | State::Failed => words.extend(step.ms.map(time)),
        State::Open
        | State::Running
        | State::Asks
        | State::Denied
        | State::Refused
        | State::Held
        | State::Cancelled => {}
    }
    if step.state != State::Running {
        words.push(one_line(&step.note).into_owned());
    }
    words.retain(|it| !it.is_empty());
    words.join("  ")
}

/// What a step printed, as lines below its own.
pub fn printed_lines(step: &Step, options: &Options) -> Vec<String> {
    let before =
        (step.printed.before > 0).then(|| questions::lines_before(step.printed.before, options));
    let printed_text = step.printed.lines.iter().map(|it| one_line(it).into_owned());
    before
        .into_iter()
        .chain(printed_text)
        .map(|it| format!("    {it}").trim_end().to_owned())
        .collect()
}

/// `850 ms`, `41.2 s`, `1 m 12 s`, `2 h 5 m`.
pub fn time(ms: u64) -> String {
    let seconds = ms / 1_000;
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", seconds, ms % 1_000 / 100),
        60_000..3_600_000 => format!("{} m {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} m", seconds / 3_600, seconds / 60 % 60),
    }
}

/// A running time, without fractions of a second.
fn ticking(ms: u64) -> String {
    match ms {
        0..60_000 => format!("{} s", ms / 1_000),
        _ => time(ms),
    }
}

/// The width of each column, for all steps; 0 for a column that is left out.
struct Widths {
    title: usize,
    worker: usize,
    time: usize,
    /// Whether there is room for notes.
    notes: bool,
}

impl Widths {
    fn of(steps: &[Step], columns: usize) -> Self {
        let indented = |it: &Step| 2 * it.depth.min(8) + width(&shown(&it.title));
        let longest = steps.iter().map(indented).max().unwrap_or(0);
        let worker = steps.iter().map(|it| width(&one_line(&it.worker))).max().unwrap_or(0);
        let notes = columns >= NOTES_FROM;
        let time = if columns < TIMES_FROM { 0 } else { TIME };
        let worker = if notes { worker.min(WORKER) } else { 0 };
        let column = |it: usize| if it == 0 { 0 } else { it + 2 };
        // Notes get half of the remaining width, and more if titles are short.
        let left = columns.saturating_sub(3 + column(worker) + column(time));
        let most = if notes { left / 2 } else { left };
        Self { title: longest.min(most.max(1)), worker, time, notes }
    }
}

struct Page<'a> {
    options: &'a Options,
    columns: usize,
    widths: Widths,
}

impl Page<'_> {
    fn glyphs(&self) -> Glyphs {
        self.options.glyphs
    }

    fn dot(&self) -> &'static str {
        if self.glyphs() == Glyphs::Ascii { " - " } else { " · " }
    }

    /// `Release 1.2                                        2 jobs · plan 7f3a`
    fn head(&self, run: &Run) -> Line {
        let mut line = Line::new();
        let how = run.how.join(self.dot());
        let room = self.columns.saturating_sub(width(&how) + 2);
        let with_how = room >= 12;
        let most = if with_how { room } else { self.columns };
        line.push_text(&shown(&run.title), most, self.glyphs(), Style::Bold);
        if with_how {
            line.fill(self.columns - width(&how)).push(&how, Style::Dim);
        }
        line
    }

    /// ` 1/4  █████░░░░░░░░░░░░░░  25 %   53 s         Ctrl-C stops; run again to go on`
    fn foot(&self, run: &Run) -> Line {
        let Progress { completed: done, total, percent } = run.progress;
        let mut line = Line::new();
        let counts = format!(" {done}/{total}  ");
        line.push(&truncate_with(&counts, self.columns, ""), Style::Plain);
        let rest = format!("  {percent} %   {}", ticking(run.ms));
        if line.width() + BAR + width(&rest) <= self.columns {
            list::bar(&mut line, done, total, BAR, self.options);
        }
        let left = self.columns.saturating_sub(line.width());
        line.push(&truncate_with(&rest, left, ""), Style::Plain);
        let left = self.columns.saturating_sub(line.width() + 2);
        if !run.hint.is_empty() && width(&run.hint) <= left {
            line.fill(self.columns - width(&run.hint)).push(&run.hint, Style::Dim);
        }
        line
    }

    /// The steps that fit on the screen: those that run, ask or failed first, then their
    /// neighbours.
    fn steps(&self, steps: &[Step], room: Option<usize>) -> Vec<Line> {
        let Some(room) = room.filter(|it| *it < steps.len()) else {
            let spare = room.map_or(usize::MAX, |it| it - steps.len());
            let mut lines = Vec::new();
            for (step, is_printed) in steps.iter().zip(printed(steps, spare)) {
                lines.push(self.step(step));
                if is_printed {
                    lines.extend(self.printed(step));
                }
            }
            return lines;
        };
        let chosen = chosen(steps, room);
        let mut lines = Vec::new();
        let mut hidden = 0;
        for (step, is_shown) in steps.iter().zip(&chosen) {
            if !is_shown {
                hidden += 1;
                continue;
            }
            self.gap(&mut lines, &mut hidden);
            lines.push(self.step(step));
        }
        self.gap(&mut lines, &mut hidden);
        lines
    }

    /// A line that says how many steps are left out here.
    fn gap(&self, lines: &mut Vec<Line>, hidden: &mut usize) {
        if *hidden > 0 {
            let mut line = Line::new();
            let text = format!(" {} {hidden} more", self.glyphs().ellipsis());
            line.push(&truncate_with(&text, self.columns, ""), Style::Dim);
            lines.push(line);
            *hidden = 0;
        }
    }

    /// What a step printed, line by line.
    fn printed(&self, step: &Step) -> Vec<Line> {
        let indent = (5 + 2 * step.depth.min(8)).min(self.columns.saturating_sub(1));
        let before = (step.printed.before > 0)
            .then(|| questions::lines_before(step.printed.before, self.options));
        let printed_text = step.printed.lines.iter().map(|it| one_line(it).into_owned());
        let drawn = |text: String| {
            let mut line = Line::new();
            line.push(&" ".repeat(indent), Style::Plain);
            let room = self.columns.saturating_sub(indent);
            line.push_text(&text, room, self.glyphs(), Style::Dim);
            line.trimmed_end()
        };
        before.into_iter().chain(printed_text).map(drawn).collect()
    }

    fn step(&self, step: &Step) -> Line {
        let (sign, style) = self.sign(step.state);
        let mut line = Line::new();
        let head = if self.columns < 8 { "" } else { " " };
        line.push(head, Style::Plain).push(sign, style).push(head, Style::Plain);
        let begin = line.width();
        let title = match step.state {
            State::Cancelled | State::Held => Style::Dim,
            State::Open
            | State::Running
            | State::Asks
            | State::Done { .. }
            | State::Failed
            | State::Denied
            | State::Refused => Style::Plain,
        };
        let indent = (2 * step.depth.min(8)).min(self.widths.title.saturating_sub(1));
        line.push(&" ".repeat(indent), Style::Plain);
        // A step that has not started has neither worker nor time, so its note may use that room.
        let (open, ms) = (step.state == State::Open || step.state == State::Held, step.ms);
        let room = self.columns.saturating_sub(begin).min(self.widths.title).saturating_sub(indent);
        line.push_text(&shown(&step.title), room, self.glyphs(), title);
        line.fill((begin + self.widths.title).min(self.columns));
        let has_worker = self.widths.worker > 0 && !(open && step.worker.is_empty());
        if has_worker {
            let worker = one_line(&step.worker);
            let worker = truncate_with(&worker, self.widths.worker, self.glyphs().ellipsis());
            line.push("  ", Style::Plain);
            line.push(&pad(&isolated(&worker), self.widths.worker), Style::Dim);
        }
        if self.widths.time > 0 && !open {
            let ticks = matches!(step.state, State::Running | State::Asks);
            let ms = ms.map(|ms| if ticks { ticking(ms) } else { time(ms) }).unwrap_or_default();
            line.push("  ", Style::Plain).push(&pad_left(&ms, self.widths.time), Style::Dim);
        }
        let left = self.columns.saturating_sub(line.width() + 2);
        let note = noted(step);
        if self.widths.notes && !note.is_empty() && left >= 4 {
            let note = one_line(&note);
            let quiet = match step.state {
                State::Failed | State::Denied => Style::In(Colour::Red),
                State::Refused => Style::In(Colour::Yellow),
                State::Asks => Style::BoldIn(Colour::Yellow),
                State::Done { sure: true } => Style::In(Colour::Green),
                State::Done { sure: false } => Style::Plain,
                State::Open | State::Running | State::Held | State::Cancelled => Style::Dim,
            };
            line.push("  ", Style::Plain).push_text(&note, left, self.glyphs(), quiet);
        }
        line.trimmed_end()
    }

    fn sign(&self, state: State) -> (&'static str, Style) {
        let (sign, style) = match state {
            State::Open => (Sign::Open, Style::Plain),
            State::Running => (Sign::Active, Style::In(Colour::Cyan)),
            State::Asks => {
                let sign = if self.glyphs() == Glyphs::Ascii { "[?]" } else { "?" };
                return (sign, Style::BoldIn(Colour::Yellow));
            }
            State::Done { sure: true } => (Sign::Done, Style::In(Colour::Green)),
            State::Done { sure: false } => (Sign::Done, Style::Plain),
            State::Failed | State::Denied => {
                let sign = if self.glyphs() == Glyphs::Ascii { "[!]" } else { "!" };
                return (sign, Style::In(Colour::Red));
            }
            State::Refused => (Sign::Waiting, Style::In(Colour::Yellow)),
            State::Held => (Sign::Waiting, Style::In(Colour::Yellow)),
            State::Cancelled => (Sign::Cancelled, Style::Dim),
        };
        (self.glyphs().sign(sign), style)
    }
}

/// The note of a step. If the step was denied or refused, the note begins with that, because the
/// sign alone does not say by whom.
fn noted(step: &Step) -> Cow<'_, str> {
    match step.state {
        State::Denied => format!("denied {}", step.note).into(),
        State::Refused if step.note.is_empty() => "refused".into(),
        State::Refused => format!("refused: {}", step.note).into(),
        State::Open
        | State::Running
        | State::Asks
        | State::Done { .. }
        | State::Failed
        | State::Held
        | State::Cancelled => step.note.as_str().into(),
    }
}

/// The steps under which there is room for what they printed, last ones first.
fn printed(steps: &[Step], mut spare: usize) -> Vec<bool> {
    let mut shown = vec![false; steps.len()];
    for (shown, step) in shown.iter_mut().zip(steps).rev() {
        let printed = &step.printed;
        let height = printed.lines.len() + usize::from(printed.before > 0);
        *shown = height > 0 && height <= spare;
        spare -= if *shown { height } else { 0 };
    }
    shown
}

/// The steps to show in `room` lines, counting the lines that report omitted steps.
fn chosen(steps: &[Step], room: usize) -> Vec<bool> {
    let rank = |state: State| match state {
        State::Running | State::Asks => 0,
        State::Failed | State::Denied | State::Refused => 1,
        State::Open | State::Done { .. } | State::Held | State::Cancelled => 2,
    };
    let busy: Vec<usize> = (0..steps.len()).filter(|at| rank(steps[*at].state) == 0).collect();
    let begun = |it: &Step| !matches!(it.state, State::Open);
    let centre = busy.first().copied();
    let centre = centre.or_else(|| steps.iter().rposition(begun)).unwrap_or(0);
    let mut order: Vec<usize> = (0..steps.len()).collect();
    order.sort_by_key(|at| (rank(steps[*at].state), at.abs_diff(centre)));
    let mut shown = vec![false; steps.len()];
    // The line for omitted steps needs room too, so take as many steps as fit together with these
    // lines.
    for at in order {
        shown[at] = true;
        if lines(&shown) > room {
            shown[at] = false;
            // Steps further away cannot fit either, unless they close a gap.
            if rank(steps[at].state) == 2 && lines(&shown) >= room {
                break;
            }
        }
    }
    shown
}

/// How many lines the chosen steps need.
fn lines(shown: &[bool]) -> usize {
    let (mut lines, mut in_gap) = (0, false);
    for is_shown in shown {
        lines += usize::from(*is_shown || !in_gap);
        in_gap = !is_shown;
    }
    lines
}

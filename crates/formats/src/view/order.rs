//! The order in which a plan would run, as a drawing: one sign per step, lines from dependencies to
//! dependants, and for each step the wave in which it runs if all steps take equally long.
//!
//! A pure function of the steps and their dependencies. Lines to the same step are merged, so there
//! are as many lanes as steps with a dependant at that point.

#[cfg(test)]
mod tests;

use super::{Options, shown};
use crate::text::glyph::Glyphs;
use crate::text::width::pad_left;
use crate::text::{Line, Style, one_line, width};

/// With more lanes the drawing is left out.
const MOST_LANES: usize = 16;
/// Wider lines are hard to read.
const WIDEST: usize = 120;

/// One step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// The title.
    pub title: String,
    /// How it runs: its command, its worker, whether it asks.
    pub note: String,
    /// The indices of its dependencies.
    pub after: Vec<usize>,
}

/// The steps in an order in which they can run, one or two lines each.
pub fn order(nodes: &[Node], options: &Options) -> Vec<Line> {
    let order = sorted(nodes);
    let waves = waves(nodes, &order);
    let digits = waves.iter().max().map_or(1, |it| it.to_string().len());
    let rows = rows(nodes, &order);
    let lanes = rows.iter().map(|it| it.cells.len()).max().unwrap_or(0);
    let drawn = if lanes > MOST_LANES { 0 } else { lanes };
    let columns = usize::from(options.width).saturating_sub(1).clamp(1, WIDEST);
    let titles = nodes.iter().map(|it| width(&shown(&it.title))).max().unwrap_or(0);
    let mut lines = Vec::new();
    for row in rows {
        let mut line = Line::new();
        line.push(" ", Style::Plain);
        for (at, cell) in row.cells.iter().enumerate().take(drawn) {
            let style = if *cell == Cell::Node { Style::Bold } else { Style::Dim };
            line.push(cell.sign(options.glyphs), style);
            let goes_on = row.cells.get(at + 1).is_some_and(|it| it.comes_from_left());
            line.push(if goes_on { across(options.glyphs) } else { " " }, Style::Dim);
        }
        let Some((node, wave)) = row.node.and_then(|it| Some((nodes.get(it)?, waves.get(it)?)))
        else {
            if drawn > 0 {
                lines.push(line.trimmed_end());
            }
            continue;
        };
        line.fill(1 + 2 * drawn);
        line.push(&pad_left(&wave.to_string(), digits), Style::Dim).push("  ", Style::Plain);
        let begin = line.width();
        let room = columns.saturating_sub(begin);
        let title = titles.min(if room < 40 { room } else { room / 2 });
        line.push_text(&shown(&node.title), title, options.glyphs, Style::Plain);
        let note = one_line(&node.note);
        let left = columns.saturating_sub(begin + title + 2);
        if !note.is_empty() && left >= 8 {
            line.fill(begin + title + 2);
            line.push_text(&note, left, options.glyphs, Style::Dim);
        }
        lines.push(line.trimmed_end());
    }
    lines
}

fn across(glyphs: Glyphs) -> &'static str {
    if glyphs == Glyphs::Ascii { "-" } else { "─" }
}

/// The steps, each after its dependencies, otherwise in the given order. Steps in a cycle come
/// last.
fn sorted(nodes: &[Node]) -> Vec<usize> {
    let mut unmet: Vec<usize> = nodes.iter().map(|it| dependencies(nodes, it).count()).collect();
    let mut dependants: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (at, node) in nodes.iter().enumerate() {
        for on in dependencies(nodes, node) {
            dependants[on].push(at);
        }
    }
    let mut ready: std::collections::BTreeSet<usize> =
        (0..nodes.len()).filter(|at| unmet[*at] == 0).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(at) = ready.pop_first() {
        order.push(at);
        for dependant in &dependants[at] {
            unmet[*dependant] -= 1;
            if unmet[*dependant] == 0 {
                ready.insert(*dependant);
            }
        }
    }
    order.extend((0..nodes.len()).filter(|at| unmet[*at] > 0));
    order
}

/// The wave of each step, from 1.
fn waves(nodes: &[Node], order: &[usize]) -> Vec<usize> {
    let mut waves = vec![1; nodes.len()];
    for at in order {
        let before = dependencies(nodes, &nodes[*at]).map(|it| waves[it]).max().unwrap_or(0);
        waves[*at] = before + 1;
    }
    waves
}

fn dependencies<'a>(nodes: &'a [Node], node: &'a Node) -> impl Iterator<Item = usize> + 'a {
    node.after.iter().copied().filter(|it| *it < nodes.len())
}

/// One line of the drawing.
struct Row {
    cells: Vec<Cell>,
    node: Option<usize>,
}

/// The content of a lane, by the sides to which lines leave it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cell {
    Empty,
    Node,
    Lines { up: bool, down: bool, left: bool, right: bool },
}

impl Cell {
    fn comes_from_left(self) -> bool {
        matches!(self, Self::Lines { left: true, .. })
    }

    fn sign(self, glyphs: Glyphs) -> &'static str {
        let (unicode, ascii) = match self {
            Self::Empty => (" ", " "),
            Self::Node => ("●", "*"),
            Self::Lines { up, down, left, right } => match (up, down, left, right) {
                (true, true, true, true) => ("┼", "+"),
                (true, true, true, false) => ("┤", "+"),
                (true, true, false, true) => ("├", "+"),
                (true, true, false, false) => ("│", "|"),
                (true, false, true, true) => ("┴", "+"),
                (true, false, true, false) => ("╯", "'"),
                (true, false, false, true) => ("╰", "'"),
                (false, true, true, true) => ("┬", "+"),
                (false, true, true, false) => ("╮", "."),
                (false, true, false, true) => ("╭", "."),
                (false, false, _, _) => ("─", "-"),
                (true, false, false, false) | (false, true, false, false) => ("│", "|"),
            },
        };
        if glyphs == Glyphs::Ascii { ascii } else { unicode }
    }
}

fn rows(nodes: &[Node], order: &[usize]) -> Vec<Row> {
    let mut place = vec![0; nodes.len()];
    for (row, at) in order.iter().enumerate() {
        place[*at] = row;
    }
    let mut dependants: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for at in order {
        for on in dependencies(nodes, &nodes[*at]) {
            // A line upwards would belong to a cycle.
            if place[on] < place[*at] && !dependants[on].contains(at) {
                dependants[on].push(*at);
            }
        }
    }
    // The step that each lane leads to.
    let mut lanes: Vec<Option<usize>> = Vec::new();
    let mut rows = Vec::new();
    for at in order {
        let own = lanes.iter().position(|it| *it == Some(*at));
        let own = own.unwrap_or_else(|| free(&mut lanes));
        lanes[own] = Some(*at);
        let cell = |lane: &Option<usize>| if lane.is_some() { VERTICAL } else { Cell::Empty };
        let mut cells: Vec<Cell> = lanes.iter().map(cell).collect();
        cells[own] = Cell::Node;
        rows.push(Row { cells, node: Some(*at) });
        lanes[own] = None;
        let before = lanes.clone();
        let mut ends = Vec::new();
        for to in &dependants[*at] {
            match lanes.iter().position(|it| *it == Some(*to)) {
                Some(lane) => ends.push(lane),
                None if lanes[own].is_none() => lanes[own] = Some(*to),
                None => {
                    let lane = free(&mut lanes);
                    lanes[lane] = Some(*to);
                    ends.push(lane);
                }
            }
        }
        if !ends.is_empty() {
            rows.push(Row { cells: connector(own, &ends, &before, &lanes), node: None });
        }
        while lanes.last() == Some(&None) {
            lanes.pop();
        }
    }
    rows
}

const VERTICAL: Cell = Cell::Lines { up: true, down: true, left: false, right: false };

/// The first free lane.
fn free(lanes: &mut Vec<Option<usize>>) -> usize {
    match lanes.iter().position(Option::is_none) {
        Some(lane) => lane,
        None => {
            lanes.push(None);
            lanes.len() - 1
        }
    }
}

/// The line from one lane to others.
fn connector(
    own: usize,
    ends: &[usize],
    before: &[Option<usize>],
    after: &[Option<usize>],
) -> Vec<Cell> {
    let first = ends.iter().copied().min().unwrap_or(own).min(own);
    let last = ends.iter().copied().max().unwrap_or(own).max(own);
    (0..after.len().max(last + 1))
        .map(|at| {
            let down = after.get(at).is_some_and(Option::is_some);
            let up = at == own || before.get(at).is_some_and(Option::is_some);
            let is_end = at == own || ends.contains(&at);
            let (left, right) = (first < at && at <= last, first <= at && at < last);
            let crossed = left && right && !is_end && (up || down);
            if crossed {
                return Cell::Lines { up: true, down: true, left: true, right: true };
            }
            match (up || down, left || right) {
                (false, false) => Cell::Empty,
                (false, true) => Cell::Lines { up: false, down: false, left, right },
                (true, _) => Cell::Lines { up, down, left, right },
            }
        })
        .collect()
}

//! The projects of the rows: a heading for each, with what its agents do.

use std::collections::BTreeMap;

use punchlist_model::agents::{Row, State};

use super::{Page, place};
use crate::text::glyph::Glyphs;
use crate::text::{Line, Style, one_line};

/// The projects that have headings, and their names. Empty if no project has one.
#[derive(Default)]
pub(super) struct Groups {
    names: BTreeMap<String, Group>,
}

struct Group {
    name: String,
    /// The key of the project's first row.
    first: String,
    working: usize,
    others: usize,
}

/// A row and the lines below it.
pub(super) struct Block {
    /// The heading of its project.
    heading: Option<Line>,
    /// Whether it is the first row of its project.
    is_first: bool,
    lines: Vec<Line>,
}

impl Groups {
    /// The projects of the rows. Headings help only if there are several projects, and one has several
    /// rows.
    pub(super) fn of(rows: &[Row]) -> Self {
        let mut names: BTreeMap<String, Group> = BTreeMap::new();
        for row in rows.iter().filter(|it| is_grouped(it)) {
            let group = names.entry(row.project.clone()).or_insert_with(|| Group {
                name: last_parts(&row.project, 1),
                first: row.key.clone(),
                working: 0,
                others: 0,
            });
            match row.state {
                State::Working => group.working += 1,
                _ if row.is_plan() => {}
                State::Asks(_)
                | State::Waits(_)
                | State::Silent
                | State::Failed(_)
                | State::Idle
                | State::Died => group.others += 1,
            }
        }
        let grouped = rows.iter().filter(|it| is_grouped(it)).count();
        if names.len() < 2 || grouped == names.len() {
            return Self::default();
        }
        // Projects whose last directories have the same name are told apart by the one above.
        let all: Vec<String> = names.values().map(|it| it.name.clone()).collect();
        for (project, group) in &mut names {
            if all.iter().filter(|it| **it == group.name).count() > 1 {
                group.name = last_parts(project, 2);
            }
        }
        Self { names }
    }

    fn group(&self, row: &Row) -> Option<&Group> {
        self.names.get(&row.project).filter(|_| is_grouped(row))
    }

    /// The place of a row, as far as the heading above it does not say it.
    pub(super) fn place(&self, row: &Row) -> String {
        let place = place(row);
        let Some(_) = self.group(row) else { return place };
        match place.strip_prefix(&last_parts(&row.project, 1)) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => rest.to_owned(),
            Some(_) | None => place,
        }
    }
}

/// Rows that wait for the user come first, without a heading.
fn is_grouped(row: &Row) -> bool {
    !row.project.is_empty() && !matches!(row.state, State::Asks(_))
}

/// The last parts of a path.
fn last_parts(path: &str, count: usize) -> String {
    let mut parts: Vec<&str> = path.trim_end_matches('/').rsplit('/').take(count).collect();
    parts.reverse();
    parts.join("/")
}

impl Page<'_> {
    /// A row and the lines below it, with the heading of its project.
    pub(super) fn grouped(&self, row: &Row) -> Block {
        let group = self.groups.group(row);
        Block {
            heading: group.map(|it| self.heading(it)),
            is_first: group.is_some_and(|it| it.first == row.key),
            lines: self.block(row),
        }
    }

    /// ` web-shop  2 working, 1 other`
    fn heading(&self, group: &Group) -> Line {
        let mut line = Line::new();
        let name = one_line(&group.name);
        line.push(" ", Style::Plain);
        line.push_text(&name, self.columns.saturating_sub(1), self.glyphs(), Style::Bold);
        let between = if self.glyphs() == Glyphs::Ascii { " - " } else { " · " };
        let counts = [(group.working, "working"), (group.others, "not working")];
        let counts = counts.into_iter().filter(|it| it.0 > 0);
        let counts: Vec<String> = counts.map(|(count, word)| format!("{count} {word}")).collect();
        let counts = counts.join(between);
        let room = self.left(&line);
        if !counts.is_empty() && room > 0 {
            line.push("  ", Style::Plain).push_text(&counts, room, self.glyphs(), Style::Dim);
        }
        line
    }
}

/// How many lines blocks have. The first one has its heading, even if it is not the first row of its
/// project.
pub(super) fn height(blocks: &[Block]) -> usize {
    let has_heading =
        |(at, it): (usize, &Block)| usize::from(it.heading.is_some() && (it.is_first || at == 0));
    let headings: usize = blocks.iter().enumerate().map(has_heading).sum();
    headings + blocks.iter().map(|it| it.lines.len()).sum::<usize>()
}

/// The lines of each block from `first` on, with headings.
pub(super) fn joined(blocks: Vec<Block>, first: usize) -> Vec<Vec<Line>> {
    let lines = |(at, block): (usize, Block)| {
        let heading = block.heading.filter(|_| block.is_first || at == 0);
        heading.into_iter().chain(block.lines).collect()
    };
    blocks.into_iter().skip(first).enumerate().map(lines).collect()
}

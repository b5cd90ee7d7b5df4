//! A plan in a few rows, for a screen that shows other things as well.
//!
//! The first row has the title and the progress. If there are more items than rows, those around the
//! work in progress are shown, and the view counts the others.

use punchlist_model::{Item, Plan, Status};

use super::list::{bar, heading, sign, sign_style, spent};
use super::{Options, label};
use crate::text::width::truncate_with;
use crate::text::{Line, Style, isolated, width};

/// The length of the bar, where there is room.
const BAR: usize = 16;
/// Below this width there are no durations.
const DURATIONS_FROM: usize = 50;

/// A plan in at most `rows` rows, each at most `options.width` columns wide.
pub fn live(plan: &Plan, rows: usize, options: &Options) -> Vec<Line> {
    if rows == 0 {
        return Vec::new();
    }
    let mut lines = vec![head(plan, options)];
    let items = plan.nested();
    let (from, to, centre) = shown(&items, rows - 1);
    let (before, after) = (from, items.len() - to);
    for (at, (depth, item)) in items.iter().enumerate().take(to).skip(from) {
        // The row of the first or last item counts those that are left out, and itself, unless it is
        // the work in progress.
        let counts = at != centre && to - from > 1;
        lines.push(if counts && at == from && before > 0 {
            counted(before + 1, &items[..=at], options)
        } else if counts && at + 1 == to && after > 0 {
            counted(after + 1, &items[at..], options)
        } else {
            row(*depth, item, options)
        });
    }
    lines
}

/// Which items are shown, from the first to before the last, and the one that they are around: the first
/// that is in progress, else the first that is open.
fn shown(items: &[(usize, &Item)], rows: usize) -> (usize, usize, usize) {
    let first = |is_so: &dyn Fn(&Item) -> bool| items.iter().position(|(_, it)| is_so(it));
    let active = first(&|it| it.status == Status::InProgress);
    let centre = active.or_else(|| first(&|it| it.is_open())).unwrap_or(items.len());
    if items.len() <= rows {
        return (0, items.len(), centre);
    }
    // Most of the room is for what comes next.
    let from = centre.saturating_sub(rows / 3).min(items.len() - rows);
    (from, from + rows, centre)
}

fn counted(count: usize, items: &[(usize, &Item)], options: &Options) -> Line {
    let is_done = items.iter().all(|(_, it)| !it.is_open());
    let word = if is_done { "done" } else { "more" };
    let dots = options.glyphs.ellipsis();
    let mut line = Line::new();
    line.push_text(
        &format!("  {dots} {count} {word}"),
        usize::from(options.width),
        options.glyphs,
        Style::Dim,
    );
    line
}

/// ` Release 1.2   ██████░░░░  2/5 (40%)`
fn head(plan: &Plan, options: &Options) -> Line {
    let room = usize::from(options.width);
    let progress = plan.progress();
    let count = format!("  {}/{} ({}%)", progress.completed, progress.total, progress.percent);
    let cells = room.saturating_sub(20 + width(&count)).min(BAR);
    let cells = if cells < 5 { 0 } else { cells };
    let mut right = Line::new();
    if cells > 0 {
        right.push("  ", Style::Plain);
        bar(&mut right, progress.completed, progress.total, cells, options);
    }
    right.push(&count, Style::Plain);
    let mut line = Line::new();
    let title = room.saturating_sub(right.width() + 1);
    line.push(" ", Style::Plain).push_text(&heading(plan), title, options.glyphs, Style::Bold);
    if line.width() + right.width() <= room {
        line.append(right);
    }
    line
}

fn row(depth: usize, item: &Item, options: &Options) -> Line {
    let room = usize::from(options.width);
    let glyphs = options.glyphs;
    let sign = sign(item);
    let mut line = Line::new();
    line.fill(1 + (depth * 2).min(room / 3));
    line.push(glyphs.sign(sign), sign_style(sign)).push(" ", Style::Plain);
    let took = spent(item, options);
    let took =
        if room < DURATIONS_FROM || took.is_empty() { String::new() } else { format!("  {took}") };
    let title = room.saturating_sub(line.width() + width(&took));
    let style = match item.status {
        Status::InProgress => Style::Bold,
        Status::Completed | Status::Cancelled => Style::Dim,
        Status::Pending => Style::Plain,
    };
    line.push(&isolated(&truncate_with(&label(item), title, glyphs.ellipsis())), style);
    line.push(&took, Style::Dim);
    line
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{options, plan};
    use super::*;
    use crate::text::line::to_plain;

    fn drawn(rows: usize, columns: u16) -> String {
        let mut entries = vec![(Status::Completed, "Done 日本".to_owned()); 4];
        entries.push((Status::InProgress, "Migrating the table".to_owned()));
        entries.extend((1..6).map(|n| (Status::Pending, format!("Later {n}"))));
        let lines = live(&plan(&entries), rows, &options(columns));
        assert!(lines.len() <= rows);
        assert!(lines.iter().all(|it| it.width() <= usize::from(columns.max(2))));
        to_plain(&lines)
    }

    #[test]
    fn a_plan_in_five_rows_shows_the_work_and_counts_the_rest() {
        assert_eq!(
            drawn(5, 60),
            " Tasks  ██████░░░░░░░░░░  4/10 (40%)\n  … 4 done\n ▶ Migrating the table\n ○ Later 1\n  … 4 more"
        );
    }

    #[test]
    fn every_size_fits_and_the_work_in_progress_stays() {
        for columns in [4, 10, 20, 40, 80, 200] {
            for rows in 0..12 {
                let text = drawn(rows, columns);
                if rows >= 3 && columns >= 40 {
                    assert!(text.contains("Migrating"), "{columns}×{rows}\n{text}");
                }
            }
        }
    }
}

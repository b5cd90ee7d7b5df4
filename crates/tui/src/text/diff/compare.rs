//! Compares two texts line by line.

use punchlist_formats::text::{Glyphs, Style};
use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

use super::{Numbered, Part};

/// Unchanged lines around a change.
const AROUND: usize = 3;
/// More lines than this, between the common beginning and the common end, are not compared: all old
/// ones are removed and all new ones are added. Comparing takes time in the square of them.
const MOST_LINES: usize = 2_000;

/// The changes, each with some unchanged lines around it.
pub(super) fn parts(before: &str, after: &str, glyphs: Glyphs) -> Vec<Part> {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    // A last line without a line break is marked if only one text has it.
    let marks_ends = before.ends_with('\n') != after.ends_with('\n');
    let mut parts = Vec::new();
    let mut shown = 0;
    for (nth, group) in group_diff_ops(operations(&old, &new), AROUND).into_iter().enumerate() {
        let first = group.first().map_or(0, |it| it.old_range().start);
        let left_out = first.saturating_sub(shown);
        if nth > 0 && left_out > 0 {
            let s = if left_out == 1 { "" } else { "s" };
            let text = format!("{} {left_out} unchanged line{s}", glyphs.ellipsis());
            parts.push(Part::Note(text, Style::Dim));
        }
        for operation in group {
            let (from, to) = (operation.old_range(), operation.new_range());
            shown = from.end;
            if let DiffOp::Equal { .. } = operation {
                parts.extend(from.zip(to).map(|(old_at, new_at)| Part::Same {
                    old: old_at + 1,
                    new: new_at + 1,
                    text: content(old[old_at]).to_owned(),
                }));
            } else {
                let line = |at: usize, line: &str| {
                    let mut text = content(line).to_owned();
                    if marks_ends && !line.ends_with('\n') {
                        text.push_str(" (no line break at the end)");
                    }
                    Numbered { number: at + 1, text }
                };
                let removed = from.map(|at| line(at, old[at])).collect();
                let added = to.map(|at| line(at, new[at])).collect();
                parts.push(Part::Change { removed, added });
            }
        }
    }
    parts
}

fn content(line: &str) -> &str {
    line.strip_suffix('\n').unwrap_or(line)
}

/// The operations that make the new lines from the old ones.
fn operations(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let head = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(same).count();
    let old_middle = &old_rest[..old_rest.len() - tail];
    let new_middle = &new_rest[..new_rest.len() - tail];
    let mut operations = Vec::new();
    if head > 0 {
        operations.push(DiffOp::Equal { old_index: 0, new_index: 0, len: head });
    }
    if old_middle.len().max(new_middle.len()) > MOST_LINES {
        operations.push(DiffOp::Replace {
            old_index: head,
            old_len: old_middle.len(),
            new_index: head,
            new_len: new_middle.len(),
        });
    } else {
        let middle = capture_diff_slices(Algorithm::Myers, old_middle, new_middle);
        operations.extend(middle.into_iter().map(|it| moved(it, head)));
    }
    if tail > 0 {
        let (old_index, new_index) = (old.len() - tail, new.len() - tail);
        operations.push(DiffOp::Equal { old_index, new_index, len: tail });
    }
    operations
}

/// The same operation, some lines further down.
fn moved(operation: DiffOp, by: usize) -> DiffOp {
    match operation {
        DiffOp::Equal { old_index, new_index, len } => {
            DiffOp::Equal { old_index: old_index + by, new_index: new_index + by, len }
        }
        DiffOp::Delete { old_index, old_len, new_index } => {
            DiffOp::Delete { old_index: old_index + by, old_len, new_index: new_index + by }
        }
        DiffOp::Insert { old_index, new_index, new_len } => {
            DiffOp::Insert { old_index: old_index + by, new_index: new_index + by, new_len }
        }
        DiffOp::Replace { old_index, old_len, new_index, new_len } => DiffOp::Replace {
            old_index: old_index + by,
            old_len,
            new_index: new_index + by,
            new_len,
        },
    }
}

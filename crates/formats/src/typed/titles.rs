//! The titles of new items, as arguments or as lines of a checklist.

use punchlist_model::{ItemRef, NewItem, Op, Place, Status};

use super::checklist;
use super::{Kind, Mistake};

/// A title as it was given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GivenTitle {
    /// As an argument: used as it is.
    Argument(String),
    /// On a line, which may be an entry of a checklist.
    Line(String),
}

/// All titles, with the lines of `stdin` in place of `-`; at most `most`.
pub fn given(
    arguments: &[String],
    stdin: &str,
    most: Option<u32>,
) -> Result<Vec<GivenTitle>, Mistake> {
    // The indentation of a box determines its parent.
    let cut = |line| if checklist::boxed(line).is_some() { line.trim_end() } else { line.trim() };
    let lines = || stdin.lines().map(cut).filter(|line: &&str| !line.is_empty());
    let count = arguments.iter().filter(|title| *title != "-").count() + lines().count();
    // Checked here, because a refusal that names a million entries helps nobody. A person's plan
    // has no limit, but one call does.
    if most.is_none() && count > checklist::MOST {
        return Err(checklist::too_many());
    }
    let most = most.unwrap_or(u32::MAX);
    if count > usize::try_from(most).unwrap_or(usize::MAX) {
        let message = format!("{count} items at once; a plan has at most {most} open");
        return Err(Mistake { kind: Kind::TooLong, ..Mistake::new(message) }
            .hint("add fewer, or allow more with `-c limits.open_items=N`."));
    }
    if count == 0 {
        return Err(Mistake::new("there is no title on stdin").hint(
            "write one per line, or name a file with a checklist: `punchlist import FILE`.",
        ));
    }
    let mut titles = Vec::with_capacity(count);
    let mut is_read = false;
    for title in arguments {
        if title != "-" {
            titles.push(GivenTitle::Argument(title.clone()));
        } else if !std::mem::replace(&mut is_read, true) {
            titles.extend(lines().map(|line| GivenTitle::Line(line.to_owned())));
        }
    }
    Ok(titles)
}

/// The operations that add an item for each title. `model` has the fields that all of them share,
/// `place` returns the place of the n-th, from 0. Items with ticked boxes are closed, sub-items
/// first.
pub fn ops<E>(
    titles: Vec<GivenTitle>,
    model: &NewItem,
    place: impl Fn(u32) -> Result<Place, E>,
) -> Result<Vec<Op>, E> {
    let entries = entries(titles);
    let mut ops = Vec::with_capacity(entries.len());
    for (n, entry) in (0..).zip(&entries) {
        let parent = entry.parent.map(ItemRef::Batch).or_else(|| model.parent.clone());
        let (title, place) = (entry.title.clone(), place(n)?);
        ops.push(Op::Add(Box::new(NewItem { title, place, parent, ..model.clone() })));
    }
    ops.extend(settled(&entries));
    Ok(ops)
}

/// One item to add: a title, or a line of a checklist.
struct Entry {
    title: String,
    status: Status,
    /// The entry that is its parent, from 1.
    parent: Option<u32>,
}

/// Parses the lines: `- [x] title` is a box, and an indented box is a sub-item of the one above.
fn entries(titles: Vec<GivenTitle>) -> Vec<Entry> {
    let mut above: Vec<(usize, u32)> = Vec::new();
    let mut entries = Vec::with_capacity(titles.len());
    for (n, given) in (1..).zip(titles) {
        let found = match &given {
            GivenTitle::Line(line) => checklist::boxed(line),
            GivenTitle::Argument(_) => None,
        };
        let Some(found) = found else {
            above.clear();
            let (GivenTitle::Argument(title) | GivenTitle::Line(title)) = given;
            entries.push(Entry { title, status: Status::Pending, parent: None });
            continue;
        };
        while above.last().is_some_and(|(indent, _)| *indent >= found.indent) {
            above.pop();
        }
        let (title, parent) = (found.title.to_owned(), above.last().map(|it| it.1));
        above.push((found.indent, n));
        entries.push(Entry { title, status: found.status, parent });
    }
    entries
}

/// The operations for ticked boxes, sub-items first. A box in progress does not say who works on
/// it, so its item stays pending.
fn settled(entries: &[Entry]) -> Vec<Op> {
    let numbered = (1..).zip(entries).collect::<Vec<(u32, _)>>();
    let step = |(n, entry): &(u32, &Entry)| match entry.status {
        Status::Completed => {
            Some(Op::Complete { item: ItemRef::Batch(*n), outcome: None, with_children: false })
        }
        Status::Cancelled => Some(Op::Cancel { item: ItemRef::Batch(*n), reason: None }),
        Status::Pending | Status::InProgress => None,
    };
    numbered.iter().rev().filter_map(step).collect()
}

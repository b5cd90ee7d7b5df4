//! The whole list as a text to edit: a checklist with numbers.

use std::collections::{BTreeMap, BTreeSet};

use punchlist_model::{Item, ItemRef, NewItem, Number, Op, Patch, Place, Plan, Status};

use super::{Kind, Mistake, checklist};
use crate::text;
use crate::view::markdown;

/// One item in the edited text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListLine {
    /// Its number; a new item has none.
    number: Option<Number>,
    status: Status,
    title: String,
    /// The line of its parent.
    parent: Option<usize>,
}

/// The text to edit.
pub fn text(plan: &Plan) -> String {
    let mut out = String::from(
        "# One line per item: [ ] pending, [>] in progress, [x] completed, [-] cancelled.\n\
         # Lines may be changed, moved, indented, removed (the item is dropped) and added (without a number).\n\
         # A file that comes back as it was, or empty, changes nothing.\n\n",
    );
    out.push_str(&markdown::numbered(plan));
    out
}

/// Parses an edited text.
pub fn read(edited: &str, plan: &Plan) -> Result<Vec<ListLine>, Mistake> {
    let mut lines: Vec<ListLine> = Vec::new();
    let mut above: Vec<(usize, usize)> = Vec::new();
    let mut seen = BTreeSet::new();
    for (n, typed) in (1..).zip(edited.lines()) {
        if typed.trim().is_empty() || typed.starts_with('#') {
            continue;
        }
        let Some(found) = checklist::boxed(typed) else {
            return Err(Mistake::new(format!("line {n} is not an entry of the list"))
                .hint("write `- [ ] title` for a new item."));
        };
        let (number, title) = numbered(found.title);
        if let Some(number) = number {
            if plan.get(number).is_none_or(|it| it.is_superseded()) {
                return Err(Mistake {
                    kind: Kind::NotFound,
                    ..Mistake::new(format!("line {n}: there is no item {number} here"))
                }
                .hint("a new item has no number: write `- [ ] title`."));
            }
            if !seen.insert(number) {
                return Err(Mistake::new(format!("line {n}: item {number} is there twice")));
            }
        }
        if title.is_empty() {
            return Err(Mistake::new(format!("line {n} has no title"))
                .hint("remove the whole line to drop an item."));
        }
        while above.last().is_some_and(|(indent, _)| *indent >= found.indent) {
            above.pop();
        }
        let parent = above.last().map(|it| it.1);
        above.push((found.indent, lines.len()));
        lines.push(ListLine { number, status: found.status, title: title.to_owned(), parent });
    }
    Ok(lines)
}

/// Splits `#3 Title`.
fn numbered(text: &str) -> (Option<Number>, &str) {
    let number = |digits: &str| digits.parse().ok().map(Number);
    match text.strip_prefix('#').map(|rest| rest.split_once(' ').unwrap_or((rest, ""))) {
        Some((digits, title)) if number(digits).is_some() => (number(digits), title.trim()),
        _ => (None, text),
    }
}

/// The operations that make the plan equal to the lines.
pub fn ops(plan: &Plan, lines: &[ListLine]) -> Vec<Op> {
    let mut new = 0;
    let refs: Vec<ItemRef> = lines
        .iter()
        .map(|line| match line.number {
            Some(number) => number.into(),
            None => {
                new += 1;
                ItemRef::Batch(new)
            }
        })
        .collect();
    let kept: BTreeSet<Number> = lines.iter().filter_map(|line| line.number).collect();
    let shown: Vec<&Item> = markdown::order(plan);
    let was = |line: &ListLine| line.number.and_then(|it| plan.get(it)).map(|it| it.status);
    let status = |at: usize, status| {
        let patch = Patch { status: Some(status), ..Patch::default() };
        Op::Edit { item: refs[at].clone(), patch: Box::new(patch) }
    };
    let is_opened = |line: &ListLine| {
        line.status.is_open() && was(line).is_some_and(|status| !status.is_open())
    };
    let mut ops = Vec::new();
    // First, from the top down: an open item cannot be added under a closed one.
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| is_opened(line)) {
        ops.push(status(at, line.status));
    }
    let staying = staying(&shown, lines);
    for (at, line) in lines.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| refs[before].clone());
        let place = before.map_or(Place::Front, Place::After);
        let parent = line.parent.map(|parent| refs[parent].clone());
        match line.number {
            None => {
                let title = line.title.clone();
                ops.push(Op::Add(Box::new(NewItem { title, parent, place, ..NewItem::default() })));
            }
            Some(number) if !staying.contains(&number) => {
                ops.push(Op::Move { item: number.into(), to: place });
            }
            Some(_) => {}
        }
    }
    // A sub-item of a new item is moved once its parent exists.
    for (at, line) in lines.iter().enumerate() {
        let item = line.number.and_then(|number| plan.get(number));
        let patch = patch(line, item, line.parent.map(|parent| &refs[parent]), plan);
        if patch != Patch::default() {
            ops.push(Op::Edit { item: refs[at].clone(), patch: Box::new(patch) });
        }
    }
    // Last, from the bottom up: sub-items are closed before their parent.
    for (at, line) in lines.iter().enumerate().rev() {
        if line.status != was(line).unwrap_or(Status::Pending) && !is_opened(line) {
            ops.push(status(at, line.status));
        }
    }
    let gone = shown.iter().rev().filter(|it| !kept.contains(&it.number));
    ops.extend(gone.map(|it| Op::Supersede(it.number.into())));
    ops
}

/// The changes of an item besides its place and status.
fn patch(line: &ListLine, item: Option<&Item>, parent: Option<&ItemRef>, plan: &Plan) -> Patch {
    let Some(item) = item else { return Patch::default() };
    let title = (text::one_line(&item.title).trim() != line.title).then(|| line.title.clone());
    // An item whose parent was superseded is shown at the top level, and its parent stays as it is.
    let is_listed = |it: &Number| plan.get(*it).is_some_and(|it| !it.is_superseded());
    let was = item.parent.filter(is_listed).map(ItemRef::Number);
    let parent = (was.as_ref() != parent).then(|| parent.cloned());
    Patch { title, parent, ..Patch::default() }
}

/// The items that need not move: the longest sequence that is already in the wanted order.
fn staying(shown: &[&Item], lines: &[ListLine]) -> BTreeSet<Number> {
    let at: BTreeMap<Number, usize> =
        shown.iter().enumerate().map(|(at, item)| (item.number, at)).collect();
    let wanted: Vec<(Number, usize)> = lines
        .iter()
        .filter_map(|line| line.number)
        .filter_map(|number| Some((number, *at.get(&number)?)))
        .collect();
    // `ends[n]` is the entry with the lowest position at which a sequence of n + 1 entries can end.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; wanted.len()];
    for (index, (_, place)) in wanted.iter().enumerate() {
        let row = ends.partition_point(|end| wanted[*end].1 < *place);
        before[index] = row.checked_sub(1).map(|row| ends[row]);
        if row == ends.len() {
            ends.push(index);
        } else {
            ends[row] = index;
        }
    }
    let row = std::iter::successors(ends.last().copied(), |index| before[*index]);
    row.map(|index| wanted[index].0).collect()
}

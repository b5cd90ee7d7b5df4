//! How people name items: by number, by the beginning of an id, or by title; several as `1,2` or
//! `1-3`.
//!
//! A title is resolved before the change, so that operations name items by number.

use std::collections::BTreeSet;
use std::str::FromStr;

use punchlist_model::{Broken, Item, ItemRef, Number, Plan, Refusal};

use crate::text;

/// Longest title that is resolved.
const LONGEST: usize = 1000;
/// Most items of one range.
const WIDEST: u32 = 10_000;
/// Most candidates that an error shows.
const MOST_SHOWN: usize = 10;

/// One item as typed on the command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Typed {
    /// A number.
    Number(Number),
    /// The beginning of an id, or a title that looks like one.
    Id {
        /// The beginning of the id, with hyphens where an id has them.
        prefix: String,
        /// What was typed.
        typed: String,
    },
    /// A title, or a part of one.
    Title(String),
}

impl FromStr for Typed {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        let text = typed.strip_prefix('#').unwrap_or(typed);
        match reference(text) {
            Some(ItemRef::Number(number)) => Ok(Self::Number(number)),
            Some(ItemRef::Prefix(prefix)) => Ok(Self::Id { prefix, typed: typed.to_owned() }),
            _ if typed.trim().is_empty() => {
                Err("an item is its number, such as 3, its title, or the beginning of its id"
                    .to_owned())
            }
            _ if is_several(text) => {
                Err("one item is expected here, but this names several".to_owned())
            }
            _ if typed.chars().nth(LONGEST).is_some() => Err("no title is that long".to_owned()),
            _ => Ok(Self::Title(typed.to_owned())),
        }
    }
}

impl Typed {
    /// The item of this plan that was named.
    pub fn within(&self, plan: &Plan) -> Result<ItemRef, NotOne> {
        match self {
            Self::Number(number) => Ok(ItemRef::Number(*number)),
            Self::Id { prefix, typed } => {
                let reference = ItemRef::Prefix(prefix.clone());
                match plan.find(&reference) {
                    Ok(None) if !titled(plan, typed).is_empty() => one(plan, typed),
                    Ok(_) | Err(_) => Ok(reference),
                }
            }
            Self::Title(title) => one(plan, title),
        }
    }
}

/// Why a title does not name exactly one item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotOne {
    /// No item has it.
    Nothing {
        /// The title as it is shown.
        typed: String,
    },
    /// Several items have it.
    Several {
        /// The title as it is shown.
        typed: String,
        /// The items.
        items: Vec<Number>,
        /// Some of them, a line each.
        lines: Vec<String>,
    },
}

/// The item that a reference names, also if it is superseded.
pub fn find<'a>(plan: &'a Plan, item: &ItemRef) -> Result<&'a Item, Refusal> {
    let number = plan.find(item).map_err(Refusal::one)?;
    let found = number.and_then(|number| plan.get(number));
    found.ok_or_else(|| Refusal::one(Broken::NotFound { what: item.to_string() }))
}

/// One argument that may name several items: `3`, `1,2`, `1-3`, or a title.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Several(Vec<Typed>);

impl FromStr for Several {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Vec::new();
        for part in text.split(',').map(str::trim) {
            match (range(part)?, part.parse::<Typed>()) {
                (Some(numbers), _) => all.extend(numbers.map(|it| Typed::Number(Number(it)))),
                (None, Ok(typed @ (Typed::Number(_) | Typed::Id { .. }))) => all.push(typed),
                // A title may contain commas.
                (None, Ok(Typed::Title(_)) | Err(_)) => return Ok(Self(vec![text.parse()?])),
            }
        }
        Ok(Self(all))
    }
}

/// Whether a text looks like a list of numbers.
fn is_several(text: &str) -> bool {
    let number = |part: &str| {
        let part = part.trim();
        matches!(reference(part), Some(ItemRef::Number(_))) || matches!(range(part), Ok(Some(_)))
    };
    (text.contains(',') || text.contains('-')) && text.split(',').all(number)
}

/// `2-5`, from one number up to another.
fn range(text: &str) -> Result<Option<std::ops::RangeInclusive<u32>>, String> {
    let number = |text: &str| match reference(text.strip_prefix('#').unwrap_or(text)) {
        Some(ItemRef::Number(Number(number))) => Some(number),
        _ => None,
    };
    let Some((from, to)) = text.split_once('-') else { return Ok(None) };
    let (Some(from), Some(to)) = (number(from.trim()), number(to.trim())) else { return Ok(None) };
    if from > to {
        return Err(format!("a range goes up: {to}-{from}"));
    }
    if to - from >= WIDEST {
        return Err(format!("a range has at most {WIDEST} items"));
    }
    Ok(Some(from..=to))
}

/// The items without duplicates, if all are typed as numbers; then no plan is needed.
pub fn numbers(typed: &[Several]) -> Option<Vec<ItemRef>> {
    let number = |it: &Typed| match it {
        Typed::Number(number) => Ok(ItemRef::Number(*number)),
        Typed::Id { .. } | Typed::Title(_) => Err(()),
    };
    each(typed, number).ok()
}

/// The items of this plan, without duplicates.
pub fn each_of(plan: &Plan, typed: &[Several]) -> Result<Vec<ItemRef>, NotOne> {
    each(typed, |it| it.within(plan))
}

/// Removes duplicates.
fn each<E>(
    typed: &[Several],
    find: impl Fn(&Typed) -> Result<ItemRef, E>,
) -> Result<Vec<ItemRef>, E> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for typed in typed.iter().flat_map(|it| &it.0) {
        let item = find(typed)?;
        if seen.insert(item.clone()) {
            found.push(item);
        }
    }
    Ok(found)
}

/// A number or the beginning of an id, if the text is one.
pub fn reference(text: &str) -> Option<ItemRef> {
    // Numbers are shown without leading zeros, and ids begin with one.
    if !text.starts_with('0')
        && let Ok(number) = text.parse::<u32>()
        && text.bytes().all(|byte| byte.is_ascii_digit())
    {
        return Some(Number(number).into());
    }
    let digits: String = text.chars().filter(|it| *it != '-').collect();
    let is_id = digits.len() >= 4
        && digits.len() <= 32
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| ItemRef::Prefix(hyphened(&digits.to_ascii_lowercase())))
}

/// The digits of an id with hyphens where an id has them.
fn hyphened(digits: &str) -> String {
    let mut text = String::with_capacity(36);
    for (at, digit) in digits.chars().enumerate() {
        if matches!(at, 8 | 12 | 16 | 20) {
            text.push('-');
        }
        text.push(digit);
    }
    text
}

/// The one item that a title names.
fn one(plan: &Plan, title: &str) -> Result<ItemRef, NotOne> {
    let fitting = titled(plan, title);
    let typed = text::one_line(title).into_owned();
    match fitting.as_slice() {
        [] => Err(NotOne::Nothing { typed }),
        [item] => Ok(item.number.into()),
        several => {
            let line = |item: &&Item| {
                let (number, title) = (item.number, text::one_line(&item.title));
                format!("{number}  {title} ({})", item.status.words())
            };
            let mut lines: Vec<String> = several.iter().take(MOST_SHOWN).map(line).collect();
            if several.len() > MOST_SHOWN {
                lines.push(format!("and {} more", several.len() - MOST_SHOWN));
            }
            let items = several.iter().map(|item| item.number).collect();
            Err(NotOne::Several { typed, items, lines })
        }
    }
}

/// The items with this title; if there are none, those whose titles begin with it, otherwise those
/// that contain it. Superseded items count only if no item on the list matches.
fn titled<'a>(plan: &'a Plan, title: &str) -> Vec<&'a Item> {
    let wanted = text::one_line(title).trim().to_lowercase();
    if wanted.is_empty() {
        return Vec::new();
    }
    let listed: Vec<(&Item, String)> = plan.listed().into_iter().map(shown).collect();
    let dropped = || plan.items.values().filter(|it| it.is_superseded()).map(shown).collect();
    let found = best(&listed, title, &wanted);
    if found.is_empty() {
        best(&Vec::from_iter::<Vec<_>>(dropped()), title, &wanted)
    } else {
        found
    }
}

/// An item with its title as it is shown, in lower case.
fn shown(item: &Item) -> (&Item, String) {
    (item, text::one_line(&item.title).trim().to_lowercase())
}

fn best<'a>(items: &[(&'a Item, String)], title: &str, wanted: &str) -> Vec<&'a Item> {
    let fitting = |fits: fn(&Item, &str, &str, &str) -> bool| -> Vec<&'a Item> {
        items.iter().filter(|it| fits(it.0, &it.1, title, wanted)).map(|it| it.0).collect()
    };
    let mut found = fitting(|item, _, title, _| item.title == title);
    if found.is_empty() {
        found = fitting(|_, shown, _, wanted| shown == wanted);
    }
    if found.is_empty() {
        found = fitting(|_, shown, _, wanted| shown.starts_with(wanted));
    }
    if found.is_empty() {
        found = fitting(|_, shown, _, wanted| shown.contains(wanted));
    }
    found
}

#[cfg(test)]
mod tests {
    use punchlist_model::{PlanId, Status, Timestamp};

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<ItemRef>) {
        assert_eq!(reference(text), expected, "{text:?}");
    }

    #[test]
    fn an_item_is_its_number_or_an_id_prefix() {
        check("3", Some(ItemRef::Number(Number(3))));
        check("4294967295", Some(ItemRef::Number(Number(u32::MAX))));
        check("0192ab", Some(ItemRef::Prefix("0192ab".to_owned())));
        check("01927F3AB", Some(ItemRef::Prefix("01927f3a-b".to_owned())));
        check("01927f3a-b", Some(ItemRef::Prefix("01927f3a-b".to_owned())));
        for text in ["", "0", "-1", "+3", "three", "01", "3.5", "\u{663}", "01927g", "a\0bc"] {
            check(text, None);
        }
        check(&"a".repeat(33), None);
        check(&"9".repeat(1000), None);
    }

    #[test]
    fn several_items_are_lists_and_ranges_and_a_title_may_have_commas() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let found = match text.parse::<Several>() {
                Ok(Several(all)) => all
                    .iter()
                    .map(|it| match it {
                        Typed::Number(number) => number.to_string(),
                        Typed::Id { prefix, .. } => format!("id {prefix}"),
                        Typed::Title(title) => format!("title {title:?}"),
                    })
                    .collect::<Vec<_>>()
                    .join(" "),
                Err(why) => format!("error: {why}"),
            };
            assert_eq!(found, expected, "{text:?}");
        }
        check("3", "3");
        check("#3", "3");
        check("1,2", "1 2");
        check("1, 2 ,#5", "1 2 5");
        check("1-3", "1 2 3");
        check("1-2,7,0192ab", "1 2 7 id 0192ab");
        check("#1-#3", "1 2 3");
        check("Fix a, then b", "title \"Fix a, then b\"");
        check("1,x", "title \"1,x\"");
        check("1,", "title \"1,\"");
        check("3-1", "error: a range goes up: 1-3");
        check("1-99999999", "error: a range has at most 10000 items");
        check(
            " ",
            "error: an item is its number, such as 3, its title, or the beginning of its id",
        );
    }

    /// A plan with these titles, numbered from 1. A `-` before a title marks a superseded item.
    fn plan(titles: &[&str]) -> Plan {
        let at = Timestamp::UNIX_EPOCH;
        let mut plan = Plan::new(PlanId::NIL, "p", at);
        let ids = punchlist_model::IdSource::fixed(at, 7);
        for (n, title) in (1..).zip(titles) {
            let (title, dropped) = match title.strip_prefix('-') {
                Some(title) => (title, true),
                None => (*title, false),
            };
            let id = punchlist_model::ItemId(ids.nth(n));
            let mut item = Item::new(id, Number(n), title, at);
            item.status = Status::Pending;
            item.position = (!dropped).then_some(punchlist_model::Position(n));
            item.superseded_at = dropped.then_some(at);
            plan.items.insert(Number(n), item);
        }
        plan
    }

    #[test]
    fn a_title_is_meant_exactly_else_by_its_beginning_else_by_a_part_of_it() {
        let plan =
            plan(&["Test", "Test the parser", "Write the docs", "-Old docs", "docs2", "Face"]);
        let found = |text: &str| match text.parse::<Typed>().unwrap().within(&plan) {
            Ok(item) => item.to_string(),
            Err(NotOne::Nothing { typed }) => format!("no {typed}"),
            Err(NotOne::Several { typed, lines, .. }) => format!("{typed} [{}]", lines.join("; ")),
        };
        assert_eq!(found("Test"), "1");
        assert_eq!(found("test"), "1");
        assert_eq!(found("test the"), "2");
        assert_eq!(found("parser"), "2");
        assert_eq!(found("Write the docs"), "3");
        assert_eq!(found("old"), "4", "what was dropped, if nothing else fits");
        assert_eq!(found("face"), "6", "a title that looks like the beginning of an id");
        let several = "the [2  Test the parser (pending); 3  Write the docs (pending)]";
        assert_eq!(found("the"), several);
        assert_eq!(found("nothing"), "no nothing");
        assert_eq!(found("99"), "99", "a number is a number");
    }
}

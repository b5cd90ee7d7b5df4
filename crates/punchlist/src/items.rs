//! How items are typed: by number, by the beginning of an id, or by title; several as `1,2` or `1-3`.
//!
//! A title is looked up before a change is asked for: what is changed is always named by number.

use std::collections::BTreeSet;
use std::str::FromStr;

use punchlist_formats::text;
use punchlist_model::{Broken, Item, ItemRef, Number, Plan, Refusal};

use crate::app::{App, no_plan};
use crate::error::{Code, Fail};
use crate::plan_choice;

/// Longest title that is looked up.
const LONGEST: usize = 1000;
/// Most items of one range.
const WIDEST: u32 = 10_000;
/// Most candidates that are shown.
const MOST_SHOWN: usize = 10;

/// One item as typed on the command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Typed {
    /// A number.
    Number(Number),
    /// The beginning of an id, or a title that looks like one.
    Id { prefix: String, typed: String },
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
                Err("one item is meant here, and this names several".to_owned())
            }
            _ if typed.chars().nth(LONGEST).is_some() => Err("no title is that long".to_owned()),
            _ => Ok(Self::Title(typed.to_owned())),
        }
    }
}

impl Typed {
    /// The item that is meant. A title costs a look at the plan.
    pub(crate) fn find(&self, app: &App) -> Result<ItemRef, Fail> {
        if let Self::Number(number) = self {
            return Ok(ItemRef::Number(*number));
        }
        let Some((_, plan)) = plan_choice::whole(app)? else {
            return Err(no_plan());
        };
        self.within(&plan)
    }

    /// The item of this plan that is meant.
    pub(crate) fn within(&self, plan: &Plan) -> Result<ItemRef, Fail> {
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

/// One argument that may name several items: `3`, `1,2`, `1-3`, or a title.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Several(Vec<Typed>);

impl FromStr for Several {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Vec::new();
        for part in text.split(',').map(str::trim) {
            match (range(part)?, part.parse::<Typed>()) {
                (Some(numbers), _) => all.extend(numbers.map(|it| Typed::Number(Number(it)))),
                (None, Ok(typed @ (Typed::Number(_) | Typed::Id { .. }))) => all.push(typed),
                // A title may have commas in it.
                (None, Ok(Typed::Title(_)) | Err(_)) => return Ok(Self(vec![text.parse()?])),
            }
        }
        Ok(Self(all))
    }
}

/// Whether a text could only be meant as several numbers.
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

/// The items that are meant, each once: naming one twice asks for nothing more.
pub(crate) fn each(app: &App, typed: &[Several]) -> Result<Vec<ItemRef>, Fail> {
    let all = || typed.iter().flat_map(|it| &it.0);
    let plan = match all().all(|it| matches!(it, Typed::Number(_))) {
        true => None,
        false => plan_choice::whole(app)?.map(|it| it.1),
    };
    within(plan.as_ref(), all())
}

/// The items of this plan that are meant, each once.
pub(crate) fn each_of(plan: &Plan, typed: &[Several]) -> Result<Vec<ItemRef>, Fail> {
    within(Some(plan), typed.iter().flat_map(|it| &it.0))
}

fn within<'a>(
    plan: Option<&Plan>,
    typed: impl Iterator<Item = &'a Typed>,
) -> Result<Vec<ItemRef>, Fail> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for typed in typed {
        let item = match (typed, plan) {
            (Typed::Number(number), _) => ItemRef::Number(*number),
            (_, Some(plan)) => typed.within(plan)?,
            (_, None) => return Err(no_plan()),
        };
        if seen.insert(item.clone()) {
            found.push(item);
        }
    }
    Ok(found)
}

/// A number or the beginning of an id, if the text is one.
pub(crate) fn reference(text: &str) -> Option<ItemRef> {
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

/// The one item that a title means.
fn one(plan: &Plan, title: &str) -> Result<ItemRef, Fail> {
    let fitting = titled(plan, title);
    let shown = text::one_line(title).into_owned();
    match fitting.as_slice() {
        [] => Err(Refusal::one(Broken::NotFound { what: format!("{shown:?}") }).into()),
        [item] => Ok(item.number.into()),
        several => {
            let line = |item: &&Item| {
                let (number, title) = (item.number, text::one_line(&item.title));
                format!("{number}  {title} ({})", item.status.words())
            };
            let mut details: Vec<String> = several.iter().take(MOST_SHOWN).map(line).collect();
            if several.len() > MOST_SHOWN {
                details.push(format!("and {} more", several.len() - MOST_SHOWN));
            }
            let message = format!("{shown:?} could be any of these items");
            let mut fail = Fail::new(Code::Usage, message)
                .details(details)
                .hint("use the number, or more of the title.");
            fail.items = several.iter().map(|item| item.number).collect();
            Err(fail)
        }
    }
}

/// The items with that title; if there are none, those whose titles begin with it, else those that
/// contain it. What was dropped is looked at only if nothing on the list fits.
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

    /// A plan with these titles, numbered from 1; a `-` before one says that it was dropped.
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
            Err(fail) => {
                format!("{} {} [{}]", fail.code.exit(), fail.message, fail.details.join("; "))
            }
        };
        assert_eq!(found("Test"), "1");
        assert_eq!(found("test"), "1");
        assert_eq!(found("test the"), "2");
        assert_eq!(found("parser"), "2");
        assert_eq!(found("Write the docs"), "3");
        assert_eq!(found("old"), "4", "what was dropped, if nothing else fits");
        assert_eq!(found("face"), "6", "a title that looks like the beginning of an id");
        let several = "2 \"the\" could be any of these items [2  Test the parser (pending); \
                       3  Write the docs (pending)]";
        assert_eq!(found("the"), several);
        assert!(found("nothing").starts_with("4 "), "{}", found("nothing"));
        assert_eq!(found("99"), "99", "a number is a number");
    }
}

//! How an item is typed: its number, or the beginning of its id.

use std::collections::BTreeSet;
use std::str::FromStr;

use punchlist_model::{ItemRef, Number};

/// An item as typed on the command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Typed(pub(crate) ItemRef);

impl FromStr for Typed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.strip_prefix('#').unwrap_or(text);
        let wrong = || "an item is its number, such as 3, or the beginning of its id".to_owned();
        // Numbers are shown without leading zeros, and ids begin with one.
        if !text.starts_with('0')
            && let Ok(number) = text.parse::<u32>()
            && text.bytes().all(|byte| byte.is_ascii_digit())
        {
            return Ok(Self(Number(number).into()));
        }
        let digits: String = text.chars().filter(|it| *it != '-').collect();
        let is_id = digits.len() >= 4
            && digits.len() <= 32
            && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id {
            return Err(wrong());
        }
        Ok(Self(ItemRef::Prefix(hyphened(&digits.to_ascii_lowercase()))))
    }
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

/// The items that were typed, as the model takes them.
pub(crate) fn refs(typed: Vec<Typed>) -> Vec<ItemRef> {
    typed.into_iter().map(|it| it.0).collect()
}

/// The items that were typed, each once: naming one twice asks for nothing more.
pub(crate) fn each_once(typed: Vec<Typed>) -> impl Iterator<Item = Typed> {
    let mut seen = BTreeSet::new();
    typed.into_iter().filter(move |item| seen.insert(item.0.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<ItemRef>) {
        assert_eq!(text.parse::<Typed>().ok().map(|it| it.0), expected, "{text:?}");
    }

    #[test]
    fn an_item_is_its_number_or_an_id_prefix() {
        check("3", Some(ItemRef::Number(Number(3))));
        check("#3", Some(ItemRef::Number(Number(3))));
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
}

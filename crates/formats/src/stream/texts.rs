//! One text out of the shapes that agents put texts in.

use super::event::Text;
use super::json::{Str, Value};

/// A text, or the texts of several blocks with a line each. None if there is nothing in it.
pub(crate) fn text(value: Value<'_>) -> Option<Text<'_>> {
    if let Some(text) = literal(value) {
        return Some(Text::raw(text)).filter(|it| !it.is_empty());
    }
    let mut texts = value.items().filter_map(literal);
    let first = texts.next()?;
    let mut rest = texts.peekable();
    if rest.peek().is_none() {
        return Some(Text::raw(first)).filter(|it| !it.is_empty());
    }
    let mut all = first.cow().into_owned();
    for text in rest {
        all.push('\n');
        all.push_str(&text.cow());
    }
    Some(Text::from(all)).filter(|it| !it.is_empty())
}

fn literal(value: Value<'_>) -> Option<Str<'_>> {
    value.str().or_else(|| value.text("text"))
}

//! Escapes text for a format: XML, HTML, Markdown, DOT, Mermaid, JSON on a terminal.
//!
//! Each function cleans the text first (see [`super::clean`]). For every input, the output is
//! well-formed and cannot leave its context.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::clean::{is_bidi_control, many_lines, one_line};

/// Text between XML tags. Line breaks stay.
pub fn xml_text(text: &str) -> String {
    markup(&many_lines(text), "&apos;")
}

/// Text between HTML tags, or the value of a quoted attribute.
pub fn html(text: &str) -> String {
    markup(&many_lines(text), "&#39;")
}

fn markup(clean: &str, apostrophe: &str) -> String {
    let mut out = String::with_capacity(clean.len() + clean.len() / 8);
    for ch in clean.chars() {
        match ch {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            // Always escaped, so that `]]>` is impossible.
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str(apostrophe),
            // Characters that XML 1.0 does not allow; control characters are already removed.
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            ch => out.push(ch),
        }
    }
    out
}

/// Text within a line of Markdown: it stays on its line and is shown literally.
///
/// Plain URLs are not escaped, because they show where they lead.
pub fn markdown(text: &str) -> String {
    let clean = one_line(text);
    let mut out = String::with_capacity(clean.len());
    let mut before = ' ';
    let mut chars = clean.chars().peekable();
    while let Some(ch) = chars.next() {
        let after = chars.peek().copied();
        let special = match ch {
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '~' | '|' => true,
            // Inside a word an underscore has no meaning in Markdown, and many names contain one.
            '_' => !(before.is_alphanumeric() && after.is_some_and(char::is_alphanumeric)),
            '&' => after.is_some_and(|it| it == '#' || it.is_ascii_alphanumeric()),
            // At the ends of a heading it would be part of the markup.
            '#' => out.is_empty() || after.is_none(),
            _ => false,
        };
        if special {
            out.push('\\');
        }
        out.push(ch);
        before = ch;
    }
    out
}

/// A label in DOT, for use between double quotes.
pub fn dot(text: &str) -> String {
    one_line(text).replace('&', "&amp;").replace('\\', "\\\\").replace('"', "\\\"")
}

/// A label in Mermaid, for use between double quotes. Characters with a meaning become entities.
pub fn mermaid(text: &str) -> String {
    let mut out = String::new();
    for ch in one_line(text).chars() {
        if ch.is_ascii_punctuation() && !matches!(ch, ',' | '.' | '-' | '_' | '/' | '?' | '!') {
            // Writing to a string cannot fail.
            let _ = write!(out, "#{};", u32::from(ch));
        } else {
            out.push(ch);
        }
    }
    out
}

/// Serialised JSON for a terminal: the same values, but DEL, C1 and bidi controls are written as
/// escapes.
pub fn json(serialised: &str) -> Cow<'_, str> {
    let acts = |ch: char| {
        is_bidi_control(ch) || matches!(ch, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}')
    };
    // Most JSON is ASCII without DEL. Checking all bytes is faster than stopping at the first other
    // one.
    let is_simple = serialised.bytes().fold(true, |all, byte| all & (byte < 0x7f));
    if is_simple || !serialised.chars().any(acts) {
        return Cow::Borrowed(serialised);
    }
    let mut out = String::with_capacity(serialised.len() + 64);
    for ch in serialised.chars() {
        if acts(ch) {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(ch));
        } else {
            out.push(ch);
        }
    }
    Cow::Owned(out)
}

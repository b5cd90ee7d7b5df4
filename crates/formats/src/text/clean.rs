//! Removes from a text everything that could control a terminal or deceive its reader.
//!
//! Escape sequences are parsed, so that no part of them remains. Only what is shown is cleaned; the
//! stored text does not change.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;
use vte::{Parser, Perform};

/// Most combining marks on one letter. No script needs more, and a stack of them would cover the
/// lines above.
const MOST_MARKS: usize = 8;

/// A text for one line: no escape sequences, control characters or bidi controls; line breaks and
/// tabs become spaces.
pub fn one_line(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    if is_simple(text) || text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len());
    for ch in without_escapes(text).chars() {
        // A line break becomes one space, also if it is `\r
        // `.
        if !is_break(ch) && ch != '\t' {
            line.push(ch);
        } else if !line.ends_with(' ') {
            line.push(' ');
        }
    }
    Cow::Owned(without_tricks(&line).trim().to_owned())
}

/// A text of several lines: like [`one_line`], but line breaks stay, as `
/// `.
pub fn many_lines(text: &str) -> Cow<'_, str> {
    if text.chars().all(|ch| is_plain(ch) || ch == '\n') {
        return Cow::Borrowed(text);
    }
    let mut lines = String::with_capacity(text.len());
    let mut after_return = false;
    for ch in without_escapes(text).chars() {
        match ch {
            '\n' if after_return => {}
            '\t' => lines.push_str("    "),
            ch if is_break(ch) => lines.push('\n'),
            ch => lines.push(ch),
        }
        after_return = ch == '\r';
    }
    Cow::Owned(without_tricks(&lines))
}

/// Wraps a clean right-to-left text in Unicode isolates.
///
/// A terminal that reorders text does so line by line, and would pull numbers and the right-hand
/// column into a Hebrew title. Inside first-strong isolates the title is reordered by itself, and
/// the line keeps its own direction. Other texts are not wrapped, because terminals without support
/// for isolates may draw boxes.
pub fn isolated(text: &str) -> Cow<'_, str> {
    if !text.is_ascii() && text.chars().any(is_right_to_left) {
        Cow::Owned(format!("\u{2068}{text}\u{2069}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Whether a character changes the direction of the text around it.
pub fn is_bidi_control(ch: char) -> bool {
    matches!(ch,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_right_to_left(ch: char) -> bool {
    matches!(ch,
        '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// Whether a text is plain ASCII, as most are. Checking all bytes is faster than stopping at the
/// first other one.
fn is_simple(text: &str) -> bool {
    text.bytes().fold(true, |all, byte| all & matches!(byte, b' '..=b'~'))
}

/// Whether a character is harmless in every context. All others are examined further.
fn is_plain(ch: char) -> bool {
    matches!(ch, ' '..='~' | '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{2ff}')
        || (ch >= '\u{370}'
            && !is_invisible(ch)
            && !is_break(ch)
            && ch.width().is_some_and(|width| width > 0))
}

fn is_break(ch: char) -> bool {
    matches!(ch, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Invisible characters that change how others look or compare.
fn is_invisible(ch: char) -> bool {
    is_bidi_control(ch)
        || matches!(ch,
            '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}')
}

/// Removes escape sequences and control characters except line breaks and tabs.
fn without_escapes(text: &str) -> Cow<'_, str> {
    if !text.chars().any(char::is_control) {
        return Cow::Borrowed(text);
    }
    // The parser knows only the seven-bit forms of sequences, so a C1 character is replaced by its
    // seven-bit form.
    let mut bytes = Vec::with_capacity(text.len() + 16);
    for ch in text.chars() {
        match ch {
            '\u{90}' | '\u{98}' | '\u{9b}'..='\u{9f}' => {
                bytes.extend([0x1b, (u32::from(ch) as u8).wrapping_sub(0x40)]);
            }
            '\u{85}' => bytes.push(b'\n'),
            '\u{80}'..='\u{9f}' => {}
            ch => bytes.extend(ch.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    let mut kept = Kept(String::with_capacity(text.len()));
    Parser::new().advance(&mut kept, &bytes);
    Cow::Owned(kept.0)
}

/// Collects what a terminal would print.
struct Kept(String);

impl Perform for Kept {
    fn print(&mut self, ch: char) {
        if !ch.is_control() {
            self.0.push(ch);
        }
    }

    fn execute(&mut self, byte: u8) {
        if matches!(byte, b'\t' | b'\n' | b'\r' | 0x0b | 0x0c) {
            self.0.push(char::from(byte));
        }
    }
}

/// Removes invisible characters unless they are used properly.
fn without_tricks(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let (mut marks, mut tags) = (0, None);
    while let Some(ch) = chars.next() {
        let before = kept.chars().next_back();
        let stays = match ch {
            // Tag characters after a black flag are the flag of a region; elsewhere they are hidden
            // text.
            '\u{e0020}'..='\u{e007f}' => {
                tags = tags.map(|count| count + 1).filter(|count| *count <= MOST_MARKS);
                tags.is_some()
            }
            '\u{e0000}'..='\u{e001f}' => false,
            // A joiner must be between two emoji, or between letters of a script that joins. A
            // neighbour without width may be removed itself, so it does not count.
            '\u{200c}' | '\u{200d}' => {
                let is_seen = |it: &char| joins(*it) && it.width().is_some_and(|it| it > 0);
                before.is_some_and(joins) && chars.peek().is_some_and(is_seen)
            }
            // One variation selector selects a form; a sequence of them may be hidden text.
            '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => {
                before.is_some_and(|it| joins(it) && !is_selector(it))
            }
            ch if is_invisible(ch) => false,
            ch if ch != '\n' && ch.width() == Some(0) => {
                marks += 1;
                marks <= MOST_MARKS
            }
            _ => {
                marks = 0;
                tags = (ch == '\u{1f3f4}').then_some(0);
                true
            }
        };
        if stays {
            kept.push(ch);
        }
    }
    kept
}

fn is_selector(ch: char) -> bool {
    matches!(ch, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

fn joins(ch: char) -> bool {
    !ch.is_ascii()
        && !ch.is_whitespace()
        && !is_invisible(ch)
        && !matches!(ch, '\u{200c}' | '\u{200d}')
        || matches!(ch, '0'..='9' | '#' | '*')
}

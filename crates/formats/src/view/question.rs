//! A question to a person, as a terminal shows it: who wants to do what, why it is asked, and the keys.
//!
//! A pure function of what is asked. Every line is at least a column narrower than the screen.

use punchlist_model::call::{Answer, Asked};

use super::{Options, shown};
use crate::text::glyph::Glyphs;
use crate::text::width::truncate_with;
use crate::text::{Colour, Line, Style, one_line, width};

/// On a very wide screen nobody wants to look for the end of a line.
const WIDEST: usize = 120;
/// How many lines of a command or a diff are shown.
const MOST_LINES: usize = 12;

/// The question, the first of so many; `last` is its last line: the keys, or what is typed.
pub fn panel(asked: &Asked, waiting: usize, last: &str, options: &Options) -> Vec<String> {
    let columns = usize::from(options.width).saturating_sub(1).clamp(1, WIDEST);
    let glyphs = options.glyphs;
    let mut lines = vec![head(asked, waiting, columns, options)];
    let mut body: Vec<(&str, Style)> = Vec::new();
    if let Some(command) = &asked.command {
        body.extend(command.lines().map(|it| (it, Style::Bold)));
    }
    if let Some(diff) = &asked.diff {
        body.extend(diff.lines().map(|it| (it, diff_style(it))));
    }
    let left_out = body.len().saturating_sub(MOST_LINES);
    for (text, style) in body.into_iter().take(MOST_LINES) {
        let mut line = Line::new(options.colour);
        line.push(truncated("     ", columns), Style::Plain);
        line.push_text(&one_line(text), columns.saturating_sub(5), glyphs, style);
        lines.push(line.finish());
    }
    if left_out > 0 {
        let text = format!("     {} {left_out} more lines", glyphs.ellipsis());
        lines.push(truncate_with(&text, columns, "").into_owned());
    }
    let dot = if glyphs == Glyphs::Ascii { " - " } else { " · " };
    let mut why: Vec<String> = asked.touches.iter().map(|it| one_line(it).into_owned()).collect();
    why.push(one_line(&asked.why).into_owned());
    why.retain(|it| !it.is_empty());
    if !why.is_empty() {
        let mut line = Line::new(options.colour);
        line.push(truncated("   ", columns), Style::Plain);
        line.push_text(&why.join(dot), columns.saturating_sub(3), glyphs, Style::Dim);
        lines.push(line.finish());
    }
    for words in wrapped(&one_line(last), columns.saturating_sub(3).max(1)) {
        let mut line = Line::new(options.colour);
        line.push(truncated("   ", columns), Style::Plain);
        line.push_text(&words, columns.saturating_sub(3), glyphs, Style::Bold);
        lines.push(line.finish());
    }
    lines
}

/// ` ? Publish wants to run                                     1 of 2 waiting`
fn head(asked: &Asked, waiting: usize, columns: usize, options: &Options) -> String {
    let mut line = Line::new(options.colour);
    line.push(truncated(" ? ", columns), Style::BoldIn(Colour::Yellow));
    let count = if waiting > 1 { format!("1 of {waiting} waiting") } else { String::new() };
    let room = columns.saturating_sub(3);
    let with_count = !count.is_empty() && room >= width(&count) + 24;
    let most = if with_count { room - width(&count) - 2 } else { room };
    let what = format!("{} wants to {}", shown(&asked.title), one_line(&asked.what));
    line.push_text(&what, most, options.glyphs, Style::Bold);
    if with_count {
        line.fill(columns - width(&count)).push(&count, Style::Dim);
    }
    line.finish()
}

fn truncated(text: &str, columns: usize) -> &str {
    text.get(..text.len().min(columns)).unwrap_or_default()
}

fn diff_style(line: &str) -> Style {
    match line.as_bytes().first() {
        Some(b'+') => Style::In(Colour::Green),
        Some(b'-') => Style::In(Colour::Red),
        Some(b'@') => Style::In(Colour::Cyan),
        _ => Style::Plain,
    }
}

/// Breaks between groups of words that stand three spaces apart, as keys do.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for group in text.split("   ").map(str::trim).filter(|it| !it.is_empty()) {
        match lines.last_mut() {
            Some(last) if last.is_empty() => last.push_str(group),
            Some(last) if width(last) + 3 + width(group) <= columns => {
                last.push_str("   ");
                last.push_str(group);
            }
            Some(_) | None => lines.push(group.to_owned()),
        }
    }
    lines
}

/// An answer in a word or two, for whoever is told of it.
pub fn word(answer: &Answer) -> String {
    match answer {
        Answer::Once => "once".to_owned(),
        Answer::AlwaysTool => "always".to_owned(),
        Answer::AlwaysPrefix(words) => format!("always: {}", words.join(" ")),
        Answer::AlwaysServer => "always for this server".to_owned(),
        Answer::Modify(_) => "modified".to_owned(),
        Answer::Refuse(None) => "refused".to_owned(),
        Answer::Refuse(Some(reason)) => format!("refused: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use punchlist_model::call::Offer;
    use punchlist_model::{IdSource, Number, QuestionId, Timestamp};
    use serde_json::json;

    use super::*;
    use crate::text::naughty::any_text;

    fn publish() -> Asked {
        let at = Timestamp::UNIX_EPOCH;
        Asked {
            id: QuestionId(IdSource::fixed(at, 1).nth(1)),
            call: 3,
            item: Some(Number(4)),
            title: "Publish".to_owned(),
            tool: "shell".to_owned(),
            server: None,
            what: "run".to_owned(),
            command: Some("./publish.sh --prod".to_owned()),
            diff: None,
            touches: vec!["writes dist/**".to_owned()],
            why: "no rule allows it".to_owned(),
            arguments: json!({}),
            offers: vec![Offer::Once],
            at,
        }
    }

    const KEYS: &str = "y once   a always ./publish.sh   e edit   n refuse   r refuse and say why";

    fn at(columns: u16, asked: &Asked) -> String {
        let options = Options { width: columns, ..Options::plain(Timestamp::UNIX_EPOCH) };
        panel(asked, 2, KEYS, &options).join("\n")
    }

    #[test]
    fn a_question_at_every_width() {
        let mut edit = publish();
        edit.what = "edit src/main.rs".to_owned();
        edit.command = None;
        edit.diff = Some("@@ -1 +1 @@\n-old line\n+new line".to_owned());
        let screens = [40, 80, 120]
            .map(|it| format!("{it} columns\n{}\n\n{}", at(it, &publish()), at(it, &edit)));
        insta::assert_snapshot!(screens.join("\n\n"));
    }

    proptest! {
        #[test]
        fn whatever_is_asked_it_fits_and_harms_no_terminal(
            title in any_text(),
            command in any_text(),
            why in any_text(),
            last in any_text(),
            columns in 2_u16..140,
        ) {
            let asked = Asked { title, command: Some(command.clone()), diff: Some(command), why, ..publish() };
            let options = Options { width: columns, ..Options::plain(Timestamp::UNIX_EPOCH) };
            for line in panel(&asked, 3, &last, &options) {
                prop_assert!(width(&line) < usize::from(columns), "{columns}: {line:?}");
                prop_assert!(!line.chars().any(char::is_control), "{line:?}");
            }
        }
    }
}

//! Wraps lines between words.

use std::borrow::Cow;

use super::width::{spaces, width};

/// Wraps a clean line, with or without colour, at `columns`. Continuation lines are indented two
/// columns further. No word is broken, so that a long path or URL can still be copied.
pub fn wrap(line: &str, columns: usize) -> Vec<Cow<'_, str>> {
    if shown(line) <= columns {
        return vec![Cow::Borrowed(line)];
    }
    let words = line.trim_start_matches(' ');
    let indent = line.len() - words.len();
    let hang = (indent + 2).min(columns / 2);
    let mut lines = Vec::new();
    let mut taken = indent.min(columns / 2);
    let mut here = spaces(taken);
    for word in words.split_inclusive(' ') {
        let (word, gap) = word.split_at(word.trim_end_matches(' ').len());
        let wide = shown(word);
        let is_begun = !here.trim_matches(' ').is_empty();
        // Spaces at a line break are dropped.
        if wide == 0 && !is_begun {
            continue;
        }
        if wide > 0 && taken + wide > columns && is_begun {
            lines.push(finished(&mut here));
            here = spaces(hang);
            taken = hang;
        }
        here.push_str(word);
        taken += wide;
        here.push_str(gap);
        taken += gap.len();
    }
    if !here.trim_matches(' ').is_empty() {
        lines.push(finished(&mut here));
    }
    lines
}

fn finished(line: &mut String) -> Cow<'static, str> {
    Cow::Owned(std::mem::take(line).trim_end_matches(' ').to_owned())
}

/// The width of a line in columns, without colours.
fn shown(line: &str) -> usize {
    let mut parts = line.split('\x1b');
    let first = parts.next().map_or(0, width);
    // Each escape sequence ends with `m`.
    first + parts.map(|it| it.split_once('m').map_or(0, |it| width(it.1))).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(line: &str, columns: usize, expected: &[&str]) {
        assert_eq!(wrap(line, columns), expected, "{line:?} in {columns}");
    }

    #[test]
    fn lines_are_broken_between_words() {
        check("", 10, &[""]);
        check("short", 10, &["short"]);
        check("Fix the failing test", 12, &["Fix the", "  failing", "  test"]);
        check("  a bb ccc dddd", 8, &["  a bb", "    ccc", "    dddd"]);
        check("a   b", 3, &["a", " b"]);
        check("日本 日本 日本", 7, &["日本", "  日本", "  日本"]);
    }

    #[test]
    fn a_word_that_is_too_wide_stays_whole() {
        check("see /a/very/long/path", 10, &["see", "  /a/very/long/path"]);
        check("abcdefghij", 4, &["abcdefghij"]);
        check("a abcdefghij b", 4, &["a", "  abcdefghij", "  b"]);
    }

    #[test]
    fn colours_take_no_room() {
        check("\x1b[32m✓\x1b[0m hooks work", 12, &["\x1b[32m✓\x1b[0m hooks work"]);
        check("\x1b[32m✓\x1b[0m hooks work well", 12, &["\x1b[32m✓\x1b[0m hooks work", "  well"]);
    }

    proptest! {
        /// Only spaces are lost, and only a single word may be too wide.
        #[test]
        fn every_word_stays(line in "[ab日 ]{0,60}", columns in 0_usize..40) {
            let lines = wrap(&line, columns);
            let letters = |text: &str| text.replace(' ', "");
            prop_assert_eq!(letters(&lines.concat()), letters(&line));
            let is_word = |it: &str| !it.trim_matches(' ').contains(' ');
            prop_assert!(lines.iter().all(|it| shown(it) <= columns || is_word(it)));
        }
    }
}

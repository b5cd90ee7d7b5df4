//! Finds the words that differ in a changed line.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices, get_diff_ratio};

/// Lines with more words are not compared.
const MOST_WORDS: usize = 400;
/// Lines that have less in common are different lines: then no word is marked.
const LEAST_IN_COMMON: f32 = 0.4;

/// The bytes that are gone from the old line, and those that are new in the new one.
pub(super) fn changed(old: &str, new: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let (old_words, new_words) = (words(old), words(new));
    if old_words.len().max(new_words.len()) > MOST_WORDS {
        return (Vec::new(), Vec::new());
    }
    let operations = capture_diff_slices(Algorithm::Myers, &old_words, &new_words);
    if get_diff_ratio(&operations, old_words.len(), new_words.len()) < LEAST_IN_COMMON {
        return (Vec::new(), Vec::new());
    }
    let (mut gone, mut added) = (Vec::new(), Vec::new());
    for operation in operations {
        if let DiffOp::Equal { .. } = operation {
            continue;
        }
        gone.extend(bytes(&old_words, operation.old_range()));
        added.extend(bytes(&new_words, operation.new_range()));
    }
    (gone, added)
}

/// The bytes of some words.
fn bytes(words: &[&str], range: Range<usize>) -> Option<Range<usize>> {
    let length = |words: &[&str]| words.iter().map(|it| it.len()).sum::<usize>();
    let start = length(&words[..range.start]);
    let end = start + length(&words[range]);
    (start < end).then_some(start..end)
}

/// Splits a line into names, blanks and single signs. Together they are the whole line.
fn words(line: &str) -> Vec<&str> {
    #[derive(PartialEq, Clone, Copy)]
    enum Kind {
        Name,
        Blank,
        Sign,
    }
    let kind = |ch: char| {
        if ch.is_alphanumeric() || ch == '_' {
            Kind::Name
        } else if ch.is_whitespace() {
            Kind::Blank
        } else {
            Kind::Sign
        }
    };
    let mut words = Vec::new();
    let (mut start, mut before) = (0, None);
    for (at, ch) in line.char_indices() {
        let kind = kind(ch);
        let goes_on = before == Some(kind) && kind != Kind::Sign;
        if !goes_on && at > start {
            words.push(&line[start..at]);
            start = at;
        }
        before = Some(kind);
    }
    if start < line.len() {
        words.push(&line[start..]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str, gone: &[&str], added: &[&str]) {
        let found = changed(old, new);
        let of = |line: &str, ranges: &[Range<usize>]| -> Vec<String> {
            ranges.iter().map(|it| line[it.clone()].to_owned()).collect()
        };
        assert_eq!(of(old, &found.0), gone, "{old:?} → {new:?}");
        assert_eq!(of(new, &found.1), added, "{old:?} → {new:?}");
    }

    #[test]
    fn the_words_that_differ_are_found() {
        check("let a = foo(1);", "let a = bar(1);", &["foo"], &["bar"]);
        check("a  b", "a b", &["  "], &[" "]);
        check("foo(bar)", "foo(bar, baz)", &[], &[", baz"]);
        check("日本 語", "日本 話", &["語"], &["話"]);
        check("same", "same", &[], &[]);
    }

    #[test]
    fn lines_that_have_little_in_common_have_no_marks() {
        check("let a = foo(1);", "} else { return None }", &[], &[]);
        check("", "new", &[], &[]);
    }
}

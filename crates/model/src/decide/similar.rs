//! Whether two titles name the same item in different words.
//!
//! A missed match costs a new number and a warning. A wrong match merges two items unnoticed, which
//! is worse. So the rule is strict: words may be added, left out or inflected (`docs`,
//! `documentation`), but a word *replaced* by another means a different item: "Test module alpha"
//! is not "Test module beta".

use std::collections::BTreeMap;

/// The minimum similarity of two titles of the same item.
pub(super) const THRESHOLD: f64 = 0.6;

/// The similarity of two titles, from 0 to 1; 0 if a word was replaced by another.
pub(super) fn similarity(a: &str, b: &str) -> f64 {
    let (mut a, mut b) = (words(a), words(b));
    let all = a.len() + b.len();
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let same = take_pairs(&mut a, &mut b, |a, b| a == b) + take_pairs(&mut a, &mut b, is_word_form);
    if !a.is_empty() && !b.is_empty() {
        return 0.0;
    }
    2.0 * same as f64 / all as f64
}

/// Removes matching words from both lists and returns how many there were.
fn take_pairs(
    a: &mut Vec<String>,
    b: &mut Vec<String>,
    fits: impl Fn(&str, &str) -> bool,
) -> usize {
    let before = a.len();
    a.retain(|word| match b.iter().position(|other| fits(word, other)) {
        Some(found) => {
            b.swap_remove(found);
            false
        }
        None => true,
    });
    before - a.len()
}

/// The words that carry meaning, in lower case. A title that has only stop words keeps them.
fn words(text: &str) -> Vec<String> {
    let all: Vec<String> = text
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let content: Vec<String> =
        all.iter().filter(|word| !STOP_WORDS.contains(&word.as_str())).cloned().collect();
    if content.is_empty() { all } else { content }
}

/// Stop words: often added or dropped when a sentence is reworded.
const STOP_WORDS: [&str; 24] = [
    "a", "all", "an", "and", "any", "as", "at", "by", "each", "for", "from", "in", "into", "is",
    "it", "its", "of", "on", "our", "so", "the", "to", "up", "with",
];

/// Whether one word is a form of the other. Words with digits have no forms.
fn is_word_form(a: &str, b: &str) -> bool {
    if [a, b].iter().any(|word| word.chars().any(char::is_numeric)) {
        return false;
    }
    let shared = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let (short, long) =
        (a.chars().count().min(b.chars().count()), a.chars().count().max(b.chars().count()));
    // `test`/`tests`, `doc`/`documentation`, `fix`/`fixing`: one word is a prefix of the other, or
    // nearly.
    if shared >= 3 && (shared == short || shared + 1 == short) {
        return true;
    }
    // Text without spaces is one long "word", so pairs of letters are compared.
    short >= 4 && long >= 6 && pairs_shared(a, b) >= 0.7
}

/// Dice's coefficient over pairs of neighbouring letters.
fn pairs_shared(a: &str, b: &str) -> f64 {
    let (a, b) = (letter_pairs(a), letter_pairs(b));
    let (count_a, count_b): (u32, u32) = (a.values().sum(), b.values().sum());
    let same: u32 = a.iter().map(|(pair, n)| (*n).min(b.get(pair).copied().unwrap_or(0))).sum();
    f64::from(2 * same) / f64::from((count_a + count_b).max(1))
}

fn letter_pairs(word: &str) -> BTreeMap<(char, char), u32> {
    let mut pairs = BTreeMap::new();
    for pair in word.chars().zip(word.chars().skip(1)) {
        *pairs.entry(pair).or_default() += 1;
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(a: &str, b: &str, same: bool) {
        let (there, back) = (similarity(a, b), similarity(b, a));
        assert_eq!(there >= THRESHOLD, same, "{a:?} and {b:?}: {there}");
        assert!((there - back).abs() < 1e-9, "{a:?} and {b:?} differ by direction");
    }

    #[test]
    fn the_same_thing_in_other_words() {
        check("Fix failing tests", "Fix the failing tests", true);
        check("Fix the failing tests", "Fix failing tests in CI", true);
        check("Update docs", "Update the documentation", true);
        check("Run final build", "Running the final build", true);
        check("Add tests for the parser", "Parser: add tests", true);
        check("修复失败的测试", "修复所有失败的测试", true);
        check("Prüfe die Übersetzung", "die Übersetzungen prüfen", true);
    }

    #[test]
    fn another_thing_in_similar_words() {
        check("Write tests for module alpha", "Write tests for module beta", false);
        check("Migrate table 1", "Migrate table 2", false);
        check("Migrate table 1", "Migrate table 12", false);
        check("Read v1 files", "Write v1 files", false);
        check("Deploy", "Write the release notes", false);
        check("Fix", "Fix the parser, the printer, the linter and the docs", false);
        check("", "", false);
        check("!!!", "???", false);
    }
}

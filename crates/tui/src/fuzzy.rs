//! Fuzzy search: ranks texts by how well they match what was typed. Pure.

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// The best matches, best first; of equals, the shorter one. Without a query, the first ones in their
/// order. `texts` names what is searched of an entry, with the most important text first.
pub(crate) fn rank<'a, T>(
    query: &str,
    entries: impl IntoIterator<Item = T>,
    texts: impl Fn(&T) -> Vec<&'a str>,
    most: usize,
) -> Vec<T> {
    if query.trim().is_empty() {
        return entries.into_iter().take(most).collect();
    }
    let pattern = Pattern::new(query, CaseMatching::Ignore, Normalization::Smart, AtomKind::Fuzzy);
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let mut letters = Vec::new();
    let mut found: Vec<_> = entries
        .into_iter()
        .filter_map(|entry| {
            let best = texts(&entry)
                .iter()
                .enumerate()
                .filter_map(|(at, text)| {
                    let score = pattern.score(Utf32Str::new(text, &mut letters), &mut matcher)?;
                    let is_prefix = begins_with(text, query);
                    Some((
                        is_prefix,
                        score.saturating_sub(20 * u32::try_from(at).ok()?),
                        text.len(),
                    ))
                })
                .max_by_key(|(is_prefix, score, _)| (*is_prefix, *score))?;
            Some((best, entry))
        })
        .collect();
    found.sort_by(|(a, _), (b, _)| (b.0, b.1).cmp(&(a.0, a.1)).then(a.2.cmp(&b.2)));
    found.into_iter().take(most).map(|(_, entry)| entry).collect()
}

fn begins_with(text: &str, query: &str) -> bool {
    text.get(..query.len()).is_some_and(|it| it.eq_ignore_ascii_case(query))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked<'a>(query: &str, texts: &[&'a str]) -> Vec<&'a str> {
        rank(query, texts.iter().copied(), |it| vec![*it], 3)
    }

    #[test]
    fn the_best_match_is_first_and_what_does_not_match_is_left_out() {
        let paths = ["src/lib.rs", "src/line.rs", "docs/lines.md", "Cargo.toml", "crates/x/line"];
        assert_eq!(ranked("line", &paths)[0], "src/line.rs");
        assert_eq!(ranked("ctml", &paths), ["Cargo.toml"]);
        assert_eq!(ranked("zzz", &paths), [""; 0]);
        assert_eq!(ranked("", &paths), ["src/lib.rs", "src/line.rs", "docs/lines.md"]);
        assert_eq!(ranked("que", &["unique", "queue"]), ["queue", "unique"]);
    }
}

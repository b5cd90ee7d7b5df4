//! Finds the lines that can change a list without parsing the others.
//!
//! Each agent names needles: texts of which every such line contains at least one. One search looks for
//! all needles at once, in many lines at once. A line without a needle is skipped; a line with one is
//! parsed like any other. The search knows nothing about JSON.

use aho_corasick::Span;
use aho_corasick::packed::Searcher;

/// Maximum length of a needle, including the text after it that `is_telling` needs.
pub(crate) const LONGEST_NEEDLE: usize = 64;

/// Searches for the needles of an agent.
#[derive(Default)]
pub(crate) struct Prefilter {
    needles: &'static [&'static str],
    /// `None` without needles, or on a processor that the search does not support.
    searcher: Option<Searcher>,
}

impl Prefilter {
    /// The position of the first needle in `bytes` that `is_telling` accepts. Without a searcher,
    /// the first position, so that every line is parsed. `needles` may change from call to call.
    pub(crate) fn find(
        &mut self,
        needles: &'static [&'static str],
        is_telling: impl Fn(&[u8]) -> bool,
        bytes: &[u8],
    ) -> Option<usize> {
        if self.needles != needles {
            debug_assert!(needles.iter().all(|it| it.len() < LONGEST_NEEDLE), "{needles:?}");
            self.needles = needles;
            self.searcher = Searcher::new(needles);
        }
        let Some(searcher) = &self.searcher else { return Some(0) };
        let mut span = Span { start: 0, end: bytes.len() };
        loop {
            let found = searcher.find_in(bytes, span)?.start();
            if is_telling(&bytes[found..]) {
                return Some(found);
            }
            span.start = found + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NEEDLES: &[&str] = &["\"T", "_todo\"", "abc"];

    proptest! {
        #[test]
        fn it_finds_what_a_plain_search_finds(
            pieces in prop::collection::vec(
                prop::sample::select(vec!["\"T", "_todo\"", "abc", "ab", "_", "\"", "\n", "xyz"]),
                0..60,
            ),
            steps in prop::collection::vec(1..9usize, 1..80),
        ) {
            let bytes = pieces.concat().into_bytes();
            let mut prefilter = Prefilter::default();
            let mut from = 0;
            for step in steps {
                let bytes = bytes.get(from..).unwrap_or_default();
                let is_telling = |it: &[u8]| !it.starts_with(b"\"Tx");
                let is_hit = |at: &usize| {
                    let rest = &bytes[*at..];
                    NEEDLES.iter().any(|it| rest.starts_with(it.as_bytes())) && is_telling(rest)
                };
                let plain = (0..bytes.len()).find(is_hit);
                prop_assert_eq!(prefilter.find(NEEDLES, is_telling, bytes), plain);
                from += step;
            }
        }
    }

    #[test]
    fn needles_may_change() {
        let mut prefilter = Prefilter::default();
        let bytes = b"one two three";
        let mut find = |needles| prefilter.find(needles, |_| true, bytes);
        assert_eq!(find(&["two"]), Some(4));
        assert_eq!(find(&["three", "two"]), Some(4));
        assert_eq!(find(&[]), Some(0), "without needles every line is parsed");
    }
}

//! Finds the lines that can change a list without parsing the others.
//!
//! Each agent names needles: texts of which every such line contains at least one. One search
//! (Aho-Corasick) looks for all needles at once in all bytes that have come. A line without a needle is
//! skipped; a line with one is parsed like any other. The search knows nothing about JSON.

use aho_corasick::{AhoCorasick, Input, MatchKind};

/// Searches for the needles of an agent.
#[derive(Default)]
pub(crate) struct Prefilter {
    needles: &'static [&'static str],
    searcher: Option<AhoCorasick>,
}

impl Prefilter {
    /// The position of the first needle in `bytes`, from `from` on. `needles` may change from call to call.
    pub(crate) fn find(
        &mut self,
        needles: &'static [&'static str],
        bytes: &[u8],
        from: usize,
    ) -> Option<usize> {
        if self.needles != needles {
            self.needles = needles;
            self.searcher = None;
        }
        let searcher = self.searcher.get_or_insert_with(|| searcher(needles));
        searcher.find(Input::new(bytes).range(from..)).map(|it| it.start())
    }
}

fn searcher(needles: &[&str]) -> AhoCorasick {
    // Unlike the default kind, this one is searched with SIMD instructions where the processor has them.
    let mut builder = AhoCorasick::builder();
    builder.match_kind(MatchKind::LeftmostFirst);
    builder.build(needles).expect("there are only a few short needles")
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
                let is_hit = |at: &usize| NEEDLES.iter().any(|it| bytes[*at..].starts_with(it.as_bytes()));
                let plain = (from..bytes.len()).find(is_hit);
                prop_assert_eq!(prefilter.find(NEEDLES, &bytes, from.min(bytes.len())), plain);
                from += step;
            }
        }
    }

    #[test]
    fn needles_may_change() {
        let mut prefilter = Prefilter::default();
        let bytes = b"one two three";
        assert_eq!(prefilter.find(&["two"], bytes, 0), Some(4));
        assert_eq!(prefilter.find(&["three", "one"], bytes, 1), Some(8));
        assert_eq!(prefilter.find(&[], bytes, 0), None);
    }
}

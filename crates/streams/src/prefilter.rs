//! Finds the lines that can change a list without reading the others.
//!
//! Each agent names texts of which every such line has one. A line that has none of them is skipped; a
//! line that has one is read like any other. It knows nothing of what is in a line.

use memchr::memmem::Finder;

/// What is looked for.
#[derive(Default)]
pub(crate) struct Prefilter {
    needles: &'static [&'static str],
    finders: Vec<Finder<'static>>,
    /// Where each needle stands next in the bytes that are looked through, as far as that is known.
    next: Vec<Next>,
}

/// Where a needle stands next.
#[derive(Clone, Copy)]
enum Next {
    /// Nobody has looked from this place on.
    Unknown,
    At(usize),
    Nowhere,
}

impl Prefilter {
    /// Other bytes are looked through from now on.
    pub(crate) fn begin(&mut self) {
        self.next.fill(Next::Unknown);
    }

    /// Where the first of the needles stands, from `from` on, if what begins there passes `is_telling`. The
    /// bytes must be the same since [`Self::begin`], and `from` must not go back.
    pub(crate) fn find(
        &mut self,
        needles: &'static [&'static str],
        is_telling: impl Fn(&[u8]) -> bool,
        bytes: &[u8],
        from: usize,
    ) -> Option<usize> {
        if self.needles != needles {
            self.needles = needles;
            self.finders = needles.iter().map(|it| Finder::new(*it)).collect();
            self.next = vec![Next::Unknown; needles.len()];
        }
        let mut first: Option<usize> = None;
        for (finder, next) in self.finders.iter().zip(&mut self.next) {
            // Each needle is looked for once in each part of the bytes.
            if matches!(next, Next::Unknown) || matches!(next, Next::At(at) if *at < from) {
                let rest = bytes.get(from..).unwrap_or_default();
                let found = finder.find_iter(rest).find(|it| is_telling(&rest[*it..]));
                *next = found.map_or(Next::Nowhere, |it| Next::At(from + it));
            }
            if let Next::At(at) = *next {
                first = Some(first.map_or(at, |it| it.min(at)));
            }
        }
        first
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
            prefilter.begin();
            let mut from = 0;
            for step in steps {
                let is_telling = |it: &[u8]| !it.starts_with(b"\"Tx");
                let is_hit = |at: &usize| {
                    let rest = &bytes[*at..];
                    NEEDLES.iter().any(|it| rest.starts_with(it.as_bytes())) && is_telling(rest)
                };
                let plain = (from..bytes.len()).find(is_hit);
                prop_assert_eq!(prefilter.find(NEEDLES, is_telling, &bytes, from), plain);
                from += step;
            }
        }
    }
}

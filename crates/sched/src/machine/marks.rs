//! A set of calls, of which the first is asked for most: a bit for each, and where they begin.

use std::fmt;

use crate::call::CallId;

#[derive(Clone, Default)]
pub(super) struct Marks {
    words: Vec<u64>,
    /// No word before this one has a bit, and if any has one, this has.
    first: usize,
}

impl Marks {
    pub(super) fn insert(&mut self, id: CallId) {
        let (at, bit) = place(id);
        if at >= self.words.len() {
            self.words.resize(at + 1, 0);
        }
        if let Some(word) = self.words.get_mut(at) {
            *word |= bit;
        }
        self.first = self.first.min(at);
        self.settle();
    }

    /// Says whether it was there.
    pub(super) fn remove(&mut self, id: CallId) -> bool {
        let (at, bit) = place(id);
        let Some(word) = self.words.get_mut(at) else { return false };
        let was = *word & bit != 0;
        *word &= !bit;
        self.settle();
        was
    }

    pub(super) fn first(&self) -> Option<CallId> {
        let word = self.words.get(self.first).filter(|it| **it != 0)?;
        let at = u32::try_from(self.first).ok()?;
        Some(CallId(at * u64::BITS + word.trailing_zeros()))
    }

    /// Goes on to the first word that has a bit, or to the end.
    fn settle(&mut self) {
        while self.words.get(self.first) == Some(&0) {
            self.first += 1;
        }
    }

    fn iter(&self) -> impl Iterator<Item = CallId> {
        (0..).zip(&self.words).flat_map(|(at, word)| {
            let bits = (0..u64::BITS).filter(move |bit| word & (1 << bit) != 0);
            bits.map(move |bit| CallId(at * u64::BITS + bit))
        })
    }
}

fn place(id: CallId) -> (usize, u64) {
    let at = usize::try_from(id.0 / u64::BITS).unwrap_or(usize::MAX);
    (at, 1 << (id.0 % u64::BITS))
}

impl fmt::Debug for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_set(acts in prop::collection::vec((any::<bool>(), 0..300_u32), 0..200)) {
            let (mut marks, mut set) = (Marks::default(), BTreeSet::new());
            for (puts, id) in acts {
                let id = CallId(id);
                if puts {
                    marks.insert(id);
                    set.insert(id);
                } else {
                    prop_assert_eq!(marks.remove(id), set.remove(&id));
                }
                prop_assert_eq!(marks.first(), set.first().copied());
                prop_assert!(marks.iter().eq(set.iter().copied()));
            }
        }
    }
}

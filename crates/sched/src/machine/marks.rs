//! A set of calls, of which the first is asked for most: a bit for each, a bit for each word of bits that
//! is not empty, and where those begin.

use std::fmt;
use std::ops::Range;

use crate::call::CallId;

#[derive(Clone, Default)]
pub(super) struct Marks {
    words: Vec<u64>,
    /// Which words have a bit, so that few are passed by when the first one goes.
    groups: Vec<u64>,
    /// How many calls there are.
    count: usize,
    /// If there are any, the first group that has a bit.
    first: usize,
}

impl Marks {
    pub(super) fn insert(&mut self, id: CallId) {
        let (at, bit) = place(id.0);
        let (group_at, group_bit) = place(at);
        let (at, group_at) = (index(at), index(group_at));
        if at >= self.words.len() {
            self.words.resize(at + 1, 0);
            self.groups.resize(group_at + 1, 0);
        }
        let Some(word) = self.words.get_mut(at) else { return };
        if *word & bit != 0 {
            return;
        }
        *word |= bit;
        if let Some(group) = self.groups.get_mut(group_at) {
            *group |= group_bit;
        }
        self.first = if self.count == 0 { group_at } else { self.first.min(group_at) };
        self.count += 1;
    }

    /// Puts all of these in.
    pub(super) fn insert_all(&mut self, ids: Range<u32>) {
        ids.map(CallId).for_each(|id| self.insert(id));
    }

    /// Says whether it was there.
    pub(super) fn remove(&mut self, id: CallId) -> bool {
        let (at, bit) = place(id.0);
        let Some(word) = self.words.get_mut(index(at)) else { return false };
        if *word & bit == 0 {
            return false;
        }
        *word &= !bit;
        self.count -= 1;
        let (group_at, group_bit) = place(at);
        if *word == 0
            && let Some(group) = self.groups.get_mut(index(group_at))
        {
            *group &= !group_bit;
        }
        // Where there is none, nobody looks for the first.
        while self.count > 0 && self.groups.get(self.first) == Some(&0) {
            self.first += 1;
        }
        true
    }

    pub(super) fn first(&self) -> Option<CallId> {
        let group = self.groups.get(self.first).filter(|_| self.count > 0)?;
        let at = u32::try_from(self.first).ok()? * u64::BITS + group.trailing_zeros();
        let word = self.words.get(index(at))?;
        Some(CallId(at * u64::BITS + word.trailing_zeros()))
    }

    fn iter(&self) -> impl Iterator<Item = CallId> {
        (0..).zip(&self.words).flat_map(|(at, word)| {
            let bits = (0..u64::BITS).filter(move |bit| word & (1 << bit) != 0);
            bits.map(move |bit| CallId(at * u64::BITS + bit))
        })
    }
}

/// Which word a bit is in, and the bit.
fn place(n: u32) -> (u32, u64) {
    (n / u64::BITS, 1 << (n % u64::BITS))
}

fn index(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
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

    /// Some that lie close together, and some that do not.
    fn numbers() -> impl Strategy<Value = u32> {
        prop_oneof![0..300_u32, 0..20_000_u32]
    }

    proptest! {
        #[test]
        fn it_is_a_set(acts in prop::collection::vec((any::<bool>(), numbers()), 0..200)) {
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

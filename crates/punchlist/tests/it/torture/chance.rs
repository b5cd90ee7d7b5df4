//! Repeatable random numbers: the seed is printed.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// A random seed, short enough to type.
pub(super) fn seed() -> u64 {
    RandomState::new().hash_one(0) >> 32
}

/// Random numbers from a seed (splitmix64).
#[derive(Clone)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to one below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.number() % end.max(1)
    }

    /// A unique word.
    pub(super) fn word(&mut self) -> String {
        const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
        let letter = |_| char::from(LETTERS[usize::try_from(self.below(26)).unwrap()]);
        (0..12).map(letter).collect()
    }
}

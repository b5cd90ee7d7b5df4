//! Many bytes compared at once: with the instructions that every x86-64 processor has, with wider ones
//! where there are, and plainly elsewhere. All ways give the same, and a test holds them together.

pub(super) mod pairs;

/// How many bytes are looked at in a string at once.
pub(super) const BLOCK: usize = 64;

/// Which bytes of a block mean something in a string. The lowest bit is the first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Specials {
    /// Quotes.
    pub(super) quotes: u64,
    /// Backslashes.
    pub(super) slashes: u64,
    /// Whether there are control characters, which may not stand in a string.
    pub(super) has_controls: bool,
}

/// How many bytes are looked at first: most strings are short.
pub(super) const SHORT: usize = 16;

/// A way to compare many bytes at once. Whoever has one may use it.
pub(super) trait Width: Copy {
    /// Which of the first bytes are quotes, and which are no plain characters.
    fn quotes_and_others(self, bytes: &[u8; SHORT]) -> (u32, u32);

    /// Finds what means something in a string.
    fn specials(self, bytes: &[u8; BLOCK]) -> Specials;

    /// Which of these bytes make a whole escape with a backslash before them.
    fn short_escapes(self, bytes: &[u8; BLOCK]) -> u64;

    /// Where a string ends that ends within a few bytes and has nothing but plain characters: most keys.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what it is made of differs from processor to processor"
    )]
    fn short(self, bytes: &[u8; SHORT]) -> Option<usize> {
        let (quotes, others) = self.quotes_and_others(bytes);
        // Nothing else stands before the quote.
        (quotes != 0 && others & quotes.wrapping_sub(1) & !quotes == 0)
            .then(|| quotes.trailing_zeros() as usize)
    }
}

/// What every processor can.
#[derive(Clone, Copy, Debug)]
pub(super) struct Narrow;

impl Width for Narrow {
    #[inline]
    fn quotes_and_others(self, bytes: &[u8; SHORT]) -> (u32, u32) {
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "the compiler wants a word that the processor has SSE2")]
        // SAFETY: SSE2 is part of x86-64, and the function takes references, not pointers.
        return unsafe { sse2::short(bytes) };
        #[cfg(not(target_arch = "x86_64"))]
        plain::short(bytes)
    }

    #[inline]
    fn specials(self, bytes: &[u8; BLOCK]) -> Specials {
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "the compiler wants a word that the processor has SSE2")]
        // SAFETY: SSE2 is part of x86-64, and the function takes references, not pointers.
        return unsafe { sse2::specials(bytes) };
        #[cfg(not(target_arch = "x86_64"))]
        plain::specials(bytes)
    }

    #[inline]
    fn short_escapes(self, bytes: &[u8; BLOCK]) -> u64 {
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "the compiler wants a word that the processor has SSE2")]
        // SAFETY: SSE2 is part of x86-64, and the function takes references, not pointers.
        return unsafe { sse2::short_escapes(bytes) };
        #[cfg(not(target_arch = "x86_64"))]
        plain::short_escapes(bytes)
    }
}

/// Registers of 32 bytes. There is one only where the processor has them.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    /// The way, if this processor has it.
    #[inline]
    pub(super) fn find() -> Option<Self> {
        std::arch::is_x86_feature_detected!("avx2").then_some(Self(()))
    }
}

#[cfg(target_arch = "x86_64")]
#[expect(clippy::inline_always, reason = "only within a function for AVX2 is it one with it")]
impl Width for Avx2 {
    #[inline(always)]
    fn quotes_and_others(self, bytes: &[u8; SHORT]) -> (u32, u32) {
        Narrow.quotes_and_others(bytes)
    }

    #[inline(always)]
    fn specials(self, bytes: &[u8; BLOCK]) -> Specials {
        #[expect(unsafe_code, reason = "the compiler wants a word that the processor has AVX2")]
        // SAFETY: whoever made this value asked for AVX2, and the function takes references.
        unsafe {
            avx2::specials(bytes)
        }
    }

    #[inline(always)]
    fn short_escapes(self, bytes: &[u8; BLOCK]) -> u64 {
        #[expect(unsafe_code, reason = "the compiler wants a word that the processor has AVX2")]
        // SAFETY: whoever made this value asked for AVX2, and the function takes references.
        unsafe {
            avx2::short_escapes(bytes)
        }
    }
}

/// Which bytes are backslashes that escape what follows: of each run of them every other, from the first.
#[inline]
pub(super) fn escaping(slashes: u64) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let starts = slashes & !(slashes << 1);
    // Adding its start to a run makes it vanish; so runs from even places are told from the others.
    let from_even = slashes & !slashes.wrapping_add(starts & EVEN);
    (from_even & EVEN) | (slashes & !from_even & !EVEN)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
mod plain {
    use super::{BLOCK, SHORT, Specials};

    pub(super) fn specials(bytes: &[u8; BLOCK]) -> Specials {
        Specials {
            quotes: mask(bytes, |it| it == b'"'),
            slashes: mask(bytes, |it| it == b'\\'),
            has_controls: bytes.iter().any(|it| *it < 0x20),
        }
    }

    pub(super) fn short(bytes: &[u8; SHORT]) -> (u32, u32) {
        let (mut quotes, mut others) = (0, 0);
        for (at, byte) in bytes.iter().enumerate() {
            quotes |= u32::from(*byte == b'"') << at;
            others |= u32::from(matches!(byte, b'\\' | 0..0x20)) << at;
        }
        (quotes, others)
    }

    pub(super) fn short_escapes(bytes: &[u8; BLOCK]) -> u64 {
        mask(bytes, |it| b"\"\\/bfnrt".contains(&it))
    }

    fn mask(bytes: &[u8; BLOCK], is_one: impl Fn(u8) -> bool) -> u64 {
        let bit = |(at, byte): (usize, &u8)| u64::from(is_one(*byte)) << at;
        bytes.iter().enumerate().map(bit).sum()
    }
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x,
        _mm_set1_epi8,
    };

    use super::{BLOCK, SHORT, Specials};

    /// Sixteen bytes from `at` on.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn load<const N: usize>(bytes: &[u8; N], at: usize) -> __m128i {
        let half = |at: usize| {
            let mut half = [0; 8];
            half.copy_from_slice(&bytes[at..at + 8]);
            i64::from_le_bytes(half)
        };
        _mm_set_epi64x(half(at + 8), half(at))
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn all(byte: u8) -> __m128i {
        _mm_set1_epi8(byte.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn bits(first: __m128i, second: __m128i, third: __m128i, fourth: __m128i) -> u64 {
        let first = _mm_movemask_epi8(first).cast_unsigned()
            | _mm_movemask_epi8(second).cast_unsigned() << 16;
        let last = _mm_movemask_epi8(third).cast_unsigned()
            | _mm_movemask_epi8(fourth).cast_unsigned() << 16;
        u64::from(first) | u64::from(last) << 32
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn specials(bytes: &[u8; BLOCK]) -> Specials {
        let (a, b, c, d) = (load(bytes, 0), load(bytes, 16), load(bytes, 32), load(bytes, 48));
        let (quote, slash, control) = (all(b'"'), all(b'\\'), all(0x1f));
        Specials {
            quotes: bits(
                _mm_cmpeq_epi8(a, quote),
                _mm_cmpeq_epi8(b, quote),
                _mm_cmpeq_epi8(c, quote),
                _mm_cmpeq_epi8(d, quote),
            ),
            slashes: bits(
                _mm_cmpeq_epi8(a, slash),
                _mm_cmpeq_epi8(b, slash),
                _mm_cmpeq_epi8(c, slash),
                _mm_cmpeq_epi8(d, slash),
            ),
            has_controls: {
                // The lowest of them is low only if one of the four is.
                let lowest = _mm_min_epu8(_mm_min_epu8(a, b), _mm_min_epu8(c, d));
                let is_low = _mm_cmpeq_epi8(_mm_min_epu8(lowest, control), lowest);
                _mm_movemask_epi8(is_low) != 0
            },
        }
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn short(bytes: &[u8; SHORT]) -> (u32, u32) {
        let here = load(bytes, 0);
        let controls = _mm_cmpeq_epi8(_mm_min_epu8(here, all(0x1f)), here);
        let others = _mm_or_si128(_mm_cmpeq_epi8(here, all(b'\\')), controls);
        let quotes = _mm_movemask_epi8(_mm_cmpeq_epi8(here, all(b'"')));
        (quotes.cast_unsigned(), _mm_movemask_epi8(others).cast_unsigned())
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn short_escapes(bytes: &[u8; BLOCK]) -> u64 {
        bits(
            escapes(load(bytes, 0)),
            escapes(load(bytes, 16)),
            escapes(load(bytes, 32)),
            escapes(load(bytes, 48)),
        )
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn escapes(bytes: __m128i) -> __m128i {
        let is = |byte: u8| _mm_cmpeq_epi8(bytes, all(byte));
        let or = |one, other| _mm_or_si128(one, other);
        let signs = or(or(is(b'"'), is(b'\\')), or(is(b'/'), is(b'b')));
        or(signs, or(or(is(b'f'), is(b'n')), or(is(b'r'), is(b't'))))
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8,
        _mm256_movemask_epi8, _mm256_set1_epi8, _mm256_setr_epi8, _mm256_setzero_si256,
        _mm256_shuffle_epi8, _mm256_srli_epi16,
    };

    use super::{BLOCK, Specials};

    /// The two halves of a block.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(bytes: &[u8; BLOCK]) -> (__m256i, __m256i) {
        let halves = bytes.as_ptr().cast::<__m256i>();
        #[expect(unsafe_code, reason = "made of smaller parts, it is loaded in parts")]
        // SAFETY: the block has as many bytes as two registers, and they need not be aligned.
        unsafe {
            (_mm256_loadu_si256(halves), _mm256_loadu_si256(halves.add(1)))
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn all(byte: u8) -> __m256i {
        _mm256_set1_epi8(byte.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn bits(first: __m256i, second: __m256i) -> u64 {
        let first = _mm256_movemask_epi8(first).cast_unsigned();
        let second = _mm256_movemask_epi8(second).cast_unsigned();
        u64::from(first) | u64::from(second) << 32
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn specials(bytes: &[u8; BLOCK]) -> Specials {
        let (a, b) = load(bytes);
        let (quote, slash, control) = (all(b'"'), all(b'\\'), all(0x1f));
        let lowest = _mm256_min_epu8(a, b);
        let is_low = _mm256_cmpeq_epi8(_mm256_min_epu8(lowest, control), lowest);
        Specials {
            quotes: bits(_mm256_cmpeq_epi8(a, quote), _mm256_cmpeq_epi8(b, quote)),
            slashes: bits(_mm256_cmpeq_epi8(a, slash), _mm256_cmpeq_epi8(b, slash)),
            has_controls: _mm256_movemask_epi8(is_low) != 0,
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn short_escapes(bytes: &[u8; BLOCK]) -> u64 {
        let (a, b) = load(bytes);
        !bits(no_escapes(a), no_escapes(b))
    }

    /// Each half of a byte is looked up: a bit for each upper half that there is, 2, 5, 6 and 7, and for
    /// each lower half the upper ones that go with it.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn no_escapes(bytes: __m256i) -> __m256i {
        let (two, five, six, seven) = (1, 2, 4, 8);
        let b_quote_r = two | six | seven;
        #[rustfmt::skip]
        let lower = _mm256_setr_epi8(
            0, 0, b_quote_r, 0, seven, 0, six, 0, 0, 0, 0, 0, five, 0, six, two,
            0, 0, b_quote_r, 0, seven, 0, six, 0, 0, 0, 0, 0, five, 0, six, two,
        );
        #[rustfmt::skip]
        let upper = _mm256_setr_epi8(
            0, 0, two, 0, 0, five, six, seven, 0, 0, 0, 0, 0, 0, 0, 0,
            0, 0, two, 0, 0, five, six, seven, 0, 0, 0, 0, 0, 0, 0, 0,
        );
        let half = all(0x0f);
        let lower = _mm256_shuffle_epi8(lower, _mm256_and_si256(bytes, half));
        let above = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), half);
        let upper = _mm256_shuffle_epi8(upper, above);
        _mm256_cmpeq_epi8(_mm256_and_si256(lower, upper), _mm256_setzero_si256())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_ways_find_the_same(
            bytes in prop::collection::vec(
                prop_oneof![any::<u8>(), prop::sample::select(b"\"\\/bfnrtu\n\x1f\x20\x7f\x80\xff".to_vec())],
                BLOCK,
            ),
        ) {
            let block: &[u8; BLOCK] = bytes[..].try_into().unwrap();
            prop_assert_eq!(Narrow.specials(block), plain::specials(block));
            prop_assert_eq!(Narrow.short_escapes(block), plain::short_escapes(block));
            #[cfg(target_arch = "x86_64")]
            if let Some(wide) = Avx2::find() {
                prop_assert_eq!(wide.specials(block), plain::specials(block));
                prop_assert_eq!(wide.short_escapes(block), plain::short_escapes(block));
            }
            let head: &[u8; SHORT] = bytes[..SHORT].try_into().unwrap();
            let first = head.iter().position(|it| matches!(it, b'"' | b'\\' | 0..0x20));
            prop_assert_eq!(Narrow.short(head), first.filter(|it| head[*it] == b'"'));
            prop_assert_eq!(Narrow.quotes_and_others(head), plain::short(head));
        }

        #[test]
        fn every_other_backslash_of_a_run_escapes(slashes in any::<u64>(), others in any::<u64>()) {
            let slashes = slashes | others;
            let (mut expected, mut is_escaped) = (0, false);
            for bit in 0..64 {
                let is_escaping = slashes >> bit & 1 == 1 && !is_escaped;
                expected |= u64::from(is_escaping) << bit;
                is_escaped = is_escaping;
            }
            prop_assert_eq!(escaping(slashes), expected);
        }
    }
}

//! Many bytes compared at once: with the instructions that every x86-64 processor has, and plainly
//! elsewhere. Both ways give the same, and a test holds them together.

/// How many bytes [`specials`] takes.
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

/// How many bytes [`short`] takes.
pub(super) const SHORT: usize = 16;

/// Where a string ends that ends within a few bytes and has nothing but plain characters: most keys.
#[inline]
pub(super) fn short(bytes: &[u8; SHORT]) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "the compiler wants a word that the processor has SSE2")]
    // SAFETY: SSE2 is part of x86-64, and the function takes references, not pointers.
    let (quotes, others) = unsafe { sse2::short(bytes) };
    #[cfg(not(target_arch = "x86_64"))]
    let (quotes, others) = plain::short(bytes);
    // Nothing else stands before the quote.
    (quotes != 0 && others & quotes.wrapping_sub(1) & !quotes == 0)
        .then(|| quotes.trailing_zeros() as usize)
}

/// Finds what means something in a string.
#[inline]
pub(super) fn specials(bytes: &[u8; BLOCK]) -> Specials {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "the compiler wants a word that the processor has SSE2")]
    // SAFETY: SSE2 is part of x86-64, and the function takes references, not pointers.
    return unsafe { sse2::specials(bytes) };
    #[cfg(not(target_arch = "x86_64"))]
    plain::specials(bytes)
}

/// Which of these bytes make a whole escape with a backslash before them.
#[inline]
pub(super) fn short_escapes(bytes: &[u8; BLOCK]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "the compiler wants a word that the processor has SSE2")]
    // SAFETY: SSE2 is part of x86-64, and the function takes references, not pointers.
    return unsafe { sse2::short_escapes(bytes) };
    #[cfg(not(target_arch = "x86_64"))]
    plain::short_escapes(bytes)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_ways_find_the_same(
            bytes in prop::collection::vec(
                prop_oneof![any::<u8>(), prop::sample::select(b"\"\\\n\x1f\x20\x7f\x80\xff".to_vec())],
                BLOCK,
            ),
        ) {
            let block: &[u8; BLOCK] = bytes[..].try_into().unwrap();
            prop_assert_eq!(specials(block), plain::specials(block));
            prop_assert_eq!(short_escapes(block), plain::short_escapes(block));
            let head: &[u8; SHORT] = bytes[..SHORT].try_into().unwrap();
            let first = head.iter().position(|it| matches!(it, b'"' | b'\\' | 0..0x20));
            prop_assert_eq!(short(head), first.filter(|it| head[*it] == b'"'));
            #[cfg(target_arch = "x86_64")]
            {
                #[expect(unsafe_code, reason = "the compiler wants a word that the processor has SSE2")]
                // SAFETY: SSE2 is part of x86-64.
                let wide = unsafe { sse2::short(head) };
                prop_assert_eq!(wide, plain::short(head));
            }
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

//! Two bytes that stand some way apart, looked for in many bytes at once.
//!
//! It is written twice: plainly, for the compiler to compare as many bytes at once as every processor can,
//! and by hand for those with registers of 32 bytes, where what a compiler makes of it takes half as many
//! instructions more. Both give the same, and a test holds them together.

/// How many bytes are looked at for pairs at once, few enough that a byte can count what is in them; and
/// how far apart the two of a pair may be.
pub(crate) const STRIDE: usize = 224;
pub(crate) const REACH: usize = 16;

/// How far ahead memory is asked for. The processor itself does not look beyond a page of 4 KiB.
const AHEAD: usize = 4 << 10;

/// Two bytes that stand some way apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pair {
    pub(crate) first: u8,
    second: u8,
    apart: usize,
}

impl Pair {
    /// A pair that says nothing.
    pub(crate) const NONE: Self = Self { first: 0, second: 0, apart: 0 };

    /// Two bytes, and how far the second is behind the first.
    pub(crate) const fn new(first: u8, second: u8, apart: usize) -> Self {
        assert!(apart <= REACH, "a pair must be near enough");
        Self { first, second, apart }
    }
}

/// How far a look for pairs came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Looked {
    /// Whether one of the pairs begins in the stride that begins here. If not, this is where the strides
    /// end that are whole and have their reach behind them.
    pub(crate) is_hit: bool,
    /// Where.
    pub(crate) at: usize,
    /// How many line ends are before it.
    pub(crate) newlines: u64,
}

/// Looks for the first stride in which one of the pairs begins, and counts line ends on the way.
#[inline]
pub(crate) fn first_pair(bytes: &[u8], pairs: &[Pair]) -> Looked {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[expect(unsafe_code, reason = "the compiler wants a word that the processor has AVX2")]
        // SAFETY: it has been asked for, and the function takes references, not pointers.
        return unsafe { widely(bytes, pairs) };
    }
    plainly(bytes, pairs)
}

/// The same with registers of 32 bytes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn widely(bytes: &[u8], pairs: &[Pair]) -> Looked {
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi64, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256,
        _mm256_or_si256, _mm256_sad_epu8, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_sub_epi8,
        _mm256_testz_si256,
    };
    let load = |here: &[u8; STRIDE + REACH], at: usize| {
        let from = &here[at..at + size_of::<__m256i>()];
        #[expect(unsafe_code, reason = "made of smaller parts, it is loaded in parts")]
        // SAFETY: the slice has as many bytes as a register, and they need not be aligned.
        unsafe {
            _mm256_loadu_si256(from.as_ptr().cast())
        }
    };
    let all = |byte: u8| _mm256_set1_epi8(byte.cast_signed());
    let (newline, none) = (all(b'\n'), _mm256_setzero_si256());
    let mut newlines = none;
    let mut looked = Looked { is_hit: false, at: 0, newlines: 0 };
    while let Some(here) =
        bytes.get(looked.at..).and_then(|it| it.first_chunk::<{ STRIDE + REACH }>())
    {
        fetch(bytes, looked.at + AHEAD);
        let mut has = none;
        for pair in pairs {
            let (first, second, apart) = (all(pair.first), all(pair.second), pair.apart.min(REACH));
            for at in (0..STRIDE).step_by(size_of::<__m256i>()) {
                let first = _mm256_cmpeq_epi8(load(here, at), first);
                let second = _mm256_cmpeq_epi8(load(here, at + apart), second);
                has = _mm256_or_si256(has, _mm256_and_si256(first, second));
            }
        }
        if _mm256_testz_si256(has, has) == 0 {
            looked.is_hit = true;
            break;
        }
        // What is equal is -1 in its byte; so many blocks are too few for a byte to overflow.
        let mut count = none;
        for at in (0..STRIDE).step_by(size_of::<__m256i>()) {
            count = _mm256_sub_epi8(count, _mm256_cmpeq_epi8(load(here, at), newline));
        }
        newlines = _mm256_add_epi64(newlines, _mm256_sad_epu8(count, none));
        looked.at += STRIDE;
    }
    looked.newlines = sum(newlines);
    looked
}

/// The sum of the four numbers in a register.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sum(numbers: std::arch::x86_64::__m256i) -> u64 {
    use std::arch::x86_64::{
        _mm_add_epi64, _mm_cvtsi128_si64, _mm_unpackhi_epi64, _mm256_castsi256_si128,
        _mm256_extracti128_si256,
    };
    let two =
        _mm_add_epi64(_mm256_castsi256_si128(numbers), _mm256_extracti128_si256::<1>(numbers));
    _mm_cvtsi128_si64(_mm_add_epi64(two, _mm_unpackhi_epi64(two, two))).cast_unsigned()
}

/// The same for every processor.
fn plainly(bytes: &[u8], pairs: &[Pair]) -> Looked {
    let mut looked = Looked { is_hit: false, at: 0, newlines: 0 };
    while let Some(here) =
        bytes.get(looked.at..).and_then(|it| it.first_chunk::<{ STRIDE + REACH }>())
    {
        fetch(bytes, looked.at + AHEAD);
        if pairs.iter().any(|it| has(here, *it)) {
            looked.is_hit = true;
            return looked;
        }
        looked.newlines += u64::from(newlines(here));
        looked.at += STRIDE;
    }
    looked
}

/// Asks for the memory of a stride, so that it is there when it is looked at.
#[inline]
fn fetch(bytes: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..STRIDE.div_ceil(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let place = bytes.as_ptr().wrapping_add(at + 64 * line);
        #[expect(unsafe_code, reason = "it takes a pointer")]
        // SAFETY: nothing is read; a place that is not ours is not asked for.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(place.cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, at);
}

fn newlines(bytes: &[u8; STRIDE + REACH]) -> u8 {
    let mut count = 0;
    for byte in bytes.iter().take(STRIDE) {
        count += u8::from(*byte == b'\n');
    }
    count
}

fn has(bytes: &[u8; STRIDE + REACH], pair: Pair) -> bool {
    let firsts = bytes.first_chunk::<STRIDE>();
    let seconds = bytes.get(pair.apart..).and_then(|it| it.first_chunk::<STRIDE>());
    let (Some(firsts), Some(seconds)) = (firsts, seconds) else { return true };
    let mut has = 0;
    for (first, second) in firsts.iter().zip(seconds) {
        has |= u8::from(*first == pair.first) & u8::from(*second == pair.second);
    }
    has != 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_pair_is_found_in_the_stride_that_it_begins_in(
            length in 0..5 * STRIDE,
            apart in 0..=REACH,
            place in any::<prop::sample::Index>(),
            newlines in any::<bool>(),
        ) {
            let mut bytes = vec![if newlines { b'\n' } else { b'x' }; length];
            let pairs = [Pair::new(b'n', b'o', 1), Pair::new(b'a', b'a', apart)];
            let whole = length.saturating_sub(REACH) / STRIDE * STRIDE;
            let count = |at: usize| if newlines { at as u64 } else { 0 };
            let looked = |is_hit, at| Looked { is_hit, at, newlines: count(at) };
            prop_assert_eq!(first_pair(&bytes, &pairs), looked(false, whole));
            if length > REACH {
                let first = place.index(length - REACH);
                (bytes[first], bytes[first + apart]) = (b'a', b'a');
                let stride = first / STRIDE * STRIDE;
                prop_assert_eq!(first_pair(&bytes, &pairs), looked(stride < whole, stride.min(whole)));
            }
            prop_assert_eq!(first_pair(&bytes, &pairs), plainly(&bytes, &pairs));
        }
    }
}

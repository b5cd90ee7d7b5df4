//! Prepares JSON text of other programs for serde_json: replaces unpaired surrogate escapes by
//! U+FFFD.
//!
//! JavaScript may cut a text between the two halves of an emoji and write the remaining half as
//! `"\ud83d"`. The JSON grammar allows that, but serde_json refuses the whole message. Code that
//! reads JSON of an agent (streams, hooks, MCP) calls [`replace_lone_surrogates`] first. Nothing
//! else changes, and the length stays the same.

use std::borrow::Cow;

use memchr::{memchr, memmem};

/// What replaces an unpaired surrogate escape. It has the same length.
const REPLACEMENT: &[u8; 6] = b"\\ufffd";

/// Replaces each unpaired surrogate escape by U+FFFD. Bytes that are not JSON stay unchanged.
pub fn replace_lone_surrogates(json: &[u8]) -> Cow<'_, [u8]> {
    let is_surrogate = |at: usize| matches!(json.get(at + 2), Some(b'd' | b'D'));
    if !memmem::find_iter(json, b"\\u").any(is_surrogate) {
        return Cow::Borrowed(json);
    }
    let mut mended: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(found) = json.get(at..).and_then(|it| memchr(b'\\', it)) {
        at += found;
        let Some(unit) = unit(json, at) else {
            // Another escape: skip the backslash and the character after it.
            at += 2;
            continue;
        };
        let is_high = (0xD800..0xDC00).contains(&unit);
        let has_low = unit_between(json, at + 6, 0xDC00..0xE000);
        if is_high && has_low {
            at += 12;
            continue;
        }
        if (0xD800..0xE000).contains(&unit)
            && let Some(half) =
                mended.get_or_insert_with(|| json.to_vec()).get_mut(at..at + REPLACEMENT.len())
        {
            half.copy_from_slice(REPLACEMENT);
        }
        at += 6;
    }
    mended.map_or(Cow::Borrowed(json), Cow::Owned)
}

/// The UTF-16 unit of the escape `\uXXXX` at `at`.
fn unit(json: &[u8], at: usize) -> Option<u32> {
    let [b'\\', b'u', digits @ ..] = json.get(at..at + 6)? else { return None };
    digits.iter().try_fold(0, |unit, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(unit * 16 + digit)
    })
}

fn unit_between(json: &[u8], at: usize, range: std::ops::Range<u32>) -> bool {
    unit(json, at).is_some_and(|it| range.contains(&it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &str) {
        let mended = replace_lone_surrogates(json.as_bytes());
        assert_eq!(std::str::from_utf8(&mended), Ok(expected));
        assert_eq!(json == expected, matches!(mended, Cow::Borrowed(_)), "{json}");
    }

    #[test]
    fn a_half_without_the_other_becomes_the_replacement_character() {
        check(r#""a\ud83d""#, r#""a\ufffd""#);
        check(r#""\uDE00b""#, r#""\ufffdb""#);
        check(r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#);
        check(r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#);
        check(r#"{"\ud800":"\uD8ff\n"}"#, r#"{"\ufffd":"\ufffd\n"}"#);
    }

    #[test]
    fn whole_characters_and_what_only_looks_like_a_half_stay() {
        check(r#""\ud83d\ude00""#, r#""\ud83d\ude00""#);
        check(r#""\\ud83d""#, r#""\\ud83d""#);
        check(r#""\\\ud83d""#, r#""\\\ufffd""#);
        check(r#""\ud7ff \ue000 \uD7FF""#, r#""\ud7ff \ue000 \uD7FF""#);
        check("\"\u{1f600}\"", "\"\u{1f600}\"");
    }

    #[test]
    fn bytes_that_are_no_json_stay() {
        for bytes in ["\\", "\\u", "\\ud8", "\\ud83", "\\udzzz", "\\ud8\u{e9}", "\\ud83\\ud83"] {
            check(bytes, bytes);
        }
    }

    proptest::proptest! {
        #[test]
        fn what_was_mended_is_read_wherever_the_halves_stand(
            inner in r#"(\\ud83d|\\ude00|\\\\|\\n|u|d83d|ü|\\u0041){0,30}"#,
        ) {
            let json = format!("\"{inner}\"");
            proptest::prop_assert!(serde_json::from_slice::<String>(&replace_lone_surrogates(json.as_bytes())).is_ok());
        }
    }
}

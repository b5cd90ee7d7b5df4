//! Parses durations as people write them.

use jiff::{Span, SpanRelativeTo};

/// Whole seconds: `90`, `90s`, `15m`, `1h30m`, `2 min`, `1d`. A bare number means seconds.
pub fn seconds(text: &str) -> Option<u32> {
    let text = text.trim().to_ascii_lowercase();
    // Signs and fractions are not allowed.
    if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b' ') {
        return None;
    }
    if let Ok(seconds) = text.parse() {
        return Some(seconds);
    }
    let span: Span = text.parse().ok()?;
    if span.get_weeks() != 0 {
        return None;
    }
    // Years and months have no fixed length, so they are an error.
    let length = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    u32::try_from(length.as_secs()).ok().filter(|_| length.subsec_nanos() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let table = [
            ("90", Some(90)),
            ("90s", Some(90)),
            ("5m", Some(300)),
            ("1h30m", Some(5400)),
            ("1 h 30 min", Some(5400)),
            ("0", Some(0)),
            ("2 mins", Some(120)),
            ("3 Hours", Some(10_800)),
            ("1d", Some(86_400)),
            ("", None),
            ("m", None),
            ("1m30", None),
            ("5 parsecs", None),
            ("-5s", None),
            ("+5", None),
            ("5s ago", None),
            ("500ms", None),
            ("5 weeks", None),
            ("2 months", None),
            ("99999999d", None),
            ("5é", None),
            ("1.5m", None),
            ("99999999999s", None),
            ("4000000000h", None),
        ];
        for (text, expected) in table {
            assert_eq!(seconds(text), expected, "{text:?}");
        }
    }
}

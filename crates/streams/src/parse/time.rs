//! Times in the formats of agents, in milliseconds since 1970.

use jiff::Timestamp;
use jiff::civil::Date;

use crate::json::Value;

/// Parses a time: RFC 3339 text, or a number of milliseconds.
pub(crate) fn millis(value: Value<'_>) -> Option<i64> {
    match value.str() {
        Some(text) => text.cow().parse::<Timestamp>().ok().map(Timestamp::as_millisecond),
        None => value.i64(),
    }
}

/// Parses times, and caches the day: most lines of a stream are from one day, and parsing the day
/// is the slow part.
#[derive(Default, Debug)]
pub(crate) struct Clock {
    day: Option<([u8; 10], i64)>,
}

impl Clock {
    /// Parses a time.
    pub(crate) fn millis(&mut self, value: Value<'_>) -> Option<i64> {
        let quick = value.str().and_then(|text| self.quick(text.literal().as_bytes()));
        quick.or_else(|| millis(value))
    }

    /// Parses `"2026-11-15T18:10:48.070Z"`, the format of JavaScript programs.
    fn quick(&mut self, literal: &[u8]) -> Option<i64> {
        let text: &[u8; 24] = literal.get(1..25)?.try_into().ok()?;
        let marks = [text[10], text[13], text[16], text[19], text[23]];
        if literal.len() != 26 || marks != *b"T::.Z" {
            return None;
        }
        let number = |from: usize, to: usize| {
            text[from..to].iter().try_fold(0i64, |sum, digit| {
                digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0'))
            })
        };
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        let milli = number(20, 23)?;
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let name: [u8; 10] = text[..10].try_into().ok()?;
        let midnight = match self.day {
            Some((day, midnight)) if day == name => midnight,
            Some(_) | None => {
                let day: Date = std::str::from_utf8(&name).ok()?.parse().ok()?;
                let midnight = day.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
                let midnight = midnight.timestamp().as_millisecond();
                self.day = Some((name, midnight));
                midnight
            }
        };
        Some(midnight + ((hour * 60 + minute) * 60 + second) * 1000 + milli)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_read_the_same() {
        let mut clock = Clock::default();
        for (text, expected) in [
            ("\"2026-11-15T18:10:48.070Z\"", Some(1_794_766_248_070)),
            ("\"2026-11-15T18:10:48.071Z\"", Some(1_794_766_248_071)),
            ("\"2026-11-16T00:00:00.000Z\"", Some(1_794_787_200_000)),
            ("\"1969-12-31T23:59:59.999Z\"", Some(-1)),
            ("\"2026-11-15T18:10:48Z\"", Some(1_794_766_248_000)),
            ("\"2026-11-15T20:10:48.070+02:00\"", Some(1_794_766_248_070)),
            ("\"2026-11-15T24:10:48.070Z\"", None),
            ("\"2026-13-15T18:10:48.070Z\"", None),
            ("\"2026-11-15T18:1x:48.070Z\"", None),
            ("\"9999999-15T18:10:48.070Z\"", None),
            ("\"yesterday\"", None),
            ("1794766248070", Some(1_794_766_248_070)),
            ("null", None),
            ("[]", None),
        ] {
            let value = Value::read(text).expect("JSON");
            assert_eq!(clock.millis(value), expected, "{text}");
            assert_eq!(millis(value), expected, "{text}");
        }
    }
}

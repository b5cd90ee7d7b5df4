//! A moment as every JSON of ours has it: RFC 3339, UTC, always with milliseconds.
//!
//! A list has one or more for each item, so it is written by hand and without memory of its own. It
//! knows nothing of time zones, and calls for help with what is before 1970.

use punchlist_model::Timestamp;
use serde::{Serialize, Serializer};

/// `2026-01-31T23:59:59.000Z`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moment(Text);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Text {
    /// Of the usual length.
    Short([u8; 24]),
    Other(String),
}

const DAY: u64 = 24 * 60 * 60 * 1000;

impl Moment {
    /// The text of a moment.
    pub fn of(at: Timestamp) -> Self {
        match u64::try_from(at.as_millisecond()) {
            Ok(millis) => Self(Text::Short(short(millis))),
            Err(_) => Self(Text::Other(format!("{at:.3}"))),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            // All of it is ASCII.
            Text::Short(text) => std::str::from_utf8(text).unwrap_or_default(),
            Text::Other(text) => text,
        }
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

fn short(millis: u64) -> [u8; 24] {
    let mut text = *b"0000-00-00T00:00:00.000Z";
    let (year, month, day) = date(millis / DAY);
    let time = millis % DAY;
    digits(&mut text[0..4], year);
    digits(&mut text[5..7], month);
    digits(&mut text[8..10], day);
    digits(&mut text[11..13], time / 3_600_000);
    digits(&mut text[14..16], time / 60_000 % 60);
    digits(&mut text[17..19], time / 1000 % 60);
    digits(&mut text[20..23], time % 1000);
    text
}

/// Writes a number with as many digits as there is room for.
fn digits(room: &mut [u8], mut number: u64) {
    for digit in room.iter_mut().rev() {
        *digit += u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
    }
}

/// Year, month and day, so many days after the first of January 1970.
///
/// A year is taken to begin in March, so that a leap day is the last of it; 400 years have 146,097
/// days, whenever they begin.
fn date(days: u64) -> (u64, u64, u64) {
    // From the first of March of the year 0.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Months from March on have 31, 30, 31, 30, 31 days, and again: 153 in five.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = (era * 400 + year, if month < 10 { month + 3 } else { month - 9 });
    (if month <= 2 { year + 1 } else { year }, month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(millis: i64) {
        let at = Timestamp::from_millisecond(millis).unwrap();
        assert_eq!(Moment::of(at).as_str(), format!("{at:.3}"), "{millis}");
    }

    #[test]
    fn the_ends_of_months_years_and_centuries_are_as_the_library_has_them() {
        for (year, month, day) in [
            (1970, 1, 1),
            (1972, 2, 29),
            (1999, 12, 31),
            (2000, 2, 29),
            (2000, 3, 1),
            (2024, 2, 28),
            (2024, 12, 31),
            (2025, 1, 1),
            (2100, 2, 28),
            (2100, 3, 1),
            (2400, 2, 29),
            (9998, 12, 31),
        ] {
            for time in ["00:00:00.000", "23:59:59.999"] {
                let text = format!("{year:04}-{month:02}-{day:02}T{time}Z");
                check(text.parse::<Timestamp>().unwrap().as_millisecond());
            }
        }
        check(-1);
    }

    #[test]
    fn what_is_finer_than_a_millisecond_is_left_out() {
        let at: Timestamp = "2026-05-04T03:02:01.123999Z".parse().unwrap();
        assert_eq!(Moment::of(at).as_str(), "2026-05-04T03:02:01.123Z");
        assert_eq!(Moment::of(at).as_str(), format!("{at:.3}"));
    }

    proptest! {
        #[test]
        fn any_moment_is_as_the_library_has_it(millis in -377_705_023_000_000_i64..253_402_207_200_000) {
            let at = Timestamp::from_millisecond(millis).unwrap();
            let moment = Moment::of(at);
            prop_assert_eq!(moment.as_str(), format!("{at:.3}"));
        }
    }
}

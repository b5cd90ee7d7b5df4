//! Usage limits: reads from an agent's error message that its limit is reached, and when it may be
//! used again.
//!
//! Programs write the time in their own ways: as a number, a timestamp, a duration, or a time of day
//! in the user's time zone. Claude Code and Codex cut the seconds off a time of day, so such a limit is
//! over at the end of the minute. A message without a readable time is still about a limit.

use jiff::civil::{Date, Time};
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};

/// Maximum of bytes of a message that are read.
const LONGEST: usize = 4_000;

/// Phrases of messages about a limit, in lower case.
const PHRASES: &[&str] = &[
    "usage limit",
    "rate limit",
    "rate_limit",
    "session limit",
    "-hour limit",
    "daily limit",
    "weekly limit",
    "monthly limit",
    "hit your limit",
    "too many requests",
    "quota",
];

/// How long after its written time of day a limit may still hold, in seconds.
const MINUTE: i64 = 60;

/// Months by the beginnings of their English names.
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Units of durations by the beginnings of their names. `mo` is not read: it could be a month.
const UNITS: [(&str, i64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];

/// A usage limit that an agent has reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UsageLimit {
    /// When the agent may be used again, if the message says so.
    pub until: Option<Timestamp>,
}

/// The usage limit that an error message is about; `None` if it is about something else. `now` has
/// the time zone of the user, in which programs write times of day.
pub fn usage_limit(message: &str, now: &Zoned) -> Option<UsageLimit> {
    let text = &message[..message.floor_char_boundary(LONGEST)];
    let lower = text.to_ascii_lowercase();
    if !PHRASES.iter().any(|it| lower.contains(it)) {
        return None;
    }
    let until = number_after_bar(text)
        .or_else(|| timestamp(text))
        .or_else(|| duration(&lower).and_then(|it| now.timestamp().checked_add(it).ok()))
        .or_else(|| time_of_day(&lower, now));
    Some(UsageLimit { until })
}

/// A time as a number of seconds or milliseconds since 1970.
pub fn from_number(number: i64) -> Option<Timestamp> {
    match number {
        1_000_000_000..100_000_000_000 => Timestamp::from_second(number).ok(),
        100_000_000_000.. => Timestamp::from_millisecond(number).ok(),
        _ => None,
    }
}

/// `Claude AI usage limit reached|1749924000`
fn number_after_bar(text: &str) -> Option<Timestamp> {
    let after = text.split('|').nth(1)?;
    let end = after.find(|it: char| !it.is_ascii_digit()).unwrap_or(after.len());
    from_number(after[..end].parse().ok()?)
}

/// `try again at 2026-11-17T20:00:00Z`
fn timestamp(text: &str) -> Option<Timestamp> {
    let is_around = |it: char| !it.is_ascii_alphanumeric();
    text.split_whitespace().find_map(|it| it.trim_matches(is_around).parse().ok())
}

/// `try again in 3 days 2 hours 5 minutes`, `will reset after 2h30m15s`
fn duration(lower: &str) -> Option<SignedDuration> {
    let mut places = [" in ", " after "].into_iter().flat_map(|it| lower.match_indices(it));
    places.find_map(|(at, word)| leading_duration(&lower[at + word.len()..]))
}

/// The duration at the beginning of a text: numbers, each with a unit.
fn leading_duration(text: &str) -> Option<SignedDuration> {
    let mut rest = text.trim_start();
    let mut seconds = 0.0;
    let mut is_found = false;
    loop {
        let end = rest.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(rest.len());
        let Ok(count) = rest[..end].trim_end_matches('.').parse::<f64>() else { break };
        rest = rest[end..].trim_start();
        let end = rest.find(|it: char| !it.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (unit, after) = rest.split_at(end);
        let factor = match unit {
            "ms" => 0.001,
            "mo" | "month" | "months" => break,
            _ => match UNITS.iter().find(|(name, _)| unit.starts_with(name)) {
                Some((_, seconds)) => f64::from(i32::try_from(*seconds).ok()?),
                None => break,
            },
        };
        (seconds, is_found) = (seconds + count * factor, true);
        rest = after.trim_start_matches([' ', ',']).trim_start();
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    let whole = SignedDuration::try_from_secs_f64(seconds).ok()?;
    is_found.then_some(whole)
}

/// `resets 3pm (Europe/London)`, `try again at 3:34 PM`, `resets Oct 9 at 5am (UTC)`,
/// `try again at Oct 9th, 2026 11:45 PM`
fn time_of_day(lower: &str, now: &Zoned) -> Option<Timestamp> {
    let is_utc = lower.contains("utc") || lower.contains("gmt");
    let now = if is_utc { now.with_time_zone(jiff::tz::TimeZone::UTC) } else { now.clone() };
    let mut places =
        ["resets ", "reset ", " at "].into_iter().flat_map(|it| lower.match_indices(it));
    places.find_map(|(at, word)| {
        let words = lower[at + word.len()..].split_whitespace();
        let words: Vec<&str> =
            words.take(6).map(|it| it.trim_matches([',', '.', '(', ')'])).collect();
        moment(&words, &now)
    })
}

/// The end of the next minute that these words name: a day, if there is one, and a time.
fn moment(words: &[&str], now: &Zoned) -> Option<Timestamp> {
    let mut rest = words;
    let mut day = None;
    if let [month, number, after @ ..] = rest
        && let Some(month) =
            month.get(..3).and_then(|it| MONTHS.iter().position(|name| *name == it))
    {
        let number = number.trim_end_matches(|it: char| it.is_ascii_alphabetic());
        day = Some((i8::try_from(month + 1).ok()?, number.parse::<i8>().ok()?));
        rest = after;
    }
    let mut year = None;
    if let [first, after @ ..] = rest
        && first.len() == 4
        && let Ok(number) = first.parse::<i16>()
    {
        (year, rest) = (Some(number), after);
    }
    if let ["at", after @ ..] = rest {
        rest = after;
    }
    let time = time(rest.first()?, rest.get(1).copied())?;
    let at = |date: Date| {
        let zoned = date.to_datetime(time).to_zoned(now.time_zone().clone()).ok()?;
        zoned.timestamp().checked_add(SignedDuration::from_secs(MINUTE)).ok()
    };
    let Some((month, number)) = day else {
        let today = at(now.date())?;
        let is_over = today <= now.timestamp();
        return if is_over { at(now.date().checked_add(1.day()).ok()?) } else { Some(today) };
    };
    let of_year = |year: i16| at(Date::new(year, month, number).ok()?);
    match year {
        Some(year) => of_year(year),
        None => of_year(now.year())
            .filter(|it| *it > now.timestamp())
            .or_else(|| of_year(now.year() + 1)),
    }
}

/// `3pm`, `3:34 pm`, `15:04`
fn time(word: &str, next: Option<&str>) -> Option<Time> {
    let half = |it: &str| match it {
        "am" => Some(false),
        "pm" => Some(true),
        _ => None,
    };
    let end = word.find(|it: char| !it.is_ascii_digit() && it != ':').unwrap_or(word.len());
    let (digits, after) = word.split_at(end);
    let is_afternoon = if after.is_empty() { next.and_then(half) } else { Some(half(after)?) };
    let (hour, minute) = match digits.split_once(':') {
        Some((hour, minute)) => (hour, minute.parse().ok()?),
        // A number alone is no time.
        None => (is_afternoon.map(|_| digits)?, 0),
    };
    let hour: i8 = hour.parse().ok()?;
    let hour = match is_afternoon {
        None => hour,
        Some(is_afternoon) if (1..=12).contains(&hour) => {
            hour % 12 + if is_afternoon { 12 } else { 0 }
        }
        Some(_) => return None,
    };
    Time::new(hour, minute, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    #[track_caller]
    fn check(message: &str, expected: Option<Option<&str>>) {
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        let now = "2026-11-17T18:00:00Z".parse::<Timestamp>().unwrap().to_zoned(zone);
        let found = usage_limit(message, &now);
        let expected = expected.map(|it| UsageLimit { until: it.map(|it| it.parse().unwrap()) });
        assert_eq!(found, expected, "{message}");
    }

    #[test]
    fn programs_say_in_many_ways_when_they_may_be_used_again() {
        for (message, until) in [
            ("Claude AI usage limit reached|1795000000", "2026-11-18T11:06:40Z"),
            ("usage limit reached; try again at 2026-11-17T20:30:00Z", "2026-11-17T20:30:00Z"),
            // It is 19:00 at the user's.
            ("5-hour limit reached ∙ resets 8pm", "2026-11-17T19:01:00Z"),
            ("You've hit your limit · resets 3pm (Europe/Berlin)", "2026-11-18T14:01:00Z"),
            ("You've hit your weekly limit · resets Nov 20 at 5am (UTC)", "2026-11-20T05:01:00Z"),
            ("You've hit your usage limit. Try again at 11:34 PM.", "2026-11-17T22:35:00Z"),
            ("usage limit. Try again at Jan 9th, 2027 11:45 PM.", "2027-01-09T22:46:00Z"),
            ("usage limit: resets Jan 9, 5am", "2027-01-09T04:01:00Z"),
            // The minute in which it was written.
            ("You've hit your session limit · resets 6pm (UTC)", "2026-11-17T18:01:00Z"),
            ("usage limit, try again in 3 days 2 hours 5 minutes.", "2026-11-20T20:05:00Z"),
            ("quota will reset after 2h30m15s.", "2026-11-17T20:30:15Z"),
            (
                "Rate limit reached for x in organization y. Please try again in 0.1s.",
                "2026-11-17T18:00:00.1Z",
            ),
        ] {
            check(message, Some(Some(until)));
        }
    }

    #[test]
    fn a_limit_without_a_time_is_a_limit_and_other_errors_are_none() {
        for message in [
            "Quota exceeded. Check your plan and billing details.",
            "You have exhausted your daily quota on this model. Please wait and try again later.",
            "rate limit; try again in a while, at noon, or in 3 months",
            "usage limit|99999999999999999999",
            "usage limit: resets 25pm, resets 99:99, resets feb 31, at",
        ] {
            check(message, Some(None));
        }
        for message in ["", "it ended with 1", "maximum turns reached", "try again in 5 minutes"] {
            check(message, None);
        }
    }
}

//! Durations in a short form.

use punchlist_model::Timestamp;

/// The time between two moments: `45 s`, `2 m`, `3 h`, `5 d`. Zero if `to` is before `from`.
pub fn between(from: Timestamp, to: Timestamp) -> String {
    let seconds = to.as_second().saturating_sub(from.as_second()).max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} m", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// The time since a moment: `2 m ago`, `just now`.
pub fn ago(at: Timestamp, now: Timestamp) -> String {
    if now.as_second() <= at.as_second() {
        "just now".to_owned()
    } else {
        format!("{} ago", between(at, now))
    }
}

//! Small parts that all pages share: texts, times, signs, bars.
//!
//! Every text that an agent wrote goes through [`text`] or [`block`]: control characters and bidi
//! overrides are removed, maud escapes the rest, and `bdi` keeps a text's direction to itself.

use maud::{Markup, PreEscaped, html};
use punchlist_formats::text::glyph::Sign;
use punchlist_formats::text::{many_lines, one_line};
use punchlist_formats::view::duration;
use punchlist_model::agents::State;
use punchlist_model::plan::Progress;
use punchlist_model::{Item, Timestamp};

/// A text on one line.
pub(super) fn text(text: &str) -> Markup {
    html! { bdi { (one_line(text)) } }
}

/// A title, or a placeholder if it is empty.
pub(super) fn title(title: &str) -> Markup {
    let clean = one_line(title);
    html! { bdi { @if clean.is_empty() { "(no title)" } @else { (clean) } } }
}

/// A text of several lines, as it was written.
pub(super) fn block(text: &str) -> Markup {
    html! { div.block dir="auto" { (many_lines(text)) } }
}

/// A project by the last part of its path; the whole path on hover.
pub(super) fn project(path: &str) -> Markup {
    let clean = one_line(path);
    let name = clean.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    html! { bdi title=(clean) { (if name.is_empty() { &clean } else { name }) } }
}

/// A command, an output or a diff.
///
/// It may be longer than its box, so it can be focused and scrolled with the keyboard.
pub(super) fn code(label: &str, text: &str) -> Markup {
    let shown = many_lines(text);
    html! {
        pre.code tabindex="0" role="region" aria-label=(label) { (shown) }
        (lines(shown.lines().count()))
    }
}

/// How many lines a box shows without scrolling on a small screen.
const FEW_LINES: usize = 6;

/// Says how long a text is that does not fit into its box, so that nobody takes its beginning for all of it.
pub(super) fn lines(count: usize) -> Markup {
    html! { @if count > FEW_LINES { p.lines { (count) " lines; scroll to see all" } } }
}

/// `2 m ago`; the exact time on hover.
pub(super) fn ago(at: Timestamp, now: Timestamp) -> Markup {
    html! { time datetime=(exact(at)) title=(on_hover(at)) data-time="ago" { (duration::ago(at, now)) } }
}

/// `2 m`; the exact time on hover.
pub(super) fn since(at: Timestamp, now: Timestamp) -> Markup {
    html! { time datetime=(exact(at)) title=(on_hover(at)) data-time="since" { (duration::between(at, now)) } }
}

/// The moment of these milliseconds since 1970.
pub(super) fn moment(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn exact(at: Timestamp) -> String {
    format!("{at:.3}")
}

fn on_hover(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// A bar with its numbers: `4/7`.
pub(super) fn progress(done: u32, total: u32) -> Markup {
    let label = format!("{done} of {total} done");
    html! {
        span.progress {
            span.count { (done) "/" (total) }
            progress value=(done) max=(total.max(1)) aria-label=(label) { (label) }
        }
    }
}

/// A bar with the numbers of a plan: `4/7 (57%)`.
pub(super) fn plan_progress(it: Progress) -> Markup {
    html! { (progress(it.completed, it.total)) span.percent { (it.percent) "%" } }
}

/// The sign of an item, with its name for those who do not see it.
pub(super) fn item_sign(item: &Item) -> Markup {
    sign(punchlist_formats::view::list::sign(item))
}

/// The sign of a status.
pub(super) fn sign(sign: Sign) -> Markup {
    let (class, words, shape) = match sign {
        Sign::Done => ("done", "completed", DONE),
        Sign::Active => ("active", "in progress", ACTIVE),
        Sign::Open => ("open", "pending", OPEN),
        Sign::Waiting => ("waiting", "waiting", WAITING),
        Sign::Cancelled => ("cancelled", "cancelled", CANCELLED),
    };
    drawn(class, words, shape)
}

/// The sign of an agent's state.
pub(super) fn state_sign(state: &State) -> Markup {
    let (class, shape) = match state {
        State::Asks(_) => ("asks", ASKS),
        State::Working => ("working", WORKING),
        State::Waits(_) => ("waiting", WAITING),
        State::Silent => ("silent", SILENT),
        State::Failed(_) => ("failed", CANCELLED),
        State::Idle => ("open", OPEN),
        State::Died => ("failed", DIED),
    };
    drawn(class, state_word(state), shape)
}

/// A state in a word or two.
pub(super) fn state_word(state: &State) -> &'static str {
    match state {
        State::Asks(_) => "waits for you",
        State::Working => "working",
        State::Waits(_) => "waiting",
        State::Silent => "no news",
        State::Failed(_) => "failed",
        State::Idle => "idle",
        State::Died => "died",
    }
}

/// A sign in a circle: `class` gives its colour, `words` its name.
pub(super) fn drawn(class: &str, words: &str, shape: &'static str) -> Markup {
    html! {
        svg.sign.(class) viewBox="0 0 16 16" role="img" aria-label=(words) { (PreEscaped(shape)) }
    }
}

// Shapes on a square of 16. They are drawn, because terminals' signs become emoji in some fonts.
pub(super) const DONE: &str =
    r#"<circle cx="8" cy="8" r="7" class="fill"/><path d="M4.6 8.3l2.3 2.3 4.5-5" class="mark"/>"#;
const ACTIVE: &str = r#"<circle cx="8" cy="8" r="6.25" class="ring"/><path d="M6.3 4.9l4.9 3.1-4.9 3.1z" class="fill"/>"#;
const OPEN: &str = r#"<circle cx="8" cy="8" r="6.25" class="ring"/>"#;
const WAITING: &str = r#"<circle cx="8" cy="8" r="6.25" class="ring"/><path d="M8 8V3.5A4.5 4.5 0 0 1 12.5 8z" class="fill"/>"#;
pub(super) const CANCELLED: &str = r#"<path d="M4 4l8 8M12 4l-8 8" class="ring"/>"#;
const ASKS: &str = r#"<circle cx="8" cy="8" r="7" class="fill"/><path d="M6 6.3a2 2 0 1 1 2.9 1.8c-.6.3-.9.6-.9 1.2" class="mark"/><path d="M8 11.6v.1" class="mark"/>"#;
const WORKING: &str =
    r#"<circle cx="8" cy="8" r="6.25" class="ring"/><circle cx="8" cy="8" r="3.5" class="fill"/>"#;
const SILENT: &str = r#"<circle cx="8" cy="8" r="6.25" class="ring dashed"/>"#;
const DIED: &str = r#"<circle cx="8" cy="8" r="6.25" class="ring"/><path d="M5.6 5.6l4.8 4.8M10.4 5.6l-4.8 4.8" class="ring"/>"#;
pub(super) const NOTE: &str =
    r#"<circle cx="8" cy="8" r="6.25" class="ring"/><path d="M8 4.6v4.2M8 11.3v.1" class="ring"/>"#;

/// `1 item`, `3 items`.
pub(super) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

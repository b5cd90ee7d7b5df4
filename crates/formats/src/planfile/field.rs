//! Fields: `key: value` under an item, and how values are parsed.
//!
//! Parsing is lenient but does not guess: an ambiguous value is an error with a hint.

use super::Retry;
use crate::text::nearest;
use crate::text::seconds;

/// All fields.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Key {
    Run,
    Verify,
    Covers,
    After,
    Agent,
    Criteria,
    Approve,
    Retry,
    Timeout,
}

impl Key {
    const ALL: [Self; 9] = [
        Self::Run,
        Self::Verify,
        Self::Covers,
        Self::After,
        Self::Agent,
        Self::Criteria,
        Self::Approve,
        Self::Retry,
        Self::Timeout,
    ];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Verify => "verify",
            Self::Covers => "covers",
            Self::After => "after",
            Self::Agent => "agent",
            Self::Criteria => "criteria",
            Self::Approve => "approve",
            Self::Retry => "retry",
            Self::Timeout => "timeout",
        }
    }

    /// Whether several lines of the field are combined. Otherwise a second line is an error.
    pub(super) fn adds_up(self) -> bool {
        match self {
            Self::Covers | Self::After | Self::Criteria => true,
            Self::Run
            | Self::Verify
            | Self::Agent
            | Self::Approve
            | Self::Retry
            | Self::Timeout => false,
        }
    }

    /// Whether the value is a command, which may also be in a code block below.
    pub(super) fn is_command(self) -> bool {
        matches!(self, Self::Run | Self::Verify)
    }

    /// An example value, for the hint when the value is missing.
    pub(super) fn example(self) -> &'static str {
        match self {
            Self::Run => "`run: make`, or `run:` and a fenced block below it",
            Self::Verify => "`verify: make test`, or `verify:` and a fenced block below it",
            Self::Covers => "`covers: src/**, Cargo.toml`",
            Self::After => "`after: Build, Write the notes`",
            Self::Agent => "`agent: claude`",
            Self::Criteria => "`criteria: all tests pass`",
            Self::Approve => "`approve: yes`",
            Self::Retry => "`retry: 3`, or `retry: 3 10s` to wait in between",
            Self::Timeout => "`timeout: 90s`, `5m` or `1h30m`",
        }
    }
}

/// What a line under an item is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape<'a> {
    /// A field, and where its value begins.
    Field { key: Key, value: usize },
    /// An unknown word that resembles a field.
    Nearly { word: &'a str, meant: Key },
    /// Anything else.
    Prose,
}

/// Aliases from other formats.
const ALSO: &[(&str, Key)] = &[
    ("needs", Key::After),
    ("depends", Key::After),
    ("depends_on", Key::After),
    ("depends-on", Key::After),
    ("requires", Key::After),
    ("cmd", Key::Run),
    ("command", Key::Run),
    ("check", Key::Verify),
    ("retries", Key::Retry),
];

/// Classifies a line. A field is `key: value`, in any case, with or without blanks around the
/// colon.
pub(super) fn shape(text: &str) -> Shape<'_> {
    // No key is longer than this, so the beginning of a line is enough.
    let head = text.char_indices().nth(24).map_or(text, |(end, _)| &text[..end]);
    let Some(colon) = head.find(':') else { return Shape::Prose };
    let word = head[..colon].trim_end();
    let is_word = |ch: char| ch.is_alphanumeric() || matches!(ch, '_' | '-');
    // A URL is not a field.
    if word.is_empty() || !word.chars().all(is_word) || text[colon + 1..].starts_with("//") {
        return Shape::Prose;
    }
    let known = |key: &Key| key.as_str().eq_ignore_ascii_case(word);
    if let Some(key) = Key::ALL.into_iter().find(known) {
        let rest = &text[colon + 1..];
        let value = colon + 1 + (rest.len() - rest.trim_start().len());
        return Shape::Field { key, value };
    }
    let also = ALSO.iter().find(|it| it.0.eq_ignore_ascii_case(word)).map(|it| it.1);
    let near = || {
        let name = nearest(word, Key::ALL.iter().map(|key| key.as_str()))?;
        Key::ALL.into_iter().find(|key| key.as_str() == name)
    };
    match also.or_else(near) {
        Some(meant) => Shape::Nearly { word, meant },
        None => Shape::Prose,
    }
}

/// Yes or no.
pub(super) fn yes_or_no(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "y" | "true" | "on" => Some(true),
        "no" | "n" | "false" | "off" => Some(false),
        _ => None,
    }
}

/// Most tries. A higher number is most likely a typing mistake.
const MOST_TRIES: u32 = 1000;

/// `3`, `3 10s`, `3, 10s`, `3 times, every 10s`.
pub(super) fn retry(text: &str) -> Option<Retry> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let times: u32 = text[..digits].parse().ok().filter(|times| *times <= MOST_TRIES)?;
    let rest = text[digits..].trim_start_matches(['x', '×']).trim_start();
    let rest = rest.strip_prefix("times").unwrap_or(rest);
    let rest = rest.trim_start_matches([',', ';']).trim_start();
    let rest = rest.strip_prefix("every").or_else(|| rest.strip_prefix("after")).unwrap_or(rest);
    let wait = match rest.trim() {
        "" => None,
        wait => Some(seconds(wait)?),
    };
    Some(Retry { times, wait })
}

/// Globs, separated by commas or blanks. Quotes and braces are not split.
pub(super) fn globs(text: &str) -> Vec<String> {
    let mut globs = Vec::new();
    let mut glob = String::new();
    let mut quote = None;
    let mut braces = 0_usize;
    for ch in text.chars() {
        match ch {
            '"' | '\'' | '`' if quote.is_none() && glob.is_empty() => quote = Some(ch),
            ch if quote == Some(ch) => quote = None,
            ',' | ' ' | '\t' if quote.is_none() && braces == 0 => {
                globs.push(std::mem::take(&mut glob));
            }
            ch => {
                if quote.is_none() && ch == '{' {
                    braces += 1;
                } else if quote.is_none() && ch == '}' {
                    braces = braces.saturating_sub(1);
                }
                glob.push(ch);
            }
        }
    }
    globs.push(glob);
    globs.retain(|glob| !glob.is_empty());
    globs
}

/// The command in a value: the whole value, or the content of one pair of backticks around it.
/// `None` for a sentence that contains code, which must never run.
///
/// A shell would treat backticks as command substitution. For that, write `$(…)` or use a code
/// block.
pub(super) fn command(text: &str) -> Option<&str> {
    if !text.contains('`') {
        return Some(text);
    }
    let ticks = text.len() - text.trim_start_matches('`').len();
    let inner = text.get(ticks..text.len().checked_sub(ticks)?)?;
    let is_span = ticks > 0 && text.ends_with(text.get(..ticks)?) && !inner.contains('`');
    Some(inner.trim()).filter(|it| is_span && !it.is_empty())
}

/// Whether a command continues on the next line.
pub(super) fn goes_on(text: &str) -> bool {
    text.bytes().rev().take_while(|it| *it == b'\\').count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_known_in_any_case_and_with_any_blanks() {
        for text in ["run: make", "RUN: make", "Run : make", "run:make", "run:\tmake"] {
            let Shape::Field { key: Key::Run, value } = shape(text) else { panic!("{text}") };
            assert_eq!(&text[value..], "make");
        }
        assert!(matches!(shape("veryfy: x"), Shape::Nearly { meant: Key::Verify, .. }));
        assert!(matches!(shape("Depends_on: x"), Shape::Nearly { meant: Key::After, .. }));
        let prose =
            ["https://a", "run://a", "Note: x", "a run: x", ": x", "run", "", "rust: x", "12:30"];
        for text in prose {
            assert_eq!(shape(text), Shape::Prose, "{text}");
        }
    }

    #[test]
    fn tries_may_have_a_wait() {
        let some = |times, wait| Some(Retry { times, wait });
        let table = [
            ("3", some(3, None)),
            ("0", some(0, None)),
            ("3 10s", some(3, Some(10))),
            ("3, 1m", some(3, Some(60))),
            ("3x", some(3, None)),
            ("3 times, every 5s", some(3, Some(5))),
            ("", None),
            ("often", None),
            ("3 times please", None),
            ("5000", None),
        ];
        for (text, expected) in table {
            assert_eq!(retry(text), expected, "{text:?}");
        }
    }

    #[test]
    fn globs_stand_between_commas_or_blanks() {
        assert_eq!(globs("src/**, Cargo.toml"), ["src/**", "Cargo.toml"]);
        assert_eq!(globs("src/**/*.{rs,toml}  a"), ["src/**/*.{rs,toml}", "a"]);
        assert_eq!(globs("\"my file.txt\", 'b c'"), ["my file.txt", "b c"]);
        assert_eq!(globs("`src/**`"), ["src/**"]);
        assert_eq!(globs(" , "), Vec::<String>::new());
    }

    #[test]
    fn only_an_odd_backslash_goes_on() {
        assert!(goes_on("a \\"));
        assert!(!goes_on("a \\\\"));
    }

    #[test]
    fn a_command_is_a_whole_value_or_one_span_of_code() {
        assert_eq!(command("make all"), Some("make all"));
        assert_eq!(command("`make all`"), Some("make all"));
        assert_eq!(command("`` make all ``"), Some("make all"));
        for prose in
            ["`a` `b`", "`x` in `y`", "the tests with `make`", "`", "``", "` `", "`a", "a`"]
        {
            assert_eq!(command(prose), None, "{prose}");
        }
    }
}

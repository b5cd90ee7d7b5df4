//! Where the next line is that can change a list, and how many lines are before it, without reading them.
//!
//! Of each text that tells, two bytes are looked for that seldom stand so far apart; only where they do
//! is the text compared, and only then is the line around it found. Line ends are not looked for but
//! counted in passing. It knows nothing of what is in a line.

use super::Agent;
use super::wide::pairs::{self, Pair, STRIDE};

/// The most texts of one agent.
const MOST_NEEDLES: usize = 9;

/// A text that tells, and where in it the two bytes stand that are looked for first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needle {
    text: &'static str,
    first: usize,
    pair: Pair,
    /// Where the rarer one of the two stands.
    rare: usize,
}

impl Needle {
    /// A text, and which two of its bytes seldom stand so far apart elsewhere.
    pub(super) const fn new(text: &'static str, first: usize, second: usize) -> Self {
        let bytes = text.as_bytes();
        let pair = Pair::new(bytes[first], bytes[second], second - first);
        let is_second = is_common(bytes[first]) && !is_common(bytes[second]);
        Self { text, first, pair, rare: if is_second { second } else { first } }
    }

    /// Where it begins, if the first of its two bytes stands between two places.
    fn begins<'a>(
        &self,
        lines: &'a [u8],
        (from, to): (usize, usize),
    ) -> impl Iterator<Item = usize> + use<'a> {
        let (text, rare) = (self.text.as_bytes(), self.rare);
        let shifted = |place: usize| (place + rare - self.first).min(lines.len());
        let (from, to) = (shifted(from), shifted(to));
        let places = memchr::memchr_iter(text[rare], &lines[from..to]);
        places.filter_map(move |it| {
            let begin = (from + it).checked_sub(rare)?;
            lines.get(begin..)?.starts_with(text).then_some(begin)
        })
    }
}

/// Whether a byte stands all over a line of JSON.
const fn is_common(byte: u8) -> bool {
    matches!(byte, b'"' | b'a'..=b'z')
}

/// What was found from some line on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Found {
    /// Where the first line begins that tells something.
    pub(super) line: Option<usize>,
    /// How many line ends are before it, or in all.
    pub(super) newlines: u64,
}

/// What is in the lines from `at` on, where one begins.
pub(super) fn next(agent: &dyn Agent, lines: &[u8], at: usize) -> Found {
    let needles = agent.needles();
    let mut all = [Pair::NONE; MOST_NEEDLES];
    all.iter_mut().zip(needles).for_each(|(pair, needle)| *pair = needle.pair);
    let all = all.get(..needles.len()).unwrap_or(&all);
    let mut newlines = 0;
    let mut from = at;
    while from < lines.len() {
        let looked = pairs::first_pair(&lines[from..], all);
        newlines += looked.newlines;
        from += looked.at;
        // What is left when there are no more whole strides is looked at as if it had told.
        let to = if looked.is_hit { (from + STRIDE).min(lines.len()) } else { lines.len() };
        let Some(place) = first(agent, needles, lines, (at, from, to)) else {
            newlines += count(&lines[from..to]);
            from = to;
            continue;
        };
        // The line begins after the last line end before the place. That may be before this stride, and
        // then this stride has no line end before the place.
        let line = memchr::memrchr(b'\n', &lines[at..place]).map_or(at, |it| at + it + 1);
        newlines += lines.get(from..line).map_or(0, count);
        return Found { line: Some(line), newlines };
    }
    Found { line: None, newlines }
}

fn count(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Where a needle first begins that tells something, at or after `begin`, if the first of its two bytes
/// stands between two places.
fn first(
    agent: &dyn Agent,
    needles: &[Needle],
    lines: &[u8],
    (begin, from, to): (usize, usize, usize),
) -> Option<usize> {
    let tells = |needle: &Needle| {
        let mut begins = needle.begins(lines, (from, to)).filter(|it| *it >= begin);
        begins.find(|it| agent.is_telling(&lines[*it..]))
    };
    needles.iter().filter_map(tells).min()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::emit::Emit;
    use super::super::json::Value;
    use super::*;

    /// An agent that only has needles.
    struct Needles(&'static [Needle]);

    impl Agent for Needles {
        fn line(&mut self, _: Value<'_>, _: &mut Emit<'_>) {}
        fn end(&mut self, _: &mut Emit<'_>) {}
        fn needles(&self) -> &'static [Needle] {
            self.0
        }
        fn is_telling(&self, found: &[u8]) -> bool {
            found.get(2) != Some(&b'!')
        }
        fn is_waiting(&self) -> bool {
            false
        }
    }

    /// The same, line by line.
    fn plainly(agent: &Needles, lines: &[u8], at: usize) -> Found {
        let (mut line, mut newlines) = (at, 0);
        while line < lines.len() {
            let end = after_newline(lines, line);
            let tells = |needle: &Needle| {
                (line..end).any(|it| {
                    lines[it..].starts_with(needle.text.as_bytes())
                        && agent.is_telling(&lines[it..])
                })
            };
            if agent.0.iter().any(tells) {
                return Found { line: Some(line), newlines };
            }
            newlines += u64::from(lines[line..end].ends_with(b"\n"));
            line = end;
        }
        Found { line: None, newlines }
    }

    /// The first place that no line before it reaches into.
    fn after_newline(lines: &[u8], from: usize) -> usize {
        lines[from..].iter().position(|it| *it == b'\n').map_or(lines.len(), |it| from + it + 1)
    }

    const QUOTE: Needle = Needle::new("\"T", 0, 1);
    const REMINDER: Needle = Needle::new("_reminder\"", 0, 3);
    const LATE: Needle = Needle::new("abcdefgh", 5, 7);

    proptest! {
        #[test]
        fn it_finds_what_a_plain_search_finds(
            pieces in prop::collection::vec(
                prop_oneof![
                    20 => prop::sample::select(vec![
                        "\"T", "_rem", "_reminder\"", "abcdefgh", "fgh", "\n", "\n\n", "!", "x", "\"", "_",
                    ]).prop_map(str::to_owned),
                    10 => (0..700usize).prop_map(|it| "z".repeat(it)),
                    1 => (0..20 * STRIDE).prop_map(|it| "y".repeat(it)),
                ],
                0..60,
            ),
        ) {
            let lines = pieces.concat().into_bytes();
            for needles in [&[][..], &[QUOTE], &[REMINDER, QUOTE], &[LATE, QUOTE, REMINDER]] {
                let agent = Needles(needles);
                let mut at = 0;
                while at < lines.len() {
                    prop_assert_eq!(next(&agent, &lines, at), plainly(&agent, &lines, at));
                    at = after_newline(&lines, at);
                }
            }
        }
    }
}

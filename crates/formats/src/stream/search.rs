//! Where the next line is that can change a list, and how many lines are before it, without reading them.
//!
//! It goes window by window, so that each look at the bytes finds them where the last one left them: in
//! the processor's caches. It knows nothing of what is in a line.

use memchr::memmem::Finder;

use super::Agent;

/// How many bytes are looked at together.
const WINDOW: usize = 32 << 10;

/// How much of a line is its head.
pub(super) const HEAD: usize = 512;

/// What was found from some line on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Found {
    /// Where the first line begins that tells something.
    pub(super) line: Option<usize>,
    /// How many line ends are before it, or in all.
    pub(super) newlines: u64,
}

/// Looks for an agent's needles.
#[derive(Default)]
pub(super) struct Search {
    texts: [&'static [&'static str]; 2],
    needles: Vec<Finder<'static>>,
    heads: Vec<Finder<'static>>,
}

impl Search {
    /// What is in the lines from `at` on, where one begins.
    pub(super) fn next(&mut self, agent: &dyn Agent, lines: &[u8], mut at: usize) -> Found {
        if self.texts != [agent.needles(), agent.heads()] {
            self.texts = [agent.needles(), agent.heads()];
            let finders = |it: &[&'static str]| it.iter().map(|it| Finder::new(*it)).collect();
            (self.needles, self.heads) = (finders(self.texts[0]), finders(self.texts[1]));
        }
        let mut newlines = 0;
        while at < lines.len() {
            let end = after_newline(lines, (at + WINDOW).min(lines.len()));
            let mut until = end;
            for needle in &self.needles {
                until = first(needle, agent, lines, at, until).unwrap_or(until);
            }
            // The line that the needle is in is the last one that begins before it.
            let mut line = at;
            loop {
                if self.has_head(lines, line) {
                    return Found { line: Some(line), newlines };
                }
                let Some(newline) = memchr::memchr(b'\n', &lines[line..until]) else { break };
                newlines += 1;
                line += newline + 1;
                if line >= end {
                    break;
                }
            }
            if until < end {
                return Found { line: Some(line), newlines };
            }
            at = end;
        }
        Found { line: None, newlines }
    }

    fn has_head(&self, lines: &[u8], line: usize) -> bool {
        if self.heads.is_empty() {
            return false;
        }
        let head = &lines[line..(line + HEAD).min(lines.len())];
        self.heads.iter().any(|it| {
            // What is behind the line's end is another line's.
            it.find(head).is_some_and(|found| memchr::memchr(b'\n', &head[..found]).is_none())
        })
    }
}

/// The first place that no line before it reaches into.
fn after_newline(lines: &[u8], from: usize) -> usize {
    let rest = lines.get(from..).unwrap_or_default();
    memchr::memchr(b'\n', rest).map_or(lines.len(), |it| from + it + 1)
}

/// Where a needle first tells something, between two places.
fn first(
    needle: &Finder<'_>,
    agent: &dyn Agent,
    lines: &[u8],
    mut from: usize,
    to: usize,
) -> Option<usize> {
    loop {
        let place = from + needle.find(lines.get(from..to)?)?;
        if agent.is_telling(&lines[place..]) {
            return Some(place);
        }
        from = place + 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::emit::Emit;
    use super::super::json::Value;
    use super::*;

    /// An agent that only has needles.
    struct Needles(&'static [&'static str], &'static [&'static str]);

    impl Agent for Needles {
        fn line(&mut self, _: Value<'_>, _: &mut Emit<'_>) {}
        fn end(&mut self, _: &mut Emit<'_>) {}
        fn needles(&self) -> &'static [&'static str] {
            self.0
        }
        fn heads(&self) -> &'static [&'static str] {
            self.1
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
            let text = &lines[line..end];
            let has = |needle: &&str| text.windows(needle.len()).any(|it| it == needle.as_bytes());
            let tells = |needle: &&str| {
                let at = |it: &usize| {
                    lines[*it..end].starts_with(needle.as_bytes())
                        && agent.is_telling(&lines[*it..])
                };
                (line..end).any(|it| at(&it))
            };
            if agent.0.iter().any(tells) || agent.1.iter().any(has) {
                return Found { line: Some(line), newlines };
            }
            newlines += u64::from(text.ends_with(b"\n"));
            line = end;
        }
        Found { line: None, newlines }
    }

    proptest! {
        #[test]
        fn it_finds_what_a_plain_search_finds(
            pieces in prop::collection::vec(
                prop::sample::select(vec!["\"T", "_rem", "ab", "\n", "\n\n", "!", "x", "         ", "\"", "_"]),
                0..100,
            ),
        ) {
            let lines = pieces.concat().into_bytes();
            for (needles, heads) in [
                (&[][..], &[][..]), (&["\"T"], &[]), (&["\"T"], &["_rem"]), (&["\"T", "ab"], &["_rem", "x"]),
            ] {
                let agent = Needles(needles, heads);
                let mut search = Search::default();
                let mut at = 0;
                while at < lines.len() {
                    prop_assert_eq!(search.next(&agent, &lines, at), plainly(&agent, &lines, at));
                    at = after_newline(&lines, at);
                }
            }
        }
    }
}

//! Where the next line is that can change a list, without reading those before it.

use memchr::memmem::Finder;

use super::Agent;

/// Looks for an agent's needles. Each is looked for once over every byte of a block, however often
/// another one is found.
#[derive(Default)]
pub(super) struct Search {
    texts: &'static [&'static str],
    needles: Vec<(Finder<'static>, Next)>,
}

#[derive(Clone, Copy)]
enum Next {
    /// Not looked for yet in these lines.
    Unknown,
    At(usize),
    Never,
}

impl Search {
    /// Forgets what was found in other lines.
    pub(super) fn begin(&mut self) {
        self.needles.iter_mut().for_each(|it| it.1 = Next::Unknown);
    }

    /// Where the first telling needle is, from `at` on.
    pub(super) fn next(&mut self, agent: &dyn Agent, lines: &[u8], at: usize) -> Option<usize> {
        let texts = agent.needles();
        if self.texts != texts {
            self.texts = texts;
            let finder = |it: &&'static str| (Finder::new(*it), Next::Unknown);
            self.needles = texts.iter().map(finder).collect();
        }
        for (needle, next) in &mut self.needles {
            let is_stale = match next {
                Next::Unknown => true,
                Next::At(found) => *found < at,
                Next::Never => false,
            };
            if is_stale {
                *next = find(needle, agent, lines, at);
            }
        }
        let places = self.needles.iter().filter_map(|(_, next)| match next {
            Next::At(found) => Some(*found),
            Next::Unknown | Next::Never => None,
        });
        places.min()
    }
}

fn find(needle: &Finder<'_>, agent: &dyn Agent, lines: &[u8], mut at: usize) -> Next {
    while let Some(found) = lines.get(at..).and_then(|rest| needle.find(rest)) {
        let found = at + found;
        if agent.is_telling(&lines[found..]) {
            return Next::At(found);
        }
        at = found + 1;
    }
    Next::Never
}

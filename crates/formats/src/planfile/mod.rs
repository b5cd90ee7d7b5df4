//! Plan files: Markdown checklists that `punchlist run` works off.
//!
//! [`read()`] accepts any text and never fails: a mistake is a [`Problem`] with line and column,
//! and unknown text is ignored. [`Import`] compares a file with a plan and returns operations.
//! [`write_back`] sets boxes and changes nothing else. Nothing here reads files or runs commands.
//!
//! Reading order: this file has the data types, [`mod@read`] reads lines, `field` parses the values
//! under an item, `after` resolves titles, [`mod@import`] makes operations, and `point` draws a
//! problem.

mod after;
mod field;
pub mod import;
mod lines;
mod point;
pub mod read;
mod write;

#[cfg(test)]
mod tests;

use std::ops::Range;

use punchlist_model::Limits;

pub use import::{
    Changed, Dropped, Import, Source, below, directory, finished_groups, is_from_file, matched,
    retry_wait,
};
pub use point::draw;
pub use read::read;
pub use write::{ticks, write_back};

/// The content of a plan file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PlanFile {
    /// The first heading of the highest level.
    pub title: Option<String>,
    /// The items in the order of the file. A sub-item comes after its parent.
    pub items: Vec<FileItem>,
    /// Errors and warnings, in the order of the file.
    pub problems: Vec<Problem>,
}

/// One item of a file.
#[derive(Clone, PartialEq, Debug)]
pub struct FileItem {
    /// The title: the text after the box.
    pub title: String,
    /// The headings above it, without the title of the file; often empty.
    pub section: String,
    /// Its parent, as an index into [`PlanFile::items`].
    pub parent: Option<usize>,
    /// Its line, from 1.
    pub line: usize,
    /// The position of its title.
    pub(crate) spot: read::Spot,
    /// The state of its box.
    pub tick: Tick,
    /// The bytes between the brackets of its box.
    pub(crate) inside: Range<usize>,
    /// Prose under it.
    pub context: String,
    /// Its fields, `key: value`.
    pub fields: Fields,
}

/// The fields of an item.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Fields {
    /// The shell command of the item.
    pub run: Option<String>,
    /// The shell command of the check.
    pub verify: Option<String>,
    /// Globs of the files that the check covers.
    pub covers: Vec<String>,
    /// The items that it depends on, as indices into [`PlanFile::items`], in the order of the file.
    pub after: Vec<usize>,
    /// The agent that works on it.
    pub agent: Option<String>,
    /// When it counts as done, in words.
    pub criteria: Option<String>,
    /// A person must approve before it runs.
    pub approve: bool,
    /// How often it may be retried.
    pub retry: Option<Retry>,
    /// Timeout in seconds.
    pub timeout: Option<u32>,
}

impl Fields {
    /// Whether the item has a command or an agent of its own.
    pub fn is_work(&self) -> bool {
        self.run.is_some() || self.verify.is_some() || self.agent.is_some()
    }
}

/// How often an item may be retried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retry {
    /// Further tries after the first.
    pub times: u32,
    /// Seconds to wait before each retry.
    pub wait: Option<u32>,
}

/// The state of a box.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tick {
    /// `[ ]`
    Open,
    /// `[>]`, `[~]` or `[/]`
    Begun,
    /// `[x]`
    Done,
    /// `[-]` or `[c]`
    Skipped,
}

impl Tick {
    /// All states.
    pub const ALL: [Self; 4] = [Self::Open, Self::Begun, Self::Done, Self::Skipped];

    /// The character between the brackets.
    pub fn sign(self) -> char {
        match self {
            Self::Open => ' ',
            Self::Begun => '>',
            Self::Done => 'x',
            Self::Skipped => '-',
        }
    }
}

/// A mistake in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// The length in characters.
    pub length: usize,
    /// Whether the file can still be used.
    pub severity: Severity,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// How bad a problem is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// A possible mistake. The file can be used.
    Warning,
    /// The file cannot be used.
    Error,
}

impl PlanFile {
    /// Whether the file has no errors.
    pub fn is_sound(&self) -> bool {
        self.problems.iter().all(|it| it.severity < Severity::Error)
    }

    /// Checks texts against the limits. A text that is too long is a problem at its line.
    pub fn hold_to(&mut self, limits: &Limits) {
        let mut problems = Vec::new();
        for item in &self.items {
            let too_long = |what: &str, text: &str, most: u32| {
                let length = text.chars().count();
                let what = format!("{what} of {length} characters; the limit is {most}");
                let hint = "shorten it, and put the rest below it as prose.".to_owned();
                let is_long = length > usize::try_from(most).unwrap_or(usize::MAX);
                is_long.then(|| item.spot.problem(Severity::Error, what, Some(hint)))
            };
            let criteria = item.fields.criteria.as_deref().unwrap_or_default();
            problems.extend(too_long("a title", &item.title, limits.title));
            problems.extend(too_long("prose", &item.context, limits.text));
            problems.extend(too_long("criteria", criteria, limits.text));
        }
        self.problems.append(&mut problems);
        self.problems.sort_by_key(|it| (it.line, it.column));
    }

    /// The direct sub-items of an item.
    pub fn children(&self, index: usize) -> impl Iterator<Item = usize> {
        // Sub-items follow their parent without a gap, so the search ends early.
        let rest = self.items.iter().enumerate().skip(index + 1);
        rest.take_while(move |(_, it)| it.parent.is_some_and(|parent| parent >= index))
            .filter(move |(_, it)| it.parent == Some(index))
            .map(|(at, _)| at)
    }

    /// An item, its parent, and so on up to the top.
    pub fn upwards(&self, index: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(index), |at| self.items.get(*at)?.parent)
    }

    /// The titles from the top down to an item.
    pub fn path(&self, index: usize) -> Vec<&str> {
        let mut path: Vec<&str> =
            self.upwards(index).filter_map(|at| Some(self.items.get(at)?.title.as_str())).collect();
        path.reverse();
        path
    }
}

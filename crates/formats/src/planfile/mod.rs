//! Plan files: Markdown checklists that can be worked off.
//!
//! [`read()`] takes any text and never fails: what is wrong is a [`Problem`] that points at its line
//! and column, and what is not known is left alone. [`Import`] says what a plan must become to be
//! what the file says, as steps that the model decides on. [`write_back`] sets boxes and changes
//! nothing else. Nothing here looks at a file system or runs anything.
//!
//! Reading order: this file is the data, [`mod@read`] the lines, `field` the values under an item,
//! `after` the titles that they name, [`mod@import`] the way into a plan, `point` how a problem is
//! drawn.

mod after;
mod field;
pub mod import;
mod lines;
mod near;
mod point;
pub mod read;
mod write;

#[cfg(test)]
mod tests;

use std::ops::Range;

use punchlist_model::Limits;

pub use import::{
    Changed, Dropped, Import, Source, directory, finished_groups, is_from_file, matched, retry_wait,
};
pub use point::draw;
pub use read::read;
pub use write::{ticks, write_back};

/// What a file says.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PlanFile {
    /// The first heading of the highest level; most files have one.
    pub title: Option<String>,
    /// The items in the order of the file; one that stands under another comes after it.
    pub items: Vec<FileItem>,
    /// What is wrong or looks wrong, in the order of the file.
    pub problems: Vec<Problem>,
}

/// One item of a file.
#[derive(Clone, PartialEq, Debug)]
pub struct FileItem {
    /// What to do: the text behind the box.
    pub title: String,
    /// The headings that it stands under, below the title of the file; empty for most.
    pub section: String,
    /// The item that it stands under, as an index into [`PlanFile::items`].
    pub parent: Option<usize>,
    /// Its line, from 1.
    pub line: usize,
    /// Where its title is.
    pub(crate) spot: read::Spot,
    /// What its box says.
    pub tick: Tick,
    /// The bytes between the brackets of its box.
    pub(crate) inside: Range<usize>,
    /// Prose under it.
    pub context: String,
    /// What stands under it as `key: value`.
    pub fields: Fields,
}

/// The fields of an item.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Fields {
    /// The shell command that does it.
    pub run: Option<String>,
    /// The shell command that shows that it is done.
    pub verify: Option<String>,
    /// Globs of the files that `verify` speaks for.
    pub covers: Vec<String>,
    /// What it comes after, as indices into [`PlanFile::items`], in the order of the file.
    pub after: Vec<usize>,
    /// The worker that it goes to.
    pub agent: Option<String>,
    /// When it counts as done, in words.
    pub criteria: Option<String>,
    /// A person must say yes before it runs.
    pub approve: bool,
    /// How often it may be tried again.
    pub retry: Option<Retry>,
    /// Seconds after which it is ended.
    pub timeout: Option<u32>,
}

impl Fields {
    /// Whether there is something to do for the item itself, besides what stands under it.
    pub fn is_work(&self) -> bool {
        self.run.is_some() || self.verify.is_some() || self.agent.is_some()
    }
}

/// How often something may be tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retry {
    /// Further tries after the first.
    pub times: u32,
    /// Seconds to wait before each.
    pub wait: Option<u32>,
}

/// What a box says.
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
    /// All of them.
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

/// Something that is wrong with a file, or looks so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// How many characters it is about.
    pub length: usize,
    /// Whether the file can be used all the same.
    pub severity: Severity,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// How bad a problem is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// It looks wrong; the file is used as it was understood.
    Warning,
    /// The file cannot be used.
    Error,
}

impl PlanFile {
    /// Whether it may be used: nothing in it is an error.
    pub fn is_sound(&self) -> bool {
        self.problems.iter().all(|it| it.severity < Severity::Error)
    }

    /// Holds texts to limits: what is too long is a problem at its line.
    pub fn hold_to(&mut self, limits: &Limits) {
        let mut problems = Vec::new();
        for item in &self.items {
            let too_long = |what: &str, text: &str, most: u32| {
                let length = text.chars().count();
                let what = format!("{what} of {length} characters; the limit is {most}");
                let hint =
                    "shorten it; what else is to be said may stand below, as prose.".to_owned();
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

    /// The items directly under one.
    pub fn children(&self, index: usize) -> impl Iterator<Item = usize> {
        // What stands under an item follows it without a gap, so the search ends early.
        let rest = self.items.iter().enumerate().skip(index + 1);
        rest.take_while(move |(_, it)| it.parent.is_some_and(|parent| parent >= index))
            .filter(move |(_, it)| it.parent == Some(index))
            .map(|(at, _)| at)
    }

    /// An item and what it stands under, nearest first.
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

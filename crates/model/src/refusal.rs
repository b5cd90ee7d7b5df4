//! Why a change is refused, in words that a person or a model can act on.
//!
//! A refusal names every bad entry, the item, its status and what is allowed. What to *do* about it
//! depends on the verbs or tools that the reader has, so the front ends add the hints.

use std::fmt;

use jiff::Timestamp;

use crate::id::{Attempt, Number, Revision};
use crate::item::{Item, Level, Status};

/// Everything that is wrong with a change. Never empty.
#[derive(Clone, PartialEq, Debug)]
pub struct Refusal {
    /// The problems, in the order of the entries.
    pub problems: Vec<Problem>,
    /// How many entries the change has.
    pub entries: usize,
}

/// Maximum of problems that are written out. Nobody reads a thousand.
const MOST_PROBLEMS: usize = 100;

impl Refusal {
    /// The refusal of a change with one entry and one problem.
    pub fn one(broken: Broken) -> Self {
        Self { problems: vec![Problem { entry: 0, item: None, broken }], entries: 1 }
    }

    /// The refusal with every title replaced by `shown(title)`. Views know how to make a text safe
    /// to show.
    #[must_use]
    pub fn with_titles(mut self, shown: impl Fn(&str) -> String) -> Self {
        for problem in &mut self.problems {
            for tag in problem.item.iter_mut().chain(problem.broken.others()) {
                tag.title = shown(&tag.title);
            }
        }
        self
    }

    /// The first problem.
    pub fn first(&self) -> Option<&Problem> {
        self.problems.first()
    }

    /// Whether one of the problems is a conflict with a change that the caller has not seen.
    pub fn is_conflict(&self) -> bool {
        self.problems.iter().any(|problem| matches!(problem.broken, Broken::Conflict(_)))
    }

    /// Whether all problems are items that were not found.
    pub fn is_not_found(&self) -> bool {
        self.problems
            .iter()
            .all(|problem| matches!(problem.broken, Broken::NotFound { .. } | Broken::Superseded))
    }
}

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.problems.iter().take(MOST_PROBLEMS).enumerate() {
            if n > 0 {
                f.write_str("\n")?;
            }
            let entry = (self.entries > 1 && problem.item.is_none()).then_some(problem.entry);
            if let (Some(entry), Some((field, what))) = (entry, problem.broken.of_field()) {
                write!(f, "the {field} of entry {} {what}", entry + 1)?;
            } else {
                problem.fmt(f)?;
            }
        }
        match self.problems.len().saturating_sub(MOST_PROBLEMS) {
            0 => Ok(()),
            more => write!(f, "\n… and {more} more"),
        }
    }
}

/// One problem of a change.
#[derive(Clone, PartialEq, Debug)]
pub struct Problem {
    /// Which entry of the change, from 0.
    pub entry: usize,
    /// The item, if there is one.
    pub item: Option<Tag>,
    /// The broken rule.
    pub broken: Broken,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.item, &self.broken) {
            (Some(tag), Broken::EmptyTitle { .. }) => write!(f, "{tag}: the title is empty"),
            (Some(tag), Broken::Illegal { to, legal }) => illegal(f, tag, *to, legal),
            (Some(tag), Broken::NotOpen) => {
                write!(f, "{tag} is {}: {}", tag.status.words(), self.broken)
            }
            (Some(tag), broken) if broken.is_sentence() => write!(f, "{tag}: {broken}"),
            (Some(tag), broken) => write!(f, "{tag} {broken}"),
            (None, broken) => broken.fmt(f),
        }
    }
}

/// Says which transition is not allowed, the current status, and which statuses are allowed. A
/// closed item must be reopened first, so the message says that.
fn illegal(f: &mut fmt::Formatter<'_>, tag: &Tag, to: Status, legal: &[Status]) -> fmt::Result {
    let is = tag.status.words();
    if tag.status == to {
        write!(f, "{tag} is {is} already")?;
    } else if legal.contains(&to) && tag.status.is_open() {
        write!(f, "{tag} is {is}: only a closed item can be reopened")?;
    } else if legal.contains(&to) {
        return write!(f, "{tag} is {is}: it can be {} only if it is reopened", to.words());
    } else {
        write!(f, "{tag} is {is}: it cannot become {}", to.words())?;
    }
    let legal: Vec<_> = legal.iter().map(|status| status.words()).collect();
    let how = if tag.status.is_open() { "" } else { ", if it is reopened" };
    write!(f, "; legal now: {}{how}", legal.join(", "))
}

/// An item's number, title and status, for messages.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the fields are those of `Item`")]
pub struct Tag {
    pub number: Number,
    pub title: String,
    pub status: Status,
}

impl From<&Item> for Tag {
    fn from(item: &Item) -> Self {
        Self { number: item.number, title: item.title.clone(), status: item.status }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item {} {:?}", self.number, Brief(&self.title))
    }
}

/// A title cut to the length of a message: a refusal must not repeat ten megabytes.
struct Brief<'a>(&'a str);

impl fmt::Debug for Brief<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 80;
        f.write_str("\"")?;
        let mut letters = self.0.chars();
        for letter in letters.by_ref().take(MOST) {
            // Only control characters are escaped, so that joined emoji and quotes stay readable.
            if letter.is_control() {
                write!(f, "{}", letter.escape_default())?;
            } else {
                write!(f, "{letter}")?;
            }
        }
        f.write_str(if letters.next().is_some() { "…\"" } else { "\"" })
    }
}

/// A rule that a change breaks.
#[derive(Clone, PartialEq, Debug)]
#[expect(missing_docs, reason = "each variant is one message, written out below")]
pub enum Broken {
    NotFound { what: String },
    Ambiguous { what: String, candidates: Vec<Number> },
    Superseded,
    EmptyTitle { entry: usize },
    EmptyText { field: &'static str },
    TooLong { field: &'static str, length: usize, most: u32 },
    Nul { field: &'static str },
    TooDeep { field: &'static str },
    PersonsGoal,
    PersonsApproval,
    TooManyOpen { open: u32, adding: u32, most: u32 },
    Illegal { to: Status, legal: Vec<Status> },
    NotOpen,
    AlreadyInProgress { holder: Tag, by: Option<String>, most: u32 },
    HeldByOther { holder: String, until: Timestamp },
    StaleAttempt { yours: Attempt, current: Attempt },
    Cycle { path: Vec<Number> },
    ParentCycle { path: Vec<Number> },
    OpenChild { child: Tag },
    Blocked { to: Status, by: Vec<Tag> },
    ParentCompleted { parent: Tag },
    Unverified { demanded: Level, failed: bool },
    NameTaken { name: String },
    Twice { entries: Vec<usize> },
    Conflict(Box<Sides>),
}

/// Both sides of a conflict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sides {
    /// The field.
    pub field: &'static str,
    /// The caller's value.
    pub yours: String,
    /// The current value.
    pub theirs: String,
    /// Who set the current value.
    pub by: String,
    /// The revision that set it.
    pub revision: Revision,
}

impl fmt::Display for Sides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, yours, theirs, by, revision } = self;
        write!(
            f,
            "the {field} was changed by {} since you last saw it (revision {revision}): \
             you have {:?}, now it is {:?}",
            brief(by),
            Brief(yours),
            Brief(theirs),
        )
    }
}

impl Broken {
    /// The other items that the rule is about.
    fn others(&mut self) -> &mut [Tag] {
        match self {
            Self::AlreadyInProgress { holder: other, .. }
            | Self::OpenChild { child: other }
            | Self::ParentCompleted { parent: other } => std::slice::from_mut(other),
            Self::Blocked { by, .. } => by,
            Self::NotFound { .. }
            | Self::Ambiguous { .. }
            | Self::Superseded
            | Self::EmptyTitle { .. }
            | Self::EmptyText { .. }
            | Self::TooLong { .. }
            | Self::Nul { .. }
            | Self::TooDeep { .. }
            | Self::PersonsGoal
            | Self::PersonsApproval
            | Self::TooManyOpen { .. }
            | Self::Illegal { .. }
            | Self::NotOpen
            | Self::HeldByOther { .. }
            | Self::StaleAttempt { .. }
            | Self::Cycle { .. }
            | Self::ParentCycle { .. }
            | Self::Unverified { .. }
            | Self::NameTaken { .. }
            | Self::Twice { .. }
            | Self::Conflict(_) => &mut [],
        }
    }

    /// The participle for reaching a status: "started", "completed".
    pub fn made(to: Status) -> &'static str {
        if to == Status::InProgress { "started" } else { to.words() }
    }

    /// Writes the dependencies that block an item, each with its status.
    fn list_blockers(f: &mut fmt::Formatter<'_>, by: &[Tag]) -> fmt::Result {
        const MOST: usize = 5;
        for (n, tag) in by.iter().take(MOST).enumerate() {
            let comma = if n > 0 { ", " } else { "" };
            write!(f, "{comma}{tag}, which is {}", tag.status.words())?;
        }
        match by.len().saturating_sub(MOST) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }

    /// The field and what is wrong with its text, if the rule is about one text.
    fn of_field(&self) -> Option<(&'static str, String)> {
        if let Self::TooLong { field, length, most } = self {
            return Some((field, format!("has {length} characters; at most {most} are allowed")));
        }
        if let Self::Nul { field } = self {
            return Some((field, "contains a NUL character".to_owned()));
        }
        if let Self::TooDeep { field } = self {
            let most = crate::json::DEEPEST;
            return Some((field, format!("is nested more than {most} levels deep")));
        }
        None
    }

    /// Whether the message is a sentence of its own. If not, it continues after the item's name.
    fn is_sentence(&self) -> bool {
        match self {
            Self::NotFound { .. }
            | Self::Ambiguous { .. }
            | Self::EmptyTitle { .. }
            | Self::TooLong { .. }
            | Self::Nul { .. }
            | Self::TooDeep { .. }
            | Self::PersonsGoal
            | Self::TooManyOpen { .. }
            | Self::Illegal { .. }
            | Self::NotOpen
            | Self::NameTaken { .. }
            | Self::Twice { .. }
            | Self::Conflict(_) => true,
            Self::Superseded
            | Self::PersonsApproval
            | Self::EmptyText { .. }
            | Self::AlreadyInProgress { .. }
            | Self::HeldByOther { .. }
            | Self::StaleAttempt { .. }
            | Self::Cycle { .. }
            | Self::ParentCycle { .. }
            | Self::OpenChild { .. }
            | Self::Blocked { .. }
            | Self::ParentCompleted { .. }
            | Self::Unverified { .. } => false,
        }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { what } => write!(f, "there is no item {}", brief(what)),
            Self::Ambiguous { what, candidates } => {
                write!(f, "{} may be any of items {}", brief(what), list(candidates, ", "))
            }
            Self::Superseded => f.write_str("is no longer on the list: it was dropped"),
            Self::EmptyTitle { entry } => write!(f, "the title of entry {} is empty", entry + 1),
            Self::EmptyText { field } => write!(f, "needs a {field} that is not empty"),
            Self::PersonsGoal => {
                f.write_str("a person set the goal: an agent cannot change or clear it")
            }
            Self::PersonsApproval => {
                f.write_str("cannot be approved by an agent, only by a person")
            }
            Self::TooLong { field, .. } | Self::Nul { field } | Self::TooDeep { field } => {
                let what = self.of_field().map(|(_, what)| what).unwrap_or_default();
                write!(f, "the {field} {what}")
            }
            Self::TooManyOpen { open, adding, most } => write!(
                f,
                "the plan has {open} open items; {adding} more would exceed the limit of {most}"
            ),
            Self::Illegal { to, legal } => {
                let legal: Vec<_> = legal.iter().map(|status| status.words()).collect();
                write!(f, "it cannot become {}; legal now: {}", to.words(), legal.join(", "))
            }
            Self::NotOpen => f.write_str("only an open item can wait"),
            Self::AlreadyInProgress { holder, by, most } => {
                write!(f, "cannot be started: {holder} is in progress")?;
                if let Some(by) = by {
                    write!(f, " ({by})")?;
                }
                if *most > 1 {
                    write!(f, ", and at most {most} may be at once")?;
                }
                Ok(())
            }
            Self::HeldByOther { holder, until } => {
                write!(f, "is held by {} until {until:.0}", brief(holder))
            }
            Self::StaleAttempt { yours, current } if yours == current => {
                write!(f, "is no longer held under attempt {yours}: its lease ran out")
            }
            Self::StaleAttempt { yours, current } => write!(
                f,
                "has been claimed again: this is attempt {yours}, it is at attempt {current}"
            ),
            Self::Cycle { path } => {
                write!(f, "would depend on itself: {}", list(path, " → "))
            }
            Self::ParentCycle { path } => {
                write!(f, "would be under itself: {}", list(path, " → "))
            }
            Self::OpenChild { child } => {
                write!(f, "cannot be completed: {child} under it is open")
            }
            Self::Blocked { to, by } => {
                write!(f, "cannot be {}: it depends on ", Self::made(*to))?;
                Self::list_blockers(f, by)
            }
            Self::ParentCompleted { parent } => {
                write!(f, "cannot be open under {parent}, which is completed")
            }
            Self::Unverified { demanded, failed: false } => write!(
                f,
                "cannot be completed: it needs {} evidence and has none",
                demanded.as_str()
            ),
            Self::Unverified { failed: true, .. } => {
                f.write_str("cannot be completed: its last check failed")
            }
            Self::NameTaken { name } => {
                write!(f, "another plan of this project is called {:?}", Brief(name))
            }
            Self::Twice { entries } => {
                let entries: Vec<_> = entries.iter().map(|n| (n + 1).to_string()).collect();
                write!(f, "entries {} are the same item", entries.join(" and "))
            }
            Self::Conflict(sides) => sides.fmt(f),
        }
    }
}

fn brief(text: &str) -> String {
    let quoted = format!("{:?}", Brief(text));
    quoted[1..quoted.len() - 1].to_owned()
}

fn list(numbers: &[Number], separator: &str) -> String {
    numbers.iter().map(Number::to_string).collect::<Vec<_>>().join(separator)
}

/// What the caller should know although nothing was refused.
#[derive(Clone, PartialEq, Debug)]
pub enum Warning {
    /// A whole-list write dropped an open item.
    DroppedOpen(Tag),
    /// Started or completed although a dependency is not completed.
    Blocked {
        /// The item.
        item: Tag,
        /// The dependencies that are not completed.
        by: Vec<Tag>,
    },
    /// An item was cancelled while sub-items were open.
    OpenUnderCancelled {
        /// The cancelled item.
        item: Tag,
        /// The open sub-items.
        children: Vec<Tag>,
    },
    /// Open items depend on the cancelled item: they need a decision.
    DependsOnCancelled {
        /// The cancelled item.
        item: Tag,
        /// The items that depend on it.
        dependants: Vec<Tag>,
    },
    /// An agent's list lacks this open item, but the item did not come from such a list, so it
    /// stays.
    NotFromList(Tag),
    /// Somebody else has added this item since; it stays.
    AddedSince {
        /// The item.
        item: Tag,
        /// Who added it.
        by: String,
    },
    /// Somebody else has changed this item since, and the caller has not; it stays as it is.
    ChangedSince {
        /// The item as it is now.
        item: Tag,
        /// Who changed it.
        by: String,
    },
    /// Somebody else has taken this item off the list since; it stays off.
    RemovedSince {
        /// The item.
        item: Tag,
        /// Who took it off.
        by: String,
    },
    /// In recorded mode: both changed the item, and the caller's value was stored.
    Conflict {
        /// The item.
        item: Tag,
        /// Both sides.
        sides: Box<Sides>,
    },
    /// A recorded change named an unknown item.
    Ignored {
        /// The reference.
        what: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DroppedOpen(tag) => write!(f, "Dropped while open: {}", Hash(tag)),
            Self::Blocked { item, by } => {
                write!(f, "{} is blocked by {}", Hash(item), hashes(by))
            }
            Self::OpenUnderCancelled { item, children } => {
                write!(f, "Still open under {}: {}", Hash(item), hashes(children))
            }
            Self::DependsOnCancelled { item, dependants } => {
                write!(f, "Depends on {}, which was cancelled: {}", Hash(item), hashes(dependants))
            }
            Self::NotFromList(tag) => write!(f, "Not of this list, and still open: {}", Hash(tag)),
            Self::AddedSince { item, by } => {
                write!(f, "Added since by {}: {}", brief(by), Hash(item))
            }
            Self::ChangedSince { item, by } => {
                let status = item.status.words();
                write!(f, "Changed since by {}: {} ({status})", brief(by), Hash(item))
            }
            Self::RemovedSince { item, by } => {
                write!(f, "Taken off the list since by {}: {}", brief(by), Hash(item))
            }
            Self::Conflict { item, sides } => write!(f, "{}: {sides}", Hash(item)),
            Self::Ignored { what } => write!(f, "Ignored: there is no item {}", brief(what)),
        }
    }
}

struct Hash<'a>(&'a Tag);

impl fmt::Display for Hash<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{} {}", self.0.number, brief_plain(&self.0.title))
    }
}

fn brief_plain(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn hashes(tags: &[Tag]) -> String {
    tags.iter().map(|tag| Hash(tag).to_string()).collect::<Vec<_>>().join(", ")
}

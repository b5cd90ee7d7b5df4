//! Refusals and errors of a change, worded for the tool that asked for it.
//!
//! The model crate reports which rule is broken. This file makes it a sentence that names items as
//! the dialect does and ends with the tool to use next. It decides no rule.

use std::collections::BTreeSet;

use punchlist_model::store::Error;
use punchlist_model::{Broken, Item, Number, Problem, Refusal, Slice, Status, Tag, Warning};

use super::args::{self, BadEntries, brief, cut};

/// Most problems that a reply lists.
const MOST_PROBLEMS: usize = 100;

/// Most dependencies that a reply names.
const MOST_BLOCKERS: usize = 5;

/// How a dialect names items, statuses and its tools.
pub(super) trait Voice {
    /// The dialect's word for an item.
    fn noun(&self) -> &'static str;
    /// The word for a status.
    fn status(&self, status: Status) -> &'static str;
    /// How the model refers to an item on the list; `None` if it cannot.
    fn point(&self, item: &Item) -> Option<String>;
    /// The entry of the call that an operation belongs to, from 0, if the call has entries.
    fn entry(&self, step: usize) -> Option<usize>;
    /// The entry of the call that the n-th new item comes from, both from 0. `None` for a whole
    /// list that is reconciled: only the model crate knows which of its entries are new.
    fn added(&self, nth: usize) -> Option<usize> {
        Some(nth)
    }
    /// Entries that could not be parsed, with their faults. The operations contain a placeholder
    /// for each, which is always refused.
    fn bad_entries(&self) -> Option<&BadEntries> {
        None
    }
    /// Whether the tools can reopen a completed or cancelled item.
    fn reopens(&self) -> bool {
        false
    }
    /// What the model can do about a broken rule.
    fn hint(&self, broken: &Broken, names: &Names<'_>, subject: Option<&Tag>) -> Option<String>;
    /// A sentence that says how to continue after somebody else changed the list.
    fn look(&self) -> &'static str;
}

/// Names items, with the part of the plan that could be loaded.
pub(super) struct Names<'a> {
    voice: &'a dyn Voice,
    plan: Option<&'a Slice>,
}

impl<'a> Names<'a> {
    pub(super) fn new(voice: &'a dyn Voice, plan: Option<&'a Slice>) -> Self {
        Self { voice, plan }
    }

    /// An item as the model knows it: its reference and its title.
    pub(super) fn of(&self, tag: &Tag) -> String {
        let title = args::title(&tag.title);
        match self.pointer(tag.number) {
            Some(pointer) => format!("{} {pointer} {title}", self.voice.noun()),
            None => match self.new_entry(tag.number) {
                Some(entry) => format!("entry {entry} {title}"),
                None => format!("{} {title}", self.voice.noun()),
            },
        }
    }

    /// The reference that the model must type, otherwise the title.
    pub(super) fn typed(&self, tag: &Tag) -> String {
        self.pointer(tag.number).unwrap_or_else(|| args::title(&tag.title))
    }

    /// The item, if it is on the list and was loaded.
    pub(super) fn item(&self, tag: &Tag) -> Option<&'a Item> {
        self.plan?.get(tag.number)
    }

    /// The dialect's word for the current status of an item.
    pub(super) fn status(&self, item: &Item) -> &'static str {
        self.voice.status(item.status)
    }

    fn pointer(&self, number: Number) -> Option<String> {
        self.plan?.get(number).and_then(|item| self.voice.point(item))
    }

    /// The entry of the refused call that would have got this number. `None` if the number exists.
    fn new_entry(&self, number: Number) -> Option<usize> {
        let nth = number.0.checked_sub(self.plan?.next_number.0)?;
        self.voice.added(usize::try_from(nth).ok()?).map(|entry| entry + 1)
    }

    fn numbers(&self, numbers: &[Number], separator: &str) -> String {
        let names: Vec<String> = numbers
            .iter()
            .map(|number| {
                self.pointer(*number)
                    .or_else(|| self.new_entry(*number).map(|entry| format!("entry {entry}")))
                    .unwrap_or_else(|| format!("#{number}"))
            })
            .collect();
        names.join(separator)
    }

    fn list(&self, tags: &[Tag]) -> String {
        tags.iter().map(|tag| self.of(tag)).collect::<Vec<_>>().join(", ")
    }
}

/// Why the change was not made, without a line break at the end.
pub(super) fn failed(error: &Error, names: &Names<'_>) -> String {
    match error {
        Error::Refused(refusal) => refused(refusal, names),
        Error::Revision { .. } => {
            format!("The list was changed by somebody else meanwhile. {}", names.voice.look())
        }
        Error::ReadOnly(why) => {
            format!(
                "The list cannot be written: {}. Nothing was changed. Tell the user.",
                store_text(why)
            )
        }
        Error::Denied { .. } => format!(
            "The list cannot be written: {}. Nothing was changed. Tell the user.",
            store_text(&error.to_string())
        ),
        Error::Unconfirmed { what, .. } => {
            // A second call would make the change twice.
            format!("Not safely stored: {}. Do not send it again; tell the user.", store_text(what))
        }
        Error::Busy(what) => format!(
            "The list is not available: {}. Try again later; if that does not help, tell the user and continue \
             without it.",
            store_text(what)
        ),
        Error::NewerSchema { .. }
        | Error::Server { .. }
        | Error::Unusable { .. }
        | Error::NoPlan(_)
        | Error::NameTaken(_)
        | Error::Exists(_)
        | Error::AlreadyMade(_)
        | Error::NoRun(_)
        | Error::NoCall { .. }
        | Error::CallMoved { .. }
        | Error::NoQuestion(_)
        | Error::NoConversation(_)
        | Error::ConversationExists(_)
        | Error::Held { .. }
        | Error::Message(_)
        | Error::MessageChanged(_)
        | Error::Undo(_) => format!(
            "The list is not available: {}. Nothing was changed. Tell the user, and continue without \
             it.",
            store_text(&error.to_string())
        ),
    }
}

fn refused(refusal: &Refusal, names: &Names<'_>) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut hints: Vec<String> = Vec::new();
    let mut crowded = (None, 0);
    let mut is_judged = false;
    let mut bad = names.voice.bad_entries().cloned().unwrap_or_default();
    let is_understood = bad.is_empty();
    let mut reported = BTreeSet::new();
    for problem in &refusal.problems {
        if let Some(entry) = names.voice.entry(problem.entry) {
            if let Some(bad) = bad.remove(&entry) {
                lines.extend_from_slice(bad.faults());
                reported.insert(entry);
            }
            if reported.contains(&entry) {
                continue;
            }
        }
        // It is unknown which item a faulty entry means, so an item that seems to be missing from
        // the list may not be.
        if !is_understood && matches!(problem.broken, Broken::Conflict(_)) {
            continue;
        }
        is_judged = true;
        if let Broken::TooManyOpen { open, adding, most } = problem.broken {
            // Each entry above the limit is a problem of its own; one sentence reports all of them.
            crowded.0.get_or_insert((open, most));
            crowded.1 += adding;
        } else {
            lines.push(sentence(problem, names));
        }
        let hint = names.voice.hint(&problem.broken, names, problem.item.as_ref());
        hints.extend(hint.filter(|hint| !hints.contains(hint)));
    }
    lines.extend(bad.into_values().flat_map(|it| it.faults().to_vec()));
    let left_out = lines.len().saturating_sub(MOST_PROBLEMS);
    lines.truncate(MOST_PROBLEMS);
    if left_out > 0 {
        lines.push(format!("… and {left_out} more"));
    }
    if let (Some((open, most)), adding) = crowded {
        lines.push(format!(
            "That would make {} open {}s; at most {most} may be open at once",
            open.saturating_add(adding),
            names.voice.noun()
        ));
    }
    hints.truncate(3);
    let mut text = lines.join("\n");
    // If only arguments are wrong, the faults need no introduction.
    if is_judged {
        text.push('.');
    }
    for hint in hints {
        text.push(' ');
        text.push_str(&hint);
    }
    text
}

/// One problem, with the entry that it belongs to.
fn sentence(problem: &Problem, names: &Names<'_>) -> String {
    let subject = problem.item.as_ref().map(|tag| names.of(tag));
    let what = broken(&problem.broken, problem.item.as_ref(), names);
    let text = match subject {
        Some(subject) if stands_alone(&problem.broken) => format!("{subject}: {what}"),
        Some(subject) => format!("{subject} {what}"),
        None => what,
    };
    match names.voice.entry(problem.entry) {
        Some(entry) if !text.starts_with("entry ") => format!("entry {}: {text}", entry + 1),
        Some(_) | None => text,
    }
}

fn broken(broken: &Broken, subject: Option<&Tag>, names: &Names<'_>) -> String {
    let voice = names.voice;
    match broken {
        Broken::NotFound { what } => format!("{} {} not found", voice.noun(), plain(what)),
        Broken::Ambiguous { what, candidates } => {
            format!("{} may be any of {}", plain(what), names.numbers(candidates, ", "))
        }
        Broken::Superseded => "is no longer on the list: it was dropped".to_owned(),
        Broken::EmptyTitle { .. } => "the title is empty".to_owned(),
        Broken::EmptyText { field } => format!("the {field} must not be empty"),
        Broken::Illegal { to, legal } => illegal(*to, legal, subject, voice),
        Broken::NotOpen => {
            let is = subject.map(|tag| format!("is {}: ", voice.status(tag.status)));
            format!("{}only what is open can wait", is.unwrap_or_default())
        }
        Broken::AlreadyInProgress { holder, by: _, most } => {
            let holder = names.of(holder);
            let doing = voice.status(Status::InProgress);
            if *most > 1 {
                format!("cannot be started: {most} are {doing} already, {holder} among them")
            } else {
                format!("cannot be started: {holder} is {doing}")
            }
        }
        Broken::Cycle { path } => {
            format!("would depend on itself: {}", names.numbers(path, " → "))
        }
        Broken::ParentCycle { path } => {
            format!("would be under itself: {}", names.numbers(path, " → "))
        }
        Broken::OpenChild { child } => {
            format!("cannot be completed: {} under it is open", names.of(child))
        }
        Broken::Blocked { to, by } => {
            let blocker =
                |tag: &Tag| format!("{}, which is {}", names.of(tag), voice.status(tag.status));
            let by: Vec<String> = by.iter().take(MOST_BLOCKERS).map(blocker).collect();
            format!("cannot be {}: it depends on {}", Broken::made(*to), by.join(", "))
        }
        Broken::ParentCompleted { parent } => {
            format!("cannot be open under {}, which is completed", names.of(parent))
        }
        Broken::Conflict(_)
        | Broken::Twice { .. }
        | Broken::TooLong { .. }
        | Broken::Nul { .. }
        | Broken::TooDeep { .. }
        | Broken::PersonsGoal
        | Broken::PersonsApproval
        | Broken::TooManyOpen { .. }
        | Broken::HeldByOther { .. }
        | Broken::StaleAttempt { .. }
        | Broken::Unverified { .. }
        | Broken::NameTaken { .. } => broken.to_string(),
    }
}

/// A transition that is not allowed. If the dialect cannot reopen items, the text does not mention
/// reopening, although a person could do it.
fn illegal(to: Status, legal: &[Status], subject: Option<&Tag>, voice: &dyn Voice) -> String {
    let Some(from) = subject.map(|tag| tag.status) else {
        let legal: Vec<_> = legal.iter().map(|status| voice.status(*status)).collect();
        return format!("cannot become {}; legal: {}", voice.status(to), legal.join(", "));
    };
    let is = voice.status(from);
    if from == to {
        format!("is already {is}")
    } else if !from.is_open() && !voice.reopens() {
        format!("is {is} and stays so: it cannot become {}", voice.status(to))
    } else {
        let legal: Vec<_> = legal.iter().map(|status| voice.status(*status)).collect();
        format!("is {is} and cannot become {}; legal: {}", voice.status(to), legal.join(", "))
    }
}

/// Whether the text for a broken rule is a complete sentence, instead of following the item's name.
fn stands_alone(broken: &Broken) -> bool {
    match broken {
        Broken::NotFound { .. }
        | Broken::Ambiguous { .. }
        | Broken::EmptyTitle { .. }
        | Broken::EmptyText { .. }
        | Broken::TooLong { .. }
        | Broken::Nul { .. }
        | Broken::TooDeep { .. }
        | Broken::PersonsGoal
        | Broken::TooManyOpen { .. }
        | Broken::NameTaken { .. }
        | Broken::Conflict(_)
        | Broken::Twice { .. } => true,
        Broken::Superseded
        | Broken::PersonsApproval
        | Broken::Illegal { .. }
        | Broken::NotOpen
        | Broken::AlreadyInProgress { .. }
        | Broken::HeldByOther { .. }
        | Broken::StaleAttempt { .. }
        | Broken::Cycle { .. }
        | Broken::ParentCycle { .. }
        | Broken::OpenChild { .. }
        | Broken::Blocked { .. }
        | Broken::ParentCompleted { .. }
        | Broken::Unverified { .. } => false,
    }
}

/// The dependency to name: a cancelled one if there is one, otherwise the first.
pub(super) fn blocker(by: &[Tag]) -> Option<&Tag> {
    by.iter().find(|tag| tag.status == Status::Cancelled).or(by.first())
}

/// A text shortened and printable, without quotes.
pub(super) fn plain(text: &str) -> String {
    let quoted = brief(text);
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

/// An error text of the store, long enough for any path.
fn store_text(text: &str) -> String {
    cut(text, 1000)
}

/// A warning about a change that was made, with items named as the model knows them.
pub(super) fn warning(warning: &Warning, names: &Names<'_>) -> String {
    match warning {
        Warning::DroppedOpen(tag) => format!("Dropped while open: {}", names.of(tag)),
        Warning::Blocked { item, by } => {
            format!("{} is blocked by {}", names.of(item), names.list(by))
        }
        Warning::OpenUnderCancelled { item, children } => {
            format!("Still open under {}: {}", names.of(item), names.list(children))
        }
        Warning::DependsOnCancelled { item, dependants } => format!(
            "Depends on {}, which was {}: {}",
            names.of(item),
            names.voice.status(Status::Cancelled),
            names.list(dependants)
        ),
        Warning::NotFromList(tag) => {
            format!("Not of this list, and still open: {}", names.of(tag))
        }
        Warning::AddedSince { .. }
        | Warning::ChangedSince { .. }
        | Warning::RemovedSince { .. }
        | Warning::Conflict { .. }
        | Warning::Ignored { .. } => warning.to_string(),
    }
}

/// All warnings of a change, without duplicates.
pub(super) fn warnings(all: &[Warning], names: &Names<'_>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let texts = all.iter().map(|it| warning(it, names));
    texts.filter(|text| seen.insert(text.clone())).collect()
}

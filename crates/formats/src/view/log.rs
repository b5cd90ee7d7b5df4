//! The journal in words: who did what, one line or more per entry.

use std::collections::{BTreeMap, BTreeSet};

use punchlist_model::event::{Delta, PlanDelta};
use punchlist_model::store::Entry;
use punchlist_model::{
    Actor, Event, Evidence, Goal, Number, Plan, Position, Revision, Status, What,
};

use super::{Options, duration, shown};
use crate::text::width::{pad_left, truncate_with};
use crate::text::{Line, Style, isolated, one_line, width};

/// Longest text in a line of the log, in columns.
const LONGEST: usize = 60;
/// The minimal and maximal width of names.
const NAMES: (usize, usize) = (7, 24);

/// What a log shows besides the events.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Show<'a> {
    /// The reader, who is called `you`.
    pub reader: Option<&'a Actor>,
    /// Whether and how lines show times.
    pub times: Times,
    /// Only events of this item.
    pub only: Option<Number>,
}

/// Whether and how lines show times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Times {
    /// No times.
    Hidden,
    /// As `2 m ago`.
    Ago,
}

/// Journal entries of one plan, as lines: `42  claude   completed 2 "Update documentation"`.
///
/// `plan` supplies the titles. If it is complete and the entries lead up to its revision, a move
/// names the new neighbour, otherwise the position.
pub fn log(plan: &Plan, entries: &[Entry], show: Show<'_>, options: &Options) -> Vec<Line> {
    let names: Vec<String> = entries.iter().map(|entry| name(&entry.actor, show)).collect();
    let name_width = names.iter().map(|it| width(it)).max().unwrap_or(0).max(NAMES.0);
    let times: Vec<String> = entries.iter().map(|entry| when(entry, show, options)).collect();
    let time_width = times.iter().map(|it| width(it)).max().unwrap_or(0);
    let revision_width =
        entries.iter().map(|entry| entry.revision.to_string().len()).max().unwrap_or(0);
    let neighbours = neighbours(plan, entries);

    let mut lines = Vec::new();
    for (entry, (name, time)) in entries.iter().zip(names.iter().zip(&times)) {
        let mut head = Line::new();
        head.push(&pad_left(&entry.revision.to_string(), revision_width), Style::Dim);
        if time_width > 0 {
            head.push("  ", Style::Plain).push(&pad_left(time, time_width), Style::Dim);
        }
        head.push("  ", Style::Plain).push(&isolated(name), Style::Bold);
        head.fill(
            revision_width + 2 + name_width + 2 + if time_width > 0 { time_width + 2 } else { 0 },
        );
        let words = words(plan, entry, entries, &neighbours, show.only);
        for (at, words) in words.into_iter().enumerate() {
            // Further events of the same change are below, without actor and time.
            let mut line = if at == 0 { head.clone() } else { Line::new() };
            line.fill(head.width()).push(&words, Style::Plain);
            lines.push(line);
        }
    }
    lines
}

/// Journal entries of one plan in words, without numbers, names and times: for each entry a phrase
/// per event, as in [`log`].
pub fn phrases_of(plan: &Plan, entries: &[Entry], only: Option<Number>) -> Vec<Vec<String>> {
    let neighbours = neighbours(plan, entries);
    let words = |entry: &Entry| words(plan, entry, entries, &neighbours, only);
    entries.iter().map(words).collect()
}

/// What one entry says.
fn words(
    plan: &Plan,
    entry: &Entry,
    entries: &[Entry],
    neighbours: &Neighbours,
    only: Option<Number>,
) -> Vec<String> {
    let undone = entry.undoes.and_then(|it| entries.iter().find(|entry| entry.revision == it));
    match undone {
        Some(undone) => undid_with(plan, undone, entry, neighbours, only),
        None => phrases(plan, entry, neighbours, only),
    }
}

fn name(actor: &Actor, show: Show<'_>) -> String {
    if show.reader == Some(actor) {
        return "you".to_owned();
    }
    truncate_with(&one_line(&actor.name), NAMES.1, "…").into_owned()
}

fn when(entry: &Entry, show: Show<'_>, options: &Options) -> String {
    match show.times {
        Times::Hidden => String::new(),
        Times::Ago => duration::ago(entry.at, options.now),
    }
}

/// Where an item was moved to: (revision, index in the entry), and the item that follows it.
type Neighbours = BTreeMap<(Revision, usize), Option<Number>>;

/// Reverts the entries one by one, starting with the current list, and notes the neighbours of each
/// move.
fn neighbours(plan: &Plan, entries: &[Entry]) -> Neighbours {
    let mut found = Neighbours::new();
    let mut order: Vec<Number> = plan.listed().into_iter().map(|item| item.number).collect();
    let whole = usize::try_from(plan.placed).is_ok_and(|placed| placed == order.len());
    let mut expected = plan.revision;
    if !whole {
        return found;
    }
    let index = |at: Position| usize::try_from(at.0.saturating_sub(1)).unwrap_or(usize::MAX);
    for entry in entries.iter().rev() {
        // A revision is missing, so the order before it is unknown.
        if entry.revision != expected {
            break;
        }
        expected = Revision(expected.0.saturating_sub(1));
        for (at, event) in entry.events.iter().enumerate().rev() {
            match event {
                Event::Moved { number, from, to } => {
                    if order.get(index(*to)) != Some(number) {
                        // Journal and list disagree. A position is better than a wrong neighbour.
                        return found;
                    }
                    found.insert((entry.revision, at), order.get(index(*to) + 1).copied());
                    order.retain(|it| it != number);
                    order.insert(index(*from).min(order.len()), *number);
                }
                Event::Superseded { number, from, .. } => {
                    order.insert(index(*from).min(order.len()), *number);
                }
                Event::Added { item } => order.retain(|it| *it != item.number),
                Event::Restored { number, .. } => order.retain(|it| it != number),
                Event::Changed { .. } | Event::PlanChanged { .. } | Event::Forgotten { .. } => {}
            }
        }
    }
    found
}

/// What an undo reverted, and the status of the items now: `undid: completed 1 "Build" (in progress
/// again)`. `undone` is the reverted entry, `undo` the entry of the undo.
pub fn undid(plan: &Plan, undone: &Entry, undo: &Entry) -> Vec<String> {
    undid_with(plan, undone, undo, &Neighbours::new(), None)
}

fn undid_with(
    plan: &Plan,
    undone: &Entry,
    undo: &Entry,
    neighbours: &Neighbours,
    only: Option<Number>,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, event) in undone.events.iter().enumerate() {
        let is_undone = undo.events.iter().any(|it| it.number() == event.number());
        if only.is_some() && event.number() != only || !is_undone || is_by_the_way(event) {
            continue;
        }
        let neighbour = neighbours.get(&(undone.revision, at)).copied();
        let mut words = Vec::new();
        phrase(plan, event, neighbour, &mut words);
        let now = event.number().and_then(|number| stands_again(number, &undo.events));
        let now = now.map(|it| format!(" ({it})")).unwrap_or_default();
        lines.extend(words.into_iter().map(|words| format!("undid: {words}{now}")));
    }
    if lines.is_empty() && only.is_none() {
        lines.push(format!("undid revision {}", undone.revision));
    }
    lines
}

/// Events that follow from others, and events that are never undone.
fn is_by_the_way(event: &Event) -> bool {
    match event {
        Event::Changed { what, .. } => matches!(what, What::Renewed | What::Evidence),
        Event::PlanChanged { deltas } => {
            deltas.iter().all(|it| matches!(it, PlanDelta::End { .. }))
        }
        Event::Added { .. }
        | Event::Moved { .. }
        | Event::Superseded { .. }
        | Event::Restored { .. }
        | Event::Forgotten { .. } => false,
    }
}

/// The status of an item after these events, if they changed it.
fn stands_again(number: Number, events: &[Event]) -> Option<String> {
    events.iter().filter(|event| event.number() == Some(number)).find_map(|event| match event {
        Event::Changed { deltas, .. } => deltas.iter().rev().find_map(status).map(again),
        Event::Superseded { .. } => Some("dropped".to_owned()),
        Event::Restored { .. } => Some("on the list again".to_owned()),
        Event::Added { .. }
        | Event::Moved { .. }
        | Event::PlanChanged { .. }
        | Event::Forgotten { .. } => None,
    })
}

/// The events of one entry, without actor and time. Empty only if none of them concerns `only`.
fn phrases(
    plan: &Plan,
    entry: &Entry,
    neighbours: &Neighbours,
    only: Option<Number>,
) -> Vec<String> {
    let mut phrases = Vec::new();
    for (at, event) in entry.events.iter().enumerate() {
        if only.is_none() || event.number() == only {
            let neighbour = neighbours.get(&(entry.revision, at)).copied();
            phrase(plan, event, neighbour, &mut phrases);
        }
    }
    if let Some(revision) = entry.undoes
        && (only.is_none() || !phrases.is_empty())
    {
        phrases.insert(0, format!("undid revision {revision}"));
    }
    if phrases.is_empty() && only.is_none() {
        phrases.push(entry.kind.as_str().to_owned());
    }
    phrases
}

fn phrase(plan: &Plan, event: &Event, neighbour: Option<Option<Number>>, out: &mut Vec<String>) {
    match event {
        Event::Added { item } => {
            out.push(format!("added {} {}", item.number, quoted(&item.title)));
        }
        Event::Changed { number, what, deltas } => out.push(changed(plan, *number, *what, deltas)),
        Event::Moved { number, to, .. } => out.push(match neighbour {
            Some(Some(next)) => format!("moved {number} before {next}"),
            Some(None) => format!("moved {number} to the end"),
            None => format!("moved {number} to position {to}"),
        }),
        Event::Superseded { number, .. } => out.push(format!("dropped {}", tag(plan, *number))),
        Event::Restored { number, .. } => out.push(format!("restored {}", tag(plan, *number))),
        Event::PlanChanged { deltas } => {
            for delta in deltas {
                match delta {
                    PlanDelta::Goal { before: Some(before), after: Some(after) } => {
                        aimed(plan, before, after, out);
                    }
                    PlanDelta::Title { .. }
                    | PlanDelta::Name { .. }
                    | PlanDelta::Rules { .. }
                    | PlanDelta::Goal { .. }
                    | PlanDelta::End { .. } => out.push(plan_changed(delta)),
                }
            }
        }
        Event::Forgotten { number: Some(number) } => {
            out.push(format!("erased the texts of {number}"));
        }
        Event::Forgotten { number: None } => out.push("erased the texts of the plan".to_owned()),
    }
}

fn changed(plan: &Plan, number: Number, what: What, deltas: &[Delta]) -> String {
    let tag = tag(plan, number);
    match what {
        What::Waiting => {
            let whom = deltas.iter().rev().find_map(waiting_on).unwrap_or_default();
            format!("set {tag} waiting for: {}", brief(whom))
        }
        What::Cancelled => {
            let reason = deltas.iter().rev().find_map(outcome);
            let reason = reason.map(|it| format!(": {}", brief(it))).unwrap_or_default();
            format!("cancelled {tag}{reason}")
        }
        What::Completed => {
            let outcome_text = deltas.iter().rev().find_map(outcome);
            let outcome_text =
                outcome_text.map(|it| format!(": {}", brief(it))).unwrap_or_default();
            format!("completed {tag}{outcome_text}")
        }
        What::Edited => {
            let fields: Vec<_> =
                deltas.iter().map(|delta| delta.field().as_str().replace('_', " ")).collect();
            format!("edited {tag} ({})", fields.join(", "))
        }
        What::Unreadable => format!("did something to {tag} that cannot be read any more"),
        What::Evidence => {
            let last = deltas.iter().rev().find_map(last_evidence);
            match last {
                Some(it) if it.passed() => {
                    format!("added evidence to {tag} ({})", it.level.as_str())
                }
                Some(_) => format!("added evidence to {tag} (failed)"),
                None => format!("added evidence to {tag}"),
            }
        }
        What::Started
        | What::Released
        | What::LeaseRanOut
        | What::Reopened
        | What::Resumed
        | What::Renewed
        | What::Parked
        | What::Undone => format!("{} {tag}", what.word()),
    }
}

fn status(delta: &Delta) -> Option<Status> {
    if let Delta::Status { after, .. } = delta { Some(*after) } else { None }
}

fn again(status: Status) -> String {
    format!("{} again", status.words())
}

fn waiting_on(delta: &Delta) -> Option<&str> {
    if let Delta::WaitingOn { after, .. } = delta { after.as_deref() } else { None }
}

fn outcome(delta: &Delta) -> Option<&str> {
    if let Delta::Outcome { after, .. } = delta { after.as_deref() } else { None }
}

fn last_evidence(delta: &Delta) -> Option<&Evidence> {
    if let Delta::Evidence { after, .. } = delta { after.last() } else { None }
}

fn plan_changed(delta: &PlanDelta) -> String {
    match delta {
        PlanDelta::Title { after, .. } => format!("titled the plan {}", quoted(after)),
        PlanDelta::Name { after: Some(name), .. } => format!("named the plan {}", quoted(name)),
        PlanDelta::Name { after: None, .. } => "took the plan's name away".to_owned(),
        PlanDelta::Rules { before, after } => match (before.archived, after.archived) {
            (false, true) => "archived the plan".to_owned(),
            (true, false) => "took the plan out of the archive".to_owned(),
            (true, true) | (false, false) => match (before.shared, after.shared) {
                (false, true) => "shared the plan".to_owned(),
                (true, false) => "ended the sharing of the plan".to_owned(),
                (true, true) | (false, false) => "changed the plan's rules".to_owned(),
            },
        },
        PlanDelta::Goal { after: Some(goal), .. } => {
            format!("set the goal {}", quoted(&goal.statement))
        }
        PlanDelta::Goal { after: None, .. } => "took the goal away".to_owned(),
        PlanDelta::End { after, .. } => format!("the plan is {}", after.words()),
    }
}

/// The changes of a goal, one phrase for each part that changed.
fn aimed(plan: &Plan, before: &Goal, after: &Goal, out: &mut Vec<String>) {
    if before.statement != after.statement {
        out.push(format!("set the goal {}", quoted(&after.statement)));
    }
    let tags = |one: &BTreeSet<Number>, other: &BTreeSet<Number>| {
        let tags: Vec<String> = one.difference(other).map(|it| tag(plan, *it)).collect();
        (!tags.is_empty()).then(|| tags.join(", "))
    };
    for (words, items) in [
        ("the goal is accepted by", tags(&after.acceptance, &before.acceptance)),
        ("the goal is not accepted by", tags(&before.acceptance, &after.acceptance)),
        ("narrowed the scope of the goal by", tags(&after.given_up, &before.given_up)),
    ] {
        out.extend(items.map(|it| format!("{words} {it}")));
    }
    // A goal with a new statement is a new goal.
    let widened = tags(&before.given_up, &after.given_up);
    let widened = widened.filter(|_| before.statement == after.statement);
    out.extend(widened.map(|it| format!("widened the scope of the goal by {it}")));
    if before.budget != after.budget {
        out.push("changed what the goal may cost".to_owned());
    }
    match (&before.met, &after.met) {
        (_, Some(met)) if before.met != after.met => {
            out.push(format!("said that the goal is met ({})", met.level.as_str()));
        }
        (Some(_), None) => out.push("the goal does not count as met any more".to_owned()),
        (_, Some(_)) | (None, None) => {}
    }
}

/// An item's number, and its title if it is known.
fn tag(plan: &Plan, number: Number) -> String {
    match plan.get(number) {
        Some(item) => format!("{number} {}", quoted(&item.title)),
        None => number.to_string(),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", isolated(&truncate_with(&shown(text), LONGEST, "…")))
}

fn brief(text: &str) -> String {
    isolated(&truncate_with(&one_line(text), LONGEST, "…")).into_owned()
}

/// Removes renewals of claims from an entry that has other events: every write of a worker renews
/// its claims.
pub fn without_renewals(entry: &mut Entry) {
    let is_renewal = |event: &Event| matches!(event, Event::Changed { what: What::Renewed, .. });
    if !entry.events.iter().all(is_renewal) {
        entry.events.retain(|event| !is_renewal(event));
    }
}

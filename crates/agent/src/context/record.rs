//! The record of a conversation in units that are shown whole or not at all: an answer is never parted
//! from the results of its calls.

use super::Context;
use crate::provider::ModelCall;
use crate::session::{Answer, CallEnd, Entry, Recorded};
use crate::turn::Purpose;

/// What a model call shows of the record.
pub(super) struct Record<'a> {
    /// Oldest first.
    pub(super) units: Vec<Unit<'a>>,
    /// The first unit of this turn.
    pub(super) turn_begins: usize,
    /// The number of this turn's last summary.
    pub(super) summary: Option<u64>,
}

/// A part of the record that stays together.
pub(super) struct Unit<'a> {
    /// The number of its first entry.
    pub(super) first: u64,
    /// The number of its last entry.
    pub(super) last: u64,
    /// The number of its turn.
    turn: u32,
    pub(super) what: What<'a>,
}

pub(super) enum What<'a> {
    /// A summary of what was before.
    Summary(&'a str),
    /// Said by the user.
    User(&'a str),
    /// Said by the runtime.
    Told(&'a str),
    /// An answer, and the result of each of its calls.
    Answer(&'a Answer, Vec<CallAndResult<'a>>),
}

/// A call and what came of it.
pub(super) struct CallAndResult<'a> {
    pub(super) call: &'a ModelCall,
    /// `None` if no result was recorded.
    pub(super) result: Option<&'a CallEnd>,
    /// The number of the entry that keeps the result.
    pub(super) number: u64,
}

impl Unit<'_> {
    /// How many messages it becomes.
    pub(super) fn messages(&self) -> usize {
        if self.has_calls() { 2 } else { 1 }
    }

    /// How many calls it has.
    pub(super) fn calls(&self) -> usize {
        match &self.what {
            What::Answer(_, calls) => calls.len(),
            What::Summary(_) | What::User(_) | What::Told(_) => 0,
        }
    }

    pub(super) fn has_calls(&self) -> bool {
        self.calls() > 0
    }

    pub(super) fn is_answer(&self) -> bool {
        matches!(self.what, What::Answer(..))
    }

    fn is_users(&self) -> bool {
        matches!(self.what, What::User(_))
    }
}

/// The record that a call shows: the last summary, the last messages of earlier turns, and this turn.
pub(super) fn of<'a>(context: &Context<'a>) -> Record<'a> {
    let mut history = window(units(context.earlier), context.options.history);
    let mut turn = units(context.turn);
    let Some((number, through, text)) = last_summary(context.turn) else {
        // Whoever wants no history wants no summary of it.
        let summary = summary_of(context.earlier).filter(|_| context.options.history > 0);
        if let Some(summary) = summary {
            history.retain(|it| it.first > summary.last);
            history.insert(0, summary);
        }
        let turn_begins = history.len();
        history.extend(turn);
        return Record { units: history, turn_begins, summary: None };
    };
    history.retain(|it| it.first > through);
    // What the user said in this turn stays word for word.
    turn.retain(|it| it.first > through || it.is_users());
    let summary =
        Unit { first: number, last: through, turn: turn_of(context), what: What::Summary(text) };
    let mut units = vec![summary];
    units.extend(history);
    let turn_begins = units.len();
    units.extend(turn);
    Record { units, turn_begins, summary: Some(number) }
}

/// The last summary of these entries and everything after what it covers.
pub(super) fn since_summary(entries: &[Recorded]) -> Vec<Unit<'_>> {
    let summary = summary_of(entries);
    let through = summary.as_ref().map_or(0, |it| it.last);
    let rest = units(entries).into_iter().filter(|it| it.first > through);
    summary.into_iter().chain(rest).collect()
}

fn summary_of(entries: &[Recorded]) -> Option<Unit<'_>> {
    let (first, last, text) = last_summary(entries).filter(|it| !is_blank(it.2))?;
    let turn = entries.iter().find(|it| it.number == first).map_or(0, |it| it.turn);
    Some(Unit { first, last, turn, what: What::Summary(text) })
}

fn turn_of(context: &Context<'_>) -> u32 {
    context.turn.last().map_or(0, |it| it.turn)
}

fn last_summary(entries: &[Recorded]) -> Option<(u64, u64, &str)> {
    entries.iter().rev().find_map(|it| match &it.entry {
        Entry::Summary { text, through } => Some((it.number, *through, text.as_str())),
        Entry::User { .. }
        | Entry::Steering { .. }
        | Entry::Answer(_)
        | Entry::Result(_)
        | Entry::Told { .. }
        | Entry::Info { .. }
        | Entry::Used { .. }
        | Entry::Ended { .. } => None,
    })
}

/// The units of some entries. Results stand with their answer, also if a message of the user was
/// recorded between them. Blank messages are left out: providers refuse them.
fn units(entries: &[Recorded]) -> Vec<Unit<'_>> {
    let mut units = Vec::new();
    for (at, it) in entries.iter().enumerate() {
        let number = it.number;
        let unit = |last, what| Unit { first: number, last, turn: it.turn, what };
        match &it.entry {
            Entry::User { text } | Entry::Steering { text } if !is_blank(text) => {
                units.push(unit(number, What::User(text)));
            }
            Entry::Told { text } if !is_blank(text) => units.push(unit(number, What::Told(text))),
            Entry::Answer(answer) if is_shown(answer.purpose) => {
                let rest = entries.get(at + 1..).unwrap_or_default();
                let calls = calls(answer, number, rest);
                if !calls.is_empty() || !is_blank(&answer.message.text) {
                    let last = calls.iter().map(|it| it.number).max().unwrap_or(number);
                    units.push(unit(last, What::Answer(answer, calls)));
                }
            }
            Entry::User { .. }
            | Entry::Steering { .. }
            | Entry::Told { .. }
            | Entry::Answer(_)
            | Entry::Result(_)
            | Entry::Info { .. }
            | Entry::Summary { .. }
            | Entry::Used { .. }
            | Entry::Ended { .. } => {}
        }
    }
    units
}

/// Whether the model reads such an answer again. What came of a classification or a validation is told
/// by the runtime.
fn is_shown(purpose: Purpose) -> bool {
    match purpose {
        Purpose::Classify | Purpose::Validate => false,
        Purpose::Work
        | Purpose::FinalAnswer
        | Purpose::Direct
        | Purpose::Plan
        | Purpose::Item(_) => true,
    }
}

/// The calls of an answer with their results, which are recorded before the next answer.
fn calls<'a>(answer: &'a Answer, number: u64, rest: &'a [Recorded]) -> Vec<CallAndResult<'a>> {
    // A final answer has no tools: its calls were not run.
    if answer.purpose == Purpose::FinalAnswer {
        return Vec::new();
    }
    let round = rest.iter().take_while(|it| !matches!(it.entry, Entry::Answer(_)));
    let results: Vec<(u64, &CallEnd)> = round
        .filter_map(|it| match &it.entry {
            Entry::Result(result) => Some((it.number, result)),
            Entry::User { .. }
            | Entry::Steering { .. }
            | Entry::Answer(_)
            | Entry::Told { .. }
            | Entry::Info { .. }
            | Entry::Summary { .. }
            | Entry::Used { .. }
            | Entry::Ended { .. } => None,
        })
        .collect();
    let with_result = |call: &'a ModelCall| {
        let found = results.iter().find(|(_, it)| it.result.call == call.id);
        CallAndResult {
            call,
            result: found.map(|(_, it)| *it),
            number: found.map_or(number, |(number, _)| *number),
        }
    };
    answer.message.calls.iter().map(with_result).collect()
}

/// The last units that make at most `most` messages, beginning with a message of the user: the request
/// of the turn that is cut, if need be.
fn window(mut units: Vec<Unit<'_>>, most: usize) -> Vec<Unit<'_>> {
    let mut begin = units.len();
    let mut count = 0;
    for (at, unit) in units.iter().enumerate().rev() {
        count += unit.messages();
        if count > most {
            break;
        }
        // Another beginning needs room for the request.
        if unit.is_users() || count < most {
            begin = at;
        }
    }
    let kept = units.split_off(begin);
    let request = kept
        .first()
        .filter(|it| !it.is_users())
        .and_then(|cut| units.into_iter().find(|it| it.is_users() && it.turn == cut.turn));
    request.into_iter().chain(kept).collect()
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

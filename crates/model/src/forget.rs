//! Erases texts from plans and their journals.
//!
//! This is the only exception to "the journal never loses anything", and only a person may ask for
//! it. The texts are erased; the record of what happened stays.

use jiff::Timestamp;

use crate::command::ItemRef;
use crate::decide::Decision;
use crate::event::{Delta, Event, PlanDelta, TOMBSTONE, What};
use crate::id::Number;
use crate::item::{Item, Status};
use crate::plan::End;
use crate::refusal::{Broken, Refusal};
use crate::slice::Slice;
use crate::store::Entry;

/// Resolves the item to forget, which may be superseded.
pub fn target(plan: &Slice, item: &ItemRef) -> Result<Number, Refusal> {
    let problem = Refusal::one;
    let found = plan.find(item).map_err(problem)?;
    found.ok_or_else(|| problem(Broken::NotFound { what: item.to_string() }))
}

/// Decides what forgetting one item, or the whole plan, does to the plan. Nobody can work on an
/// item without a text, so open items are cancelled, with warnings about the items that depend on
/// them.
pub fn decide(plan: &Slice, number: Option<Number>, now: Timestamp) -> Decision {
    let mut draft = plan.clone();
    let mut decision = Decision::default();
    let mut apply = |draft: &mut Slice, event: Event| {
        draft.evolve(&event);
        decision.events.push(event);
    };
    // Erases the texts first, so that the following events contain none.
    apply(&mut draft, Event::Forgotten { number });
    let is_target = |it: &&Item| number.is_none_or(|number| it.number == number);
    let open: Vec<Item> =
        draft.items.values().filter(|it| it.is_open()).filter(is_target).cloned().collect();
    for old in &open {
        let mut new = old.clone();
        new.close(Status::Cancelled, now);
        let deltas = Delta::between(old, &new);
        apply(&mut draft, Event::Changed { number: old.number, what: What::Cancelled, deltas });
    }
    if let Some(event) = draft.rescoped(&decision.events) {
        draft.evolve(&event);
        decision.events.push(event);
    }
    if !open.is_empty() && draft.open == 0 {
        let deltas = vec![PlanDelta::End { before: draft.end, after: End::Drained }];
        decision.events.push(Event::PlanChanged { deltas });
    }
    for item in &open {
        decision.warnings.extend(draft.warn_cancelled(item.number));
    }
    decision
}

/// Erases the texts of one item, or of the whole plan, from a journal entry.
pub fn scrub(entry: &mut Entry, number: Option<Number>) {
    for event in &mut entry.events {
        match event {
            Event::Added { item } if number.is_none_or(|number| item.number == number) => {
                item.forget();
            }
            Event::Changed { number: of, deltas, .. }
                if number.is_none_or(|number| *of == number) =>
            {
                deltas.iter_mut().for_each(scrub_delta);
            }
            Event::PlanChanged { deltas } if number.is_none() => {
                deltas.iter_mut().for_each(scrub_plan_delta);
            }
            Event::Added { .. }
            | Event::Changed { .. }
            | Event::PlanChanged { .. }
            | Event::Moved { .. }
            | Event::Superseded { .. }
            | Event::Restored { .. }
            | Event::Forgotten { .. } => {}
        }
    }
}

fn scrub_delta(delta: &mut Delta) {
    match delta {
        Delta::Title { before, after } => {
            TOMBSTONE.clone_into(before);
            TOMBSTONE.clone_into(after);
        }
        Delta::Context { before, after } | Delta::CompletionCriteria { before, after } => {
            before.clear();
            after.clear();
        }
        Delta::ActiveForm { before, after }
        | Delta::AgentType { before, after }
        | Delta::Owner { before, after } => (*before, *after) = (None, None),
        Delta::Outcome { before, after } | Delta::WaitingOn { before, after } => {
            for text in [before, after] {
                *text = text.take().map(|_| TOMBSTONE.to_owned());
            }
        }
        Delta::Check { before, after } => (*before, *after) = (None, None),
        Delta::Run { before, after } => (*before, *after) = (None, None),
        Delta::Evidence { before, after } => {
            before.clear();
            after.clear();
        }
        Delta::Claim { before, after } => (*before, *after) = (None, None),
        Delta::Metadata { before, after } => (*before, *after) = (None, None),
        Delta::Status { .. }
        | Delta::Priority { .. }
        | Delta::DependsOn { .. }
        | Delta::Parent { .. }
        | Delta::Approve { .. }
        | Delta::Retry { .. }
        | Delta::Timeout { .. }
        | Delta::Attempt { .. }
        | Delta::Marks { .. }
        | Delta::StartedAt { .. }
        | Delta::CompletedAt { .. } => {}
    }
}

fn scrub_plan_delta(delta: &mut PlanDelta) {
    match delta {
        PlanDelta::Title { before, after } => {
            TOMBSTONE.clone_into(before);
            TOMBSTONE.clone_into(after);
        }
        PlanDelta::Name { before, after } => (*before, *after) = (None, None),
        PlanDelta::Goal { before, after } => (*before, *after) = (None, None),
        PlanDelta::Rules { .. } | PlanDelta::End { .. } => {}
    }
}

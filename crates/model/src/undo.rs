//! Undoes a change.
//!
//! An undo reverts the caller's own last change that is not undone yet. It is a conflict if
//! somebody has changed the same fields since. Claims, attempts and evidence are not reverted: they
//! record what happened outside the list. One exception: an item that is in progress again gets its
//! claim back if the claim has not lapsed; otherwise the item becomes pending.

use std::collections::BTreeSet;
use std::fmt;

use crate::actor::Actor;
use crate::command::Ctx;
use crate::decide::{Decision, links};
use crate::event::{Delta, Event, Field, PlanDelta, What};
use crate::goal::is_rescoping;
use crate::id::{Number, Revision};
use crate::item::{Claim, Item, Status};
use crate::plan::{End, Plan};
use crate::refusal::{Broken, Problem, Refusal, Tag};
use crate::store::{Entry, Kind};

/// Why a change cannot be undone.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Conflict {
    /// The caller has no change left to undo.
    #[error("{0} has no change left to undo in this plan")]
    Nothing(String),
    /// Somebody has changed the same fields since.
    #[error("revision {revision} cannot be undone: {}", Clashes(clashes))]
    Changed {
        /// The change to undo.
        revision: Revision,
        /// What was changed since, and by whom.
        clashes: Vec<Clash>,
    },
    /// The undo would break a rule.
    #[error("revision {revision} cannot be undone: {refusal}")]
    Refused {
        /// The change to undo.
        revision: Revision,
        /// The broken rules.
        refusal: Refusal,
    },
}

/// One field that was changed again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clash {
    /// Which item; `None` for the plan itself.
    pub number: Option<Number>,
    /// Which field.
    pub field: &'static str,
    /// The revision that changed it.
    pub revision: Revision,
    /// Who changed it.
    pub actor: String,
}

struct Clashes<'a>(&'a [Clash]);

impl fmt::Display for Clashes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, clash) in self.0.iter().enumerate() {
            if n > 0 {
                f.write_str("; ")?;
            }
            let Clash { number, field, revision, actor } = clash;
            match number {
                Some(number) => write!(f, "{actor} changed the {field} of item {number}")?,
                None => write!(f, "{actor} changed the {field} of the plan")?,
            }
            write!(f, " since (revision {revision})")?;
        }
        Ok(())
    }
}

/// Whether `actor` may undo an entry: it is the actor's own, and neither an undo nor a forget.
pub fn is_candidate(entry: &Entry, actor: &Actor) -> bool {
    entry.actor == *actor && !matches!(entry.kind, Kind::Undo | Kind::Forget)
}

/// The entry to undo and the entries after it. `journal` is a plan's journal, oldest first.
pub fn target<'a>(journal: &'a [Entry], actor: &Actor) -> Option<(&'a Entry, &'a [Entry])> {
    let undone: BTreeSet<Revision> = journal.iter().filter_map(|entry| entry.undoes).collect();
    let index = journal.iter().rposition(|entry| {
        is_candidate(entry, actor) && !undone.contains(&entry.revision) && is_undoable(entry)
    })?;
    Some((&journal[index], &journal[index + 1..]))
}

/// Whether anything in the entry can be undone.
fn is_undoable(entry: &Entry) -> bool {
    entry.events.iter().any(|event| inverse(event).is_some())
}

/// Decides the undo of `entry` on the whole `plan`, given the entries `since`.
pub fn undo(plan: &Plan, entry: &Entry, since: &[Entry], ctx: &Ctx) -> Result<Decision, Conflict> {
    let revision = entry.revision;
    let clashes = clashes(entry, since);
    if !clashes.is_empty() {
        return Err(Conflict::Changed { revision, clashes });
    }
    let mut draft = plan.clone();
    let mut decision = Decision::default();
    for event in entry.events.iter().rev() {
        if let Some(event) = inverse(event).and_then(|event| adapt(&draft, event, ctx)) {
            draft.evolve(&event);
            decision.events.push(event);
        }
    }
    if let Some(event) = draft.rescoped(&decision.events) {
        draft.evolve(&event);
        decision.events.push(event);
    }
    let end = match (draft.open, draft.placed) {
        (0, 1..) => End::Drained,
        _ => End::Open,
    };
    if end != draft.end {
        let deltas = vec![PlanDelta::End { before: draft.end, after: end }];
        let event = Event::PlanChanged { deltas };
        draft.evolve(&event);
        decision.events.push(event);
    }
    check(plan, &draft, ctx).map_err(|refusal| Conflict::Refused { revision, refusal })?;
    Ok(decision)
}

/// The event that reverts `event`, not yet adapted to the current plan.
fn inverse(event: &Event) -> Option<Event> {
    Some(match event {
        Event::Added { item } => {
            // Undoing an addition supersedes the item; its number stays used.
            Event::Superseded { number: item.number, from: item.position?, at: item.created_at }
        }
        Event::Changed { number, deltas, what } => {
            // Changes by time or by Punchlist itself cannot be undone by the caller.
            if matches!(what, What::Renewed | What::LeaseRanOut | What::Parked | What::Evidence) {
                return None;
            }
            let begins = deltas
                .iter()
                .any(|delta| matches!(delta, Delta::Status { before: Status::InProgress, .. }));
            let is_never_undone = |delta: &&Delta| {
                is_never_undone(delta.field()) && !(begins && delta.field() == Field::Claim)
            };
            let deltas: Vec<Delta> =
                deltas.iter().filter(|delta| !is_never_undone(delta)).map(Delta::inverse).collect();
            if deltas.is_empty() {
                return None;
            }
            Event::Changed { number: *number, what: What::Undone, deltas }
        }
        Event::Moved { number, from, to } => Event::Moved { number: *number, from: *to, to: *from },
        Event::Superseded { number, from, at } => {
            Event::Restored { number: *number, to: *from, superseded_at: *at }
        }
        Event::Restored { number, to, superseded_at } => {
            Event::Superseded { number: *number, from: *to, at: *superseded_at }
        }
        Event::PlanChanged { deltas } => {
            let deltas: Vec<PlanDelta> =
                deltas.iter().filter(|delta| !is_derived(delta)).map(PlanDelta::inverse).collect();
            if deltas.is_empty() {
                return None;
            }
            Event::PlanChanged { deltas }
        }
        Event::Forgotten { .. } => return None,
    })
}

/// Whether a change of the plan's fields is derived from changes of items. It is then computed
/// again.
fn is_derived(delta: &PlanDelta) -> bool {
    matches!(delta, PlanDelta::End { .. }) || is_rescoping(delta)
}

/// Fields that an undo never reverts.
fn is_never_undone(field: Field) -> bool {
    matches!(field, Field::Claim | Field::Attempt | Field::Evidence | Field::Marks)
}

/// Adapts a reverting event to the current plan: others may have moved items, and only an item in
/// progress has a claim.
fn adapt(plan: &Plan, event: Event, ctx: &Ctx) -> Option<Event> {
    match event {
        Event::Superseded { number, .. } => {
            let from = plan.get(number)?.position?;
            Some(Event::Superseded { number, from, at: ctx.now })
        }
        Event::Restored { number, to, superseded_at } => {
            let to = to.min(plan.back());
            Some(Event::Restored { number, to, superseded_at })
        }
        Event::Moved { number, to, .. } => {
            let from = plan.get(number)?.position?;
            let to = crate::id::Position(to.0.min(plan.placed));
            (from != to).then_some(Event::Moved { number, from, to })
        }
        Event::Changed { number, what, deltas } => {
            let item = plan.get(number)?;
            let mut after = item.clone();
            for delta in &deltas {
                delta.apply(&mut after);
            }
            let lasts = |claim: &Claim| !claim.has_lapsed(ctx.now, &ctx.gone);
            if after.status == Status::InProgress
                && item.status != Status::InProgress
                && !after.claim.as_ref().is_some_and(lasts)
            {
                after.status = Status::Pending;
                after.started_at = None;
            }
            if after.status != Status::InProgress {
                after.claim = None;
            }
            // The entry has the actual differences, even if there are none: it records that the
            // change was undone.
            Some(Event::Changed { number, what, deltas: Delta::between(item, &after) })
        }
        Event::PlanChanged { mut deltas } => {
            for delta in &mut deltas {
                // Items that were given up since stay given up, whatever the goal says then.
                if let PlanDelta::Goal { before, after } = delta {
                    before.clone_from(&plan.goal);
                    if let (Some(before), Some(after)) = (before, after) {
                        after.given_up.clone_from(&before.given_up);
                    }
                }
            }
            Some(Event::PlanChanged { deltas })
        }
        Event::Added { .. } | Event::Forgotten { .. } => Some(event),
    }
}

/// The fields that were changed again since.
fn clashes(entry: &Entry, since: &[Entry]) -> Vec<Clash> {
    let mine: BTreeSet<(Option<Number>, &'static str)> =
        entry.events.iter().filter(|it| inverse(it).is_some()).flat_map(touched_fields).collect();
    let mut clashes = Vec::new();
    // A later change that was itself undone does not count.
    let undone: BTreeSet<Revision> = since.iter().filter_map(|it| it.undoes).collect();
    let live = since.iter().filter(|it| it.undoes.is_none() && !undone.contains(&it.revision));
    for later in live {
        for (number, field) in later.events.iter().flat_map(touched_fields) {
            let whole = mine.contains(&(number, ADDED)) && field != ORDER;
            if mine.contains(&(number, field)) || whole {
                let clash = Clash {
                    number,
                    field,
                    revision: later.revision,
                    actor: later.actor.name.clone(),
                };
                if !clashes.contains(&clash) {
                    clashes.push(clash);
                }
            }
        }
    }
    clashes
}

/// Stands for all fields of an added item.
const ADDED: &str = "existence";
/// Stands for an item's position.
const ORDER: &str = "place";

/// The fields that an event changes, as far as undo is concerned.
fn touched_fields(event: &Event) -> Vec<(Option<Number>, &'static str)> {
    match event {
        Event::Added { item } => vec![(Some(item.number), ADDED)],
        Event::Changed { number, deltas, .. } => deltas
            .iter()
            .filter(|delta| !is_never_undone(delta.field()))
            // They change only together with the status, which is reported.
            .filter(|delta| !matches!(delta.field(), Field::StartedAt | Field::CompletedAt))
            .map(|delta| (Some(*number), delta.field().as_str()))
            .collect(),
        Event::Moved { number, .. } => vec![(Some(*number), ORDER)],
        Event::Superseded { number, .. } | Event::Restored { number, .. } => {
            vec![(Some(*number), ADDED)]
        }
        Event::PlanChanged { deltas } => deltas
            .iter()
            .filter(|delta| !is_derived(delta))
            .map(|delta| (None, delta.field().as_str()))
            .collect(),
        Event::Forgotten { number } => vec![(*number, "title")],
    }
}

/// Checks that the undo breaks no rule that was not broken before.
fn check(before: &Plan, after: &Plan, ctx: &Ctx) -> Result<(), Refusal> {
    let most = ctx.most_open().unwrap_or(u32::MAX);
    let mut problems = Vec::new();
    let mut note = |item: Option<Tag>, broken| problems.push(Problem { entry: 0, item, broken });
    if after.open > most && after.open > before.open {
        let adding = after.open - before.open;
        note(None, Broken::TooManyOpen { open: before.open, adding, most });
    }
    let limit = after.rules.max_in_progress.or(ctx.limits.max_in_progress);
    let began = |number: Number| {
        before.get(number).is_none_or(|it| it.status != Status::InProgress || it.is_superseded())
    };
    for item in after.in_progress().filter(|item| began(item.number)) {
        // As in `decide`: one item in progress per worker, or as many as the plan allows in all.
        let worker = item.claim.as_ref().map_or(&ctx.holder.name, |claim| &claim.holder.name);
        let others: Vec<_> = after
            .in_progress()
            .filter(|it| it.number != item.number)
            .filter(|it| {
                let holder = it.claim.as_ref().map(|claim| &claim.holder.name);
                limit.is_some() || holder.is_none_or(|name| name == worker)
            })
            .collect();
        let most = limit.unwrap_or(1);
        if u32::try_from(others.len()).unwrap_or(u32::MAX) >= most
            && let Some(first) = others.first()
        {
            let by = first.claim.as_ref().map(|claim| claim.holder.name.clone());
            let broken = Broken::AlreadyInProgress { holder: Tag::from(*first), by, most };
            note(Some(item.into()), broken);
        }
    }
    let finished = |plan, item| finished_parent(plan, item).map(|parent| parent.number);
    for item in after.items.values().filter(|item| item.is_open()) {
        let Some(parent) = finished_parent(after, item) else { continue };
        match before.get(item.number) {
            // It was like this before: recorded mode may leave such items.
            Some(was) if was.is_open() && finished(before, was) == Some(parent.number) => {}
            Some(was) if was.is_open() && was.parent == item.parent => {
                note(Some(parent.into()), Broken::OpenChild { child: item.into() });
            }
            Some(_) | None => {
                note(Some(item.into()), Broken::ParentCompleted { parent: parent.into() });
            }
        }
    }
    for item in after.items.values() {
        let was = before.get(item.number);
        let is_new = |on: &&Number| was.is_none_or(|was| !was.depends_on.contains(on));
        for on in item.depends_on.iter().filter(is_new) {
            if let Some(broken) = links::cycle(after, item.number, *on) {
                note(Some(item.into()), broken);
            }
        }
        if let Some(parent) =
            item.parent.filter(|_| was.is_none_or(|was| was.parent != item.parent))
            && let Some(broken) = links::parent_cycle(after, item.number, parent)
        {
            note(Some(item.into()), broken);
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Refusal { problems, entries: 1 }) }
}

/// The completed parent of an item, if it has one.
fn finished_parent<'a>(plan: &'a Plan, item: &Item) -> Option<&'a Item> {
    let parent = plan.get(item.parent?)?;
    (parent.status == Status::Completed && !parent.is_superseded()).then_some(parent)
}

//! The rules: operations in, events or a refusal out. No other module contains a rule.
//!
//! A change is decided on a draft of the plan, and each operation sees the effects of those before
//! it. After an operation that breaks a rule, the rest is still checked, so that the refusal names
//! every bad entry. In recorded mode a broken rule causes a mark on the item instead of a refusal.

mod add;
mod claim;
mod edit;
mod history;
pub(crate) mod links;
mod matching;
mod merge;
mod order;
mod place;
mod replace;
mod similar;
mod text;
pub mod transition;

use std::collections::BTreeSet;

use crate::actor::ActorKind;
use crate::command::{Ctx, ItemRef, Mode, Op};
use crate::event::{Delta, Event, PlanDelta, What};
use crate::guard::owes_evidence;
use crate::id::{Number, Revision};
use crate::item::{Item, Level, Mark};
use crate::plan::End;
use crate::refusal::{Broken, Problem, Refusal, Tag, Warning};
use crate::slice::Slice;
use crate::store::Entry;

/// The result of deciding a change.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Decision {
    /// The events, in order. Empty if the change has no effect.
    pub events: Vec<Event>,
    /// What the caller should know although nothing was refused.
    pub warnings: Vec<Warning>,
    /// The item that was started, or that [`Op::Next`] picked.
    pub picked: Option<Number>,
    /// The numbers of the new items, in the order of their entries.
    pub added: Vec<Number>,
}

/// Decides what `ops` do to `plan`, or why they are refused. Changes nothing itself.
///
/// `plan` is a whole plan, or the slice that [`crate::needs::Needs::of`] describes for these operations.
/// Time, new ids and the actor come from `ctx`, so equal arguments give equal results.
pub fn decide(plan: &Slice, ops: &[Op], ctx: &Ctx) -> Result<Decision, Refusal> {
    decide_since(plan, ops, ctx, &[])
}

/// Like [`decide`], for a caller that writes whole lists from memory. `since` has the journal
/// entries after the revision that [`journal_needed`] returns.
pub fn decide_since(
    plan: &Slice,
    ops: &[Op],
    ctx: &Ctx,
    since: &[Entry],
) -> Result<Decision, Refusal> {
    let mut draft = Draft::new(plan, ctx, since);
    draft.entries =
        if let [Op::Replace(list) | Op::ReplaceAll(list)] = ops { list.len() } else { ops.len() };
    for entry in draft.order(ops) {
        let op = &ops[entry];
        draft.entry = entry;
        if let Err(stop) = draft.op(op) {
            draft.problems.push(Problem { entry: draft.entry, item: stop.0, broken: stop.1 });
        }
    }
    draft.finish()
}

/// The revision after which a decision needs the plan's journal, if it needs it.
pub fn journal_needed(ops: &[Op], ctx: &Ctx) -> Option<Revision> {
    let is_list = |op: &Op| matches!(op, Op::Replace(_) | Op::ReplaceAll(_));
    ctx.base.filter(|_| ops.iter().any(is_list))
}

/// Why an operation cannot be applied: the item, and the broken rule.
pub(crate) struct Stop(Option<Tag>, Broken);

impl Stop {
    fn at(item: &Item, broken: Broken) -> Self {
        Self(Some(item.into()), broken)
    }
}

impl From<Broken> for Stop {
    fn from(broken: Broken) -> Self {
        Self(None, broken)
    }
}

type Step = Result<(), Stop>;

/// The plan while a change is decided, with the events so far.
struct Draft<'a> {
    plan: Slice,
    /// The plan before the change.
    before: &'a Slice,
    /// Journal entries since the caller was last shown the plan.
    since: &'a [Entry],
    ctx: &'a Ctx,
    entry: usize,
    /// How many entries the change has, for the refusal.
    entries: usize,
    decision: Decision,
    problems: Vec<Problem>,
    /// Marks for the item of the current operation. They are stored when the item is.
    marks: BTreeSet<Mark>,
    parked: bool,
    /// Whether leases are renewed even if nothing else changes.
    renews: bool,
}

impl<'a> Draft<'a> {
    fn new(plan: &'a Slice, ctx: &'a Ctx, since: &'a [Entry]) -> Self {
        Self {
            plan: plan.clone(),
            before: plan,
            since,
            ctx,
            entry: 0,
            entries: 1,
            decision: Decision::default(),
            problems: Vec::new(),
            marks: BTreeSet::new(),
            parked: false,
            renews: false,
        }
    }

    fn op(&mut self, op: &Op) -> Step {
        self.marks.clear();
        match op {
            Op::Add(new) => self.add(new),
            Op::Start(item) => self.on(item, |draft, number| draft.start(number)),
            Op::Next => self.next(),
            Op::Complete { item, outcome, with_children } => self.on(item, |draft, number| {
                if *with_children {
                    draft.complete_children(number)?;
                }
                draft.complete(number, outcome.as_deref())
            }),
            Op::Tick { item, by } => self.on(item, |draft, number| draft.tick(number, by)),
            Op::Cancel { item, reason } => {
                self.on(item, |draft, number| draft.cancel(number, reason.as_deref()))
            }
            Op::Release(item) => self.on(item, |draft, number| draft.release(number)),
            Op::Renew { item, attempt } => {
                self.on(item, |draft, number| draft.renew_held(number, *attempt))
            }
            Op::Reopen { item, start } => {
                self.on(item, |draft, number| draft.reopen(number, *start))
            }
            Op::Wait { item, on } => self.on(item, |draft, number| {
                draft.check_attempt(number)?;
                draft.wait(number, on)
            }),
            Op::Resume(item) => self.on(item, |draft, number| {
                draft.check_attempt(number)?;
                draft.change(number, What::Resumed, |item| item.waiting_on = None);
                Ok(())
            }),
            Op::Edit { item, patch } => self.on(item, |draft, number| {
                draft.check_attempt(number)?;
                draft.edit(number, patch)
            }),
            Op::Move { item, to } => self.on(item, |draft, number| draft.move_to(number, to)),
            Op::Supersede(item) => self.on(item, |draft, number| {
                draft.supersede(number);
                Ok(())
            }),
            Op::Replace(entries) => self.replace(entries, false),
            Op::ReplaceAll(entries) => self.replace(entries, true),
            Op::Prove { item, evidence } => self.on(item, |draft, number| {
                draft.check_attempt(number)?;
                let is_agents = draft.ctx.actor.kind == ActorKind::Agent;
                if evidence.level == Level::Approved && is_agents {
                    let item = draft.plan.get(number);
                    return Err(item.map_or_else(
                        || Broken::PersonsApproval.into(),
                        |item| Stop::at(item, Broken::PersonsApproval),
                    ));
                }
                draft.change(number, What::Evidence, |item| {
                    item.evidence.push(evidence.as_ref().clone());
                });
                let waits = draft.plan.get(number).and_then(|item| item.waiting_on.as_deref());
                if evidence.level == Level::Approved && waits == Some(Item::APPROVAL) {
                    draft.change(number, What::Resumed, |item| item.waiting_on = None);
                }
                Ok(())
            }),
            Op::Park(numbers) => {
                self.park(numbers);
                Ok(())
            }
            Op::Plan(patch) => self.edit_plan(patch),
        }
    }

    /// Applies `step` to the item that a reference names. In recorded mode an unknown item is
    /// skipped with a warning.
    fn on(&mut self, item: &ItemRef, step: impl FnOnce(&mut Self, Number) -> Step) -> Step {
        match self.resolve(item) {
            Ok(number) => step(self, number),
            Err(_) if self.ctx.mode == Mode::Recorded => {
                self.decision.warnings.push(Warning::Ignored { what: item.to_string() });
                Ok(())
            }
            Err(stop) => Err(stop),
        }
    }

    /// Resolves a reference to an item on the list.
    fn resolve(&self, item: &ItemRef) -> Result<Number, Stop> {
        let found = match item {
            ItemRef::Batch(n) => {
                let index = usize::try_from(*n).ok().and_then(|n| n.checked_sub(1));
                index.and_then(|index| self.decision.added.get(index)).copied()
            }
            // A position refers to the plan before the change, even if earlier operations moved
            // items.
            ItemRef::Position(_) => self.before.find(item)?,
            ItemRef::Number(_) | ItemRef::Id(_) | ItemRef::Both(..) | ItemRef::Prefix(_) => {
                self.plan.find(item)?
            }
        };
        let number = found.ok_or_else(|| Broken::NotFound { what: item.to_string() })?;
        match self.plan.get(number) {
            Some(item) if item.is_superseded() => Err(Stop::at(item, Broken::Superseded)),
            Some(_) => Ok(number),
            None => Err(Broken::NotFound { what: item.to_string() }.into()),
        }
    }

    /// Refuses a broken rule or, in recorded mode, adds the mark and continues.
    fn breach(&mut self, mark: Mark, stop: impl FnOnce() -> Stop) -> Step {
        match self.ctx.mode {
            Mode::Enforced => Err(stop()),
            Mode::Recorded => {
                self.marks.insert(mark);
                Ok(())
            }
        }
    }

    fn apply(&mut self, event: Event) {
        self.plan.evolve(&event);
        self.decision.events.push(event);
    }

    /// Changes fields of an item. Adds no event if the values are already the same.
    fn change(&mut self, number: Number, what: What, edit: impl FnOnce(&mut Item)) {
        let Some(old) = self.plan.get(number) else { return };
        let mut new = old.clone();
        edit(&mut new);
        new.marks.append(&mut self.marks);
        let mut deltas = Delta::between(old, &new);
        if deltas.is_empty() {
            return;
        }
        // A change of a parked item ends its parking.
        if !matches!(what, What::Parked | What::Renewed | What::LeaseRanOut)
            && new.marks.remove(&Mark::Parked)
        {
            deltas = Delta::between(old, &new);
        }
        self.apply(Event::Changed { number, what, deltas });
    }

    fn park(&mut self, numbers: &[Number]) {
        self.parked = true;
        for number in numbers {
            let Some(item) = self.plan.get(*number) else { continue };
            if item.is_open() || owes_evidence(&self.plan, item) {
                self.change(*number, What::Parked, |item| {
                    item.marks.insert(Mark::Parked);
                });
            }
        }
    }

    fn finish(mut self) -> Result<Decision, Refusal> {
        if !self.problems.is_empty() {
            self.problems.sort_by_key(|problem| problem.entry);
            return Err(Refusal { problems: self.problems, entries: self.entries });
        }
        if let Some(event) = self.plan.rescoped(&self.decision.events) {
            self.apply(event);
        }
        let end = if self.parked && self.plan.open > 0 {
            End::Stopped
        } else if self.decision.events.is_empty() {
            self.plan.end
        } else if self.plan.open == 0 && self.plan.next_number > Number(1) {
            // Also if all items were removed: there was work, and none is left.
            End::Drained
        } else {
            End::Open
        };
        if end != self.plan.end {
            let delta = PlanDelta::End { before: self.plan.end, after: end };
            self.apply(Event::PlanChanged { deltas: vec![delta] });
        }
        if self.renews || !self.decision.events.is_empty() {
            self.renew();
        }
        Ok(self.decision)
    }
}

impl Slice {
    /// Resolves a reference to an item, superseded items included.
    pub fn find(&self, item: &ItemRef) -> Result<Option<Number>, Broken> {
        let mut found = match item {
            ItemRef::Number(number) => return Ok(self.get(*number).map(|it| it.number)),
            ItemRef::Position(position) => return Ok(self.at(*position).map(|it| it.number)),
            ItemRef::Both(number, id) => {
                return Ok(self.get(*number).filter(|it| it.id == *id).map(|it| it.number));
            }
            ItemRef::Batch(_) => return Ok(None),
            ItemRef::Id(id) => {
                return Ok(self.items.values().find(|it| it.id == *id).map(|it| it.number));
            }
            ItemRef::Prefix(prefix) => {
                self.items.values().filter(|it| it.id.to_string().starts_with(prefix.as_str()))
            }
        };
        let first = found.next().map(|it| it.number);
        match (first, found.next()) {
            (Some(first), Some(second)) => Err(Broken::Ambiguous {
                what: item.to_string(),
                candidates: vec![first, second.number],
            }),
            (first, _) => Ok(first),
        }
    }
}

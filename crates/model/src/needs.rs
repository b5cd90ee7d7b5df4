//! Which part of a plan a decision needs.
//!
//! Large plans must not be loaded whole for every change. A store asks [`Needs::of`] what to load,
//! loads that slice and the items in progress, and decides on it. Deciding on the slice and on the
//! whole plan give the same answer; a property test holds them together.

use std::collections::BTreeSet;

use crate::command::{ItemRef, Op, Place};
use crate::id::Number;
use crate::plan::Plan;
use crate::slice::Slice;

/// What to load besides the header and the items in progress.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Needs {
    /// Everything; the rest is then of no interest.
    pub whole: bool,
    /// The next ready item, and of each of the others what it directly depends on and what is under it.
    pub next: bool,
    /// These items, with what is around them.
    pub items: Vec<Reach>,
}

/// An item and how far to look around it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reach {
    /// Which item.
    pub item: ItemRef,
    /// What is around it.
    pub around: Vec<Around>,
}

/// What may be around an item.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Around {
    /// What it depends on.
    Dependencies,
    /// What it depends on, and what that depends on, and so on.
    AllDependencies,
    /// What depends on it.
    Dependants,
    /// What is directly under it.
    Children,
    /// What it is under, up to the top.
    Ancestors,
}

impl Around {
    /// Whether it goes on from what it finds.
    pub fn is_transitive(self) -> bool {
        match self {
            Self::AllDependencies | Self::Ancestors => true,
            Self::Dependencies | Self::Dependants | Self::Children => false,
        }
    }
}

impl Needs {
    /// Only the header and what is in progress.
    pub fn header() -> Self {
        Self::default()
    }

    /// The whole plan.
    pub fn whole() -> Self {
        Self { whole: true, ..Self::default() }
    }

    /// What deciding on `ops` needs.
    pub fn of(ops: &[Op]) -> Self {
        let mut needs = Self::default();
        let mut shifted = false;
        for op in ops {
            let known = needs.items.len();
            needs.add(op);
            // What stands at a position after an earlier step has shifted it, a store cannot know.
            let by_position = |reach: &Reach| matches!(reach.item, ItemRef::Position(_));
            needs.whole |= shifted && needs.items.iter().skip(known).any(by_position);
            shifted |= shifts(op);
        }
        // What an earlier step makes ready is not the store's to foresee.
        needs.whole |= needs.next && ops.len() > 1;
        needs
    }

    fn add(&mut self, op: &Op) {
        use Around::{AllDependencies, Ancestors, Children, Dependants, Dependencies};
        match op {
            Op::Add(new) => {
                for item in new.depends_on.iter().chain(&new.parent) {
                    self.reach(item, &[]);
                }
                self.place(&new.place);
            }
            Op::Start(item) => self.reach(item, &[Dependencies]),
            Op::Next => self.next = true,
            Op::Complete { item, with_children: false, .. } | Op::Tick { item, .. } => {
                self.reach(item, &[Dependencies, Children, Ancestors]);
            }
            // Everything under it, and what that depends on.
            Op::Complete { with_children: true, .. } | Op::Replace(_) | Op::ReplaceAll(_) => {
                self.whole = true;
            }
            Op::Cancel { item, .. } => self.reach(item, &[Children, Dependants]),
            Op::Reopen { item, start: false } => self.reach(item, &[Ancestors]),
            Op::Reopen { item, start: true } => self.reach(item, &[Dependencies, Ancestors]),
            Op::Release(item)
            | Op::Wait { item, .. }
            | Op::Resume(item)
            | Op::Supersede(item)
            | Op::Prove { item, .. } => self.reach(item, &[]),
            Op::Edit { item, patch } => {
                let moves = patch.status.is_some();
                let around = [Dependencies, Dependants, Children, Ancestors];
                self.reach(item, if moves { &around } else { &[] });
                for item in patch.depends_on.iter().flatten().chain(&patch.after) {
                    self.reach(item, &[AllDependencies]);
                }
                for item in &patch.not_after {
                    self.reach(item, &[]);
                }
                if let Some(Some(parent)) = &patch.parent {
                    self.reach(parent, &[Ancestors]);
                }
            }
            Op::Move { item, to } => {
                self.reach(item, &[]);
                self.place(to);
            }
            Op::Park(numbers) => {
                for number in numbers {
                    self.reach(&ItemRef::Number(*number), &[]);
                }
            }
            Op::Plan(_) => {}
        }
    }

    fn place(&mut self, place: &Place) {
        match place {
            Place::Before(item) | Place::After(item) => self.reach(item, &[]),
            Place::Front | Place::Back | Place::At(_) => {}
        }
    }

    fn reach(&mut self, item: &ItemRef, around: &[Around]) {
        if !matches!(item, ItemRef::Batch(_)) {
            self.items.push(Reach { item: item.clone(), around: around.to_vec() });
        }
    }
}

/// Whether a step changes the positions of items that it does not name.
fn shifts(op: &Op) -> bool {
    match op {
        Op::Add(new) => new.place != Place::Back,
        Op::Move { .. } | Op::Supersede(_) | Op::Replace(_) | Op::ReplaceAll(_) => true,
        Op::Start(_)
        | Op::Next
        | Op::Complete { .. }
        | Op::Tick { .. }
        | Op::Cancel { .. }
        | Op::Release(_)
        | Op::Reopen { .. }
        | Op::Wait { .. }
        | Op::Resume(_)
        | Op::Edit { .. }
        | Op::Prove { .. }
        | Op::Park(_)
        | Op::Plan(_) => false,
    }
}

impl Plan {
    /// The part of a whole plan that `needs` names: what a store that loads slices must load.
    pub fn slice(&self, needs: &Needs) -> Slice {
        if needs.whole {
            return self.clone().into();
        }
        let mut keep: BTreeSet<Number> = self.in_progress().map(|item| item.number).collect();
        for reach in &needs.items {
            for number in self.meant(&reach.item) {
                keep.insert(number);
                for around in &reach.around {
                    self.around(number, *around, &mut keep);
                }
            }
        }
        if needs.next {
            for number in keep.clone() {
                self.around(number, Around::Dependencies, &mut keep);
                self.around(number, Around::Children, &mut keep);
            }
            // Nothing that it depends on is in its way, so what that is need not be known.
            keep.extend(self.next_ready().map(|item| item.number));
        }
        let items = self.items.iter().filter(|(number, _)| keep.contains(number));
        Slice { items: items.map(|(n, item)| (*n, item.clone())).collect(), ..self.header() }
    }

    fn meant(&self, item: &ItemRef) -> Vec<Number> {
        match self.find(item) {
            Ok(found) => found.into_iter().collect(),
            Err(crate::refusal::Broken::Ambiguous { candidates, .. }) => candidates,
            Err(_) => Vec::new(),
        }
    }

    fn around(&self, number: Number, around: Around, keep: &mut BTreeSet<Number>) {
        // Not `keep`: what another reach has kept may not have been followed from there.
        let mut seen = BTreeSet::from([number]);
        let mut waiting = vec![number];
        while let Some(number) = waiting.pop() {
            for next in self.beside(number, around) {
                keep.insert(next);
                if around.is_transitive() && seen.insert(next) {
                    waiting.push(next);
                }
            }
        }
    }

    fn beside(&self, number: Number, around: Around) -> Vec<Number> {
        let Some(item) = self.get(number) else { return Vec::new() };
        let all = self.items.values();
        match around {
            Around::Dependencies | Around::AllDependencies => {
                item.depends_on.iter().copied().collect()
            }
            Around::Dependants => {
                all.filter(|it| it.depends_on.contains(&number)).map(|it| it.number).collect()
            }
            Around::Children => {
                all.filter(|it| it.parent == Some(number)).map(|it| it.number).collect()
            }
            Around::Ancestors => item.parent.into_iter().collect(),
        }
    }
}

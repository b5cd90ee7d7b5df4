//! Which part of a plan a decision needs.
//!
//! Large plans must not be loaded whole for every change. A store asks [`Needs::of`] what to load,
//! loads that slice and the items in progress, and decides on it. Deciding on the slice and on the
//! whole plan gives the same result; a property test checks this.

use std::collections::BTreeSet;

use crate::command::{ItemRef, Op, Place};
use crate::id::Number;
use crate::plan::Plan;
use crate::slice::Slice;

/// What to load besides the header and the items in progress.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Needs {
    /// The whole plan; the other fields are then ignored.
    pub whole: bool,
    /// The next ready item; and for the items in `items`, their direct dependencies and sub-items.
    pub next: bool,
    /// These items and the items around them.
    pub items: Vec<Reach>,
}

/// An item, and which items around it to load.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reach {
    /// Which item.
    pub item: ItemRef,
    /// Which items around it.
    pub around: Vec<Around>,
}

/// Items around an item.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Around {
    /// Its direct dependencies.
    Dependencies,
    /// Its dependencies, their dependencies, and so on.
    AllDependencies,
    /// The items that depend on it.
    Dependants,
    /// Its direct sub-items.
    Children,
    /// Its parent, the parent's parent, and so on.
    Ancestors,
}

impl Around {
    /// Whether it continues from the items that it finds.
    pub fn is_transitive(self) -> bool {
        match self {
            Self::AllDependencies | Self::Ancestors => true,
            Self::Dependencies | Self::Dependants | Self::Children => false,
        }
    }
}

impl Needs {
    /// Only the header and the items in progress.
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
            let before = needs.items.len();
            needs.add(op);
            // A store cannot know which item is at a position after an earlier operation has moved
            // items.
            let by_position = |reach: &Reach| matches!(reach.item, ItemRef::Position(_));
            needs.whole |= shifted && needs.items.iter().skip(before).any(by_position);
            shifted |= shifts(op);
        }
        // A store cannot know which item an earlier operation makes ready.
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
            // These need everything under the item, and its dependencies.
            Op::Complete { with_children: true, .. } | Op::Replace(_) | Op::ReplaceAll(_) => {
                self.whole = true;
            }
            Op::Cancel { item, .. } => self.reach(item, &[Children, Dependants]),
            Op::Reopen { item, start: false } => self.reach(item, &[Ancestors]),
            Op::Reopen { item, start: true } => self.reach(item, &[Dependencies, Ancestors]),
            Op::Release(item)
            | Op::Renew { item, .. }
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

/// Whether an operation changes the positions of items that it does not name.
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
        | Op::Renew { .. }
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
    /// The slice of a whole plan that `needs` describes. A store that loads slices must load the
    /// same.
    pub fn slice(&self, needs: &Needs) -> Slice {
        if needs.whole {
            return self.clone().into();
        }
        let next = self.next_ready().filter(|_| needs.next).map(|item| item.number);
        let mut keep: BTreeSet<Number> = self.in_progress().map(|item| item.number).collect();
        for reach in &needs.items {
            for number in self.matching(&reach.item) {
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
            // A ready item has no open dependency, so its dependencies are not needed.
            keep.extend(next);
        }
        let items = self.items.iter().filter(|(number, _)| keep.contains(number));
        Slice { items: items.map(|(n, item)| (*n, item.clone())).collect(), next, ..self.header() }
    }

    fn matching(&self, item: &ItemRef) -> Vec<Number> {
        match self.find(item) {
            Ok(found) => found.into_iter().collect(),
            Err(crate::refusal::Broken::Ambiguous { candidates, .. }) => candidates,
            Err(_) => Vec::new(),
        }
    }

    fn around(&self, number: Number, around: Around, keep: &mut BTreeSet<Number>) {
        // A separate set, because `keep` may contain items whose neighbours were not visited.
        let mut visited = BTreeSet::from([number]);
        let mut stack = vec![number];
        while let Some(number) = stack.pop() {
            for next in self.neighbours(number, around) {
                keep.insert(next);
                if around.is_transitive() && visited.insert(next) {
                    stack.push(next);
                }
            }
        }
    }

    fn neighbours(&self, number: Number, around: Around) -> Vec<Number> {
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

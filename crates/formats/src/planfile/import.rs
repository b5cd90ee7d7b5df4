//! Compares a plan file with a plan, and returns the operations that make the plan equal to the
//! file.
//!
//! An item of the file is the item of the plan with the same titles from the top down, without
//! guessing. Importing a file twice changes nothing. Items that others added to the plan, such as
//! an agent's own list under an item, are left alone.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use punchlist_model::item::RESERVED;
use punchlist_model::{
    Check, Item, ItemRef, NewItem, Number, Op, Origin, Patch, Place, Plan, PlanPatch, Run, Status,
};
use serde_json::{Map, Value};

use super::{FileItem, PlanFile, Tick};

/// The metadata key of an item that came from a file. Its value is what the file said.
const KEY: &str = RESERVED;

/// The note for a ticked box whose item must be done again: the tick no longer counts.
const OVERRULED: &str = "again";

/// The comparison of a file with a plan.
#[derive(Debug)]
pub struct Import<'a> {
    file: &'a PlanFile,
    plan: Option<&'a Plan>,
    source: Source<'a>,
    /// For each item of the file, its item in the plan.
    known: Vec<Option<Number>>,
    /// Completed items that the file has changed since. They are open again, unless the caller
    /// decides otherwise.
    pub changed: Vec<Changed>,
    /// Items that are no longer in the file.
    pub dropped: Vec<Dropped>,
}

/// Where a file comes from, and who named it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source<'a> {
    /// [`Origin::Person`] where a person named the file.
    pub origin: Origin,
    /// The file's name, for the evidence of ticked boxes.
    pub name: &'a str,
    /// The directory in which its commands run.
    pub directory: &'a str,
    /// The same, relative to the root of the checkout, if other machines run the commands too.
    pub below: Option<&'a str>,
}

/// A completed item that the file has changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Changed {
    /// The item's index in the file.
    pub index: usize,
    /// The item's number in the plan.
    pub number: Number,
    /// What changed: `run`, `verify` or `after`, or `box` if a tick was removed.
    pub fields: Vec<&'static str>,
}

/// An item that is no longer in the file and will be superseded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dropped {
    /// The item.
    pub number: Number,
    /// Its title.
    pub title: String,
    /// Whether it is open.
    pub open: bool,
}

impl<'a> Import<'a> {
    /// Compares a file without errors with the plan that was made from it, if there is one.
    pub fn new(file: &'a PlanFile, plan: Option<&'a Plan>, source: Source<'a>) -> Self {
        let known = plan.map_or_else(|| vec![None; file.items.len()], |plan| matched(file, plan));
        let mut import =
            Self { file, plan, source, known, changed: Vec::new(), dropped: Vec::new() };
        import.dropped = import.find_dropped();
        let waits = import.waits();
        import.changed =
            (0..file.items.len()).filter_map(|it| import.find_changed(it, &waits)).collect();
        import
    }

    /// The number of new items.
    pub fn added(&self) -> usize {
        self.known.iter().filter(|it| it.is_none()).count()
    }

    /// The operations, to be applied as one change. Empty if the plan already equals the file.
    /// `again` says for each changed item whether it must be done again; otherwise it stays
    /// completed.
    ///
    /// The limit of open items does not apply, because the file determines the list.
    pub fn ops(&self, again: impl FnMut(&Changed) -> bool) -> Vec<Op> {
        let steps = Steps::new(self, again);
        let mut ops = Vec::new();
        self.title(&mut ops);
        steps.reopen(&mut ops);
        steps.part(&mut ops);
        for item in &self.dropped {
            ops.push(Op::Supersede(item.number.into()));
        }
        steps.place(&mut ops);
        steps.edit(&mut ops);
        steps.close(&mut ops);
        ops
    }

    fn item(&self, index: usize) -> Option<&'a Item> {
        self.plan?.get(self.known[index]?)
    }

    fn title(&self, ops: &mut Vec<Op>) {
        let title = self.file.title.as_ref();
        if let Some(title) = title.filter(|it| self.plan.is_none_or(|plan| plan.title != **it)) {
            let patch = PlanPatch { title: Some(title.clone()), ..PlanPatch::default() };
            ops.push(Op::Plan(Box::new(patch)));
        }
    }

    /// Items on the list that came from the file and are no longer in it, with their sub-items.
    fn find_dropped(&self) -> Vec<Dropped> {
        let Some(plan) = self.plan else { return Vec::new() };
        let kept: HashSet<Number> = self.known.iter().flatten().copied().collect();
        let mut gone: HashSet<Number> = HashSet::new();
        let mut dropped = Vec::new();
        for item in plan.listed() {
            let left = is_from_file(item) && !kept.contains(&item.number);
            let above = item.parent.is_some_and(|parent| gone.contains(&parent));
            if (left || above) && !kept.contains(&item.number) {
                gone.insert(item.number);
                let (number, title) = (item.number, item.title.clone());
                dropped.push(Dropped { number, title, open: item.is_open() });
            }
        }
        dropped
    }

    /// For each item, the items that it waits for: its own `after:` and those of its parents.
    fn waits(&self) -> Vec<BTreeSet<usize>> {
        let mut waits: Vec<BTreeSet<usize>> = Vec::with_capacity(self.file.items.len());
        for item in &self.file.items {
            let mut set: BTreeSet<usize> = item.fields.after.iter().copied().collect();
            if let Some(above) = item.parent.and_then(|parent| waits.get(parent)) {
                set.extend(above.iter().copied());
            }
            waits.push(set);
        }
        waits
    }

    fn find_changed(&self, index: usize, waits: &[BTreeSet<usize>]) -> Option<Changed> {
        let item = self.item(index).filter(|it| it.status == Status::Completed)?;
        let wanted = &self.file.items[index];
        let mut fields = Vec::new();
        if item.run.as_ref().map(|it| &it.command) != wanted.fields.run.as_ref() {
            fields.push("run");
        }
        if item.check.as_ref().map(|it| &it.command) != wanted.fields.verify.as_ref() {
            fields.push("verify");
        }
        let ours = |number: &Number| {
            self.plan.and_then(|plan| plan.get(*number)).is_some_and(|on| {
                !on.is_superseded() && is_from_file(on) && on.parent != Some(item.number)
            })
        };
        let was: BTreeSet<Number> = item.depends_on.iter().copied().filter(ours).collect();
        let is: Option<BTreeSet<Number>> = waits[index].iter().map(|it| self.known[*it]).collect();
        if is != Some(was) {
            fields.push("after");
        }
        let unticked = matches!(wanted.tick, Tick::Open | Tick::Begun) && noted(item) == Some("x");
        let is_own = wanted.fields.is_work() || self.file.children(index).next().is_none();
        if unticked && is_own {
            fields.push("box");
        }
        (!fields.is_empty()).then_some(Changed { index, number: item.number, fields })
    }
}

/// The operations while they are built.
struct Steps<'a, 'b> {
    import: &'b Import<'a>,
    waits: Vec<BTreeSet<usize>>,
    /// The children of each item, in the order of the file.
    under: Vec<Vec<usize>>,
    /// Which items are done again.
    again: Vec<bool>,
    /// Which of the changed items are done again.
    overruled: BTreeSet<usize>,
    /// How operations refer to an item: by its number, or as the n-th new item.
    refs: Vec<ItemRef>,
}

impl<'a, 'b> Steps<'a, 'b> {
    fn new(import: &'b Import<'a>, mut again: impl FnMut(&Changed) -> bool) -> Self {
        let file = import.file;
        let mut under = vec![Vec::new(); file.items.len()];
        for (index, item) in file.items.iter().enumerate() {
            if let Some(parent) = item.parent {
                under[parent].push(index);
            }
        }
        let mut new = 0;
        let refs = import.known.iter().map(|number| {
            number.map_or_else(
                || {
                    new += 1;
                    ItemRef::Batch(new)
                },
                ItemRef::Number,
            )
        });
        let overruled: BTreeSet<usize> =
            import.changed.iter().filter(|it| again(it)).map(|it| it.index).collect();
        let mut steps = Self {
            import,
            waits: import.waits(),
            under,
            again: vec![false; file.items.len()],
            overruled,
            refs: refs.collect(),
        };
        steps.find_again();
        steps
    }

    /// Finds the items to reopen: changed items, items whose box was cleared, and the parents of
    /// both.
    fn find_again(&mut self) {
        for index in (0..self.again.len()).rev() {
            let item = self.import.item(index);
            let cancelled = item.is_some_and(|it| it.status == Status::Cancelled);
            let wanted = &self.import.file.items[index];
            let unskipped = item.and_then(noted) == Some("-") && wanted.tick != Tick::Skipped;
            self.again[index] |= self.overruled.contains(&index)
                || (cancelled && (unskipped || self.is_newly(index, Tick::Done)));
            let opens = item.is_none() || self.again[index];
            let parent = wanted.parent.filter(|_| opens);
            let above = parent.and_then(|parent| Some((parent, self.import.item(parent)?)));
            if let Some((parent, above)) = above
                && above.status == Status::Completed
            {
                self.again[parent] = true;
            }
        }
    }

    /// Whether the box has this tick, and had another at the last import.
    fn is_newly(&self, index: usize, tick: Tick) -> bool {
        let before = self.import.item(index).and_then(noted);
        let overruled =
            tick == Tick::Done && (before == Some(OVERRULED) || self.overruled.contains(&index));
        let same = before.is_some_and(|it| it.starts_with(tick.sign()));
        self.import.file.items[index].tick == tick && !same && !overruled
    }

    fn reopen(&self, ops: &mut Vec<Op>) {
        for (index, again) in self.again.iter().enumerate() {
            if *again {
                ops.push(Op::Reopen { item: self.refs[index].clone(), start: false });
            }
        }
    }

    /// The dependencies of an item in the plan: what it waits for and, if it has a command of its
    /// own, its sub-items. So the plan alone gives the right order.
    fn depends_on(&self, index: usize) -> BTreeSet<usize> {
        let mut all = self.waits[index].clone();
        if self.import.file.items[index].fields.is_work() {
            all.extend(&self.under[index]);
        }
        all
    }

    /// Obsolete dependencies are removed first. Otherwise new ones could form a cycle with them.
    fn part(&self, ops: &mut Vec<Op>) {
        let Some(plan) = self.import.plan else { return };
        for index in 0..self.refs.len() {
            let Some(item) = self.import.item(index) else { continue };
            let keep: BTreeSet<Number> =
                self.depends_on(index).into_iter().filter_map(|it| self.import.known[it]).collect();
            let from_file = |it: &&Number| {
                plan.get(**it).is_some_and(|it| !it.is_superseded() && is_from_file(it))
            };
            let gone = item.depends_on.difference(&keep).filter(from_file);
            let not_after: Vec<ItemRef> = gone.map(|it| ItemRef::Number(*it)).collect();
            if !not_after.is_empty() {
                let patch = Patch { not_after, ..Patch::default() };
                ops.push(Op::Edit { item: self.refs[index].clone(), patch: Box::new(patch) });
            }
        }
    }

    /// New items go to their position in the file. Other items move only if they must.
    fn place(&self, ops: &mut Vec<Op>) {
        let empty = self.import.plan.is_none_or(|plan| plan.placed == 0);
        let stay = self.staying();
        for (index, wanted) in self.import.file.items.iter().enumerate() {
            let before = index.checked_sub(1).map(|before| self.refs[before].clone());
            let place = if empty { Place::Back } else { before.map_or(Place::Front, Place::After) };
            if self.import.known[index].is_none() {
                let mut new = self.new_item(index, wanted);
                new.place = place;
                ops.push(Op::Add(Box::new(new)));
            } else if !stay.contains(&index) {
                ops.push(Op::Move { item: self.refs[index].clone(), to: place });
            }
        }
    }

    /// The longest sequence of items that are already in the order of the file.
    fn staying(&self) -> HashSet<usize> {
        // `ends[n]` is the item with the lowest position at which a sequence of n + 1 items can
        // end.
        let mut ends: Vec<usize> = Vec::new();
        let mut before: Vec<Option<usize>> = vec![None; self.refs.len()];
        let position = |index: usize| self.import.item(index).and_then(|it| it.position);
        for (index, before) in before.iter_mut().enumerate() {
            let Some(at) = position(index) else { continue };
            let row = ends.partition_point(|end| position(*end) < Some(at));
            *before = row.checked_sub(1).map(|row| ends[row]);
            if row == ends.len() {
                ends.push(index);
            } else {
                ends[row] = index;
            }
        }
        std::iter::successors(ends.last().copied(), |index| before[*index]).collect()
    }

    fn new_item(&self, index: usize, wanted: &FileItem) -> NewItem {
        let fields = &wanted.fields;
        // Later items of the file do not exist yet; `edit` adds those dependencies.
        let known = |it: &usize| *it < index || self.import.known[*it].is_some();
        let depends_on = self.depends_on(index).into_iter().filter(known);
        NewItem {
            title: wanted.title.clone(),
            context: wanted.context.clone(),
            completion_criteria: fields.criteria.clone().unwrap_or_default(),
            agent_type: fields.agent.clone(),
            depends_on: depends_on.map(|it| self.refs[it].clone()).collect(),
            parent: wanted.parent.map(|parent| self.refs[parent].clone()),
            check: self.check(wanted, None),
            run: self.run(wanted, None),
            approve: fields.approve,
            retry: fields.retry.map(|it| it.times),
            timeout: fields.timeout,
            metadata: Some(Map::from_iter([(KEY.to_owned(), self.note(index))])),
            ..NewItem::default()
        }
    }

    fn edit(&self, ops: &mut Vec<Op>) {
        for (index, wanted) in self.import.file.items.iter().enumerate() {
            let patch = match self.import.item(index) {
                Some(item) => self.patch(index, item, wanted),
                None => {
                    let later = |it: &usize| *it > index && self.import.known[*it].is_none();
                    let after = self.depends_on(index).into_iter().filter(later);
                    let after = after.map(|it| self.refs[it].clone()).collect();
                    Patch { after, ..Patch::default() }
                }
            };
            if patch != Patch::default() {
                ops.push(Op::Edit { item: self.refs[index].clone(), patch: Box::new(patch) });
            }
        }
    }

    fn patch(&self, index: usize, item: &Item, wanted: &FileItem) -> Patch {
        let fields = &wanted.fields;
        let mut patch = Patch::default();
        differ(&mut patch.context, &item.context, wanted.context.clone());
        let criteria = fields.criteria.clone().unwrap_or_default();
        differ(&mut patch.completion_criteria, &item.completion_criteria, criteria);
        differ(&mut patch.agent_type, &item.agent_type, fields.agent.clone());
        differ(&mut patch.check, &item.check, self.check(wanted, item.check.as_ref()));
        differ(&mut patch.run, &item.run, self.run(wanted, item.run.as_ref()));
        differ(&mut patch.approve, &item.approve, fields.approve);
        differ(&mut patch.retry, &item.retry, fields.retry.map(|it| it.times));
        differ(&mut patch.timeout, &item.timeout, fields.timeout);
        let is_new = |it: &usize| {
            self.import.known[*it].is_none_or(|number| !item.depends_on.contains(&number))
        };
        let after = self.depends_on(index).into_iter().filter(is_new);
        patch.after = after.map(|it| self.refs[it].clone()).collect();
        let note = self.note(index);
        if item.metadata.as_ref().and_then(|it| it.get(KEY)) != Some(&note) {
            patch.merge.insert(KEY.to_owned(), note);
        }
        patch
    }

    fn check(&self, wanted: &FileItem, before: Option<&Check>) -> Option<Check> {
        let command = wanted.fields.verify.clone()?;
        let origin = self.origin(before.map(|it| (it.command.as_str(), it.origin)), &command);
        Some(Check { command, covers: wanted.fields.covers.clone(), origin })
    }

    fn run(&self, wanted: &FileItem, before: Option<&Run>) -> Option<Run> {
        let command = wanted.fields.run.clone()?;
        let origin = self.origin(before.map(|it| (it.command.as_str(), it.origin)), &command);
        Some(Run { command, origin })
    }

    /// A command that a person wrote stays a person's, whoever imports the file again.
    fn origin(&self, before: Option<(&str, Origin)>, command: &str) -> Origin {
        match before {
            Some((same, Origin::Person)) if same == command => Origin::Person,
            Some(_) | None => self.import.source.origin,
        }
    }

    /// The metadata of an item from a file.
    fn note(&self, index: usize) -> Value {
        let wanted = &self.import.file.items[index];
        let mut note = Map::new();
        note.insert("directory".to_owned(), self.import.source.directory.into());
        if let Some(below) = self.import.source.below {
            note.insert("below".to_owned(), below.into());
        }
        if wanted.parent.is_none() && !wanted.section.is_empty() {
            note.insert("section".to_owned(), wanted.section.clone().into());
        }
        if let Some(wait) = wanted.fields.retry.and_then(|it| it.wait) {
            note.insert("retry_wait".to_owned(), wait.into());
        }
        let before = self.import.item(index).and_then(noted);
        match wanted.tick {
            Tick::Done if self.overruled.contains(&index) => {
                note.insert("box".to_owned(), OVERRULED.into());
            }
            Tick::Done if before == Some(OVERRULED) => {
                note.insert("box".to_owned(), OVERRULED.into());
            }
            Tick::Done | Tick::Skipped => {
                note.insert("box".to_owned(), wanted.tick.sign().to_string().into());
            }
            Tick::Open | Tick::Begun => {}
        }
        Value::Object(note)
    }

    /// Closes items with a ticked or skipped box, and groups whose sub-items are all done.
    /// Sub-items come before their parent.
    fn close(&self, ops: &mut Vec<Op>) {
        let foreign = self.import.plan.map(open_foreign).unwrap_or_default();
        let mut status = vec![Status::Pending; self.refs.len()];
        for index in (0..self.refs.len()).rev() {
            let wanted = &self.import.file.items[index];
            let item = self.import.item(index).filter(|_| !self.again[index]);
            let under = || self.under[index].iter().map(|it| status[*it]);
            let has_foreign = self.import.known[index].is_some_and(|it| foreign.contains(&it));
            let closed = !has_foreign && under().all(|it| !it.is_open());
            let is_group = !wanted.fields.is_work() && !self.under[index].is_empty();
            status[index] = match item.map_or(Status::Pending, |it| it.status) {
                it @ (Status::Completed | Status::Cancelled) => it,
                Status::Pending | Status::InProgress
                    if closed && (is_group || self.is_newly(index, Tick::Done)) =>
                {
                    let by = self.import.source.name.to_owned();
                    ops.push(Op::Tick { item: self.refs[index].clone(), by });
                    Status::Completed
                }
                Status::Pending | Status::InProgress if self.is_newly(index, Tick::Skipped) => {
                    let reason = Some(format!("skipped in {}", self.import.source.name));
                    ops.push(Op::Cancel { item: self.refs[index].clone(), reason });
                    Status::Cancelled
                }
                it @ (Status::Pending | Status::InProgress) => it,
            };
        }
    }
}

fn differ<T: PartialEq>(field: &mut Option<T>, is: &T, wanted: T) {
    if *is != wanted {
        *field = Some(wanted);
    }
}

/// The items with open sub-items that came from no file.
fn open_foreign(plan: &Plan) -> HashSet<Number> {
    let open = plan.items.values().filter(|it| it.is_open() && !is_from_file(it));
    open.filter_map(|it| it.parent).collect()
}

fn about(item: &Item) -> Option<&Map<String, Value>> {
    item.metadata.as_ref()?.get(KEY)?.as_object()
}

/// What the box said at the last import.
fn noted(item: &Item) -> Option<&str> {
    about(item)?.get("box")?.as_str()
}

/// The headings above the item at the last import.
fn section(item: &Item) -> &str {
    about(item).and_then(|it| it.get("section")?.as_str()).unwrap_or_default()
}

/// Whether an item came from a plan file.
pub fn is_from_file(item: &Item) -> bool {
    about(item).is_some()
}

/// The directory in which an item's commands run, if it came from a plan file.
pub fn directory(item: &Item) -> Option<&str> {
    about(item)?.get("directory")?.as_str()
}

/// The same, relative to the root of the checkout, if the file was shared.
pub fn below(item: &Item) -> Option<&str> {
    about(item)?.get("below")?.as_str()
}

/// The seconds to wait before a retry, if the file has them.
pub fn retry_wait(item: &Item) -> Option<u32> {
    about(item)?.get("retry_wait")?.as_u64()?.try_into().ok()
}

/// For each item of a file, the item of the plan with the same titles from the top down.
///
/// Headings distinguish items with the same title. If a title is unique, its headings may change.
pub fn matched(file: &PlanFile, plan: &Plan) -> Vec<Option<Number>> {
    let mut at: HashMap<(Option<Number>, &str), Vec<&Item>> = HashMap::new();
    for item in plan.listed() {
        at.entry((item.parent, &item.title)).or_default().push(item);
    }
    for found in at.values_mut() {
        // Items from a file come before others with the same title.
        found.sort_by_key(|it| !is_from_file(it));
    }
    let mut known: Vec<Option<Number>> = vec![None; file.items.len()];
    let mut used: HashSet<Number> = HashSet::new();
    let mut tops: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, item) in file.items.iter().enumerate().filter(|(_, it)| it.parent.is_none()) {
        *tops.entry(&item.title).or_default() += 1;
        let found = at.get(&(None, item.title.as_str())).into_iter().flatten();
        let mut same = found.filter(|it| section(it) == item.section);
        known[index] = same.find(|it| used.insert(it.number)).map(|it| it.number);
    }
    for (index, item) in file.items.iter().enumerate() {
        let above = match item.parent {
            Some(parent) => match known[parent] {
                Some(number) => Some(number),
                None => continue,
            },
            None if known[index].is_some() || tops.get(item.title.as_str()) != Some(&1) => continue,
            None => None,
        };
        let found = at.get(&(above, item.title.as_str())).map_or(&[][..], Vec::as_slice);
        let own = found.iter().filter(|it| is_from_file(it)).count();
        if above.is_none() && own > 1 {
            continue;
        }
        known[index] = found.iter().find(|it| used.insert(it.number)).map(|it| it.number);
    }
    known
}

/// Open items without a command of their own whose sub-items are all closed, in the order in which
/// they can be completed.
pub fn finished_groups(plan: &Plan) -> Vec<Number> {
    let mut groups = Vec::new();
    let mut closed: HashSet<Number> = HashSet::new();
    let mut under: HashMap<Number, Vec<&Item>> = HashMap::new();
    for item in plan.items.values().filter(|it| !it.is_superseded()) {
        if let Some(parent) = item.parent {
            under.entry(parent).or_default().push(item);
        }
    }
    // A sub-item from a file was always added after its parent.
    for item in plan.items.values().rev().filter(|it| it.is_open() && is_from_file(it)) {
        let is_work = item.run.is_some() || item.check.is_some() || item.agent_type.is_some();
        let is_done = |under: &Vec<&Item>| {
            under.iter().all(|it| !it.is_open() || closed.contains(&it.number))
        };
        if !is_work && under.get(&item.number).is_some_and(is_done) {
            closed.insert(item.number);
            groups.push(item.number);
        }
    }
    groups
}

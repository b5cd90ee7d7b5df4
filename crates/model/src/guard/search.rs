//! Exhaustive search of the governor: every behaviour of an agent over small plans.
//!
//! The agent's moves are real changes, decided by [`decide`] and applied by `evolve`. The search
//! first finds all plans that moves and parking can lead to. Then it visits every combination of
//! plan and turn, with a stop, a user's stop and a new prompt in each state. A referee, which
//! shares no code with the governor, keeps its own counts and checks every verdict.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::tests::{now, plan};
use super::*;
use crate::actor::{Actor, Holder};
use crate::command::{Ctx, ItemRef, Mode, NewItem};
use crate::decide::decide;
use crate::id::IdSource;
use crate::item::{Evidence, Item, Level, Mark, Status};
use crate::limits::Limits;
use crate::plan::{End, Plan};

const ME: &str = "me";

fn ctx(worker: &str, mode: Mode) -> Ctx {
    Ctx {
        now: now(),
        ids: IdSource::fixed(now(), 9),
        actor: Actor::agent(worker),
        holder: Holder::named(worker),
        attempt: None,
        base: None,
        mode,
        limits: Limits::default(),
        gone: Vec::new(),
        anyway: false,
    }
}

fn changed(plan: &Plan, ops: &[Op], worker: &str, mode: Mode) -> Option<Plan> {
    let decision = decide(plan, ops, &ctx(worker, mode)).ok()?;
    let mut plan = plan.clone();
    for event in &decision.events {
        plan.evolve(event);
    }
    Some(plan)
}

/// A small plan to begin with, and which moves the agent may make.
struct Case {
    name: &'static str,
    plan: Plan,
    /// How many items the agent may add.
    adds: u32,
    /// Whether the agent may take items off the list.
    may_drop: bool,
    mode: Mode,
    bounds: Bounds,
}

impl Case {
    fn new(name: &'static str, items: u32, adds: u32, setup: &[Op]) -> Self {
        let plan = changed(&plan(items), setup, ME, Mode::Enforced).unwrap();
        let may_drop = items + adds < 3;
        Self { name, plan, adds, may_drop, mode: Mode::Enforced, bounds: Bounds::FULL }
    }

    fn bounds(self, without_progress: u32, in_all: u32) -> Self {
        Self { bounds: Bounds { without_progress, in_all }, ..self }
    }
}

fn r(number: u32) -> ItemRef {
    ItemRef::Number(Number(number))
}

fn after(item: u32, on: u32) -> Op {
    let patch = crate::command::Patch { after: vec![r(on)], ..Default::default() };
    Op::Edit { item: r(item), patch: Box::new(patch) }
}

fn under(item: u32, parent: u32) -> Op {
    let patch = crate::command::Patch { parent: Some(Some(r(parent))), ..Default::default() };
    Op::Edit { item: r(item), patch: Box::new(patch) }
}

fn waits(item: u32) -> Op {
    Op::Wait { item: r(item), on: "a person".to_owned() }
}

fn cases() -> Vec<Case> {
    let mut held = Case::new("2 items, the first held by another", 2, 1, &[after(2, 1)]);
    held.plan = changed(&held.plan, &[Op::Start(r(1))], "other", Mode::Enforced).unwrap();
    let mut checked = Case::new("2 items that need a check, recorded", 2, 0, &[]);
    checked.plan.rules.demand = Some(Level::Checked);
    checked.mode = Mode::Recorded;
    let two = |name, adds, setup: &[Op]| Case::new(name, 2, adds, setup);
    vec![
        Case::new("1 item", 1, 1, &[]),
        Case::new("1 item, much trivia", 1, 2, &[]).bounds(1, 2),
        Case::new("1 item that waits", 1, 0, &[waits(1)]),
        two("2 items", 0, &[]),
        two("2 items, one after the other", 0, &[after(2, 1)]),
        two("2 items, one under the other", 0, &[under(2, 1)]),
        held,
        checked,
        Case::new("3 items", 3, 0, &[]),
        Case::new("3 items in a chain", 3, 0, &[after(2, 1), after(3, 2)]).bounds(2, 4),
        Case::new("3 items, the last after two", 3, 0, &[after(3, 1), after(3, 2), waits(1)])
            .bounds(2, 4),
    ]
}

/// Every single move that an agent may make between two stops.
fn moves(case: &Case, plan: &Plan) -> Vec<Op> {
    let mut ops = Vec::new();
    for item in plan.listed() {
        let it = ItemRef::Number(item.number);
        ops.push(Op::Start(it.clone()));
        ops.push(Op::Release(it.clone()));
        ops.push(Op::Complete { item: it.clone(), outcome: None, with_children: false });
        ops.push(Op::Cancel { item: it.clone(), reason: None });
        ops.push(Op::Reopen { item: it.clone(), start: false });
        ops.push(Op::Wait { item: it.clone(), on: "a person".to_owned() });
        ops.push(Op::Resume(it.clone()));
        if plan.rules.demand.is_some() && item.evidence_level() < plan.rules.demand {
            let evidence =
                Evidence { level: Level::Checked, at: now(), by: ME.to_owned(), run: None };
            ops.push(Op::Prove { item: it.clone(), evidence: Box::new(evidence) });
        } else if case.may_drop {
            ops.push(Op::Supersede(it));
        }
    }
    let added = plan.items.len() - case.plan.items.len();
    if added < usize::try_from(case.adds).unwrap() {
        ops.push(Op::Add(Box::new(NewItem::titled("Trivia"))));
    }
    ops
}

/// The fields of an item that matter for the search. Attempts and times are left out: they only
/// grow.
type ItemState = (Number, Status, bool, bool, bool, bool, Option<String>);

fn key(plan: &Plan) -> Vec<ItemState> {
    let state = |item: &Item| {
        (
            item.number,
            item.status,
            item.waiting_on.is_some(),
            item.marks.contains(&Mark::Parked),
            item.is_superseded(),
            item.evidence_level() >= Some(Level::Checked),
            item.claim.as_ref().map(|claim| claim.holder.name.clone()),
        )
    };
    plan.items.values().map(state).collect()
}

/// The referee's rule for excused items, written as a plain recursion. The plans of this search
/// have no cycles.
fn is_excused(plan: &Plan, item: &Item) -> bool {
    let others = item.claim.as_ref().is_some_and(|claim| claim.holder.name != ME);
    if item.marks.contains(&Mark::Parked) {
        return true;
    }
    if item.status == Status::Completed {
        return false;
    }
    let dependencies: Vec<&Item> = item
        .depends_on
        .iter()
        .map(|number| &plan.items[number])
        .filter(|dependency| !dependency.is_superseded())
        .collect();
    let undecided = dependencies.iter().any(|it| it.status == Status::Cancelled);
    let blocked = !undecided && dependencies.iter().any(|it| it.is_open() && is_excused(plan, it));
    let mut children = plan.items.values().filter(|it| it.parent == Some(item.number));
    item.waiting_on.is_some()
        || others
        || blocked
        || children.any(|child| child.is_open() && is_excused(plan, child))
}

/// Whether an item is on the list and unsettled.
fn is_due(plan: &Plan, item: &Item) -> bool {
    let unproven = item.status == Status::Completed
        && plan.rules.demand.is_some()
        && item.evidence_level() < plan.rules.demand;
    !item.is_superseded() && (item.status.is_open() || unproven)
}

/// The rank of each item for the referee: 0 (holds), 1 (excused) or 2 (settled).
fn look(plan: &Plan) -> BTreeMap<Number, u8> {
    let rank = |item: &Item| match (is_due(plan, item), is_excused(plan, item)) {
        (true, false) => 0,
        (true, true) => 1,
        (false, _) => 2,
    };
    plan.items.values().map(|item| (item.number, rank(item))).collect()
}

/// Every reachable plan, and the moves between them.
struct Plans {
    plans: Vec<Plan>,
    next: Vec<Vec<usize>>,
    ids: HashMap<Vec<ItemState>, usize>,
    looks: Vec<BTreeMap<Number, u8>>,
    outlooks: Vec<BTreeMap<Number, Standing>>,
    parked: HashMap<usize, usize>,
}

impl Plans {
    fn of(case: &Case) -> Self {
        let mut all = Self {
            plans: Vec::new(),
            next: Vec::new(),
            ids: HashMap::new(),
            looks: Vec::new(),
            outlooks: Vec::new(),
            parked: HashMap::new(),
        };
        all.id(case.plan.clone());
        let mut at = 0;
        while at < all.plans.len() {
            let plan = all.plans[at].clone();
            let mut next = BTreeSet::new();
            for op in moves(case, &plan) {
                if let Some(plan) = changed(&plan, &[op], ME, case.mode) {
                    next.insert(all.id(plan));
                }
            }
            next.remove(&at);
            all.next[at] = next.into_iter().collect();
            all.park(at);
            at += 1;
        }
        all
    }

    fn id(&mut self, plan: Plan) -> usize {
        let key = key(&plan);
        if let Some(id) = self.ids.get(&key) {
            return *id;
        }
        let id = self.plans.len();
        let asking = Asking { worker: ME, now: now(), gone: &[], scope: &Scope::All };
        self.outlooks.push(outlook(&plan, &asking));
        self.looks.push(look(&plan));
        self.plans.push(plan);
        self.next.push(Vec::new());
        self.ids.insert(key, id);
        id
    }

    /// The plan after its holding items were parked.
    fn park(&mut self, at: usize) -> usize {
        if let Some(parked) = self.parked.get(&at) {
            return *parked;
        }
        let held = self.outlooks[at].iter().filter(|(_, standing)| **standing == Standing::Holds);
        let park = Op::Park(held.map(|(number, _)| *number).collect());
        let parked = changed(&self.plans[at], &[park], ME, Mode::Enforced).unwrap();
        if parked.open > 0 {
            assert_eq!(parked.end, End::Stopped, "the plan is stopped with open items");
        }
        let parked = self.id(parked);
        self.parked.insert(at, parked);
        parked
    }
}

/// The referee's counts for one prompt.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct RefereeCount {
    /// The items that were open at the first refusal and have not counted as progress, with their
    /// rank then.
    first: Option<BTreeMap<Number, u8>>,
    stalled: u32,
    refusals: u32,
}

#[derive(Default)]
struct Tally {
    states: usize,
    refusals: usize,
    let_go: usize,
    most: u32,
    longest_stall: u32,
}

/// Numbers for the states of a prompt, so that the search compares numbers instead of maps.
#[derive(Default)]
struct Prompts {
    all: Vec<(Turn, RefereeCount)>,
    ids: HashMap<(Turn, RefereeCount), usize>,
}

impl Prompts {
    fn id(&mut self, turn: Turn, referee: RefereeCount) -> usize {
        let state = (turn, referee);
        if let Some(id) = self.ids.get(&state) {
            return *id;
        }
        self.all.push(state.clone());
        self.ids.insert(state, self.all.len() - 1);
        self.all.len() - 1
    }
}

/// Visits every reachable state of one case.
fn search(case: &Case) -> Tally {
    let mut plans = Plans::of(case);
    let mut prompts = Prompts::default();
    let mut tally = Tally::default();
    let fresh = prompts.id(Turn::Fresh, RefereeCount::default());
    let mut seen = HashSet::from([(0, fresh)]);
    let mut waiting = vec![(0, fresh)];
    while let Some((at, prompt)) = waiting.pop() {
        tally.states += 1;
        let (turn, referee) = prompts.all[prompt].clone();
        // The agent makes a move.
        let mut next: Vec<_> = plans.next[at].iter().map(|to| (*to, prompt)).collect();
        // The user sends a prompt or stops the turn.
        let (prompted, _) = turn.clone().step(Input::Prompt);
        next.push((at, prompts.id(prompted, RefereeCount::default())));
        let (stopped, verdict) = turn.clone().step(Input::UserStop);
        assert!(verdict.ends(), "the user's stop always wins");
        next.push((at, prompts.id(stopped, RefereeCount::default())));
        // The agent wants to stop.
        let (to, turn, referee) = stop(case, &mut plans, &mut tally, (at, turn, referee));
        next.push((to, prompts.id(turn, referee)));
        waiting.extend(next.into_iter().filter(|state| seen.insert(*state)));
    }
    tally
}

/// One stop: the governor decides, and the referee checks the verdict.
fn stop(
    case: &Case,
    plans: &mut Plans,
    tally: &mut Tally,
    (at, turn, mut referee): (usize, Turn, RefereeCount),
) -> (usize, Turn, RefereeCount) {
    let wish = |at: usize, plans: &Plans| {
        let items = plans.outlooks[at].clone();
        Input::Stop(Wish { items, bounds: Some(case.bounds), pass: None, aim: false })
    };
    let by_user = turn == Turn::Stopped;
    let (turn, verdict) = turn.step(wish(at, plans));
    if by_user {
        assert_eq!(verdict, Verdict::End(Ending::UserStopped));
        return (at, turn, referee);
    }
    let ranks = plans.looks[at].clone();
    let held: Vec<Number> =
        ranks.iter().filter(|(_, rank)| **rank == 0).map(|(number, _)| *number).collect();
    if held.is_empty() {
        assert_eq!(verdict, Verdict::End(Ending::NothingHolds), "{}", case.name);
        return (at, turn, referee);
    }
    let first = referee.first.get_or_insert_with(|| {
        ranks.iter().filter(|(_, rank)| **rank < 2).map(|(n, rank)| (*n, *rank)).collect()
    });
    let credited: Vec<Number> =
        first.iter().filter(|(n, then)| ranks[n] > **then).map(|(n, _)| *n).collect();
    if !credited.is_empty() {
        referee.stalled = 0;
        first.retain(|number, _| !credited.contains(number));
    }
    let left =
        referee.stalled < case.bounds.without_progress && referee.refusals < case.bounds.in_all;
    match verdict {
        Verdict::Refuse { open, refusal } => {
            assert!(left, "{}: refused although the bound was reached", case.name);
            assert_eq!(open, held, "{}", case.name);
            referee.stalled += 1;
            referee.refusals += 1;
            assert_eq!(refusal, referee.refusals);
            tally.refusals += 1;
            tally.most = tally.most.max(referee.refusals);
            tally.longest_stall = tally.longest_stall.max(referee.stalled);
            (at, turn, referee)
        }
        Verdict::LetGo { park } => {
            assert!(!left, "{}: let go of {held:?} with refusals left", case.name);
            assert_eq!(park, held, "{}", case.name);
            tally.let_go += 1;
            // The gate excused these items by parking them; that is no progress of the agent.
            first.iter_mut().filter(|(n, _)| park.contains(n)).for_each(|(_, then)| *then = 1);
            let parked = plans.park(at);
            let (_, again) = Turn::Fresh.step(wish(parked, plans));
            assert_eq!(again, Verdict::End(Ending::NothingHolds), "parked items hold no stop");
            (parked, turn, referee)
        }
        Verdict::Noted | Verdict::End(_) => {
            panic!("{}: {verdict:?} with {held:?} open and not excused", case.name)
        }
    }
}

#[test]
fn the_governor_ends_for_every_behaviour_and_never_lets_go_while_refusals_are_left() {
    let mut states = 0;
    let mut most = 0;
    for case in cases() {
        let tally = search(&case);
        assert!(tally.refusals > 0 && tally.let_go > 0, "{}: nothing was refused", case.name);
        assert_eq!(tally.longest_stall, case.bounds.without_progress, "{}", case.name);
        assert!(tally.most <= case.bounds.in_all, "{}", case.name);
        states += tally.states;
        most = most.max(tally.most);
    }
    assert_eq!(
        most,
        Bounds::FULL.in_all,
        "an agent that settles item after item comes to the bound"
    );
    assert!(states > 200_000, "only {states} states were visited");
}

#[test]
fn parked_items_hold_again_as_soon_as_somebody_changes_them() {
    let held = |plan: &Plan| {
        holding(plan, &Asking { worker: ME, now: now(), gone: &[], scope: &Scope::All })
    };
    let parked = changed(&plan(2), &[Op::Park(vec![Number(1), Number(2)])], ME, Mode::Enforced);
    let parked = parked.unwrap();
    assert_eq!(held(&parked), []);
    let add = Op::Add(Box::new(NewItem::titled("Another")));
    let added = changed(&parked, &[add], ME, Mode::Enforced).unwrap();
    assert_eq!(held(&added), [Number(3)], "a new item does not wake the parked ones");
    let started = changed(&parked, &[Op::Start(r(2))], ME, Mode::Enforced).unwrap();
    assert_eq!(held(&started), [Number(2)], "the other one stays parked");
}

#[test]
fn a_completed_item_that_lacks_evidence_can_be_parked_too() {
    let mut plan = plan(1);
    plan.rules.demand = Some(Level::Checked);
    let complete = Op::Complete { item: r(1), outcome: None, with_children: false };
    let done = changed(&plan, &[complete], ME, Mode::Recorded).unwrap();
    let asking = Asking { worker: ME, now: now(), gone: &[], scope: &Scope::All };
    assert_eq!(holding(&done, &asking), [Number(1)]);
    let parked = changed(&done, &[Op::Park(vec![Number(1)])], ME, Mode::Enforced).unwrap();
    assert_eq!(holding(&parked, &asking), []);
}

//! Properties of every sequence of changes.

use proptest::prelude::*;

use super::world::{ctx, epoch, now};
use crate::command::{Ctx, ItemRef, ListEntry, NewItem, Op, Patch, Place};
use crate::needs::Needs;
use crate::store::memory::Memory;
use crate::store::{Change, NewPlan, PlanStore};
use crate::{Actor, Holder, IdSource, Mode, Number, Plan, PlanId, Position, Rules, Status, decide};

fn number() -> impl Strategy<Value = ItemRef> {
    prop_oneof![
        8 => (1u32..9).prop_map(|n| ItemRef::Number(Number(n))),
        1 => (1u32..9).prop_map(|n| ItemRef::Position(Position(n))),
        1 => "[0-9a-f]{1,2}".prop_map(ItemRef::Prefix),
    ]
}

fn place() -> impl Strategy<Value = Place> {
    prop_oneof![
        4 => Just(Place::Back),
        1 => Just(Place::Front),
        1 => (0u32..12).prop_map(|n| Place::At(Position(n))),
        1 => number().prop_map(Place::Before),
        1 => number().prop_map(Place::After),
    ]
}

fn status() -> impl Strategy<Value = Status> {
    prop::sample::select(Status::ALL.to_vec())
}

fn new_item() -> impl Strategy<Value = NewItem> {
    (
        "[a-d]{0,2}",
        prop::option::of(0u32..3),
        prop::collection::vec(number(), 0..3),
        prop::option::of(number()),
        place(),
    )
        .prop_map(|(title, priority, depends_on, parent, place)| NewItem {
            title,
            priority,
            depends_on,
            parent,
            place,
            ..NewItem::default()
        })
}

pub(super) fn entry() -> impl Strategy<Value = ListEntry> {
    ("[a-d]{1,2}", status(), prop::option::weighted(0.3, number()))
        .prop_map(|(title, status, item)| ListEntry { item, ..ListEntry::titled(title, status) })
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        5 => new_item().prop_map(|new| Op::Add(Box::new(new))),
        3 => number().prop_map(Op::Start),
        2 => Just(Op::Next),
        3 => (number(), any::<bool>()).prop_map(|(item, with_children)| {
            Op::Complete { item, outcome: None, with_children }
        }),
        2 => number().prop_map(|item| Op::Cancel { item, reason: None }),
        1 => number().prop_map(Op::Release),
        2 => (number(), any::<bool>()).prop_map(|(item, start)| Op::Reopen { item, start }),
        1 => number().prop_map(|item| Op::Wait { item, on: "x".to_owned() }),
        1 => number().prop_map(Op::Resume),
        1 => number().prop_map(Op::Supersede),
        2 => (number(), place()).prop_map(|(item, to)| Op::Move { item, to }),
        1 => prop::collection::vec(entry(), 0..5).prop_map(Op::Replace),
        3 => (number(), prop::collection::vec(number(), 0..3), prop::option::of(number()))
            .prop_map(|(item, after, parent)| Op::Edit {
                item,
                patch: Box::new(Patch { after, parent: parent.map(Some), ..Patch::default() }),
            }),
        3 => (number(), prop::collection::vec(number(), 0..2), status())
            .prop_map(|(item, after, status)| Op::Edit {
                item,
                patch: Box::new(Patch { after, status: Some(status), ..Patch::default() }),
            }),
        1 => prop::collection::vec((1u32..9).prop_map(Number), 0..3).prop_map(Op::Park),
    ]
}

/// A change: its operations, the worker, how much time has passed, and the mode.
pub(super) fn change() -> impl Strategy<Value = (Vec<Op>, u8, u8, bool)> {
    (prop::collection::vec(op(), 1..4), 0u8..3, 0u8..20, prop::bool::weighted(0.15))
}

pub(super) fn context(step: usize, worker: u8, minutes: u64, recorded: bool) -> Ctx {
    let at = epoch() + std::time::Duration::from_secs(minutes * 60);
    let name = format!("w{worker}");
    Ctx {
        now: at,
        ids: IdSource::fixed(at, u8::try_from(step % 250).unwrap()),
        actor: Actor::agent(name.clone()),
        holder: Holder::named(name),
        mode: if recorded { Mode::Recorded } else { Mode::Enforced },
        ..ctx()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Deciding on a slice and on the whole plan gives the same result. After each change the
    /// header's counts are correct, positions have no gaps, and the rules hold.
    #[test]
    fn slices_decide_alike_and_the_plan_stays_sound(changes in prop::collection::vec(change(), 1..25)) {
        let mut plan = Plan::new(PlanId(IdSource::fixed(epoch(), 0).nth(0)), "/p", epoch());
        let mut minutes = 0;
        let mut any_recorded = false;
        for (step, (ops, worker, wait, recorded)) in changes.into_iter().enumerate() {
            minutes += u64::from(wait);
            any_recorded |= recorded;
            let ctx = context(step, worker, minutes, recorded);
            let whole = decide(&plan, &ops, &ctx);
            let slice = plan.slice(&Needs::of(&ops));
            prop_assert_eq!(&whole, &decide(&slice, &ops, &ctx), "slice of {:?}", ops);
            let Ok(decision) = whole else { prop_assert!(!recorded, "recorded mode refused"); continue };
            let mut sliced = slice;
            for event in &decision.events {
                plan.evolve(event);
                sliced.evolve(event);
            }
            for (number, item) in &sliced.items {
                prop_assert_eq!(plan.get(*number), Some(item));
            }
            prop_assert_eq!((plan.placed, plan.open), (sliced.placed, sliced.open));
            prop_assert_eq!((plan.placed, plan.open), plan.recount());
            sound(&plan, any_recorded)?;
        }
    }

    /// Undo keeps a plan as consistent as changes do.
    #[test]
    fn undo_leaves_a_sound_plan(
        steps in prop::collection::vec((change(), prop::bool::weighted(0.35)), 1..30),
    ) {
        let store = Memory::new();
        let plan = PlanId(IdSource::fixed(epoch(), 0).nth(0));
        now(store.create(NewPlan {
 made_for: None,
            id: plan,
            project: "/p".to_owned(),
            name: None,
            title: String::new(),
            rules: Rules::default(),
            at: epoch(),
        })).unwrap();
        for (step, ((ops, worker, wait, _), undo)) in steps.into_iter().enumerate() {
            let ctx = context(step, worker, u64::from(wait / 4), false);
            // Many of these changes are refused. That is fine: only the applied ones matter.
            if undo {
                now(store.undo(plan, ctx, None)).ok();
            } else {
                now(store.change(plan, Change::new(ops, ctx))).ok();
            }
            let plan = now(store.whole(plan)).unwrap();
            prop_assert_eq!((plan.placed, plan.open), plan.recount());
            sound(&plan, false)?;
        }
    }

    /// Writing the same list again changes nothing, and the plan's list is what was sent.
    #[test]
    fn the_same_list_twice_changes_nothing_the_second_time(
        changes in prop::collection::vec(change(), 0..8),
        entries in prop::collection::vec(entry(), 0..6),
    ) {
        let mut plan = Plan::new(PlanId(IdSource::fixed(epoch(), 0).nth(0)), "/p", epoch());
        for (step, (ops, worker, ..)) in changes.into_iter().enumerate() {
            if let Ok(decision) = decide(&plan, &ops, &context(step, worker, 0, false)) {
                decision.events.iter().for_each(|event| plan.evolve(event));
            }
        }
        let ops = [Op::ReplaceAll(entries.clone())];
        let ctx = context(99, 0, 0, false);
        if let Ok(first) = decide(&plan, &ops, &ctx) {
            first.events.iter().for_each(|event| plan.evolve(event));
            let titles: Vec<_> = plan.listed().iter().map(|it| (it.title.clone(), it.status)).collect();
            let sent: Vec<_> = entries.iter().map(|it| (it.title.clone(), it.status)).collect();
            prop_assert_eq!(titles, sent);
            // A caller knows ids only from a plan that it was shown; this test has no such ids.
            let by_title: Vec<_> = entries.into_iter().map(|it| ListEntry { item: None, ..it }).collect();
            let again = decide(&plan, &[Op::ReplaceAll(by_title)], &ctx).unwrap();
            prop_assert_eq!(again.events, vec![]);
        }
    }

    /// Events can be written as JSON and read again.
    #[test]
    fn events_round_trip_through_json(changes in prop::collection::vec(change(), 1..10)) {
        let mut plan = Plan::new(PlanId(IdSource::fixed(epoch(), 0).nth(0)), "/p", epoch());
        for (step, (ops, worker, wait, recorded)) in changes.into_iter().enumerate() {
            let ctx = context(step, worker, u64::from(wait), recorded);
            if let Ok(decision) = decide(&plan, &ops, &ctx) {
                for event in &decision.events {
                    let json = serde_json::to_string(event).unwrap();
                    prop_assert_eq!(&serde_json::from_str::<crate::Event>(&json).unwrap(), event);
                    plan.evolve(event);
                }
            }
        }
    }
}

/// What is true of every plan. Rules that recorded mode may break are checked only for plans
/// without it.
fn sound(plan: &Plan, any_recorded: bool) -> Result<(), TestCaseError> {
    let positions: Vec<u32> = plan.listed().iter().map(|it| it.position.unwrap().0).collect();
    let dense: Vec<u32> = (1..=plan.placed).collect();
    prop_assert_eq!(positions, dense);
    for item in plan.items.values() {
        prop_assert!(item.number < plan.next_number);
        prop_assert_eq!(item.position.is_none(), item.is_superseded());
        prop_assert!(item.claim.is_none() || item.status == Status::InProgress);
        prop_assert!(!reaches_itself(plan, item.number), "cycle at {}", item.number);
        prop_assert!(!is_under_itself(plan, item.number), "{} is under itself", item.number);
        if !any_recorded && item.status == Status::Completed && !item.is_superseded() {
            prop_assert!(plan.children(item.number).iter().all(|it| !it.is_open()));
        }
    }
    if !any_recorded {
        let mut holders: Vec<_> = plan
            .in_progress()
            .map(|it| it.claim.as_ref().map(|it| it.holder.name.clone()))
            .collect();
        let all = holders.len();
        holders.sort();
        holders.dedup();
        prop_assert_eq!(holders.len(), all, "a worker has two in progress");
    }
    Ok(())
}

/// Whether an item is its own ancestor.
fn is_under_itself(plan: &Plan, start: Number) -> bool {
    let above = |number: Number| plan.get(number)?.parent;
    let chain = std::iter::successors(above(start), |number| above(*number));
    chain.take(plan.items.len()).any(|number| number == start)
}

/// Whether an item depends on itself, directly or through others.
fn reaches_itself(plan: &Plan, start: Number) -> bool {
    let mut visited = std::collections::BTreeSet::new();
    let mut waiting: Vec<Number> = plan.get(start).unwrap().depends_on.iter().copied().collect();
    while let Some(at) = waiting.pop() {
        if at == start {
            return true;
        }
        if visited.insert(at) {
            waiting.extend(plan.get(at).into_iter().flat_map(|it| it.depends_on.iter().copied()));
        }
    }
    false
}

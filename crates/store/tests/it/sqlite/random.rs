//! Random work: SQLite and memory give the same result, step by step.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::Config;
use punchlist_model::needs::Needs;
use punchlist_model::store::memory::Memory;
use punchlist_model::store::{Applied, Change, Error, Filter, PlanStore};
use punchlist_model::{
    Attempt, Ctx, ItemRef, ListEntry, Mode, NewItem, Number, Op, Patch, Place, Position, Revision,
    Status,
};
use punchlist_store::{Options, Sqlite};

use super::{outside, place};
use crate::support::{ctx, ids, new_plan, plan_id, wait};

const WORKERS: [&str; 3] = ["ann", "bob", "cleo"];

/// One step of a worker.
#[derive(Clone, Debug)]
enum Step {
    Change {
        ops: Vec<Op>,
        worker: usize,
        after: i64,
        recorded: bool,
        attempt: Option<u32>,
        base: Option<u64>,
    },
    Undo {
        worker: usize,
    },
    Forget {
        item: Option<u32>,
    },
}

fn item() -> impl Strategy<Value = ItemRef> {
    prop_oneof![
        8 => (1..9_u32).prop_map(|n| ItemRef::Number(Number(n))),
        2 => (0..9_u32).prop_map(|n| ItemRef::Position(Position(n))),
        1 => (0..3_u32).prop_map(ItemRef::Batch),
        2 => (0..3_usize, 1..20_i64, 1..9_u32)
            .prop_map(|(who, at, it)| ItemRef::Id(ids(WORKERS[who], at).item(Number(it)))),
        2 => (0..3_usize, 1..20_i64, 1..9_u32, 1..9_u32).prop_map(
            |(who, at, it, or)| {
                ItemRef::Both(Number(or), ids(WORKERS[who], at).item(Number(it)))
            }
        ),
        1 => "0?1?[0-9a-z]{0,2}".prop_map(ItemRef::Prefix),
    ]
}

fn spot() -> impl Strategy<Value = Place> {
    prop_oneof![
        Just(Place::Front),
        Just(Place::Back),
        (0..9_u32).prop_map(|n| Place::At(Position(n))),
        item().prop_map(Place::Before),
        item().prop_map(Place::After),
    ]
}

fn title() -> impl Strategy<Value = String> {
    prop_oneof![9 => "[a-e]", 1 => Just(" ".to_owned())]
}

fn status() -> impl Strategy<Value = Status> {
    prop::sample::select(Status::ALL.to_vec())
}

prop_compose! {
    fn new_item()(
        title in title(),
        depends_on in prop::collection::vec(item(), 0..3),
        parent in prop::option::weighted(0.3, item()),
        priority in prop::option::weighted(0.3, prop::sample::select(vec![0, 1, u32::MAX])),
        waiting_on in prop::option::weighted(0.2, "[x ]"),
        approve in any::<bool>(),
        place in spot(),
    ) -> NewItem {
        NewItem { title, depends_on, parent, priority, waiting_on, approve, place, ..NewItem::default() }
    }
}

prop_compose! {
    fn patch()(
        title in prop::option::weighted(0.3, title()),
        after in prop::collection::vec(item(), 0..3),
        not_after in prop::collection::vec(item(), 0..2),
        parent in prop::option::weighted(0.4, prop::option::of(item())),
        priority in prop::option::weighted(0.3, prop::option::of(0..3_u32)),
        status in prop::option::weighted(0.3, status()),
    ) -> Patch {
        Patch { title, after, not_after, parent, priority, status, ..Patch::default() }
    }
}

fn op() -> impl Strategy<Value = Op> {
    let entry = (prop::option::weighted(0.3, item()), title(), status())
        .prop_map(|(item, title, status)| ListEntry { item, ..ListEntry::titled(title, status) });
    prop_oneof![
        8 => new_item().prop_map(|new| Op::Add(Box::new(new))),
        3 => item().prop_map(Op::Start),
        3 => Just(Op::Next),
        5 => (item(), any::<bool>()).prop_map(|(item, with_children)| {
            Op::Complete { item, outcome: None, with_children }
        }),
        2 => item().prop_map(|item| Op::Cancel { item, reason: Some("no".to_owned()) }),
        1 => item().prop_map(Op::Release),
        2 => (item(), any::<bool>()).prop_map(|(item, start)| Op::Reopen { item, start }),
        1 => item().prop_map(|item| Op::Wait { item, on: "rain".to_owned() }),
        1 => item().prop_map(Op::Resume),
        4 => (item(), patch()).prop_map(|(item, patch)| Op::Edit { item, patch: Box::new(patch) }),
        3 => (item(), spot()).prop_map(|(item, to)| Op::Move { item, to }),
        2 => item().prop_map(Op::Supersede),
        1 => prop::collection::vec(entry, 0..5).prop_map(Op::Replace),
        1 => (1..9_u32).prop_map(|n| Op::Park(vec![Number(n)])),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let change = (
        prop::collection::vec(op(), 0..4),
        0..3_usize,
        prop::sample::select(vec![1, 1, 1, 1_000]),
        any::<bool>(),
        prop::option::weighted(0.1, 0..3_u32),
        prop::option::weighted(0.3, 0..20_u64),
    );
    prop_oneof![
        20 => change.prop_map(|(ops, worker, after, recorded, attempt, base)| {
            Step::Change { ops, worker, after, recorded, attempt, base }
        }),
        3 => (0..3_usize).prop_map(|worker| Step::Undo { worker }),
        1 => prop::option::weighted(0.9, 1..9_u32).prop_map(|item| Step::Forget { item }),
    ]
}

/// The result of a call as text, without how much of the plan was loaded.
fn result_text(result: Result<Applied, Error>) -> String {
    match result {
        Ok(applied) => {
            let header = &applied.plan;
            let counts = (header.open, header.placed, header.next_number, header.end);
            format!(
                "{:?} {counts:?} {:#?} {:#?}",
                applied.revision(),
                applied.decision,
                applied.items()
            )
        }
        Err(error) => format!("{error:?}"),
    }
}

fn check(steps: &[Step]) {
    let (_directory, options) = place();
    let memory = Memory::new();
    let sqlite = Sqlite::open(&options).unwrap();
    let stores: [&dyn PlanStore; 2] = [&memory, &sqlite];
    for store in stores {
        wait(store.create(new_plan(1))).unwrap();
    }
    let mut now = 0;
    for step in steps {
        let mut both = Vec::new();
        now += if let Step::Change { after, .. } = step { *after } else { 1 };
        if let Step::Change { ops, .. } = step {
            // The next ready item is found by a query of its own.
            for needs in [Needs::of(ops), Needs { next: true, ..Needs::default() }] {
                let slices =
                    stores.map(|store| wait(store.read(plan_id(1), needs.clone())).unwrap());
                assert_eq!(slices[0], slices[1], "the slice of {needs:?}");
            }
        }
        for store in stores {
            both.push(result_text(wait(take(store, step, now))));
        }
        assert_eq!(both[0], both[1]);
        let plans = stores.map(|store| wait(store.whole(plan_id(1))).unwrap());
        assert_eq!(plans[0], plans[1]);
        assert_eq!((plans[1].placed, plans[1].open), plans[1].recount());
        let summaries = stores.map(|store| wait(store.plans(Filter::default())).unwrap());
        assert_eq!(summaries[0], summaries[1]);
        let unmet: BTreeMap<u32, usize> = plans[0]
            .items
            .values()
            .map(|it| {
                let under = plans[0].children(it.number).into_iter().filter(|it| it.is_open());
                (it.number.0, plans[0].blockers(it).count() + under.count())
            })
            .collect();
        assert_eq!(stored_unmet(&options), unmet);
    }
    let journals =
        stores.map(|store| wait(store.journal(plan_id(1), Revision(0), u32::MAX)).unwrap());
    assert_eq!(journals[0], journals[1]);
}

async fn take(store: &dyn PlanStore, step: &Step, now: i64) -> Result<Applied, Error> {
    match step.clone() {
        Step::Change { ops, worker, recorded, attempt, base, .. } => {
            let mode = if recorded { Mode::Recorded } else { Mode::Enforced };
            let (attempt, base) = (attempt.map(Attempt), base.map(Revision));
            let mut ctx = Ctx { mode, attempt, base, ..ctx(WORKERS[worker], now) };
            ctx.limits.open_items = 8;
            store.change(plan_id(1), Change::new(ops, ctx)).await
        }
        Step::Undo { worker } => store.undo(plan_id(1), ctx(WORKERS[worker], now), None).await,
        Step::Forget { item } => {
            let item = item.map(|n| ItemRef::Number(Number(n)));
            store.forget(plan_id(1), item, ctx("ann", now)).await
        }
    }
}

fn stored_unmet(options: &Options) -> BTreeMap<u32, usize> {
    let conn = outside(options);
    let mut select = conn.prepare("SELECT number, unmet FROM item").unwrap();
    let rows = select.query_map([], |row| Ok((row.get(0)?, row.get::<_, u32>(1)?))).unwrap();
    rows.map(|row| row.map(|(n, unmet)| (n, usize::try_from(unmet).unwrap())).unwrap()).collect()
}

/// One change moves an item and, by another operation, the items around it.
#[test]
fn an_item_that_a_change_moves_back_stands_where_it_stood() {
    let change =
        |ops| Step::Change { ops, worker: 0, after: 1, recorded: false, attempt: None, base: None };
    let (one, two) = (ItemRef::Number(Number(1)), ItemRef::Number(Number(2)));
    let add = |place| Op::Add(Box::new(NewItem { place, ..NewItem::titled("a") }));
    let back = Op::Move { item: two.clone(), to: Place::Before(one.clone()) };
    let worded = Op::Edit {
        item: two.clone(),
        patch: Box::new(Patch { title: Some("b".to_owned()), ..Patch::default() }),
    };
    for with in [vec![], vec![worded]] {
        let moving = [vec![add(Place::Front), back.clone()], with].concat();
        check(&[
            change(vec![add(Place::Back), add(Place::Back), add(Place::Back)]),
            change(moving),
            change(vec![Op::Move { item: one.clone(), to: Place::After(two.clone()) }]),
            change(vec![add(Place::At(Position(2)))]),
        ]);
    }
}

proptest! {
    #![proptest_config(Config { cases: 64, failure_persistence: None, ..Config::default() })]

    #[test]
    fn sqlite_and_memory_come_to_the_same(steps in prop::collection::vec(step(), 1..20)) {
        check(&steps);
    }
}

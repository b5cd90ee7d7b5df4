//! Measures `next` on a large graph, reading it and starting it.

use std::hint::black_box;
use std::path::Path;

use punchlist_model::needs::Needs;
use punchlist_model::store::PlanStore;
use punchlist_model::{Item, Number, Op, Plan, Position, Status};
use punchlist_store::{Durability, Sqlite};

use super::{Outcome, desk, tell, timed};

/// Rounds that fill caches and are not reported.
const WARM_UP: u64 = 200;

pub(crate) fn run(directory: &Path, items: u32, count: u64) -> Outcome {
    let plan = graph(items);
    let links: usize = plan.items.values().map(|item| item.depends_on.len()).sum();
    tell("items", u128::from(items))?;
    tell("links", u128::try_from(links)?)?;
    let store = desk::open(&directory.join("plans.db"), Durability::Normal)?;
    desk::wait(store.import(plan, Vec::new()))?;
    for n in 1..=count + WARM_UP {
        let mut here = Number(0);
        let read = timed(|| {
            here = look(&store)?;
            Ok(())
        })?;
        let claim = timed(|| desk::change(&store, 2 * n, Op::Next).map(drop))?;
        desk::change(&store, 2 * n + 1, Op::Release(here.into()))?;
        if n > WARM_UP {
            tell("read", read)?;
            tell("claim", claim)?;
        }
    }
    Ok(())
}

/// What `next` shows: the item in progress, otherwise the next ready one.
fn look(store: &Sqlite) -> Outcome<Number> {
    let needs = Needs { next: true, ..Needs::default() };
    let plan = desk::wait(PlanStore::read(store, desk::plan_id(), needs))?;
    let item = plan.in_progress().next().or_else(|| plan.get(plan.next?));
    black_box(item).map(|item| item.number).ok_or_else(|| "nothing is ready".into())
}

/// A plan in which every item except the first few depends on two earlier ones, and three in ten
/// are completed. A fixed generator draws the dependencies, so the plan is always the same.
fn graph(items: u32) -> Plan {
    let mut seed = 88_172_645_463_325_252_u64;
    let mut draw = move |below: u32| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        u32::try_from(seed % u64::from(below.max(1))).unwrap_or_default()
    };
    let mut plan = Plan::new(desk::plan_id(), "/project", desk::at(0));
    let (ids, done) = (desk::ids(1), items * 3 / 10);
    for number in 1..=items {
        let id = ids.item(Number(number));
        let title = format!("Item number {number} of the list");
        let mut item = Item::new(id, Number(number), title, desk::at(0));
        item.position = Some(Position(number));
        item.priority = (number % 4 == 0).then(|| draw(5));
        if number > 100 {
            while item.depends_on.len() < 2 {
                item.depends_on.insert(Number(number - 1 - draw(2_000.min(number - 1))));
            }
        }
        if number <= done {
            item.status = Status::Completed;
            item.completed_at = Some(desk::at(0));
        }
        plan.items.insert(item.number, item);
    }
    plan.next_number = Number(items + 1);
    (plan.placed, plan.open) = (items, items - done);
    plan
}

//! `next` on a large graph, to look at and to take, beside the query on the counter alone.

use std::hint::black_box;
use std::path::Path;

use punchlist_model::needs::Needs;
use punchlist_model::store::PlanStore;
use punchlist_model::{Item, Number, Op, Plan, Position, Status};
use punchlist_store::{Durability, Sqlite};

use super::{Outcome, desk, raw, tell, timed};

/// How many rounds fill caches, both sides' alike, and are not told.
const WARM_UP: u64 = 200;

pub(crate) fn run(directory: &Path, items: u32, count: u64) -> Outcome {
    let (ours, bare) = (directory.join("ours.db"), directory.join("raw.db"));
    let plan = graph(items);
    let links: usize = plan.items.values().map(|item| item.depends_on.len()).sum();
    tell("items", u128::from(items))?;
    tell("links", u128::try_from(links)?)?;
    let store = desk::open(&ours, Durability::Normal)?;
    desk::wait(store.import(plan.clone(), Vec::new()))?;
    desk::wait(desk::open(&bare, Durability::Normal)?.import(plan, Vec::new()))?;
    let mut conn = raw::open(&bare, Durability::Normal)?;
    let key = raw::key(&conn)?;
    for n in 1..=count + WARM_UP {
        // One by one in turn, so that whatever else the machine does meets both alike.
        let (mut here, mut there) = (Number(0), 0);
        let read = timed(|| {
            here = look(&store)?;
            Ok(())
        })?;
        let query = timed(|| {
            there = black_box(raw::next(&conn, key)?).0;
            Ok(())
        })?;
        // Now as who looks again and again while nothing changes, and has looked before.
        look(&store)?;
        let again = timed(|| look(&store).map(drop))?;
        // Another item is next while this one waits, and nobody has seen it so.
        let (item, on) = (here.into(), "bench".to_owned());
        desk::change(&store, 4 * n, Op::Wait { item, on })?;
        raw::wait(&mut conn, 4 * n, there, Some("bench"))?;
        let mut second = Number(0);
        let other = timed(|| {
            second = look(&store)?;
            Ok(())
        })?;
        let its_query = raw::next(&conn, key)?.0;
        if second == here || i64::from(second.0) != its_query {
            return Err(format!("after {here} we found {second}, raw SQLite {its_query}").into());
        }
        desk::change(&store, 4 * n + 1, Op::Resume(here.into()))?;
        raw::wait(&mut conn, 4 * n + 1, there, None)?;
        let claim = timed(|| desk::change(&store, 4 * n + 2, Op::Next).map(drop))?;
        let mut taken = 0;
        let transaction = timed(|| {
            taken = raw::claim(&mut conn, 4 * n + 2)?;
            Ok(())
        })?;
        // Otherwise the comparison means nothing.
        if (there, taken) != (i64::from(here.0), there) || look(&store)? != here {
            return Err(format!("we found {here}, raw SQLite {there} and took {taken}").into());
        }
        desk::change(&store, 4 * n + 3, Op::Release(here.into()))?;
        raw::release(&mut conn, 4 * n + 3, taken)?;
        if n > WARM_UP {
            let told = [read, query, again, other, claim, transaction];
            let names = ["read", "query", "again", "other", "claim", "transaction"];
            names.iter().zip(told).try_for_each(|(name, figure)| tell(name, figure))?;
        }
    }
    Ok(())
}

/// What `next` shows: the item in progress, else the next ready one.
fn look(store: &Sqlite) -> Outcome<Number> {
    let needs = Needs { next: true, ..Needs::default() };
    let plan = desk::wait(PlanStore::read(store, desk::plan_id(), needs))?;
    let item = plan.in_progress().next().or_else(|| plan.next_ready());
    black_box(item).map(|item| item.number).ok_or_else(|| "nothing is ready".into())
}

/// A plan in which every item but the first few depends on two earlier ones, and three in ten are
/// done. The links are drawn by a generator that gives the same plan every time.
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
        let id = ids.item(number, Number(number));
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

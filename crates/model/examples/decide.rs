//! Decides two changes on a plan in memory: the first is applied, the second is refused.

use punchlist_model::{Ctx, IdSource, NewItem, Number, Op, Plan, PlanId, Timestamp, decide};

pub(crate) fn main() {
    let now = Timestamp::UNIX_EPOCH;
    let ids = IdSource::fixed(now, 1);
    let ctx = Ctx::new("worker-1", now, ids);
    let mut plan = Plan::new(PlanId(ids.nth(99)), "/project", now);
    let add = |title: &str| Op::Add(Box::new(NewItem::titled(title)));
    let start = |number| Op::Start(Number(number).into());
    let decision = decide(&plan, &[add("Parse"), add("Test"), start(1)], &ctx).expect("allowed");
    for event in &decision.events {
        plan.evolve(event);
    }
    // One item in progress per worker: the second start is refused and changes nothing.
    let refusal = decide(&plan, &[start(2)], &ctx).expect_err("a rule says no");
    assert!(refusal.to_string().contains("item 1 \"Parse\" is in progress"), "{refusal}");
}

//! What a worker cleans up in shared plans, whoever left it, and when it looks again.

use std::collections::BTreeSet;
use std::time::Duration;

use punchlist_model::{Item, ItemRef, Number, Op, Plan, Process, Timestamp};

use tokio::time::Instant;

use super::ready;
use crate::run::{Tree, asked};

/// How long after the end of a lease to look, because clocks differ.
const AFTER_LEASE: Duration = Duration::from_millis(100);
/// How long to wait if the store says that a lease has not ended.
const AGAIN: Duration = Duration::from_secs(1);

/// The items whose claim has lapsed and that this worker does not execute.
pub(crate) fn lapsed(
    plan: &Plan,
    now: Timestamp,
    gone: &[Process],
    mine: &BTreeSet<Number>,
) -> Vec<Number> {
    let has_lapsed =
        |it: &&Item| it.claim.as_ref().is_some_and(|claim| claim.has_lapsed(now, gone));
    let lapsed = plan.in_progress().filter(has_lapsed).map(|it| it.number);
    lapsed.filter(|it| !mine.contains(it)).collect()
}

/// The items whose claim has lapsed.
pub(crate) fn lapsed_anywhere(plan: &Plan, now: Timestamp, gone: &[Process]) -> Vec<Number> {
    lapsed(plan, now, gone, &BTreeSet::new())
}

/// When to look whether the first claim has lapsed.
pub(crate) fn lease_end(plan: &Plan, now: Timestamp) -> Option<Instant> {
    first_end(plan, &BTreeSet::new()).map(|it| look_at(it, now))
}

/// When to look whether a lease has ended. Not at once if it has ended by this clock: that of the store may
/// be behind.
pub(crate) fn look_at(end: Timestamp, now: Timestamp) -> Instant {
    let left = end.as_millisecond().saturating_sub(now.as_millisecond());
    let left = Duration::from_millis(u64::try_from(left).unwrap_or(0)) + AFTER_LEASE;
    Instant::now() + left.max(AGAIN)
}

/// Makes interrupted items wait for a person if nobody else may decide, and completes groups that are
/// finished.
pub(crate) fn ops(plan: &Plan, tree: &Tree) -> Vec<Op> {
    let done = |it: Number| Op::Complete {
        item: ItemRef::Number(it),
        outcome: None,
        with_children: false,
    };
    let groups = tree.finished_groups(plan).into_iter().map(done);
    ready::undecided(plan).into_iter().flat_map(asked).chain(groups).collect()
}

/// When the first claim of another worker ends.
pub(crate) fn first_end(plan: &Plan, mine: &BTreeSet<Number>) -> Option<Timestamp> {
    let others = plan.in_progress().filter(|it| !mine.contains(&it.number));
    others.filter_map(|it| it.claim.as_ref()).map(|it| it.expires_at).min()
}

/// The processes of other workers.
pub(crate) fn neighbours<'a>(
    plan: &'a Plan,
    mine: &'a BTreeSet<Number>,
) -> impl Iterator<Item = &'a Process> {
    let others = plan.in_progress().filter(|it| !mine.contains(&it.number));
    others.filter_map(|it| it.claim.as_ref()?.holder.process.as_ref())
}

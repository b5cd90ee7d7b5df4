//! What becomes of a claimed item whose call did not succeed. Pure.
//!
//! A worker must not leave such an item as it was: the next worker would take it at once, again and
//! again, or would repeat a command that was cut off.

use punchlist_model::{Item, ItemRef, Op, Patch};
use punchlist_sched::call::{CancelReason, Outcome};
use serde_json::{Map, Value};

/// What a failed item waits for.
pub(crate) const FAILED: &str = "a person, because it failed";
/// What a refused item waits for.
pub(crate) const REFUSED: &str = "a person, who refused it";
/// What an interrupted item waits for.
pub(crate) const INTERRUPTED: &str = "a person, because it was interrupted";

/// The reason of a call that ended because the lease was lost begins with this.
pub(crate) const LEASE_LOST: &str = "its lease was lost";

/// What becomes of an item.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Fate {
    /// It is ready again.
    Ready,
    /// It waits for a person; the second text is its outcome.
    Waits(&'static str, Option<String>),
    /// It was interrupted, for this reason.
    Interrupted(String),
    /// It was interrupted before, and its check says that it is not done.
    Asked,
}

/// The operations for an item whose call did not succeed. `failure` is the text that the call leaves at
/// its item. `was_executing` says whether its command may have begun.
pub(crate) fn ops(
    item: &Item,
    outcome: &Outcome,
    failure: Option<String>,
    was_executing: bool,
) -> Vec<Op> {
    let by = || ItemRef::Number(item.number);
    let edit = |outcome: Option<String>, mark: Option<Value>| {
        let mark = mark.or_else(|| item.is_interrupted().then_some(Value::Null));
        let merge = mark.map(|it| (Item::INTERRUPTED.to_owned(), it)).into_iter();
        let patch =
            Patch { outcome: outcome.map(Some), merge: Map::from_iter(merge), ..Patch::default() };
        Op::Edit { item: by(), patch: Box::new(patch) }
    };
    let mut ops = match fate(item, outcome, failure, was_executing) {
        Fate::Ready => Vec::new(),
        Fate::Waits(on, outcome) => {
            vec![edit(outcome, None), Op::Wait { item: by(), on: on.to_owned() }]
        }
        Fate::Interrupted(why) => {
            let times = item.interruptions().saturating_add(1);
            vec![edit(Some(format!("interrupted: {why}")), Some(times.into()))]
        }
        Fate::Asked => asked(item),
    };
    ops.push(Op::Release(by()));
    ops
}

/// Marks an item as interrupted because its command was cut off.
pub(crate) fn cut_off(item: &Item) -> Op {
    let times = item.interruptions().saturating_add(1);
    let merge = Map::from_iter([(Item::INTERRUPTED.to_owned(), times.into())]);
    let outcome = Some(Some("interrupted: the worker could not finish it".to_owned()));
    let patch = Patch { outcome, merge, ..Patch::default() };
    Op::Edit { item: ItemRef::Number(item.number), patch: Box::new(patch) }
}

/// Makes an interrupted item wait for a person.
pub(crate) fn asked(item: &Item) -> Vec<Op> {
    let by = || ItemRef::Number(item.number);
    let merge = Map::from_iter([(Item::INTERRUPTED.to_owned(), Value::from(Item::ASKED))]);
    let patch = Patch { merge, ..Patch::default() };
    let edit = Op::Edit { item: by(), patch: Box::new(patch) };
    vec![edit, Op::Wait { item: by(), on: INTERRUPTED.to_owned() }]
}

fn fate(item: &Item, outcome: &Outcome, failure: Option<String>, was_executing: bool) -> Fate {
    match outcome {
        Outcome::Success(_) => Fate::Ready,
        Outcome::Error(_) => Fate::Waits(FAILED, failure),
        Outcome::Cancelled { reason, .. } => match reason {
            CancelReason::Refused(_) => Fate::Waits(REFUSED, failure),
            CancelReason::Declined(why) if why.starts_with(LEASE_LOST) => match was_executing {
                true => Fate::Interrupted(why.clone()),
                false => Fate::Ready,
            },
            CancelReason::Declined(_) if item.is_interrupted() => Fate::Asked,
            CancelReason::Asked(_) if was_executing && item.retry.is_none() => {
                Fate::Interrupted("the worker was stopped".to_owned())
            }
            CancelReason::Interrupted if was_executing => {
                Fate::Interrupted("the worker ended".to_owned())
            }
            CancelReason::Asked(_)
            | CancelReason::Declined(_)
            | CancelReason::Dependency(_)
            | CancelReason::Halted(_)
            | CancelReason::Beside(_)
            | CancelReason::Interrupted => Fate::Ready,
        },
    }
}

#[cfg(test)]
mod tests {
    use punchlist_model::{IdSource, ItemId, Number, Timestamp};
    use punchlist_sched::call::CallError;

    use super::*;

    fn item(retry: Option<u32>, interrupted: Option<Value>) -> Item {
        let at = Timestamp::UNIX_EPOCH;
        let id = ItemId(IdSource::fixed(at, 1).nth(0));
        let metadata = interrupted.map(|it| Map::from_iter([(Item::INTERRUPTED.to_owned(), it)]));
        Item { retry, metadata, ..Item::new(id, Number(1), "Build", at) }
    }

    #[test]
    fn a_failed_or_refused_item_waits_for_a_person() {
        let failed = Outcome::Error(CallError::Panicked("oh".to_owned()));
        let why = Some("failed: oh".to_owned());
        let is = fate(&item(None, None), &failed, why.clone(), true);
        assert_eq!(is, Fate::Waits(FAILED, why));
        let refused = Outcome::Cancelled { reason: CancelReason::Refused(None), output: None };
        assert_eq!(fate(&item(None, None), &refused, None, false), Fate::Waits(REFUSED, None));
    }

    #[test]
    fn what_was_cut_off_is_interrupted_unless_it_may_be_repeated_or_had_not_begun() {
        let stopped = Outcome::Cancelled { reason: CancelReason::Asked(None), output: None };
        let why = Fate::Interrupted("the worker was stopped".to_owned());
        assert_eq!(fate(&item(None, None), &stopped, None, true), why);
        assert_eq!(fate(&item(None, None), &stopped, None, false), Fate::Ready);
        assert_eq!(fate(&item(Some(1), None), &stopped, None, true), Fate::Ready);
        let why = format!("{LEASE_LOST}: the store is away");
        let lost = Outcome::Cancelled { reason: CancelReason::Declined(why.clone()), output: None };
        assert_eq!(fate(&item(Some(1), None), &lost, None, true), Fate::Interrupted(why));
    }

    #[test]
    fn an_interrupted_item_whose_check_fails_waits_and_a_failure_settles_the_interruption() {
        let declined = CancelReason::Declined("interrupted".to_owned());
        let declined = Outcome::Cancelled { reason: declined, output: None };
        let interrupted = item(None, Some(2.into()));
        assert_eq!(fate(&interrupted, &declined, None, true), Fate::Asked);
        let failed = Outcome::Error(CallError::Panicked("oh".to_owned()));
        let all = ops(&interrupted, &failed, Some("failed: oh".to_owned()), true);
        let Some(Op::Edit { patch, .. }) = all.first() else { panic!("{all:?}") };
        assert_eq!(patch.merge.get(Item::INTERRUPTED), Some(&Value::Null));
        assert!(matches!(all.last(), Some(Op::Release(_))), "the claim ends last: {all:?}");
    }
}

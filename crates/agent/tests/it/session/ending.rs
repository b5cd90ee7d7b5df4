//! The exit code of each ending.

use punchlist_agent::session::Ended;
use punchlist_agent::turn::{Abort, Ending};
use punchlist_model::store::turns::Used;
use punchlist_model::{IdSource, Item, ItemId, Number, Plan, PlanId, Timestamp};

/// A plan with one open item.
fn open() -> Plan {
    let at = Timestamp::UNIX_EPOCH;
    let ids = IdSource::fixed(at, 1);
    let mut plan = Plan::new(PlanId(ids.nth(0)), "/p", at);
    let item = Item::new(ItemId(ids.nth(1)), Number(1), "A", at);
    plan.items.insert(Number(1), item);
    plan
}

#[test]
fn each_ending_has_its_exit_code() {
    let budget = Ending::Aborted(Abort::Budget("used up".to_owned()));
    // Without a plan, and with an open item.
    let endings = [
        (Ending::Answered, 0, 7),
        (Ending::Asked, 0, 7),
        (Ending::Planned, 0, 7),
        (Ending::LetGo, 0, 7),
        (Ending::Limit, 0, 7),
        (Ending::Stuck, 0, 7),
        (Ending::PlanningFailed, 6, 6),
        (Ending::NotValidated, 6, 6),
        (Ending::Unfit, 6, 6),
        (Ending::Failed("no network".to_owned()), 6, 6),
        (Ending::Aborted(Abort::User), 130, 130),
        (budget, 6, 7),
    ];
    for (ending, without, with) in endings {
        for (plan, code) in [(None, without), (Some(open()), with)] {
            let (answer, used) = (String::new(), Used::default());
            let citations = Vec::new();
            let ended = Ended { ending: ending.clone(), answer, citations, plan, used };
            assert_eq!(ended.exit(), code, "{ending:?}");
        }
    }
}

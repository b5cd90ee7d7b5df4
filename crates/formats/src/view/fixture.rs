//! Plans for tests: the example of the screens, one with hostile texts, and random ones.

use std::collections::BTreeSet;

use proptest::prelude::*;
use punchlist_model::item::CheckRun;
use punchlist_model::{
    Attempt, Check, Claim, Evidence, Holder, Item, Level, Number, Origin, Plan, Position, Revision,
    Status, Timestamp,
};

use super::Options;
use crate::text::naughty::{NAUGHTY, any_text};

/// Noon, plus this many seconds.
pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

/// Default options for tests, ten minutes past noon.
pub(super) fn options(width: u16) -> Options {
    Options { width, ..Options::plain(at(600)) }
}

/// An id that is easy to recognise.
pub(super) fn id(n: u32) -> String {
    format!("01a3185c-5000-7000-8000-0000000{n:05}")
}

/// A plan with items of these statuses and titles, numbered in order.
pub(super) fn plan<T: AsRef<str>>(entries: &[(Status, T)]) -> Plan {
    let mut plan = Plan::new(id(0).parse().unwrap(), "/home/ann/web-shop", at(0));
    for (status, title) in entries {
        let number = plan.next_number;
        let mut item = Item::new(id(number.0).parse().unwrap(), number, title.as_ref(), at(0));
        item.status = *status;
        item.position = Some(Position(number.0));
        plan.placed += 1;
        plan.open += u32::from(item.is_open());
        plan.next_number = Number(number.0 + 1);
        plan.items.insert(number, item);
    }
    plan.revision = Revision(u64::from(plan.placed));
    plan
}

/// Changes one item.
pub(super) fn with(plan: &mut Plan, number: u32, change: impl FnOnce(&mut Item)) {
    change(plan.items.get_mut(&Number(number)).unwrap());
}

/// The three items of the original proposal.
pub(super) fn seed() -> Plan {
    let mut plan = plan(&[
        (Status::Completed, "Fix failing tests"),
        (Status::InProgress, "Update documentation"),
        (Status::Pending, "Run final build verification"),
    ]);
    with(&mut plan, 2, |item| item.active_form = Some("Updating documentation".to_owned()));
    plan
}

/// The plan of the example screens.
pub(super) fn screen() -> Plan {
    let mut plan = plan(&[
        (Status::Completed, "Fix the failing tests"),
        (Status::InProgress, "Update documentation"),
        (Status::Pending, "Run the final build"),
        (Status::Pending, "Choose the licence"),
        (Status::Cancelled, "Port to Windows"),
        (Status::Completed, "Install guide"),
        (Status::Pending, "API reference"),
    ]);
    with(&mut plan, 1, |item| {
        item.check = Some(Check {
            command: "cargo test".to_owned(),
            covers: vec!["src/**".to_owned()],
            origin: Origin::Person,
        });
        item.evidence = vec![checked(Some(0))];
        (item.started_at, item.completed_at) = (Some(at(100)), Some(at(225)));
    });
    with(&mut plan, 2, |item| {
        item.active_form = Some("Updating documentation".to_owned());
        item.started_at = Some(at(530));
        item.attempt = Attempt(1);
        item.claim = Some(Claim {
            holder: Holder::named("claude"),
            attempt: Attempt(1),
            expires_at: at(1430),
        });
    });
    with(&mut plan, 3, |item| item.depends_on = BTreeSet::from([Number(2)]));
    with(&mut plan, 4, |item| item.waiting_on = Some("legal".to_owned()));
    with(&mut plan, 5, |item| item.outcome = Some("out of scope".to_owned()));
    with(&mut plan, 6, |item| {
        item.parent = Some(Number(2));
        item.evidence = vec![Evidence {
            level: Level::Reported,
            at: at(500),
            by: "claude".to_owned(),
            run: None,
        }];
        (item.started_at, item.completed_at) = (Some(at(230)), Some(at(500)));
    });
    with(&mut plan, 7, |item| item.parent = Some(Number(2)));
    plan
}

/// Evidence of a check with this exit code.
pub(super) fn checked(exit_code: Option<i32>) -> Evidence {
    let run = CheckRun {
        command: "cargo test".to_owned(),
        exit_code,
        output_digest: "0".repeat(64),
        covered: Vec::new(),
        worktree: "/home/ann/web-shop".to_owned(),
    };
    Evidence { level: Level::Checked, at: at(225), by: "punchlist".to_owned(), run: Some(run) }
}

/// A plan with one item for each hostile text, in alternating statuses.
pub(super) fn naughty() -> Plan {
    let mut entries: Vec<(Status, String)> = NAUGHTY
        .iter()
        .enumerate()
        .map(|(at, text)| (Status::ALL[at % 4], (*text).to_owned()))
        .collect();
    entries.push((Status::Pending, "long ".repeat(2_000)));
    let mut plan = plan(&entries);
    with(&mut plan, 1, |item| item.waiting_on = Some("\u{1b}[1mbold\u{202e}".to_owned()));
    with(&mut plan, 2, |item| {
        item.active_form = Some("働いています 👩‍💻".to_owned());
        item.owner = Some("クロード\u{9b}5m".to_owned());
        item.started_at = Some(at(-90_000));
    });
    with(&mut plan, 3, |item| item.evidence = vec![checked(Some(0))]);
    with(&mut plan, 4, |item| item.outcome = Some("因为\n没有时间".to_owned()));
    with(&mut plan, 5, |item| item.waiting_on = Some("המנהל".to_owned()));
    with(&mut plan, 6, |item| item.parent = Some(Number(5)));
    with(&mut plan, 7, |item| item.parent = Some(Number(6)));
    with(&mut plan, 9, |item| item.depends_on = BTreeSet::from([Number(1), Number(4)]));
    with(&mut plan, 13, |item| item.depends_on = BTreeSet::from([Number(1), Number(5)]));
    plan.title = "Naughty ]]> \u{202e}plan\n# not a heading #".to_owned();
    plan
}

/// Any plan, including links to missing items and cycles.
pub(super) fn any_plan() -> impl Strategy<Value = Plan> {
    let maybe = || prop::option::of(any_text());
    let link = || prop::option::of(0_u32..9);
    let status = prop::sample::select(Status::ALL.to_vec());
    let item =
        (any_text(), maybe(), maybe(), maybe(), maybe(), status, link(), link(), any::<bool>());
    prop::collection::vec(item, 0..8).prop_map(|items| {
        let entries: Vec<_> = items.iter().map(|item| (item.5, item.0.clone())).collect();
        let mut plan = plan(&entries);
        for (number, (_, active, waiting, owner, outcome, _, parent, after, done)) in
            (1..).zip(items)
        {
            with(&mut plan, number, |item| {
                item.active_form = active;
                item.waiting_on = waiting;
                item.owner = owner;
                item.outcome = outcome;
                item.parent = parent.map(Number);
                item.depends_on = after.map(Number).into_iter().collect();
                item.evidence = if done { vec![checked(Some(0))] } else { Vec::new() };
                item.started_at = done.then(|| at(0));
                item.completed_at = (item.status == Status::Completed).then(|| at(77));
            });
        }
        plan
    })
}

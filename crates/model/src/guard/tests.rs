//! Tests: what holds a turn, and the governor's complete transition table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::actor::{Holder, Process};
use crate::id::{Attempt, IdSource, ItemId, PlanId, Position};
use crate::item::{Check, CheckRun, Claim, Evidence, Item, Level, Mark, Origin, Status};
use crate::plan::Plan;

pub(super) fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

/// A plan with pending items `1..=n`.
pub(super) fn plan(n: u32) -> Plan {
    let ids = IdSource::fixed(now(), 1);
    let mut plan = Plan::new(PlanId(ids.nth(0)), "/project", now());
    for number in 1..=n {
        let mut item =
            Item::new(ItemId(ids.nth(number)), Number(number), format!("Item {number}"), now());
        item.position = Some(Position(number));
        plan.items.insert(Number(number), item);
    }
    (plan.placed, plan.open) = plan.recount();
    plan.next_number = Number(n + 1);
    plan
}

fn item(plan: &mut Plan, number: u32) -> &mut Item {
    plan.items.get_mut(&Number(number)).unwrap()
}

fn claim(holder: &str, seconds: i64, process: Option<Process>) -> Claim {
    Claim {
        holder: Holder { name: holder.to_owned(), process },
        attempt: Attempt(1),
        expires_at: now() + SignedDuration::from_secs(seconds),
    }
}

fn process(pid: u32) -> Process {
    Process {
        host: "here".to_owned(),
        boot_id: "b".to_owned(),
        pid_namespace: 1,
        pid,
        start_time: 7,
    }
}

/// Edits a plan of `n` items, then checks what holds the turn of `me` and what excuses the rest.
fn check(n: u32, edit: impl FnOnce(&mut Plan), holds: &[u32], excused: &[(u32, Excuse)]) {
    check_scope(&Scope::All, n, edit, holds, excused);
}

fn check_scope(
    scope: &Scope,
    n: u32,
    edit: impl FnOnce(&mut Plan),
    holds: &[u32],
    excused: &[(u32, Excuse)],
) {
    let mut plan = plan(n);
    edit(&mut plan);
    (plan.placed, plan.open) = plan.recount();
    let gone = [process(99)];
    let asking = Asking { worker: "me", now: now(), gone: &gone, scope };
    let held: Vec<u32> = holding(&plan, &asking).into_iter().map(|number| number.0).collect();
    assert_eq!(held, holds, "what holds");
    let found: Vec<(u32, Excuse)> =
        excuses(&plan, &asking).into_iter().map(|(number, why)| (number.0, why)).collect();
    assert_eq!(found, excused, "what is excused");
}

#[test]
fn open_items_hold_the_turn_in_list_order() {
    check(
        4,
        |plan| {
            item(plan, 1).position = Some(Position(3));
            item(plan, 3).position = Some(Position(1));
            item(plan, 2).status = Status::Completed;
            item(plan, 4).superseded_at = Some(now());
        },
        &[3, 1],
        &[],
    );
}

#[test]
fn items_that_wait_are_excused() {
    check(
        2,
        |plan| item(plan, 1).waiting_on = Some("legal".to_owned()),
        &[2],
        &[(1, Excuse::Waits)],
    );
}

#[test]
fn items_held_by_another_worker_are_excused_while_the_claim_lives() {
    let cases = [
        (claim("other", 60, None), true),
        (claim("other", 0, None), false),
        (claim("other", -60, None), false),
        (claim("other", 60, Some(process(1))), true),
        (claim("other", 60, Some(process(99))), false),
        (claim("me", 60, None), false),
    ];
    for (claim, excused) in cases {
        let edit = |plan: &mut Plan| {
            item(plan, 1).status = Status::InProgress;
            item(plan, 1).claim = Some(claim.clone());
        };
        if excused {
            check(1, edit, &[], &[(1, Excuse::HeldByOther)]);
        } else {
            check(1, edit, &[1], &[]);
        }
    }
}

#[test]
fn what_a_sub_agent_holds_is_held_against_the_agent_that_it_works_for() {
    for (holder, excused) in [("me/sub", false), ("me", false), ("mesub", true), ("you/me", true)] {
        let edit = |plan: &mut Plan| {
            item(plan, 1).status = Status::InProgress;
            item(plan, 1).claim = Some(claim(holder, 60, None));
        };
        let excuses = [(1, Excuse::HeldByOther)];
        check(1, edit, if excused { &[] } else { &[1] }, if excused { &excuses } else { &[] });
    }
}

#[test]
fn items_blocked_by_a_chain_that_ends_in_an_excused_one_are_excused() {
    check(
        4,
        |plan| {
            item(plan, 1).waiting_on = Some("the build".to_owned());
            item(plan, 2).depends_on = BTreeSet::from([Number(1)]);
            item(plan, 3).depends_on = BTreeSet::from([Number(2), Number(4)]);
        },
        &[4],
        &[(1, Excuse::Waits), (2, Excuse::Blocked), (3, Excuse::Blocked)],
    );
}

#[test]
fn a_chain_that_ends_in_work_to_do_holds() {
    check(
        3,
        |plan| {
            item(plan, 2).depends_on = BTreeSet::from([Number(1)]);
            item(plan, 3).depends_on = BTreeSet::from([Number(2)]);
        },
        &[1, 2, 3],
        &[],
    );
}

#[test]
fn a_cancelled_dependency_makes_its_dependants_need_a_decision() {
    check(
        4,
        |plan| {
            item(plan, 1).status = Status::Cancelled;
            item(plan, 2).depends_on = BTreeSet::from([Number(1), Number(3)]);
            item(plan, 3).waiting_on = Some("legal".to_owned());
            item(plan, 4).depends_on = BTreeSet::from([Number(2)]);
        },
        &[2, 4],
        &[(3, Excuse::Waits)],
    );
}

#[test]
fn a_superseded_dependency_is_history_and_excuses_nothing() {
    check(
        2,
        |plan| {
            item(plan, 1).superseded_at = Some(now());
            item(plan, 1).waiting_on = Some("legal".to_owned());
            item(plan, 2).depends_on = BTreeSet::from([Number(1)]);
        },
        &[2],
        &[],
    );
}

#[test]
fn a_parent_that_cannot_be_completed_because_a_child_is_excused_is_excused_too() {
    let waiting_child = |plan: &mut Plan| {
        item(plan, 2).parent = Some(Number(1));
        item(plan, 2).waiting_on = Some("legal".to_owned());
        item(plan, 3).parent = Some(Number(1));
    };
    check(3, waiting_child, &[3], &[(1, Excuse::ChildExcused), (2, Excuse::Waits)]);
    check(2, |plan| item(plan, 2).parent = Some(Number(1)), &[1, 2], &[]);
}

#[test]
fn a_circle_of_links_without_an_excuse_holds_and_does_not_loop() {
    check(
        2,
        |plan| {
            item(plan, 1).depends_on = BTreeSet::from([Number(2)]);
            item(plan, 2).depends_on = BTreeSet::from([Number(1)]);
            item(plan, 2).parent = Some(Number(1));
        },
        &[1, 2],
        &[],
    );
}

#[test]
fn parked_items_hold_no_further_stop() {
    check(
        2,
        |plan| {
            item(plan, 1).marks.insert(Mark::Parked);
        },
        &[2],
        &[(1, Excuse::Parked)],
    );
}

#[test]
fn a_sub_agent_answers_only_for_items_that_it_made_or_claimed() {
    check_scope(
        &Scope::Own(BTreeSet::from([Number(2)])),
        4,
        |plan| {
            item(plan, 3).status = Status::InProgress;
            item(plan, 3).claim = Some(claim("me", 60, None));
        },
        &[2, 3],
        &[(1, Excuse::NotYours), (4, Excuse::NotYours)],
    );
}

#[test]
fn a_sub_agent_is_not_held_by_what_waits_for_somebody_elses_item() {
    let scope = Scope::Own(BTreeSet::from([Number(2)]));
    let edit = |plan: &mut Plan| item(plan, 2).depends_on = BTreeSet::from([Number(1)]);
    check_scope(&scope, 2, edit, &[], &[(1, Excuse::NotYours), (2, Excuse::Blocked)]);
    let mut plan = plan(2);
    edit(&mut plan);
    let asking = Asking { worker: "me", now: now(), gone: &[], scope: &scope };
    assert_eq!(outlook(&plan, &asking), BTreeMap::from([(Number(2), Standing::Excused)]));
}

fn evidence(level: Level, exit_code: Option<i32>) -> Evidence {
    let run = (level == Level::Checked).then(|| CheckRun {
        command: "true".to_owned(),
        exit_code,
        output_digest: String::new(),
        covered: Vec::new(),
        worktree: "/project".to_owned(),
    });
    Evidence { level, at: now(), by: "me".to_owned(), run }
}

#[test]
fn where_the_plan_demands_checked_evidence_missing_evidence_holds_like_an_open_item() {
    let cases: [(&[Evidence], bool); 4] = [
        (&[], true),
        (&[evidence(Level::Reported, None)], true),
        (&[evidence(Level::Checked, Some(1))], true),
        (&[evidence(Level::Checked, Some(0))], false),
    ];
    for (evidence, holds) in cases {
        let held: &[u32] = if holds { &[1] } else { &[] };
        let done = |plan: &mut Plan| {
            item(plan, 1).status = Status::Completed;
            item(plan, 1).evidence = evidence.to_vec();
        };
        check(1, done, &[], &[]);
        let by_plan = |plan: &mut Plan| {
            done(plan);
            plan.rules.demand = Some(Level::Checked);
        };
        check(1, by_plan, held, &[]);
        let by_item = |plan: &mut Plan| {
            done(plan);
            let command = "true".to_owned();
            item(plan, 1).check =
                Some(Check { command, covers: Vec::new(), origin: Origin::Person });
        };
        check(1, by_item, held, &[]);
    }
}

#[test]
fn a_done_item_that_lacks_only_a_persons_approval_waits() {
    let approval = |plan: &mut Plan| {
        plan.rules.demand = Some(Level::Approved);
        item(plan, 1).status = Status::Completed;
        item(plan, 2).status = Status::Completed;
        item(plan, 2).evidence = vec![evidence(Level::Checked, Some(1))];
    };
    check(2, approval, &[2], &[(1, Excuse::Waits)]);
}

#[test]
fn ten_thousand_items_in_one_chain_are_looked_at_without_recursion() {
    let mut plan = plan(10_000);
    item(&mut plan, 1).waiting_on = Some("legal".to_owned());
    for number in 2..=10_000 {
        item(&mut plan, number).depends_on = BTreeSet::from([Number(number - 1)]);
    }
    let asking = Asking { worker: "me", now: now(), gone: &[], scope: &Scope::All };
    assert!(holding(&plan, &asking).is_empty());
    assert_eq!(excuses(&plan, &asking).len(), 10_000);
}

/// `"1 2w"`: item 1 holds, item 2 is excused.
fn items(text: &str) -> BTreeMap<Number, Standing> {
    text.split_whitespace()
        .map(|word| match word.strip_suffix('w') {
            Some(number) => (number.parse().unwrap(), Standing::Excused),
            None => (word.parse().unwrap(), Standing::Holds),
        })
        .collect()
}

fn refused(first: &str, stalled: u32, refusals: u32) -> Turn {
    Turn::Refused(Count { first: items(first), stalled, refusals })
}

fn wish(open: &str, gate: Gate, pass: Option<Pass>) -> Input {
    Input::Stop(Wish { items: items(open), bounds: gate.bounds(), pass, aim: false })
}

/// A stop with a goal that is not reached.
fn aims(open: &str, gate: Gate, pass: Option<Pass>) -> Input {
    Input::Stop(Wish { items: items(open), bounds: gate.bounds(), pass, aim: true })
}

fn states() -> Vec<(&'static str, Turn)> {
    vec![
        ("fresh", Turn::Fresh),
        ("1 refusal", refused("1 2", 1, 1)),
        ("3 without progress", refused("1 2", 3, 3)),
        ("7 in all", refused("2", 1, 7)),
        ("8 in all", refused("2", 1, 8)),
        ("1 waited at first", refused("1w 2", 1, 1)),
        ("let go", refused("1w 2w", 3, 3)),
        ("user stopped", Turn::Stopped),
    ]
}

fn inputs() -> Vec<(&'static str, Input)> {
    vec![
        ("prompt", Input::Prompt),
        ("user stop", Input::UserStop),
        ("stop, nothing open", wish("", Gate::Full, None)),
        ("stop, 1 waits", wish("1w", Gate::Full, None)),
        ("stop, 1 2 open", wish("1 2", Gate::Full, None)),
        ("stop, 2 open", wish("2", Gate::Full, None)),
        ("stop, 1 waits, 2 open", wish("1w 2", Gate::Full, None)),
        ("stop, new 9 open", wish("1 2 9", Gate::Full, None)),
        ("stop, new 9, rest waits", wish("1w 2w 9", Gate::Full, None)),
        ("stop, gate once", wish("1 2", Gate::Once, None)),
        ("stop, gate off", wish("1 2", Gate::Off, None)),
        ("stop, goal unmet", aims("", Gate::Full, None)),
        ("stop, 1 waits, goal", aims("1w", Gate::Full, None)),
        ("stop, goal, gate once", aims("", Gate::Once, None)),
        ("stop, goal, gate off", aims("", Gate::Off, None)),
        ("stop, goal, asks user", aims("", Gate::Full, Some(Pass::AsksUser))),
        ("stop, plan mode", wish("1 2", Gate::Full, Some(Pass::PlanMode))),
        ("stop, asks user", wish("1 2", Gate::Full, Some(Pass::AsksUser))),
        ("stop, background work", wish("1 2", Gate::Full, Some(Pass::Background))),
    ]
}

fn numbers(numbers: &[Number]) -> String {
    numbers.iter().map(Number::to_string).collect::<Vec<_>>().join(" ")
}

fn state_words(turn: &Turn) -> String {
    match turn {
        Turn::Fresh => "fresh".to_owned(),
        Turn::Stopped => "user stopped".to_owned(),
        Turn::Refused(Count { first, stalled, refusals }) => {
            let first: Vec<String> = first
                .iter()
                .map(|(number, standing)| match standing {
                    Standing::Holds => number.to_string(),
                    Standing::Excused => format!("{number}w"),
                })
                .collect();
            format!("refused {refusals}, stalled {stalled}, owed [{}]", first.join(" "))
        }
    }
}

fn verdict_words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Noted => "noted".to_owned(),
        Verdict::End(why) => format!("end: {why:?}"),
        Verdict::Refuse { open, refusal } => format!("refuse no. {refusal}: {}", numbers(open)),
        Verdict::LetGo { park } => format!("let go, park {}", numbers(park)),
    }
}

#[test]
fn every_state_of_the_governor_meets_every_input() {
    let mut table = String::new();
    for (state, turn) in states() {
        for (input, given) in inputs() {
            let (next, verdict) = turn.clone().step(given);
            let verdict = verdict_words(&verdict);
            let next = state_words(&next);
            writeln!(table, "{state:<19} {input:<23} {verdict:<25} {next}").unwrap();
        }
        table.push('\n');
    }
    insta::assert_snapshot!(table);
}

#[test]
fn a_goal_that_is_never_reached_holds_no_turn_beyond_the_bounds() {
    for (gate, expected) in [(Gate::Full, 3), (Gate::Once, 1), (Gate::Off, 0)] {
        let mut turn = Turn::Fresh;
        let mut count = 0;
        loop {
            let (next, verdict) = turn.step(aims("", gate, None));
            turn = next;
            if verdict.ends() {
                assert_eq!((verdict.op(), count), (None, expected), "{gate:?}");
                break;
            }
            count += 1;
        }
    }
    // This holds whatever the agent completes in between.
    let mut turn = Turn::Fresh;
    let refused = (0..100).filter(|n| {
        let open = if n % 2 == 0 { "1 2 3 4 5 6 7 8 9".split_at(2 * (n / 2).min(8)).1 } else { "" };
        let (next, verdict) = turn.clone().step(aims(open, Gate::Full, None));
        turn = next;
        !verdict.ends()
    });
    assert!(refused.count() <= 8);
}

/// Stops repeatedly, with the open items of each step, and counts the refusals.
fn refusals(gate: Gate, stops: &[&str]) -> usize {
    let mut turn = Turn::Fresh;
    let mut count = 0;
    for open in stops {
        let (next, verdict) = turn.step(wish(open, gate, None));
        turn = next;
        count += usize::from(!verdict.ends());
    }
    count
}

#[test]
fn at_most_3_refusals_without_progress_and_8_in_all_per_user_prompt() {
    assert_eq!(refusals(Gate::Full, &["1"; 20]), 3);
    let one_by_one: Vec<String> = (1..=20)
        .map(|done| (done..=20).map(|it| it.to_string()).collect::<Vec<_>>().join(" "))
        .collect();
    let one_by_one: Vec<&str> = one_by_one.iter().map(String::as_str).collect();
    assert_eq!(refusals(Gate::Full, &one_by_one), 8);
}

#[test]
fn interactive_sessions_are_refused_once() {
    assert_eq!(Gate::default_for(true), Gate::Once);
    assert_eq!(Gate::default_for(false), Gate::Full);
    assert_eq!(refusals(Gate::Once, &["1 2", "2", "2"]), 1);
}

#[test]
fn reopening_and_completing_again_counts_once() {
    // Refused with both open; then item 1 is completed (progress), reopened, completed, and so on.
    assert_eq!(refusals(Gate::Full, &["1 2", "2", "1 2", "2", "1 2", "2", "1 2"]), 4);
}

#[test]
fn adding_and_completing_trivia_never_counts() {
    assert_eq!(refusals(Gate::Full, &["1", "1 2", "1 3", "1 4", "1 5", "1 6"]), 3);
}

/// Item 1 is parked; woken within the same prompt, the agent adds item 2 and never touches item 1.
#[test]
fn what_is_parked_is_no_progress_of_the_agents() {
    let stops = ["1", "1", "1", "1", "1w 2", "1w 2w 3", "1w 2w 3w 4"];
    assert_eq!(refusals(Gate::Full, &stops), 3);
    assert_eq!(refusals(Gate::Once, &stops), 1);
    // Completing a parked item afterwards is progress.
    assert_eq!(refusals(Gate::Full, &["1", "1", "1", "1", "1w 2", "2w 3", "2w 3"]), 5);
    // An item that the agent itself makes wait, before it is let go, is progress too.
    assert_eq!(refusals(Gate::Full, &["1 2", "1 2", "1 2", "1w 2", "1w 2", "1w 2", "1w 2"]), 6);
}

#[test]
fn a_new_user_prompt_starts_a_fresh_count() {
    let (turn, verdict) = refused("1", 3, 8).step(Input::Prompt);
    assert_eq!((&turn, verdict), (&Turn::Fresh, Verdict::Noted));
    assert!(!turn.step(wish("1", Gate::Full, None)).1.ends());
}

#[test]
fn the_users_stop_always_wins() {
    for (_, turn) in states() {
        let (stopped, verdict) = turn.step(Input::UserStop);
        assert!(verdict.ends());
        let (stopped, verdict) = stopped.step(wish("1 2", Gate::Full, None));
        assert_eq!(verdict, Verdict::End(Ending::UserStopped));
        assert_eq!(verdict.op(), None, "nothing is parked");
        assert_eq!(stopped, Turn::Stopped);
    }
}

#[test]
fn what_is_let_go_is_parked_and_nothing_else_is() {
    let (_, verdict) = refused("1 2", 3, 3).step(wish("1 2 3w", Gate::Full, None));
    assert_eq!(verdict.op(), Some(Op::Park(vec![Number(1), Number(2)])));
    for (_, turn) in states() {
        for gate in [Gate::Off, Gate::Full] {
            let (_, verdict) = turn.clone().step(wish("1 2", gate, Some(Pass::AsksUser)));
            assert_eq!(verdict.op(), None);
        }
    }
}

#[test]
fn a_turn_survives_a_store() {
    for (_, turn) in states() {
        let json = serde_json::to_string(&turn).unwrap();
        assert_eq!(serde_json::from_str::<Turn>(&json).unwrap(), turn, "{json}");
    }
}

#[test]
fn settings_of_the_gate_round_trip_and_nothing_else_parses() {
    for gate in Gate::ALL {
        assert_eq!(gate.as_str().parse::<Gate>().unwrap(), gate);
    }
    assert!("on".parse::<Gate>().is_err());
}

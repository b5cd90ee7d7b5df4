//! Schedules of small plans.

use punchlist_model::{IdSource, Item, ItemId, Origin, PlanId, Position, Run, Timestamp};

use super::*;

const PERSON: Attendance = Attendance { person: true, yes: false, answered: BTreeSet::new() };
const NOBODY: Attendance = Attendance { person: false, yes: false, answered: BTreeSet::new() };

/// A plan from lines: `2 < 1` is a sub-item of 1, `3 > 1 2` depends on both. Further words: `run`,
/// `agent`, `approve`, `done`, `cancelled`, `waits`. An item without any is a manual step.
fn plan(text: &str) -> Plan {
    let at = Timestamp::UNIX_EPOCH;
    let ids = IdSource::fixed(at, 1);
    let mut plan = Plan::new(PlanId(ids.nth(0)), "/p", at);
    for (nth, line) in (1_u32..).zip(text.lines().map(str::trim).filter(|it| !it.is_empty())) {
        let mut words = line.split_whitespace().peekable();
        let number = |word: &str| Number(word.parse().unwrap());
        let own = number(words.next().unwrap());
        let mut item = Item::new(ItemId(ids.nth(nth)), own, format!("Item {own}"), at);
        item.position = Some(Position(nth));
        let mut is_after = false;
        for word in words {
            match word {
                "<" => is_after = false,
                ">" => is_after = true,
                "run" => item.run = Some(Run { command: "true".into(), origin: Origin::Person }),
                "agent" => item.agent_type = Some("claude".into()),
                "approve" => item.approve = true,
                "done" => item.status = Status::Completed,
                "cancelled" => item.status = Status::Cancelled,
                "waits" => item.waiting_on = Some("legal".into()),
                word if is_after => drop(item.depends_on.insert(number(word))),
                word => item.parent = Some(number(word)),
            }
        }
        plan.items.insert(own, item);
    }
    plan
}

/// The schedule as text: one line per item with what it comes after, then the held items.
fn schedule(text: &str, chosen: &Chosen, attendance: &Attendance) -> String {
    let plan = plan(text);
    let schedule = Schedule::build(&plan, &Tree::of(&plan), chosen, attendance, &BTreeMap::new());
    let name = |at: &usize| schedule.planned[*at].number.to_string();
    let mut lines: Vec<String> = schedule
        .planned
        .iter()
        .map(|it| match it.after.as_slice() {
            [] => it.number.to_string(),
            after => {
                let after: Vec<String> = after.iter().map(name).collect();
                format!("{} after {}", it.number, after.join(" "))
            }
        })
        .collect();
    lines.extend(schedule.held.iter().map(|(number, why)| format!("{number} held: {why:?}")));
    lines.join("\n").replace("(Number(", "(").replace("))", ")")
}

#[track_caller]
fn check(text: &str, chosen: &Chosen, attendance: Attendance, expected: &str) {
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
    assert_eq!(schedule(text, chosen, &attendance), expected.join("\n"));
}

#[test]
fn items_run_side_by_side_unless_they_wait_for_each_other() {
    check(
        "1 run\n2 run\n3 run > 1 2\n4 run > 3",
        &Chosen::All,
        NOBODY,
        "1\n2\n3 after 1 2\n4 after 3",
    );
}

#[test]
fn what_is_done_holds_nobody() {
    check("1 run done\n2 run > 1", &Chosen::All, NOBODY, "2");
}

#[test]
fn what_is_cancelled_holds_whoever_waits_for_it() {
    check(
        "1 run cancelled\n2 run > 1\n3 run > 2",
        &Chosen::All,
        NOBODY,
        "2 held: After(1)\n3 held: After(2)",
    );
}

#[test]
fn what_is_under_an_item_comes_before_it() {
    check("1 run\n2 run < 1\n3 run < 1", &Chosen::All, NOBODY, "1 after 2 3\n2\n3");
}

#[test]
fn whoever_waits_for_a_group_waits_for_all_under_it_and_they_for_what_it_waits_for() {
    let text = "1 run\n2 > 1\n3 run < 2\n4 run < 2\n5 run > 2";
    check(text, &Chosen::All, NOBODY, "1\n3 after 1\n4 after 1\n5 after 3 4");
}

#[test]
fn what_waits_is_left_with_all_that_waits_for_it() {
    let text = "1 run waits\n2 run > 1\n3\n4 run < 3\n5 run < 3 > 2\n6 run > 3\n7 run";
    check(
        text,
        &Chosen::All,
        PERSON,
        "4\n7\n1 held: Waiting(\"legal\")\n2 held: After(1)\n3 held: Under(5)\n5 held: After(2)\n6 held: After(3)",
    );
}

#[test]
fn what_needs_a_person_is_left_where_nobody_is() {
    let text = "1\n2 run approve\n3 run > 1\n4 agent";
    check(text, &Chosen::All, PERSON, "1\n2\n3 after 1\n4");
    check(text, &Chosen::All, NOBODY, "4\n1 held: ByHand\n2 held: Approval\n3 held: After(1)");
    let yes = Attendance { yes: true, ..NOBODY };
    check(text, &Chosen::All, yes, "2\n4\n1 held: ByHand\n3 held: After(1)");
    let answered = Attendance { answered: BTreeSet::from([Number(1), Number(2)]), ..NOBODY };
    check(text, &Chosen::All, answered, "1\n2\n3 after 1\n4");
}

#[test]
fn only_takes_what_it_names_and_what_is_under_it() {
    let text = "1 run\n2\n3 run < 2\n4 run < 2 > 1\n5 run > 2";
    let only = Chosen::Only(BTreeSet::from([Number(2)]));
    check(
        text,
        &only,
        NOBODY,
        "3\n1 held: NotChosen\n2 held: Under(4)\n4 held: After(1)\n5 held: NotChosen",
    );
}

#[test]
fn from_takes_what_stands_below_and_is_held_up_by_nothing_above() {
    let text = "1 run\n2 run > 1\n3 run > 2\n4 run > 1 3";
    check(text, &Chosen::From(Number(3)), NOBODY, "3\n4 after 3");
    let nested = "1\n2 run < 1\n3 run < 1\n4 run > 1";
    check(nested, &Chosen::From(Number(3)), NOBODY, "3\n4 after 3");
}

#[test]
fn groups_are_finished_with_the_last_under_them() {
    let plan = plan("1\n2 < 1\n3 run < 2\n4 run < 1 done\n5 run");
    let tree = Tree::of(&plan);
    assert_eq!(tree.finished_by(&plan, Number(3), &mut BTreeSet::new()), [Number(2), Number(1)]);
    assert_eq!(tree.finished_by(&plan, Number(5), &mut BTreeSet::new()), []);
}

#[test]
fn a_group_is_finished_when_its_last_two_end_together() {
    let plan = plan("1\n2 run < 1\n3 run < 1");
    let (tree, mut closed) = (Tree::of(&plan), BTreeSet::new());
    assert_eq!(tree.finished_by(&plan, Number(2), &mut closed), []);
    assert_eq!(tree.finished_by(&plan, Number(3), &mut closed), [Number(1)]);
}

#[test]
fn groups_that_were_ticked_off_are_finished_at_once() {
    let plan = plan("1\n2 < 1\n3 run < 2 done\n4\n5 run < 4");
    assert_eq!(Tree::of(&plan).finished_groups(&plan), [Number(2), Number(1)]);
}

#[test]
fn an_item_with_a_command_of_its_own_comes_after_those_under_it() {
    // As in a plan file: the item depends on its sub-items, and they do not inherit that.
    let text = "
        1 run
        2 > 1 3 4 run
        3 < 2 run
        4 < 2 > 3 run";
    check(text, &Chosen::All, NOBODY, "1\n2 after 1 3 4\n3 after 1\n4 after 1 3");
}

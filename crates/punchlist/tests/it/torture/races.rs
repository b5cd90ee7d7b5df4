//! Many processes at the same time, without errors.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Barrier, Mutex};
use std::thread;

use punchlist_model::{Attempt, Number, Status};
use serde_json::Value;

use super::judge::{judge, only};
use super::{Round, scenario};

#[test]
fn numbers_have_no_gap_and_no_repeat_when_many_processes_add() {
    scenario("adds", adds);
}

pub(super) fn adds(round: &mut Round<'_>) {
    let (workers, each) = (round.of(8, 64), round.of(8, 100));
    let place = round.place();
    let errors = Mutex::new(Vec::new());
    let acknowledged = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for worker in 0..workers {
            let (place, errors, acknowledged) = (&place, &errors, &acknowledged);
            scope.spawn(move || {
                for n in 0..each {
                    let title = format!("{worker}/{n}");
                    let ran = place.run(&["add", "--json", &title]);
                    if ran.code != 0 || !ran.err.is_empty() {
                        errors.lock().unwrap().push(format!("{}: {}", ran.code, ran.err));
                        continue;
                    }
                    let number = ran.json()["changed"][0]["number"].as_u64().unwrap();
                    acknowledged.lock().unwrap().insert(title, number);
                }
            });
        }
    });
    let tally = &mut *round.tally;
    let acknowledged = acknowledged.into_inner().unwrap();
    tally.processes += workers * each;
    tally.writes += workers * each;
    tally.acknowledged += acknowledged.len();
    for error in errors.into_inner().unwrap() {
        tally.wrong(format!("an error was shown: {error}"));
    }
    let case = only(&place.db, tally);
    let mut titles = BTreeSet::new();
    for item in case.plan.items.values() {
        if !titles.insert(&item.title) {
            tally.double(format!("{} is there twice", item.title));
        }
    }
    for (title, number) in &acknowledged {
        let number = Number(u32::try_from(*number).unwrap());
        if case.plan.get(number).is_none_or(|item| item.title != *title) {
            tally.lose(format!("{title} is not at {number}"));
        }
    }
    let last = case.plan.next_number.0 - 1;
    tally.must(usize::try_from(last).unwrap() == workers * each, || {
        format!("numbers end at {last}, {} were added", workers * each)
    });
}

#[test]
fn processes_that_make_the_database_at_once_make_one_and_lose_nothing() {
    scenario("births", births);
}

pub(super) fn births(round: &mut Round<'_>) {
    let (times, workers) = (round.of(3, 60), 16);
    for _ in 0..times {
        let place = round.place();
        let barrier = Barrier::new(workers);
        let call = |worker: usize| {
            barrier.wait();
            // Readers must find no database or a complete one.
            match worker % 4 {
                0 => place.run(&["list", "--json"]),
                _ => place.run(&["add", "--json", &worker.to_string()]),
            }
        };
        let ran: Vec<_> = thread::scope(|scope| {
            let call = &call;
            let calls: Vec<_> = (0..workers).map(|n| scope.spawn(move || call(n))).collect();
            calls.into_iter().map(|it| it.join().unwrap()).collect()
        });
        let tally = &mut *round.tally;
        tally.processes += workers;
        let mut acknowledged = BTreeSet::new();
        for (worker, ran) in ran.iter().enumerate() {
            tally.must((ran.code, ran.err.as_str()) == (0, ""), || {
                format!("{worker}: an error was shown: {}: {}", ran.code, ran.err)
            });
            if worker % 4 != 0 {
                tally.writes += 1;
                acknowledged.extend((ran.code == 0).then(|| worker.to_string()));
            }
        }
        tally.acknowledged += acknowledged.len();
        let case = only(&place.db, tally);
        let stored: Vec<String> = case.plan.items.values().map(|it| it.title.clone()).collect();
        for title in &acknowledged {
            match stored.iter().filter(|it| *it == title).count() {
                0 => tally.lose(format!("{title} is not there")),
                1 => {}
                times => tally.double(format!("{title} is there {times} times")),
            }
        }
    }
}

#[test]
fn an_item_is_handed_out_once_however_many_race_for_it() {
    scenario("claims", claims);
}

pub(super) fn claims(round: &mut Round<'_>) {
    let (workers, items) = (round.of(8, 16), round.of(40, 1_000));
    let place = round.place();
    let titles: Vec<String> = (0..items).map(|n| format!("- [ ] Item {n}")).collect();
    place.run_with(&["replace"], &titles.join("\n")).works();
    let handed: Mutex<BTreeMap<u64, usize>> = Mutex::default();
    let errors = Mutex::new(Vec::new());
    let calls = Mutex::new(0);
    thread::scope(|scope| {
        for worker in 0..workers {
            let (place, handed, errors, calls) = (&place, &handed, &errors, &calls);
            scope.spawn(move || {
                let name = format!("worker-{worker}");
                loop {
                    *calls.lock().unwrap() += 1;
                    let claim = place.run(&["next", "--claim", "--as", &name, "--json"]);
                    if claim.code == 4 {
                        return;
                    }
                    if claim.code != 0 {
                        errors.lock().unwrap().push(claim.err);
                        return;
                    }
                    let number = claim.json()["changed"][0]["number"].as_u64().unwrap();
                    *handed.lock().unwrap().entry(number).or_default() += 1;
                    *calls.lock().unwrap() += 1;
                    let text = number.to_string();
                    let done = place.run(&["done", &text, "--as", &name, "--attempt", "1"]);
                    if done.code != 0 {
                        errors.lock().unwrap().push(done.err);
                    }
                }
            });
        }
    });
    let tally = &mut *round.tally;
    let (handed, calls) = (handed.into_inner().unwrap(), calls.into_inner().unwrap());
    tally.processes += calls;
    tally.writes += 2 * items;
    tally.acknowledged += 2 * handed.values().sum::<usize>();
    for error in errors.into_inner().unwrap() {
        tally.wrong(format!("an error was shown: {error}"));
    }
    let case = only(&place.db, tally);
    for (number, item) in &case.plan.items {
        match handed.get(&u64::from(number.0)) {
            Some(1) => {}
            Some(times) => tally.double(format!("item {number} was handed out {times} times")),
            None => tally.lose(format!("item {number} was never handed out")),
        }
        tally.must(item.attempt == Attempt(1), || {
            format!("item {number} is at attempt {}", item.attempt)
        });
        if item.status != Status::Completed {
            tally.lose(format!("item {number} was done and is {}", item.status.words()));
        }
    }
}

#[test]
fn two_edits_of_different_fields_at_once_are_both_kept() {
    scenario("edits", edits);
}

pub(super) fn edits(round: &mut Round<'_>) {
    let pairs = round.of(10, 200);
    let place = round.place();
    place.run(&["add", "One"]).works();
    let tally = &mut *round.tally;
    for n in 0..pairs {
        let (title, owner) = (format!("Title {n}"), format!("owner-{n}"));
        let barrier = Barrier::new(2);
        let edit = |arguments: [&str; 6]| {
            barrier.wait();
            place.run(&arguments)
        };
        let (one, two) = thread::scope(|scope| {
            let one = scope.spawn(|| edit(["edit", "1", "--as", "ann", "--title", &title]));
            let two = scope.spawn(|| edit(["edit", "1", "--as", "bob", "--owner", &owner]));
            (one.join().unwrap(), two.join().unwrap())
        });
        tally.processes += 2;
        tally.writes += 2;
        for ran in [&one, &two] {
            tally.acknowledged += usize::from(ran.code == 0);
            tally.must((ran.code, ran.err.as_str()) == (0, ""), || ran.err.clone());
        }
        let shown: Value = place.run(&["show", "1", "--json"]).json();
        let item = &shown["item"];
        if item["title"] != title.as_str() {
            tally.lose(format!("the title {title:?} is {}", item["title"]));
        }
        if item["owner"] != owner.as_str() {
            tally.lose(format!("the owner {owner:?} is {}", item["owner"]));
        }
    }
    judge(&place.db, tally);
}

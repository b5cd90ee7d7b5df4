//! Many adds in flight in several processes that are killed.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use punchlist_model::{Number, PlanId};

use super::chance::Chance;
use super::judge::only;
use super::place::Place;
use super::writer::{Writer, is_writer};
use super::{Round, Tally, scenario};

const NAME: &str = "torture::flight::adds_in_flight_are_kept_once_acknowledged_whoever_is_killed";

/// How long writers may take for a part of their work.
const PATIENCE: Duration = Duration::from_secs(600);

/// How many changes a process has in flight.
const IN_FLIGHT: usize = 16;

#[test]
fn adds_in_flight_are_kept_once_acknowledged_whoever_is_killed() {
    if is_writer() {
        return;
    }
    scenario("in flight", in_flight);
}

/// The results of one writer, over all its restarts.
#[derive(Default)]
struct Lives {
    started: usize,
    killed: usize,
    sent: usize,
    /// Titles with their numbers.
    acknowledged: Vec<String>,
}

pub(super) fn in_flight(round: &mut Round<'_>) {
    let (writers, each, kills) = (4, round.of(60, 2_500), round.of(1, 10));
    let place = round.place();
    place.run(&["add", "0"]).works();
    let plan = only(&place.db, round.tally).plan.id;
    let all: Mutex<Vec<Lives>> = Mutex::default();
    thread::scope(|scope| {
        for writer in 0..writers {
            let chance = Chance::new(round.chance.number());
            let (place, all) = (&place, &all);
            scope.spawn(move || {
                let lives = live(place, plan, writer, each, kills, chance);
                all.lock().unwrap().push(lives);
            });
        }
    });
    account(&place, all.into_inner().unwrap(), round.tally);
}

/// Checks that each acknowledged add is there once, under its number, and that nothing is there that was
/// never sent.
fn account(place: &Place, all: Vec<Lives>, tally: &mut Tally) {
    let case = only(&place.db, tally);
    let mut stored: BTreeMap<&str, Vec<Number>> = BTreeMap::new();
    for item in case.plan.items.values() {
        stored.entry(&item.title).or_default().push(item.number);
    }
    for (title, numbers) in stored.iter().filter(|it| it.1.len() > 1) {
        tally.double(format!("{title} is there as {numbers:?}"));
    }
    let mut surplus = case.plan.items.len() - 1;
    let mut possible = 0;
    for lives in all {
        tally.processes += lives.started;
        tally.kills += lives.killed;
        tally.writes += lives.sent;
        tally.acknowledged += lives.acknowledged.len();
        possible += lives.killed * IN_FLIGHT;
        surplus = surplus.saturating_sub(lives.acknowledged.len());
        for line in &lives.acknowledged {
            let (title, number) = line.split_once(' ').unwrap();
            let number: Number = number.parse().unwrap();
            if !stored.get(title).is_some_and(|it| it.contains(&number)) {
                tally.lose(format!("{title} is not at {number}"));
            }
        }
    }
    tally.must(surplus <= possible, || {
        format!("{surplus} items were never acknowledged, {possible} can have been in flight")
    });
    // After so many kills, the store still accepts a change.
    place.run(&["add", "last"]).works();
}

/// Four writers that nobody kills. While they write, `disturb` is called this many times, each time after a
/// further part of their adds is acknowledged. Every add must succeed.
pub(super) fn disturbed(
    round: &mut Round<'_>,
    place: &Place,
    each: usize,
    times: usize,
    mut disturb: impl FnMut(),
) {
    let (writers, acknowledged) = (4, AtomicUsize::new(0));
    place.run(&["add", "0"]).works();
    let plan = only(&place.db, round.tally).plan.id;
    let write = |writer: usize| {
        let size = (each, IN_FLIGHT);
        let mut process = Writer::adds(NAME, &place.db, plan, &writer.to_string(), size);
        let mut lives = Lives { started: 1, sent: each, ..Lives::default() };
        while let Some(line) = process.next() {
            lives.acknowledged.push(line);
            acknowledged.fetch_add(1, Ordering::SeqCst);
        }
        process.finish();
        lives
    };
    let write = &write;
    let all = thread::scope(|scope| {
        let threads: Vec<_> = (0..writers).map(|n| scope.spawn(move || write(n))).collect();
        for n in 1..=times {
            let until = Instant::now() + PATIENCE;
            while acknowledged.load(Ordering::SeqCst) < writers * each * n / (times + 1) {
                assert!(Instant::now() < until, "nothing is acknowledged");
                thread::sleep(Duration::from_millis(5));
            }
            disturb();
        }
        threads.into_iter().map(|it| it.join().unwrap()).collect::<Vec<_>>()
    });
    let sum: usize = all.iter().map(|it: &Lives| it.acknowledged.len()).sum();
    round.tally.must(sum == writers * each, || format!("{sum} adds of {}", writers * each));
    account(place, all, round.tally);
}

/// One writer: killed this many times, and restarted until all its adds are acknowledged.
fn live(
    place: &Place,
    plan: PlanId,
    writer: usize,
    each: usize,
    kills: usize,
    mut chance: Chance,
) -> Lives {
    let mut lives = Lives::default();
    for life in 0..=kills {
        let left = each - lives.acknowledged.len();
        if left == 0 {
            break;
        }
        let name = format!("{writer}.{life}");
        let mut process = Writer::adds(NAME, &place.db, plan, &name, (left, IN_FLIGHT));
        lives.started += 1;
        if life == kills {
            lives.sent += left;
            lives.acknowledged.extend(process.finish());
            break;
        }
        // Twice the average number per restart, so that kills happen at all stages.
        let until = 1 + chance.below((2 * each / (kills + 1)) as u64);
        let mut said: Vec<String> = Vec::new();
        while (said.len() as u64) < until.min(left as u64 - 1).max(1) {
            match process.next() {
                Some(line) => said.push(line),
                None => break,
            }
        }
        let (last, was_killed) = process.kill();
        said.extend(last);
        lives.killed += usize::from(was_killed);
        lives.sent += (said.len() + IN_FLIGHT).min(left);
        lives.acknowledged.extend(said);
    }
    lives
}

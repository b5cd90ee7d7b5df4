//! Many adds in flight in several processes that are killed.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

use punchlist_model::{Number, PlanId};

use super::chance::Chance;
use super::judge::only;
use super::place::Place;
use super::writer::{Writer, is_writer};
use super::{Round, scenario};

const NAME: &str = "torture::flight::adds_in_flight_are_kept_once_acknowledged_whoever_is_killed";

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

fn in_flight(round: &mut Round<'_>) {
    let (writers, each, kills) = (4, round.of(60, 2_500), round.of(1, 10));
    let place = Place::new();
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
    let tally = &mut *round.tally;
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
    for lives in all.into_inner().unwrap() {
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

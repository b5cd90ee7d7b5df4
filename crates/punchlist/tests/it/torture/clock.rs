//! Clocks that jump: the order is by revision, and a lease is neither shortened nor given twice.

use super::judge::only;
use super::place::Place;
use super::{Kept, Round, scenario};
use crate::world::{Ran, finish};

fn at(place: &Place, time: &str, arguments: &[&str]) -> Ran {
    let mut command = place.command(arguments);
    command.env("PUNCHLIST_NOW", time);
    finish(command, b"")
}

#[test]
fn order_is_by_revision_whatever_the_clock_says() {
    scenario("jumping clock", jumps);
}

pub(super) fn jumps(round: &mut Round<'_>) {
    let changes = round.of(20, 300);
    let place = round.place();
    let mut times = Vec::new();
    for n in 0..changes {
        let (year, month) = (1980 + round.chance.below(120), 1 + round.chance.below(12));
        let time = format!("{year}-{month:02}-01T00:00:00Z");
        let ran = at(&place, &time, &["add", "--json", &n.to_string()]);
        round.tally.processes += 1;
        round.tally.writes += 1;
        if ran.code == 0 {
            round.tally.acknowledged += 1;
        } else {
            round.tally.wrong(ran.err);
        }
        times.push(time);
    }
    let tally = &mut *round.tally;
    let case = only(&place.db, tally);
    for (n, item) in (0..).zip(case.plan.listed()) {
        if item.title != n.to_string() || item.number.0 != n + 1 {
            tally.lose(format!("{n} is not at its place: {} {}", item.number, item.title));
        }
    }
    let mut last = None;
    for (entry, time) in case.journal.iter().zip(&times) {
        let is_right = match round.kept {
            Kept::InAFile => entry.at.to_string() == *time,
            // Of a server, the server's clock counts, and that does not jump.
            Kept::OnAServer => last <= Some(entry.at) && entry.at.to_string() != *time,
        };
        last = Some(entry.at);
        tally.must(is_right, || {
            format!("revision {} was at {time}, not {}", entry.revision, entry.at)
        });
    }
    let log = place.run(&["log", "-n", "0", "--json"]).ok();
    let revisions: Vec<u64> = log.lines().map(revision).collect();
    let expected: Vec<u64> = (1..).take(changes).collect();
    tally.must(revisions == expected, || format!("the log goes {revisions:?}"));
    // The last change is the last by revision, even if another has a later time.
    let undone = at(&place, "1971-01-01T00:00:00Z", &["undo", "--json"]).json();
    let last = (changes - 1).to_string();
    tally.must(undone["changed"][0]["title"] == last.as_str(), || {
        format!("undo took back {} and not {last}", undone["changed"])
    });
}

fn revision(line: &str) -> u64 {
    serde_json::from_str::<serde_json::Value>(line).unwrap()["revision"].as_u64().unwrap()
}

#[test]
fn a_lease_is_neither_cut_short_nor_given_twice_when_the_clock_jumps() {
    scenario("leases", leases);
}

fn leases(round: &mut Round<'_>) {
    let place = Place::new();
    let tally = &mut *round.tally;
    let mut check = |time: &str, line: &str, expected: i32| {
        let arguments: Vec<&str> = line.split(' ').collect();
        let ran = at(&place, time, &arguments);
        tally.processes += 1;
        tally.writes += 1;
        tally.acknowledged += usize::from(ran.code == 0);
        let given = line.starts_with("next") && ran.code == 0 && expected != 0;
        if given {
            tally.double(format!("{time} {line}: given twice"));
        }
        tally.must(ran.code == expected, || {
            format!("{time} {line}: exit {}, not {expected}: {}{}", ran.code, ran.out, ran.err)
        });
    };
    for (time, line, expected) in [
        ("2026-01-02T12:00:00Z", "add One", 0),
        ("2026-01-02T12:00:00Z", "next --claim --as ann", 0),
        // Back by a day: the lease has not expired, and a write of the holder does not shorten it.
        ("2026-01-01T12:00:00Z", "next --claim --as bob", 4),
        ("2026-01-01T12:00:00Z", "edit 1 --owner ann --as ann", 0),
        ("2026-01-02T12:14:59Z", "next --claim --as bob", 4),
        ("2026-01-02T12:14:59Z", "done 1 --as bob", 3),
        // Forward past its end: the item is bob's, and ann is too late whatever her clock says.
        ("2026-01-02T12:15:00Z", "next --claim --as bob", 0),
        ("2026-01-01T12:00:00Z", "done 1 --as ann --attempt 1", 3),
        ("2026-01-02T12:00:00Z", "next --claim --as ann", 4),
        ("2026-01-02T12:20:00Z", "done 1 --as bob --attempt 2", 0),
        // A claim with a time decades in the future can be ended by its holder or a person.
        ("2099-01-01T00:00:00Z", "add Two", 0),
        ("2099-01-01T00:00:00Z", "next --claim --as cat", 0),
        ("2026-01-02T12:30:00Z", "next --claim --as dan", 4),
        ("2026-01-02T12:31:00Z", "release 2", 0),
        ("2026-01-02T12:32:00Z", "next --claim --as dan", 0),
        ("2026-01-02T12:33:00Z", "done 2 --as cat --attempt 1", 3),
        ("2026-01-02T12:33:00Z", "done 2 --as dan --attempt 2", 0),
    ] {
        check(time, line, expected);
    }
    only(&place.db, round.tally);
}

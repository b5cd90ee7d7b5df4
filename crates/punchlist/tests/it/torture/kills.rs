//! Killed at any point of any change: acknowledged changes exist, and the rest is consistent.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use punchlist_model::store::Entry;
use serde_json::Value;

use super::chance::Chance;
use super::judge::only;
use super::place::Place;
use super::writer::{Writer, is_writer, linger};
use super::{Round, Tally, scenario};

const NAME: &str = "torture::kills::a_kill_at_any_point_costs_nothing_that_was_acknowledged";

/// After this many kills a new database is used, so that replaying its journal stays quick.
const KILLS_EACH: usize = 25;

#[test]
fn a_kill_at_any_point_costs_nothing_that_was_acknowledged() {
    if is_writer() {
        return;
    }
    scenario("mixed writes", mixed);
}

/// A database, and its acknowledged revisions with their authors.
struct Bed {
    place: Place,
    acknowledged: BTreeMap<u64, String>,
}

pub(super) fn mixed(round: &mut Round<'_>) {
    let kills = round.of(12, 500);
    let mut done = 0;
    while done < kills {
        let mut bed = Bed { place: round.place(), acknowledged: BTreeMap::new() };
        let began = Instant::now();
        bed.place.run(&["add", "--json", "A", "B", "C"]).works();
        let one_call = began.elapsed();
        for life in 0..KILLS_EACH.min(kills - done) {
            match life % 5 {
                0 => born(round, one_call),
                1 | 2 => verbs(round, &mut bed, &format!("verbs-{life}"), one_call),
                _ => library(round, &mut bed, &format!("life-{life}")),
            }
            done += 1;
            if !round.tally.problems.is_empty() {
                return;
            }
        }
    }
}

/// Kills a process that makes many changes and prints each acknowledged one.
fn library(round: &mut Round<'_>, bed: &mut Bed, name: &str) {
    let plan = only(&bed.place.db, round.tally).plan.id;
    let seed = round.chance.number();
    let mut writer = Writer::mixed(NAME, &bed.place.db, plan, name, seed);
    let before_kill = round.chance.below(12);
    let mut said: Vec<String> = (0..before_kill).map_while(|_| writer.next()).collect();
    linger(Duration::from_micros(round.chance.below(8_000)));
    let (last, was_killed) = writer.kill();
    said.extend(last);
    let tally = &mut *round.tally;
    tally.processes += 1;
    tally.must(was_killed, || format!("{name} ended by itself"));
    tally.kills += 1;
    // Including the change in flight at the kill.
    tally.writes += said.len() + 1;
    for revision in said {
        bed.acknowledged.insert(revision.parse().unwrap(), name.to_owned());
        tally.acknowledged += 1;
    }
    check(bed, tally);
}

/// Calls verbs until one of them was killed before its end.
fn verbs(round: &mut Round<'_>, bed: &mut Bed, name: &str, one_call: Duration) {
    for _ in 0..40 {
        let (arguments, stdin) = call(&mut round.chance, name);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let command = bed.place.command(&arguments);
        let moment = chosen_moment(&mut round.chance, one_call);
        let ended = kill_after(command, &stdin, moment, round.tally);
        if let Some(revision) = ended.acknowledged {
            round.tally.acknowledged += 1;
            bed.acknowledged.insert(revision, name.to_owned());
        }
        if ended.was_killed {
            break;
        }
    }
    check(bed, round.tally);
}

/// Kills the call that creates the database; the next call must succeed.
fn born(round: &mut Round<'_>, one_call: Duration) {
    let place = round.place();
    for n in 0..40 {
        let title = format!("Born {n}");
        let moment = chosen_moment(&mut round.chance, one_call);
        let command = place.command(&["add", "--json", &title]);
        if kill_after(command, "", moment, round.tally).was_killed {
            break;
        }
    }
    place.run(&["add", "Again"]).works();
    let case = only(&place.db, round.tally);
    let again = case.plan.items.values().filter(|item| item.title == "Again").count();
    round.tally.must(again == 1, || format!("after the kill one add became {again}"));
}

fn chosen_moment(chance: &mut Chance, one_call: Duration) -> Duration {
    let most = u64::try_from(one_call.as_micros()).unwrap().max(1_000);
    Duration::from_micros(chance.below(most))
}

struct Ended {
    was_killed: bool,
    /// The revision that it printed.
    acknowledged: Option<u64>,
}

fn kill_after(mut command: Command, stdin: &str, moment: Duration, tally: &mut Tally) -> Ended {
    let input = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(input.path(), stdin).unwrap();
    let mut child = command
        .stdin(input.reopen().unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    linger(moment);
    child.kill().unwrap();
    let status = child.wait().unwrap();
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    let was_killed = status.signal() == Some(9);
    tally.processes += 1;
    tally.writes += 1;
    tally.kills += usize::from(was_killed);
    // A complete output counts as acknowledged, even if the kill came right after.
    let said: Option<Value> = serde_json::from_str(&out).ok();
    let changed = said.filter(|it| it["changed"].as_array().is_some_and(|it| !it.is_empty()));
    if !was_killed {
        // A rule may refuse the call, or there may be nothing to undo: the call is random.
        let fine = matches!(status.code(), Some(0 | 3 | 4 | 5));
        tally.must(fine, || format!("{command:?} ended with {status}: {err}"));
    }
    Ended { was_killed, acknowledged: changed.and_then(|it| it["revision"].as_u64()) }
}

/// A random call.
fn call(chance: &mut Chance, name: &str) -> (Vec<String>, String) {
    let number = (1 + chance.below(8)).to_string();
    let word = chance.word();
    let (line, stdin) = match chance.below(8) {
        0 | 1 => (format!("add {word}"), String::new()),
        2 => (format!("start {number}"), String::new()),
        3 => (format!("done {number}"), String::new()),
        4 => (format!("edit {number} --title {word}"), String::new()),
        5 => (format!("move {number} --first"), String::new()),
        6 => ("undo".to_owned(), String::new()),
        _ => ("replace".to_owned(), format!("- [ ] A\n- [ ] {word}\n- [x] B\n")),
    };
    let line = format!("{line} --json --as {name}");
    (line.split(' ').map(str::to_owned).collect(), stdin)
}

fn check(bed: &Bed, tally: &mut Tally) {
    let case = only(&bed.place.db, tally);
    let entries: BTreeMap<u64, &Entry> =
        case.journal.iter().map(|it| (it.revision.0, it)).collect();
    for (revision, name) in &bed.acknowledged {
        match entries.get(revision) {
            Some(entry) if entry.actor.name == *name => {}
            Some(entry) => {
                tally.lose(format!("revision {revision} of {name} is {}'s", entry.actor));
            }
            None => tally.lose(format!("revision {revision} of {name} is not there")),
        }
    }
}

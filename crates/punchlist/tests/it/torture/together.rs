//! Readers and writers at once: an export is one state of the plan, and a forgotten text stays forgotten.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::judge::{judge, only};
use super::keeping::traces;
use super::place::Place;
use super::writer::{Writer, is_writer};
use super::{Round, Tally, scenario};

const NAME: &str = "torture::together::what_is_exported_while_others_write_is_one_state";

/// How many processes write meanwhile.
const WRITERS: usize = 3;

/// The acknowledged revisions with their authors.
type Acknowledged = Mutex<BTreeMap<u64, String>>;

#[test]
fn what_is_exported_while_others_write_is_one_state() {
    if is_writer() {
        return;
    }
    scenario("exports", exports);
}

#[test]
fn what_is_forgotten_is_not_brought_back_by_others_who_undo() {
    scenario("undo and forget", undo_and_forget);
}

/// Does something while other processes write, kills them, and checks that every acknowledged revision is
/// there and its author's.
fn meanwhile(
    round: &mut Round<'_>,
    place: &Place,
    undoes: bool,
    work: impl FnOnce(&mut Round<'_>, &Acknowledged),
) {
    place.run(&["add", "A", "B", "C"]).works();
    let plan = only(&place.db, round.tally).plan.id;
    let acknowledged = Acknowledged::default();
    let is_over = AtomicBool::new(false);
    let start = if undoes { Writer::undos } else { Writer::mixed };
    thread::scope(|scope| {
        for n in 0..WRITERS {
            let name = format!("writer-{n}");
            let mut writer = start(NAME, &place.db, plan, &name, round.chance.number());
            let (acknowledged, is_over) = (&acknowledged, &is_over);
            scope.spawn(move || {
                let note = |line: String| {
                    acknowledged.lock().unwrap().insert(line.parse().unwrap(), name.clone())
                };
                while !is_over.load(Ordering::SeqCst)
                    && let Some(line) = writer.next()
                {
                    note(line);
                }
                let (rest, was_killed) = writer.kill();
                rest.into_iter().for_each(|line| drop(note(line)));
                assert!(was_killed, "{name} ended by itself");
            });
        }
        work(round, &acknowledged);
        is_over.store(true, Ordering::SeqCst);
    });
    let acknowledged = acknowledged.into_inner().unwrap();
    let tally = &mut *round.tally;
    tally.processes += WRITERS;
    tally.kills += WRITERS;
    tally.writes += acknowledged.len() + WRITERS;
    tally.acknowledged += acknowledged.len();
    let case = only(&place.db, tally);
    let authors: BTreeMap<u64, &str> =
        case.journal.iter().map(|it| (it.revision.0, it.actor.name.as_str())).collect();
    for (revision, name) in &acknowledged {
        match authors.get(revision) {
            Some(author) if author == name => {}
            Some(author) => tally.lose(format!("revision {revision} of {name} is {author}'s")),
            None => tally.lose(format!("revision {revision} of {name} is not there")),
        }
    }
}

/// The last acknowledged revision.
fn last(acknowledged: &Acknowledged) -> u64 {
    acknowledged.lock().unwrap().keys().next_back().copied().unwrap_or(0)
}

pub(super) fn exports(round: &mut Round<'_>) {
    let times = round.of(4, 40);
    let place = round.place();
    meanwhile(round, &place, false, |round, acknowledged| {
        for _ in 0..times {
            // Each export is of a later state, so it contains something new.
            let before = last(acknowledged);
            while last(acknowledged) == before {
                thread::yield_now();
            }
            let before = last(acknowledged);
            let exported = place.run(&["export", "--all"]).ok();
            check_export(round, &place, &exported, before);
        }
    });
}

/// Imports what was exported, and judges it.
fn check_export(round: &mut Round<'_>, place: &Place, exported: &str, at_least: u64) {
    let copy = round.place();
    let tally = &mut *round.tally;
    tally.processes += 2;
    let file = place.world.path("exported.jsonl");
    fs::write(&file, exported).unwrap();
    let ran = copy.run(&["import", file.to_str().unwrap()]);
    tally.must(ran.code == 0, || format!("not taken in: {}", ran.err));
    for case in judge(&copy.db, tally) {
        if case.plan.revision.0 < at_least {
            let is = case.plan.revision;
            tally.lose(format!("revision {at_least} was acknowledged before the export of {is}"));
        }
    }
}

pub(super) fn undo_and_forget(round: &mut Round<'_>) {
    let times = round.of(2, 20);
    let place = round.place();
    let mut words = Vec::new();
    meanwhile(round, &place, true, |round, _| {
        for _ in 0..times {
            let word = round.chance.word();
            forget(&place, &word, round.tally);
            words.push(word);
            let exported = place.run(&["export", "--all"]).ok();
            for word in words.iter().filter(|it| exported.contains(it.as_str())) {
                round.tally.wrong(format!("{word} was forgotten, and is there again"));
            }
        }
    });
    for word in words.iter().filter(|it| !traces(&place, it).is_empty()) {
        round.tally.wrong(format!("{word} was forgotten, and is still in a file"));
    }
}

/// Writes a text into an item in several ways, and forgets the item. Others may have changed or removed it
/// in between; forgetting must work in any case.
fn forget(place: &Place, word: &str, tally: &mut Tally) {
    let added = place.run(&["add", "--json", &format!("{word} title")]).json();
    let number = added["changed"][0]["number"].to_string();
    let text = format!("{word} text");
    for field in ["--context", "--title", "--criteria"] {
        let ran = place.run(&["edit", &number, field, &text]);
        tally.acknowledged += usize::from(ran.code == 0);
        let fine = matches!(ran.code, 0 | 3 | 4 | 5);
        tally.must(fine, || format!("edit {number}: exit {}: {}", ran.code, ran.err));
    }
    let ran = place.world.answering(&place.command(&["forget", &number]), &["y"]).0;
    tally.must(ran.code == 0, || format!("{number} is not forgotten: {}", ran.err));
    tally.processes += 5;
    tally.writes += 5;
    tally.acknowledged += 1 + usize::from(ran.code == 0);
}

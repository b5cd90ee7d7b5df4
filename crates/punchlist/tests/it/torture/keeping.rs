//! Exported plans are imported byte for byte, and forgotten texts are gone.

use std::fs;
use std::time::{Duration, Instant};

use super::chance::Chance;
use super::judge::judge;
use super::place::Place;
use super::writer::linger;
use super::{Round, Tally, postgres, scenario};
use crate::person::{Person, typed};

/// Random calls; some are refused.
fn work(place: &Place, calls: usize, chance: &mut Chance, tally: &mut Tally) {
    for _ in 0..calls {
        let number = (1 + chance.below(8)).to_string();
        let (one, two) = (chance.word(), chance.word());
        let name = ["ann", "bob"][usize::try_from(chance.below(2)).unwrap()];
        let (line, stdin) = match chance.below(14) {
            0..3 => (format!("add {one} --context {two}"), String::new()),
            3 => (format!("add {one} --after {number}"), String::new()),
            4 => (format!("start {number}"), String::new()),
            5 => (format!("done {number} --outcome {one}"), String::new()),
            6 => (format!("edit {number} --title {one} --criteria {two}"), String::new()),
            7 => (format!("edit {number} --meta {{\"{one}\":\"{two}\"}}"), String::new()),
            8 => (format!("move {number} --first"), String::new()),
            9 => (format!("wait {number} {one}"), String::new()),
            10 => (format!("skip {number} --reason {one}"), String::new()),
            11 => (format!("reopen {number}"), String::new()),
            12 => ("undo".to_owned(), String::new()),
            _ => ("replace".to_owned(), format!("- [ ] {one}\n- [>] {two}\n- [x] B\n")),
        };
        let line = format!("{line} --as {name}");
        let ran = place.run_with(&line.split(' ').collect::<Vec<_>>(), &stdin);
        tally.processes += 1;
        tally.writes += 1;
        tally.acknowledged += usize::from(ran.code == 0);
        let fine = matches!(ran.code, 0 | 3 | 4 | 5);
        tally.must(fine, || format!("{line}: exit {}: {}", ran.code, ran.err));
    }
}

#[test]
fn what_is_exported_and_imported_is_the_same_to_the_byte() {
    scenario("export", export);
}

pub(super) fn export(round: &mut Round<'_>) {
    let (place, same) = (round.place(), round.place());
    work(&place, round.of(40, 400), &mut round.chance, round.tally);
    let first = place.run(&["export"]).ok();
    let file = place.world.path("plan.jsonl");
    fs::write(&file, &first).unwrap();
    // Into a database of the same kind, and into a file.
    for other in [same.db, place.world.path("other.db")] {
        let to = ["--db", other.to_str().unwrap()];
        let ran = place.run(&[&["import", file.to_str().unwrap()], &to[..]].concat());
        round.tally.must(ran.code == 0, || format!("not taken in: {}", ran.err));
        let again = place.run(&[&["export"], &to[..]].concat());
        if again.out != first {
            round.tally.lose("the second export differs from the first");
        }
        judge(&other, round.tally);
    }
    judge(&place.db, round.tally);
}

/// The database files that contain a text.
pub(super) fn traces(place: &Place, text: &str) -> Vec<String> {
    if let Some(address) = postgres::address(&place.db) {
        return postgres::traces(address, text);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(place.db.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.starts_with("plans.db") {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        if bytes.windows(text.len()).any(|part| part == text.as_bytes()) {
            found.push(name);
        }
    }
    found
}

/// An item with a text in every field, now and in its history.
fn secret(place: &Place, text: &str, tally: &mut Tally) -> String {
    let added = place.run(&["add", "--json", &format!("{text} title")]).json();
    let number = added["changed"][0]["number"].to_string();
    let n = &number[..];
    let deep = |what: &str| format!("{text} {what}");
    let meta = format!("{{\"{text}\": \"{text} meta\"}}");
    for arguments in [
        &["edit", n, "--context", &deep("context"), "--criteria", &deep("criteria")][..],
        &["edit", n, "--active", &deep("active"), "--owner", &deep("owner")],
        &["edit", n, "--agent", &deep("agent"), "--meta", &meta],
        &["edit", n, "--title", &deep("second title")],
        &["wait", n, &deep("wait")],
        &["start", n],
        &["edit", n, "--context", &deep("longer context").repeat(300)],
        &["done", n, "--outcome", &deep("outcome")],
        &["undo"],
    ] {
        let ran = place.run(arguments);
        tally.processes += 1;
        tally.writes += 1;
        tally.acknowledged += usize::from(ran.code == 0);
        tally.must(matches!(ran.code, 0 | 3 | 5), || format!("{arguments:?}: {}", ran.err));
    }
    number
}

#[test]
fn what_is_forgotten_leaves_no_trace_in_any_file() {
    scenario("forget", forget);
}

pub(super) fn forget(round: &mut Round<'_>) {
    for _ in 0..round.of(1, 10) {
        let place = round.place();
        let text = round.chance.word();
        work(&place, 6, &mut round.chance, round.tally);
        let number = secret(&place, &text, round.tally);
        let keepsake = round.chance.word();
        let other = secret(&place, &keepsake, round.tally);
        round.tally.must(!traces(&place, &text).is_empty(), || "it was never there".to_owned());
        // Killed at any point, then called again: the second call must complete the work.
        let began = Instant::now();
        judge(&place.db, round.tally);
        let most = u64::try_from(began.elapsed().as_micros()).unwrap();
        let command = place.command(&["forget", &number]);
        let mut person = Person::calls(&command, &typed(&command));
        round.tally.must(person.sees_question(), || "it does not ask".to_owned());
        person.types("y\n");
        linger(Duration::from_micros(round.chance.below(most)));
        let was_killed = person.is_killed();
        round.tally.kills += usize::from(was_killed);
        let yes = |arguments: &[&str]| place.world.answering(&place.command(arguments), &["y"]).0;
        let ran = yes(&["forget", &number]);
        let tally = &mut *round.tally;
        tally.processes += 2;
        tally.writes += 2;
        tally.acknowledged += usize::from(!was_killed) + usize::from(ran.code == 0);
        tally.must(ran.code == 0, || format!("not forgotten: {}", ran.err));
        for name in traces(&place, &text) {
            tally.wrong(format!("{text} is still in {name}"));
        }
        if traces(&place, &keepsake).is_empty() {
            tally.lose("what was not to be forgotten is gone too");
        }
        judge(&place.db, tally);
        let ran = yes(&["forget", "--whole-plan"]);
        tally.must(ran.code == 0, || format!("item {other} and the rest: {}", ran.err));
        for name in traces(&place, &keepsake) {
            tally.wrong(format!("the whole plan was forgotten, and is still in {name}"));
        }
    }
}

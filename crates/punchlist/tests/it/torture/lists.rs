//! Whole-list writes from many processes: each is applied, merged or gets a conflict, and a writer
//! that drops an open item is told so.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Barrier;
use std::thread;

use punchlist_model::store::Entry;
use punchlist_model::{Delta, Event, Number, Plan};
use serde_json::{Value, json};

use super::chance::Chance;
use super::judge::{Case, judge};
use super::place::Place;
use super::{Round, Tally, scenario};

#[test]
fn whole_lists_from_many_processes_drop_nothing_in_silence() {
    scenario("whole lists", lists);
}

/// One whole-list write, and its output.
struct Write {
    actor: String,
    /// Titles, with their statuses.
    sent: Vec<(String, &'static str)>,
    arguments: Vec<String>,
    stdin: String,
    code: i32,
    told: String,
}

impl Write {
    fn tool(n: usize, sent: Vec<(String, &'static str)>) -> Self {
        let todos: Vec<_> = sent
            .iter()
            .map(|(title, status)| json!({"content": title, "status": status, "activeForm": title}))
            .collect();
        let line = format!("tool todowrite TodoWrite --plan shared --conversation c{n}");
        Self::new(format!("agent/c{n}"), sent, &line, json!({"todos": todos}).to_string())
    }

    fn replace(n: usize, sent: Vec<(String, &'static str)>) -> Self {
        let entries: Vec<_> =
            sent.iter().map(|(title, status)| json!({"title": title, "status": status})).collect();
        let line = format!("replace --plan shared --json --as r{n}");
        Self::new(format!("r{n}"), sent, &line, json!(entries).to_string())
    }

    fn new(actor: String, sent: Vec<(String, &'static str)>, line: &str, stdin: String) -> Self {
        let arguments = line.split(' ').map(str::to_owned).collect();
        Self { actor, sent, arguments, stdin, code: -1, told: String::new() }
    }

    fn run(&mut self, place: &Place) {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let ran = place.run_with(&arguments, &self.stdin);
        self.code = ran.code;
        self.told = ran.out + &ran.err;
    }

    /// Whether the output says that the list was written. A tool's refusal has exit code 0 too, but
    /// does not begin with the list.
    fn is_acknowledged(&self) -> bool {
        let begins = |it| self.told.starts_with(it);
        self.code == 0 && (begins("{") || begins("[") || begins("No todos."))
    }

    /// Whether the output names an item by its new title.
    fn was_shown(&self, number: Number, title: &str) -> bool {
        let Ok(answer) = serde_json::from_str::<Value>(&self.told) else { return false };
        let is_it = |it: &Value| it["number"] == number.0 && it["title"] == title;
        answer["changed"].as_array().is_some_and(|changed| changed.iter().any(is_it))
    }

    fn was_told_of(&self, number: Number, how: &str) -> bool {
        let end = |rest: &str| !rest.starts_with(|it: char| it.is_ascii_digit());
        let named = |line: &str| line.split(&format!("#{number}")).skip(1).any(end);
        let lines = self.told.split(['\n', '"']);
        lines.filter(|line| line.contains(how)).any(named)
    }
}

pub(super) fn lists(round: &mut Round<'_>) {
    let processes = round.of(16, 200);
    let place = round.place();
    let chance = &mut round.chance;
    let common: Vec<String> = (0..5).map(|_| title(chance)).collect();
    for title in &common {
        place.run(&["add", "--plan", "shared", title]).works();
    }
    let mut writes: Vec<Write> = Vec::new();
    let mut own: BTreeMap<usize, String> = BTreeMap::new();
    for n in (0..processes).step_by(2) {
        let mine = own.entry(n).or_insert_with(|| title(chance)).clone();
        let sent = common.iter().cloned().chain([mine]).map(|it| (it, "pending")).collect();
        writes.push(Write::tool(n, sent));
    }
    at_once(&place, &mut writes);
    let mut second: Vec<Write> = (0..processes)
        .map(|n| {
            let mut sent = changed(&common, n, chance);
            sent.push((title(chance), if n % 3 == 0 { "in_progress" } else { "pending" }));
            match own.get(&n) {
                // Half of the writers keep the item they added before.
                Some(mine) if n % 4 == 0 => sent.push((mine.clone(), "pending")),
                Some(_) | None => {}
            }
            if n % 2 == 0 { Write::tool(n, sent) } else { Write::replace(n, sent) }
        })
        .collect();
    at_once(&place, &mut second);
    writes.extend(second);
    let tally = &mut *round.tally;
    tally.processes += writes.len();
    tally.writes += writes.len();
    tally.acknowledged += writes.iter().filter(|it| it.is_acknowledged()).count();
    let mut cases = judge(&place.db, tally);
    cases.retain(|case| case.plan.name.as_deref() == Some("shared"));
    let [case] = &cases[..] else { panic!("there is one shared plan") };
    refusals(&writes, tally);
    account(case, &writes, tally);
}

fn title(chance: &mut Chance) -> String {
    format!("{} {}", chance.word(), chance.word())
}

/// A writer's version of the common entries: all send them, most change one.
fn changed(common: &[String], n: usize, chance: &mut Chance) -> Vec<(String, &'static str)> {
    let mut sent: Vec<(String, &str)> = common.iter().map(|it| (it.clone(), "pending")).collect();
    let which = usize::try_from(chance.below(common.len() as u64)).unwrap();
    match n % 5 {
        0 => sent[which].1 = "completed",
        1 => sent[which].0.push_str(" again"),
        2 => {
            sent.remove(which);
        }
        3 => sent[which].1 = "cancelled",
        _ => {}
    }
    // The tool accepts any status but that one.
    if n.is_multiple_of(2) && sent.iter().any(|it| it.1 == "cancelled") {
        sent[which].1 = "completed";
    }
    sent
}

fn at_once(place: &Place, writes: &mut [Write]) {
    let barrier = Barrier::new(writes.len());
    thread::scope(|scope| {
        for write in writes {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                write.run(place);
            });
        }
    });
}

/// A refused writer is shown the reason: both sides of a conflict, or the holder of the item.
fn refusals(writes: &[Write], tally: &mut Tally) {
    for write in writes.iter().filter(|it| !it.is_acknowledged()) {
        let (code, told) = (write.code, &write.told);
        let both = told.contains("was changed by") && told.contains("you have");
        let both = both && told.contains("now it is");
        let held = told.contains("is held by");
        tally.must(matches!(code, 0 | 3) && (both || held), || {
            format!("{} got exit {code} and no conflict that shows both:\n{told}", write.actor)
        });
    }
}

/// Walks through the journal: each acknowledged list was written once; its entries were on the
/// list, or its writer was told otherwise; and no open item was dropped silently.
fn account(case: &Case, writes: &[Write], tally: &mut Tally) {
    let mut waiting: BTreeMap<&str, Vec<&Write>> = BTreeMap::new();
    for write in writes.iter().rev().filter(|it| it.is_acknowledged()) {
        waiting.entry(&write.actor).or_default().push(write);
    }
    let mut plan = Plan::new(case.plan.id, case.plan.project.clone(), case.plan.created_at);
    let mut titles: BTreeMap<Number, BTreeSet<String>> = BTreeMap::new();
    for entry in &case.journal {
        // The common items were added before.
        let write = match waiting.get_mut(entry.actor.name.as_str()).and_then(Vec::pop) {
            Some(write) => write,
            None if entry.actor.name == "me@host" => {
                apply(&mut plan, entry, &mut titles);
                continue;
            }
            None => {
                tally.double(format!("revision {} was never acknowledged", entry.revision));
                return;
            }
        };
        dropped(&plan, entry, write, tally);
        apply(&mut plan, entry, &mut titles);
        for (title, _) in &write.sent {
            let listed = plan.listed().iter().any(|item| item.title == *title);
            let known = titles.iter().filter(|(_, known)| known.contains(title));
            let was_told = |number: &Number| write.was_told_of(*number, " since by ");
            if !listed && !known.map(|it| it.0).any(was_told) {
                tally.lose(format!("{title:?} of {} is not on the list", write.actor));
            }
        }
    }
    for (actor, writes) in waiting.iter().filter(|it| !it.1.is_empty()) {
        tally.lose(format!("{} list(s) of {actor} are not in the journal", writes.len()));
    }
}

fn apply(plan: &mut Plan, entry: &Entry, titles: &mut BTreeMap<Number, BTreeSet<String>>) {
    entry.events.iter().for_each(|event| plan.evolve(event));
    for item in plan.items.values() {
        titles.entry(item.number).or_default().insert(item.title.clone());
    }
}

/// Checks that the writer asked for each dropped or renamed item, or was told of it.
fn dropped(plan: &Plan, entry: &Entry, write: &Write, tally: &mut Tally) {
    for event in &entry.events {
        let Some(item) = event.number().and_then(|number| plan.get(number)) else { continue };
        let number = item.number;
        match event {
            Event::Superseded { .. } if item.is_open() => {
                if !write.was_told_of(number, "Dropped while open") {
                    tally.lose(format!("{} dropped #{number} in silence", write.actor));
                }
            }
            Event::Changed { deltas, .. } => {
                for delta in deltas {
                    // A writer without a base revision is shown what changed in each item.
                    if let Delta::Title { before, after } = delta
                        && !after.starts_with(before.as_str())
                        && !write.was_shown(number, after)
                    {
                        tally.lose(format!("{}: {before:?} became {after:?}", write.actor));
                    }
                }
            }
            Event::Added { .. }
            | Event::Moved { .. }
            | Event::Superseded { .. }
            | Event::Restored { .. }
            | Event::PlanChanged { .. }
            | Event::Forgotten { .. } => {}
        }
    }
}

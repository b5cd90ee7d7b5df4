//! What reminders cost and whether they helped, in two tables: by kind and by session.

use punchlist_model::Session;
use punchlist_model::remind::{Kind, Ledger, Tally};

use serde_json::{Value, json};

use super::json::{camel_case, time};
use super::{Options, duration};
use crate::text::width::pad_left;
use crate::text::{Line, Style, one_line, width};

/// The headings of the number columns.
const HEADS: [&str; 4] = ["given", "tokens", "acted on", "ignored"];

/// The minimal width of names.
const NAME: usize = 6;

/// A row: its name, its numbers, and a note.
struct Row {
    name: String,
    numbers: [String; 4],
    note: String,
}

/// Both tables. A kind or session without reminders has no row. If there were no reminders at all,
/// the text says so.
pub fn ledger(sessions: &[Session], options: &Options) -> Vec<Line> {
    let all = sum(sessions);
    if all.total() == Tally::default() {
        return vec![Line::of("Nobody was reminded of anything yet.", Style::Plain)];
    }
    let mut kinds: Vec<Row> = Vec::new();
    for kind in Kind::ALL {
        let tally = all.kinds.get(&kind).copied().unwrap_or_default();
        if tally != Tally::default() {
            kinds.push(Row::of(kind.as_str().replace('_', " "), tally, String::new()));
        }
    }
    kinds.push(Row::of("all".to_owned(), all.total(), String::new()));
    let reminded = sessions.iter().filter(|it| it.memory.watch.ledger.total() != Tally::default());
    let by_session: Vec<Row> = reminded
        .map(|it| {
            let seen = duration::ago(it.seen_at, options.now);
            let name = one_line(&it.actor_name("")).into_owned();
            Row::of(name, it.memory.watch.ledger.total(), seen)
        })
        .collect();
    let mut lines = table("kind", "", &kinds, options);
    lines.push(Line::new());
    lines.extend(table("session", "last seen", &by_session, options));
    lines
}

/// The same data as JSON: `{sessions, kinds, total}`. `is_live` says whether a session is live.
pub fn json(sessions: &[Session], is_live: impl Fn(&Session) -> bool) -> Value {
    let one = |it: &Session| {
        let ledger = &it.memory.watch.ledger;
        json!({
            "agent": it.key.agent,
            "session": it.key.id,
            "project": it.project,
            "live": is_live(it),
            "begunAt": time(it.begun_at),
            "seenAt": time(it.seen_at),
            "kinds": kinds(ledger),
            "total": ledger.total(),
        })
    };
    let all = sum(sessions);
    let sessions: Vec<Value> = sessions.iter().map(one).collect();
    json!({"sessions": sessions, "kinds": kinds(&all), "total": all.total()})
}

fn kinds(ledger: &Ledger) -> Value {
    let of = |kind: Kind| ledger.kinds.get(&kind).copied().unwrap_or_default();
    let kinds = Kind::ALL.into_iter().map(|kind| (kind.as_str().to_owned(), json!(of(kind))));
    camel_case(Value::Object(kinds.collect()))
}

/// The sum of the ledgers of several sessions.
pub fn sum(sessions: &[Session]) -> Ledger {
    let mut all = Ledger::default();
    for (kind, tally) in sessions.iter().flat_map(|it| &it.memory.watch.ledger.kinds) {
        let into = all.kinds.entry(*kind).or_default();
        into.given = into.given.saturating_add(tally.given);
        into.tokens = into.tokens.saturating_add(tally.tokens);
        into.acted = into.acted.saturating_add(tally.acted);
        into.ignored = into.ignored.saturating_add(tally.ignored);
    }
    all
}

impl Row {
    fn of(name: String, tally: Tally, note: String) -> Self {
        let numbers = [tally.given, tally.tokens, tally.acted, tally.ignored];
        Self { name, numbers: numbers.map(|it| it.to_string()), note }
    }
}

fn table(title: &str, note: &str, rows: &[Row], options: &Options) -> Vec<Line> {
    let names = rows.iter().map(|row| width(&row.name)).chain([width(title)]).max().unwrap_or(0);
    let notes = rows.iter().map(|row| width(&row.note)).chain([width(note)]).max().unwrap_or(0);
    let columns: [usize; 4] = std::array::from_fn(|at| {
        let numbers = rows.iter().map(|row| width(&row.numbers[at]));
        numbers.chain([width(HEADS[at])]).max().unwrap_or(0)
    });
    // Where there is little room, the note goes first, then names are cut, then number columns go
    // from the right.
    let all = usize::from(options.width);
    let wide = |count: usize| columns[..count].iter().map(|it| it + 2).sum::<usize>();
    let count = (1..=HEADS.len()).rev().find(|count| wide(*count) + NAME <= all).unwrap_or(1);
    let room = all.saturating_sub(wide(count));
    let with_note = notes > 0 && room >= names + notes + 2;
    let names = names.min(room.max(NAME));
    let draw = |name: &str, numbers: [&str; 4], note: &str, style: Style| {
        let mut line = Line::new();
        line.push_text(name, names, options.glyphs, style).fill(names);
        for (number, columns) in numbers.into_iter().zip(columns).take(count) {
            line.push("  ", Style::Plain).push(&pad_left(number, columns), style);
        }
        if with_note {
            line.push("  ", Style::Plain).push(&pad_left(note, notes), Style::Dim);
        }
        line
    };
    let head = draw(title, HEADS, note, Style::Dim);
    let rows = rows.iter().map(|row| {
        let numbers = row.numbers.each_ref().map(String::as_str);
        draw(&row.name, numbers, &row.note, Style::Plain)
    });
    std::iter::once(head).chain(rows).collect()
}

//! One agent's plan in a narrow split.

use punchlist_model::Timestamp;

use super::*;
use crate::text::{Glyphs, naughty};
use crate::view::hostile_tests::assert_harmless;

fn entry(sign: char, label: &str) -> Entry {
    let status = match sign {
        'x' => Status::Completed,
        '>' => Status::InProgress,
        _ => Status::Pending,
    };
    Entry { label: label.to_owned(), status, waiting_on: None, since: 0, depth: 0 }
}

fn row(entries: &[(char, &str)], state: State) -> Row {
    let entries: Vec<Entry> = entries.iter().map(|(sign, label)| entry(*sign, label)).collect();
    let done = entries.iter().filter(|it| it.status == Status::Completed).count() as u32;
    let total = entries.len() as u32;
    Row {
        agent: "claude".to_owned(),
        place: "web-shop".to_owned(),
        state,
        said: "I read the schema. Now I migrate the table.".to_owned(),
        list: Some(Listed { done, total, open: total - done, entries, unconfirmed: false }),
        ..Row::default()
    }
}

fn screen(row: Option<&Row>, width: u16, height: usize, glyphs: Glyphs) -> Vec<String> {
    let options = Options { width, glyphs, ..Options::plain(Timestamp::UNIX_EPOCH) };
    pane(row, Some(height), &options).iter().map(Line::to_plain).collect()
}

const SHOP: [(char, &str); 6] = [
    ('x', "Read the schema"),
    ('x', "Write the migration"),
    ('x', "Review it"),
    ('>', "Migrating the orders table with everything that is in it"),
    (' ', "Backfill"),
    (' ', "Tell everybody"),
];

#[test]
fn the_plan_fits_a_narrow_split_at_every_size() {
    let mut all = String::new();
    for (width, height) in [(20, 24), (20, 8), (20, 5), (30, 12), (60, 10)] {
        let lines = screen(Some(&row(&SHOP, State::Working)), width, height, Glyphs::Unicode);
        all.push_str(&format!("== {width}x{height}\n{}\n", lines.join("\n")));
    }
    let asks = row(&SHOP, State::Asks("May I run rm -rf build/ now, and begin anew?".to_owned()));
    let lines = screen(Some(&asks), 24, 12, Glyphs::Ascii);
    all.push_str(&format!("== 24x12, it asks, ASCII\n{}\n", lines.join("\n")));
    all.push_str(&format!("== nobody\n{}\n", screen(None, 20, 5, Glyphs::Unicode).join("\n")));
    insta::assert_snapshot!(all);
}

#[test]
fn no_line_is_wider_and_no_plan_higher_than_the_split() {
    let long: Vec<(char, &str)> = std::iter::repeat_n(('x', "日本語の長い項目です"), 50)
        .chain([('>', "مرحبا بالعالم الطويل جدا جدا جدا جدا")])
        .chain(std::iter::repeat_n((' ', "more to do"), 50))
        .collect();
    for columns in 1..=60_u16 {
        for height in [1, 2, 3, 5, 9, 40] {
            let lines = screen(Some(&row(&long, State::Working)), columns, height, Glyphs::Unicode);
            assert!(lines.len() <= height, "{columns}x{height}: {lines:#?}");
            let most = usize::from(columns).saturating_sub(1).max(1);
            // A wide character and a sign may not fit into less than a handful of columns.
            for line in lines.iter().filter(|_| columns >= 6) {
                assert!(width(line) <= most, "{columns}: {line:?}");
            }
        }
    }
}

#[test]
fn hostile_texts_stay_in_their_lines() {
    for text in naughty::NAUGHTY {
        let mut row = row(&[('>', text), (' ', text)], State::Asks((*text).to_owned()));
        (row.place, row.said) = ((*text).to_owned(), (*text).to_owned());
        for line in screen(Some(&row), 24, 12, Glyphs::Unicode) {
            assert_harmless(&line);
        }
    }
}

//! The screen of all agents.

use std::collections::BTreeSet;

use super::*;
use crate::text::naughty;
use crate::view::hostile_tests::assert_harmless;

/// The current time.
const NOW: i64 = 1_767_322_860_000;

fn at(seconds_ago: i64) -> i64 {
    NOW - seconds_ago * 1000
}

/// A session of Claude Code without a list, last seen this many seconds ago.
fn row(id: &str, place: &str, state: State, seconds_ago: i64) -> Row {
    Row {
        key: format!("claude/{id}/"),
        agent: "claude".to_owned(),
        project: format!("/home/me/{place}"),
        place: place.to_owned(),
        state,
        at: at(seconds_ago),
        began: at(seconds_ago),
        ..Row::default()
    }
}

/// A list whose entries have had their status for this many seconds: `x` is done, `>` in progress,
/// a blank pending.
fn listed(entries: &[(char, &str)], seconds_ago: i64) -> Option<Listed> {
    let entries: Vec<Entry> = entries
        .iter()
        .map(|(sign, label)| Entry {
            label: (*label).to_owned(),
            status: match sign {
                'x' => Status::Completed,
                '>' => Status::InProgress,
                _ => Status::Pending,
            },
            waiting_on: None,
            since: at(seconds_ago),
            depth: 0,
        })
        .collect();
    let open = entries.iter().filter(|it| it.status.is_open()).count() as u32;
    let total = entries.len() as u32;
    Some(Listed { done: total - open, total, open, entries, unconfirmed: false })
}

/// Agents in all states, in order of importance.
fn agents() -> Vec<Row> {
    let question = "Shall I run rm -rf build/ and begin anew from the very beginning?";
    let shop = [
        ('x', "Read the schema"),
        ('x', "Write the migration"),
        ('>', "Doing Migrate the orders table"),
        (' ', "Backfill"),
    ];
    let api = [('x', "One"), (' ', "Two"), (' ', "Three")];
    let left = [('>', "Doing Left alone"), (' ', "Never begun")];
    let long = "a-very-long-name-of-a-project-that-does-not-fit";
    vec![
        row("c", "docs", State::Asks(question.to_owned()), 90),
        Row { list: listed(&shop, 72), ..row("a", "web-shop", State::Working, 360) },
        Row { list: listed(&api, 60), ..row("b", "api", State::Working, 120) },
        row("g", "plain", State::Working, 50),
        Row {
            list: listed(&[('>', "Doing Wait and see")], 690),
            ..row("f", long, State::Silent, 690)
        },
        Row {
            list: listed(&[('x', "A"), ('x', "B")], 890),
            ..row("d", "landing", State::Idle, 840)
        },
        Row { list: listed(&left, 3900), ..row("e", "old-branch", State::Died, 3900) },
    ]
}

fn screen(rows: &[Row], columns: u16, look: Look<'_>, glyphs: Glyphs) -> Vec<String> {
    let now = Timestamp::from_millisecond(NOW).unwrap();
    let lines = watch(rows, look, &Options { width: columns, glyphs, ..Options::plain(now) });
    lines.iter().map(Line::to_plain).collect()
}

#[test]
fn the_screen_holds_at_every_width() {
    let rows = agents();
    let offers = [("claude".to_owned(), "punchlist install claude".to_owned())];
    let notes = ["not every change is reported: checking every 2 s instead".to_owned()];
    let look = Look { keys: true, offers: &offers, notes: &notes, ..Look::default() };
    let mut all = String::new();
    for columns in [40, 60, 80, 200] {
        let lines = screen(&rows, columns, look, Glyphs::Unicode);
        all.push_str(&format!("== {columns}\n{}\n", lines.join("\n")));
    }
    let opened = Look { selected: Some("claude/a/"), opened: Some("claude/a/"), ..look };
    let lines = screen(&rows, 80, opened, Glyphs::Unicode);
    all.push_str(&format!("== 80, the second opened\n{}\n", lines.join("\n")));
    let lines = screen(&rows, 80, Look { height: Some(7), ..look }, Glyphs::Unicode);
    all.push_str(&format!("== 80, seven lines high\n{}\n", lines.join("\n")));
    let end = Look { selected: Some("claude/e/"), height: Some(7), ..look };
    let lines = screen(&rows, 80, end, Glyphs::Unicode);
    all.push_str(&format!("== 80, seven lines high, at the end\n{}\n", lines.join("\n")));
    let lines = screen(&rows, 80, look, Glyphs::Ascii);
    all.push_str(&format!("== 80, ASCII\n{}\n", lines.join("\n")));
    all.push_str(&format!("== nobody\n{}\n", screen(&[], 80, look, Glyphs::Unicode).join("\n")));
    insta::assert_snapshot!(all);
}

#[test]
fn no_line_is_as_wide_as_the_screen_and_no_screen_higher_than_it_may_be() {
    let rows = agents();
    for columns in (1..=48_u16).chain([59, 60, 61, 70, 71, 80, 100, 101, 130]) {
        for height in [None, Some(1), Some(2), Some(5), Some(9)] {
            for glyphs in [Glyphs::Unicode, Glyphs::Ascii] {
                let look = Look {
                    keys: true,
                    height,
                    selected: Some("claude/e/"),
                    opened: Some("claude/a/"),
                    ..Look::default()
                };
                let lines = screen(&rows, columns, look, glyphs);
                assert!(height.is_none_or(|it| lines.len() <= it), "{columns} {height:?}");
                for line in lines {
                    let most = usize::from(columns).saturating_sub(1).max(1);
                    assert!(width(&line) <= most, "{columns}: {line:?} {}", width(&line));
                }
            }
        }
    }
}

#[test]
fn plans_are_told_apart_at_forty_columns_and_are_not_counted_as_agents() {
    let titles = [
        ("0101", "Release 1.2 of the shop"),
        ("0202", "Release 1.3 of the shop"),
        ("0303", "Release notes for everybody, part A"),
        ("0404", "Release notes for everybody, part B"),
        ("a5a5", "Twins a5a5"),
        ("b6b6", "Twins b6b6"),
        ("c7c7", "c7c7"),
    ];
    let plan = |(id, title): (&str, &str)| Row {
        key: format!("plan/{id}"),
        agent: Row::PLAN.to_owned(),
        model: title.to_owned(),
        list: listed(&[(' ', "Dig")], 9),
        ..row("", "shop", State::Idle, 9)
    };
    let rows = titles.map(plan);
    for columns in [24, 40, 62, 80] {
        let shown = screen(&rows, columns, Look::default(), Glyphs::Unicode);
        assert!(columns < 40 || shown[0].trim() == "no agents yet · 7 plans", "{shown:#?}");
        let different: BTreeSet<&String> = shown[1..].iter().collect();
        assert_eq!(different.len(), titles.len(), "{shown:#?}");
        assert!(shown.iter().all(|it| width(it) < usize::from(columns)), "{shown:#?}");
        assert!(shown.iter().any(|it| it.contains("shop c7c7") || columns >= 62), "{shown:#?}");
    }
}

#[test]
fn only_who_has_nothing_of_ours_is_advised_to_install_it() {
    let rows = [("s1", NoList::Never), ("s2", NoList::Cleared), ("s3", NoList::NotYet)]
        .map(|(id, no_list)| Row { no_list, ..row(id, "shop", State::Working, 90) });
    let offers = [("claude".to_owned(), "punchlist install claude".to_owned())];
    let look = Look { offers: &offers, ..Look::default() };
    let shown = screen(&rows, 100, look, Glyphs::Unicode).join("\n");
    assert_eq!(shown.matches("punchlist install claude").count(), 1, "{shown}");
    assert_eq!(shown.matches("list cleared").count(), 1, "{shown}");
}

#[test]
fn hostile_texts_do_nothing_to_a_screen() {
    for text in naughty::NAUGHTY {
        let mut list = listed(&[('>', text)], 9);
        if let Some(list) = &mut list {
            list.unconfirmed = true;
            list.entries[0].waiting_on = Some((*text).to_owned());
        }
        for state in [State::Working, State::Asks((*text).to_owned())] {
            let row = Row {
                model: (*text).to_owned(),
                list: list.clone(),
                sub_agent: Some((*text).to_owned()),
                ..row("s", text, state, 9)
            };
            assert_harmless(&line(&row));
            for columns in [10, 40, 80, 200] {
                let look = Look { opened: Some(&row.key), ..Look::default() };
                let rows = std::slice::from_ref(&row);
                for text in screen(rows, columns, look, Glyphs::Unicode) {
                    assert_harmless(&text);
                    assert!(width(&text) < usize::from(columns), "{columns} {text:?}");
                }
            }
        }
    }
}

/// Two projects with several agents, one of which asks.
fn projects() -> Vec<Row> {
    let question = State::Asks("May I push?".to_owned());
    let said = |text: &str, row: Row| Row { said: text.to_owned(), ..row };
    let mut tree = row("t", "shop-fix", State::Idle, 400);
    tree.project = "/home/me/shop".to_owned();
    let mut other = row("o", "shop", State::Working, 30);
    other.project = "/srv/www/shop".to_owned();
    let mut asks = row("q", "shop", question, 20);
    let ids = punchlist_model::IdSource::fixed(Timestamp::UNIX_EPOCH, 1);
    asks.question = Some(punchlist_model::QuestionId(ids.nth(1)));
    vec![
        asks,
        Row {
            list: listed(&[('x', "Read"), ('>', "Writing")], 60),
            ..row("a", "shop", State::Working, 300)
        },
        said("I looked at it. Now I begin.", row("b", "shop", State::Working, 10)),
        said("All done.", tree),
        other,
    ]
}

#[test]
fn projects_with_several_agents_have_headings_where_there_is_room() {
    let rows = projects();
    let look = Look { keys: true, ..Look::default() };
    let mut all = String::new();
    for (columns, height) in [(80, 40), (40, 24), (80, 10)] {
        let lines = screen(&rows, columns, Look { height: Some(height), ..look }, Glyphs::Unicode);
        all.push_str(&format!("== {columns}x{height}\n{}\n", lines.join("\n")));
    }
    let away = ["claude/t/".to_owned()];
    let look = Look { selected: Some("claude/t/"), archived: &away, put_away: 2, ..look };
    all.push_str(&format!(
        "== one selected, two put away\n{}\n",
        screen(&rows, 80, look, Glyphs::Unicode).join("\n")
    ));
    insta::assert_snapshot!(all);
}

#[test]
fn a_heading_stays_above_the_rows_of_its_project_when_they_are_scrolled() {
    let mut rows = vec![row("z", "other", State::Working, 1)];
    for n in 0..30 {
        rows.push(row(&format!("r{n:02}"), "shop", State::Working, 1));
    }
    let look = Look { height: Some(20), selected: Some("claude/r29/"), ..Look::default() };
    let lines = screen(&rows, 80, look, Glyphs::Unicode);
    assert!(lines.len() <= 20);
    assert_eq!(lines[1], " shop  30 working");
    assert!(lines.iter().any(|it| it.starts_with('>')), "{lines:#?}");
}

#[test]
fn context_and_cost_are_shown_where_they_are_known() {
    use punchlist_model::agents::Spent;
    let spent = |context, window, cost_micros| Spent { context, window, cost_micros };
    let mut rows = agents();
    rows[1].spent = spent(Some(34_120), Some(200_000), Some(421_000));
    rows[2].spent = spent(Some(1_250_000), None, None);
    rows[3].spent = spent(None, None, Some(12_345_678));
    rows[1].said = "I read the schema.\n\nNow I migrate the **orders** table.".to_owned();
    let opened = Look { opened: Some("claude/a/"), ..Look::default() };
    let mut all = String::new();
    for columns in [40, 80, 130] {
        let lines = screen(&rows, columns, opened, Glyphs::Unicode);
        all.push_str(&format!("== {columns}\n{}\n", lines.join("\n")));
    }
    insta::assert_snapshot!(all);
}

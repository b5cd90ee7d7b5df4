//! Tests of how the input looks, on the screen of a terminal.

use std::num::NonZero;

use punchlist_formats::text::Glyphs;
use punchlist_formats::text::width::width;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::*;
use crate::commands::Registry;
use crate::theme::Theme;

/// What a person sees of the input in a terminal of this size, with `_` at the cursor's place if it is
/// blank there.
fn screen(input: &mut Input, columns: u16, rows: u16) -> String {
    input.set_width(columns);
    let height = input.height(columns).min(rows);
    let area = Rect::new(0, 0, columns, height);
    let mut buffer = Buffer::empty(area);
    let cursor = input.render(area, &mut buffer, &Theme::default());
    let mut terminal = vt100::Parser::new(size(rows), size(columns), 0);
    for y in 0..height {
        terminal.process(format!("\u{1b}[{};1H", y + 1).as_bytes());
        let mut x = 0;
        while x < columns {
            let symbol = buffer[(x, y)].symbol();
            terminal.process(symbol.as_bytes());
            x += u16::try_from(width(symbol).max(1)).unwrap();
        }
    }
    let mut lines: Vec<String> =
        terminal.screen().rows(0, columns).take(usize::from(height)).collect();
    if let Some((x, y)) = cursor {
        let line = &mut lines[usize::from(y)];
        line.truncate(line.trim_end().len());
        let wide = width(line);
        if wide <= usize::from(x) {
            line.push_str(&" ".repeat(usize::from(x) - wide));
            line.push('_');
        }
    }
    lines.iter().map(|it| it.trim_end()).collect::<Vec<_>>().join("\n")
}

fn size(cells: u16) -> NonZero<u16> {
    NonZero::new(cells).unwrap()
}

fn with(text: &str) -> Input {
    let mut input = Input::new(vec!["git push".to_owned(), "make test".to_owned()]);
    for c in text.chars() {
        let typed = input.key(&Key::Char(c));
        offer(&mut input, &typed);
    }
    input
}

fn offer(input: &mut Input, typed: &Typed) {
    if let Typed::Complete(Query::Command(text)) = typed {
        input.offer(Registry::builtin().complete(text));
    }
}

#[test]
fn a_text_wraps_at_every_size_and_the_cursor_is_behind_it() {
    let mut input = with("fix the failing tests and update the documentation");
    for (columns, rows, expected) in [
        (40, 10, "> fix the failing tests and update the\n  documentation_"),
        (80, 24, "> fix the failing tests and update the documentation_"),
        (120, 40, "> fix the failing tests and update the documentation_"),
        (200, 60, "> fix the failing tests and update the documentation_"),
        (10, 10, "> fix the\n  failing\n  tests\n  and\n  update\n  the\n  documen\n  tation_"),
    ] {
        assert_eq!(screen(&mut input, columns, rows), expected, "{columns} × {rows}");
    }
}

#[test]
fn an_empty_input_shows_its_hint() {
    let mut input = with("");
    input.set_hint("Type a message; / commands, ? keys");
    assert_eq!(screen(&mut input, 40, 10), "> Type a message; / commands, ? keys");
    assert_eq!(screen(&mut input, 20, 10), "> Type a message;…");
    input.key(&Key::Char('!'));
    assert_eq!(screen(&mut input, 40, 10), "! _");
    input.key(&Key::Char('l'));
    assert_eq!(screen(&mut input, 40, 10), "! l_");
}

#[test]
fn wide_characters_and_right_to_left_text_keep_their_place() {
    assert_eq!(screen(&mut with("修复失败的测试"), 12, 10), "> 修复失败\n  的测试_");
    assert_eq!(screen(&mut with("family 👨‍👩‍👧‍👦!"), 40, 10), "> family 👨‍👩‍👧‍👦!_");
    let hebrew = screen(&mut with("לתקן 3"), 40, 10);
    let seen: String =
        hebrew.chars().filter(|it| !('\u{2066}'..='\u{2069}').contains(it)).collect();
    assert_eq!(seen, "> לתקן 3_");
}

#[test]
fn a_long_text_scrolls_to_the_cursor() {
    let mut input = with("");
    input.set_text(&(1..=20).map(|it| it.to_string()).collect::<Vec<_>>().join("\n"));
    assert_eq!(screen(&mut input, 40, 24).lines().count(), 10);
    assert_eq!(screen(&mut input, 40, 3), "  18\n  19\n  20_");
    for _ in 0..19 {
        input.key(&Key::Up);
    }
    assert_eq!(screen(&mut input, 40, 3), "> 1_\n  2\n  3");
}

#[test]
fn a_big_paste_takes_one_row() {
    let mut input = with("look: ");
    input.paste(&"line\n".repeat(120));
    assert_eq!(screen(&mut input, 40, 10), "> look: [pasted 120 lines]_");
}

#[test]
fn the_pop_up_is_below_the_text_and_fits() {
    let mut input = with("/q");
    assert_eq!(
        screen(&mut input, 80, 24),
        "> /q_\n> /quit   leave Punchlist\n  /queue  show the queued messages"
    );
    assert_eq!(
        screen(&mut input, 40, 10),
        "> /q_\n> /quit   leave Punchlist\n  /queue  show the queued messages"
    );
    assert_eq!(screen(&mut input, 12, 10), "> /q_\n> /quit\n  /queue");
    input.key(&Key::Down);
    assert_eq!(screen(&mut input, 12, 2), "> /q_\n> /queue", "the selection stays in view");
    assert_eq!(screen(&mut input, 40, 1), "> /q_");
}

#[test]
fn the_pop_up_shows_at_most_eight_rows() {
    let mut input = with("/");
    assert_eq!(screen(&mut input, 80, 24).lines().count(), 9);
    for _ in 0..10 {
        input.key(&Key::Down);
    }
    let shown = screen(&mut input, 80, 24);
    assert_eq!(shown.lines().count(), 9);
    assert!(shown.lines().last().unwrap().starts_with("> /"), "{shown}");
}

#[test]
fn a_search_shows_what_it_finds() {
    let mut input = with("draft");
    input.key(&Key::Ctrl('r'));
    assert_eq!(screen(&mut input, 40, 10), "> make test\nsearch: _");
    for c in "pus".chars() {
        input.key(&Key::Char(c));
    }
    assert_eq!(screen(&mut input, 40, 10), "> git push\nsearch: pus_");
    input.key(&Key::Char('z'));
    assert_eq!(screen(&mut input, 40, 10), ">\nsearch: pusz  no match");
    input.key(&Key::Escape);
    assert_eq!(screen(&mut input, 40, 10), "> draft_");
}

#[test]
fn hostile_text_cannot_leave_the_input() {
    for hostile in punchlist_testkit::naughty() {
        let text: String = hostile.text.chars().take(2_000).collect();
        let mut input = Input::new(vec![text.clone()]);
        input.set_glyphs(Glyphs::Ascii);
        input.set_hint(&text);
        screen(&mut input, 20, 5);
        input.paste(&text);
        input.offer(vec![Completion {
            insert: text.clone(),
            label: text.clone(),
            description: text.clone(),
            is_exact: false,
        }]);
        for (columns, rows) in [(1, 1), (3, 2), (40, 10), (200, 60)] {
            input.set_width(columns);
            let area = Rect::new(0, 0, columns, rows);
            let mut buffer = Buffer::empty(area);
            input.render(area, &mut buffer, &Theme::default());
            let shown: String = buffer.content().iter().map(|it| it.symbol()).collect();
            assert!(!shown.contains(char::is_control), "{}: {shown:?}", hostile.name);
        }
        input.key(&Key::Ctrl('r'));
        screen(&mut input, 40, 10);
    }
}

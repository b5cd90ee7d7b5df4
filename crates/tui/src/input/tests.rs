//! Tests of the input: keys in, text out.

use super::*;
use crate::commands::{Parsed, Registry};

fn input() -> Input {
    Input::new(Vec::new())
}

fn type_text(input: &mut Input, text: &str) -> Typed {
    let mut typed = Typed::Nothing;
    for c in text.chars() {
        typed = input.key(&Key::Char(c));
        offer(input, &typed);
    }
    typed
}

/// Answers a wish for completions as the terminal UI does.
fn offer(input: &mut Input, typed: &Typed) {
    let mentions = Mentions {
        members: vec!["anna".to_owned()],
        files: ["src/", "src/main.rs", "Cargo.toml"].map(str::to_owned).to_vec(),
    };
    if let Typed::Complete(query) = typed {
        let found = match query {
            Query::Command(text) => Registry::builtin().complete(text),
            Query::Mention(text) => mentions.complete(text),
        };
        input.offer(found);
    }
}

/// Presses keys, and returns what the last one did.
fn press(input: &mut Input, keys: &[Key]) -> Typed {
    let mut typed = Typed::Nothing;
    for key in keys {
        typed = input.key(key);
        offer(input, &typed);
    }
    typed
}

fn with(text: &str) -> Input {
    let mut input = input();
    type_text(&mut input, text);
    input
}

fn submitted(text: &str) -> Typed {
    Typed::Submit(Entered::typed(text))
}

#[test]
fn enter_sends_alt_enter_steers_and_the_input_is_empty() {
    let mut input = with("hello");
    assert_eq!(input.key(&Key::Enter), submitted("hello"));
    assert!(input.is_empty());
    type_text(&mut input, "faster");
    assert_eq!(input.key(&Key::AltEnter), Typed::Steer(Entered::typed("faster")));
    assert!(input.is_empty());
}

#[test]
fn blank_input_is_not_sent_and_two_quick_enters_send_once() {
    let mut input = with(" ");
    assert_eq!(input.key(&Key::Enter), Typed::Nothing);
    assert_eq!(input.key(&Key::AltEnter), Typed::Nothing);
    type_text(&mut input, "x");
    assert_eq!(press(&mut input, &[Key::Enter, Key::Enter]), Typed::Nothing);
}

#[test]
fn a_text_has_several_lines() {
    let mut input = with("a\\");
    input.key(&Key::Enter);
    type_text(&mut input, "b");
    input.key(&Key::ShiftEnter);
    type_text(&mut input, "c");
    assert_eq!(input.text(), "a\nb\nc");
    assert_eq!(input.key(&Key::Enter), submitted("a\nb\nc"));
}

#[test]
fn keys_edit_by_what_a_reader_sees() {
    for (text, keys, expected) in [
        ("abc", &[Key::Left, Key::Backspace][..], "ac"),
        ("abc", &[Key::Home, Key::Delete, Key::Char('x')], "xbc"),
        ("a👨‍👩‍👧‍👦b", &[Key::Left, Key::Backspace], "ab"),
        ("a👨‍👩‍👧‍👦b", &[Key::Home, Key::Right, Key::Delete], "ab"),
        ("e\u{301}x", &[Key::Left, Key::Left, Key::Char('>')], ">e\u{301}x"),
        ("one two  ", &[Key::Ctrl('w'), Key::Char('!')], "one !"),
        ("one two", &[Key::WordLeft, Key::WordLeft, Key::Alt('d')], " two"),
        ("one two", &[Key::Home, Key::WordRight, Key::Char('!')], "one! two"),
        ("one two", &[Key::WordLeft, Key::Ctrl('k')], "one "),
        ("one two", &[Key::WordLeft, Key::Ctrl('u')], "two"),
        ("one two", &[Key::WordLeft, Key::Ctrl('k'), Key::Home, Key::Ctrl('y')], "twoone "),
        ("a\\", &[Key::Enter, Key::Char('b'), Key::Home, Key::Backspace], "ab"),
        ("a\\", &[Key::Enter, Key::Char('b'), Key::Up, Key::End, Key::Delete], "ab"),
        ("a\\", &[Key::Enter, Key::WordBackspace, Key::WordBackspace], ""),
        ("a", &[Key::Char('\u{202e}'), Key::Char('\u{9b}'), Key::Char('b')], "ab"),
        ("ab", &[Key::Backspace, Key::Undo], "ab"),
        ("ab", &[Key::Backspace, Key::Undo, Key::Alt('z')], "a"),
        ("", &[Key::Backspace, Key::Delete, Key::Left, Key::Right, Key::Ctrl('w')], ""),
    ] {
        let mut input = with(text);
        press(&mut input, keys);
        assert_eq!(input.text(), expected, "{text:?} {keys:?}");
    }
}

#[test]
fn up_and_down_move_between_rows_before_they_leave_the_text() {
    let mut input = Input::new(vec!["old".to_owned()]);
    input.set_width(13);
    type_text(&mut input, "one two three");
    press(&mut input, &[Key::Up, Key::Char('X')]);
    assert_eq!(input.text(), "one tXwo three", "the row above, not the history");
    press(&mut input, &[Key::Up]);
    assert_eq!(input.text(), "old");
    press(&mut input, &[Key::Down]);
    assert_eq!(input.text(), "one tXwo three");
}

#[test]
fn the_history_is_browsed_and_the_draft_kept() {
    let mut input = Input::new(vec!["one".to_owned(), "two".to_owned()]);
    type_text(&mut input, "draft");
    let mut seen = Vec::new();
    for key in [Key::Up, Key::Up, Key::Up, Key::Down, Key::Down, Key::Down] {
        press(&mut input, &[key]);
        seen.push(input.text());
    }
    assert_eq!(seen, ["two", "one", "one", "two", "draft", "draft"]);
    press(&mut input, &[Key::Up, Key::Enter]);
    press(&mut input, &[Key::Up, Key::Up]);
    assert_eq!(input.text(), "one", "the same entry twice is kept once");
}

#[test]
fn commands_and_shell_commands_are_kept_in_history() {
    let mut input = with("/quit");
    assert_eq!(input.key(&Key::Enter), submitted("/quit"));
    type_text(&mut input, "!make");
    assert_eq!(input.key(&Key::Enter), Typed::Shell("make".to_owned()));
    press(&mut input, &[Key::Up]);
    assert_eq!(input.text(), "make");
    assert_eq!(input.clone().key(&Key::Enter), Typed::Shell("make".to_owned()));
    press(&mut input, &[Key::Up]);
    assert_eq!(input.key(&Key::Enter), submitted("/quit"));
}

#[test]
fn a_message_from_the_history_is_no_command_again() {
    let mut input = input();
    input.paste("/quit");
    assert!(matches!(input.key(&Key::Enter), Typed::Submit(it) if it.is_pasted));
    press(&mut input, &[Key::Up]);
    let Typed::Submit(entered) = input.key(&Key::Enter) else { panic!() };
    assert_eq!(Registry::builtin().parse(&entered), Parsed::Text);
    // A message that begins with an exclamation mark is no shell command.
    input.paste("!make");
    assert!(matches!(input.key(&Key::Enter), Typed::Submit(_)));
    press(&mut input, &[Key::Up]);
    assert!(matches!(input.key(&Key::Enter), Typed::Submit(_)));
}

#[test]
fn ctrl_r_searches_the_history() {
    let entries = ["make test", "git log", "make all", "git push"].map(str::to_owned).to_vec();
    let mut input = Input::new(entries);
    type_text(&mut input, "draft");
    press(&mut input, &[Key::Ctrl('r')]);
    type_text(&mut input, "MAKE");
    press(&mut input, &[Key::Tab]);
    assert_eq!(input.text(), "make all");
    press(&mut input, &[Key::Ctrl('r')]);
    type_text(&mut input, "mak");
    press(&mut input, &[Key::Ctrl('r'), Key::Ctrl('r'), Key::Ctrl('r'), Key::Enter]);
    assert_eq!(input.text(), "make test", "Enter takes it and sends nothing");
    assert_eq!(press(&mut input, &[Key::Ctrl('r'), Key::Char('g'), Key::Escape]), Typed::Changed);
    assert_eq!(input.text(), "make test", "Esc leaves the draft alone");
    press(&mut input, &[Key::Ctrl('r')]);
    type_text(&mut input, "zzz");
    press(&mut input, &[Key::Enter]);
    assert_eq!(input.text(), "make test", "no match changes nothing");
}

#[test]
fn a_paste_is_one_piece_and_sends_nothing() {
    let mut input = input();
    assert_eq!(input.key(&Key::Paste("a\nb\n".to_owned())), Typed::Changed);
    assert_eq!(
        input.key(&Key::Enter),
        Typed::Submit(Entered { text: "a\nb\n".to_owned(), is_pasted: true })
    );
}

#[test]
fn a_big_paste_is_shown_by_its_size_and_sent_whole() {
    let text = (1..=120).map(|it| format!("line {it}\n")).collect::<String>();
    let mut input = with("look: ");
    input.paste(&text);
    type_text(&mut input, " and ");
    input.paste(&text);
    type_text(&mut input, ".");
    assert_eq!(input.draft.lines(), ["look: [pasted 120 lines] and [pasted 120 lines #2]."]);
    let whole = format!("look: {text} and {text}.");
    assert_eq!(input.text(), whole);
    assert_eq!(input.key(&Key::Enter), submitted(&whole));
    input.paste(&"x".repeat(5_000));
    assert_eq!(input.draft.lines(), ["[pasted 5000 characters]"]);
}

#[test]
fn a_big_paste_is_moved_over_and_deleted_as_a_whole() {
    let text = "x\n".repeat(20);
    let big = || {
        let mut input = with("ab ");
        input.paste(&text);
        type_text(&mut input, " cd");
        input
    };
    for (keys, expected) in [
        (&[Key::WordLeft, Key::Left, Key::Backspace][..], "ab  cd"),
        (&[Key::Home, Key::WordRight, Key::Right, Key::Delete], "ab  cd"),
        (&[Key::WordLeft, Key::Ctrl('w')], "ab cd"),
        (&[Key::WordLeft, Key::WordLeft, Key::Alt('d')], "ab  cd"),
        (&[Key::WordLeft, Key::Left, Key::Left, Key::Char('!')], "ab !"),
    ] {
        let mut input = big();
        press(&mut input, keys);
        assert!(input.text().starts_with(expected), "{keys:?}: {}", input.text());
    }
    let mut input = big();
    press(&mut input, &[Key::WordLeft, Key::Left, Key::Backspace, Key::Undo]);
    assert_eq!(input.text(), format!("ab {text} cd"), "undo brings all of it back");
}

#[test]
fn a_paste_that_may_be_cut_is_refused_and_the_draft_stays() {
    let mut input = with("draft");
    let typed = input.paste(&"x".repeat(LONGEST_PASTE));
    assert!(matches!(typed, Typed::Refused(_)), "{typed:?}");
    assert_eq!(input.text(), "draft");
}

#[test]
fn pasted_text_is_never_a_command_whatever_it_begins_with() {
    // What is done after `/quit` was pasted, and whether the text may be a command then.
    for (keys, is_pasted) in [
        (&[][..], true),
        (&[Key::End, Key::Char(' ')], true),
        (&[Key::Home, Key::Char('/')], false),
        (&[Key::Ctrl('u'), Key::Char('/'), Key::Char('q'), Key::Escape], false),
        (&[Key::Ctrl('u'), Key::Ctrl('y')], true),
        (&[Key::Ctrl('u'), Key::Undo], true),
        (&[Key::Home, Key::Char('x'), Key::Home, Key::Delete], true),
        (&[Key::Home, Key::Char('x'), Key::Undo], true),
    ] {
        let mut input = input();
        input.paste("/quit");
        press(&mut input, keys);
        let Typed::Submit(entered) = input.key(&Key::Enter) else { panic!("{keys:?}") };
        assert_eq!(entered.is_pasted, is_pasted, "{keys:?}");
    }
    // A pasted argument of a typed command is an argument.
    let mut input = with("/goal ");
    input.paste("green");
    assert_eq!(input.key(&Key::Enter), submitted("/goal green"));
    // A message from the queue stays one.
    input.set_message("/quit");
    assert!(matches!(input.key(&Key::Enter), Typed::Submit(it) if it.is_pasted));
}

#[test]
fn in_shell_mode_a_command_is_shell_text() {
    let mut input = with("!/exit");
    assert_eq!(input.key(&Key::Enter), Typed::Shell("/exit".to_owned()));
    assert!(input.is_empty());
    // `!` is a sign only in an empty input, and a pasted one never.
    let mut input = with("go!");
    assert_eq!(input.key(&Key::Enter), submitted("go!"));
    input.paste("!ls");
    assert!(matches!(input.key(&Key::Enter), Typed::Submit(it) if it.text == "!ls"));
}

#[test]
fn shell_mode_is_left_by_backspace_or_esc_while_it_is_empty() {
    for key in [Key::Backspace, Key::Escape, Key::Ctrl('d')] {
        let mut input = with("!");
        assert!(!input.is_empty());
        assert_eq!(input.key(&key), Typed::Changed, "{key:?}");
        assert!(input.is_empty());
    }
    let mut input = with("!");
    assert_eq!(input.key(&Key::Enter), Typed::Nothing);
    type_text(&mut input, "?");
    assert_eq!(input.text(), "?");
}

#[test]
fn a_question_mark_shows_the_keys_only_in_an_empty_input() {
    assert_eq!(input().key(&Key::Char('?')), Typed::Keys);
    let mut input = with("why");
    assert_eq!(input.key(&Key::Char('?')), Typed::Changed);
    assert_eq!(input.text(), "why?");
}

#[test]
fn ctrl_d_quits_on_an_empty_input_only() {
    assert_eq!(input().key(&Key::Ctrl('d')), Typed::Leave);
    let mut input = with("ab");
    assert_eq!(press(&mut input, &[Key::Home, Key::Ctrl('d')]), Typed::Changed);
    assert_eq!(input.text(), "b");
    input.key(&Key::Ctrl('r'));
    assert_ne!(input.key(&Key::Ctrl('d')), Typed::Leave, "not in a search");
}

#[test]
fn esc_and_ctrl_c_leave_the_draft_alone() {
    let mut input = with("draft");
    for key in [Key::Escape, Key::Ctrl('c')] {
        assert_eq!(input.key(&key), Typed::Ignored, "{key:?}");
        assert_eq!(input.text(), "draft");
    }
}

#[test]
fn tab_completes() {
    let mut input = with("/he");
    press(&mut input, &[Key::Tab]);
    assert_eq!(input.text(), "/help ");
    let mut input = with("/queue re");
    press(&mut input, &[Key::Tab]);
    assert_eq!(input.text(), "/queue remove ");
    let mut input = with("see @main");
    press(&mut input, &[Key::Tab]);
    assert_eq!(input.text(), "see @src/main.rs ");
    let mut input = with("@ann");
    press(&mut input, &[Key::Tab]);
    assert_eq!(input.text(), "@anna ");
    assert_eq!(with("text").key(&Key::Tab), Typed::Ignored);
}

#[test]
fn a_directory_is_completed_further() {
    let mut input = with("@sr");
    press(&mut input, &[Key::Tab]);
    assert_eq!(input.text(), "@src/");
    press(&mut input, &[Key::Down, Key::Tab]);
    assert_eq!(input.text(), "@src/main.rs ");
}

#[test]
fn enter_runs_a_perfect_match_and_completes_anything_else() {
    assert_eq!(with("/help").key(&Key::Enter), submitted("/help"));
    assert_eq!(with("/q").key(&Key::Enter), submitted("/q"), "an alias is a perfect match");
    let mut input = with("/hel");
    press(&mut input, &[Key::Enter]);
    assert_eq!(input.text(), "/help ");
    assert_eq!(press(&mut input, &[Key::Enter]), submitted("/help "));
    let mut input = with("/queue");
    press(&mut input, &[Key::Char(' ')]);
    assert_eq!(input.key(&Key::Enter), submitted("/queue "), "an argument that has not begun");
    let mut input = with("/queue");
    press(&mut input, &[Key::Char(' '), Key::Down, Key::Enter]);
    assert_eq!(input.text(), "/queue edit ", "the person chose it");
}

#[test]
fn up_and_down_choose_in_the_pop_up() {
    let first = Registry::builtin().complete("/")[0].insert.clone();
    let mut input = with("/");
    press(&mut input, &[Key::Down, Key::Down, Key::Up, Key::BackTab, Key::Tab]);
    assert_eq!(input.text().trim_end(), first);
    let mut input = with("/");
    press(&mut input, &[Key::Up, Key::Tab]);
    assert_eq!(input.text(), "/quit ", "the last one is above the first");
}

#[test]
fn esc_closes_the_pop_up_until_the_word_ends() {
    let mut input = with("/he");
    assert_eq!(input.key(&Key::Escape), Typed::Changed);
    assert!(!input.pop_up.is_open());
    type_text(&mut input, "l");
    assert!(!input.pop_up.is_open());
    assert_eq!(input.key(&Key::Enter), submitted("/hel"));
    let mut input = with("@ma");
    press(&mut input, &[Key::Escape]);
    type_text(&mut input, "i @ma");
    assert!(input.pop_up.is_open(), "another word");
    press(&mut input, &[Key::Escape, Key::Tab]);
    assert!(input.pop_up.is_open(), "Tab asks again");
}

#[test]
fn only_commands_and_mentions_are_completed() {
    for (text, expected) in [
        ("/", Some(Query::Command("/".to_owned()))),
        ("/queue g", Some(Query::Command("/queue g".to_owned()))),
        ("/goal see @sr", Some(Query::Mention("sr".to_owned()))),
        ("a @", Some(Query::Mention(String::new()))),
        ("mail a@b", None),
        (" /he", None),
        ("/usr/b", None),
        ("//", None),
        ("a /he", None),
        ("!@sr", None),
        ("!/he", None),
    ] {
        let query = with(text).query();
        assert_eq!(query, expected, "{text:?}");
    }
    let mut input = input();
    assert_eq!(input.paste("/he"), Typed::Changed, "pasted text is no command");
}

#[test]
fn a_text_that_was_not_taken_is_restored_with_its_pastes() {
    let text = "x\n".repeat(20);
    let mut input = with("/frob ");
    input.paste(&text);
    press(&mut input, &[Key::Enter]);
    assert!(input.is_empty());
    input.restore();
    assert_eq!(input.text(), format!("/frob {text}"));
    assert_eq!(input.draft.lines(), ["/frob [pasted 20 lines]"]);
    press(&mut input, &[Key::Enter]);
    type_text(&mut input, "next");
    input.restore();
    assert_eq!(input.text(), "next", "what was typed meanwhile stays");
    let mut input = with("!frob");
    press(&mut input, &[Key::Enter]);
    input.restore();
    assert_eq!(input.key(&Key::Enter), Typed::Shell("frob".to_owned()));
}

#[test]
fn any_text_and_any_keys_are_survived() {
    let keys = [
        Key::Left,
        Key::Backspace,
        Key::Up,
        Key::WordLeft,
        Key::Delete,
        Key::Right,
        Key::Ctrl('w'),
        Key::Down,
        Key::Alt('d'),
        Key::Undo,
        Key::WordRight,
        Key::Char('é'),
        Key::Ctrl('u'),
        Key::Ctrl('y'),
        Key::Ctrl('k'),
    ];
    for hostile in punchlist_testkit::naughty() {
        let text: String = hostile.text.chars().take(300).collect();
        for from in (0..keys.len()).step_by(3) {
            let mut input = input();
            input.set_width(12);
            input.paste(&text);
            input.set_text(&format!("a {} b\n{}", input.text(), input.text()));
            for key in keys.iter().cycle().skip(from).take(2 * keys.len()) {
                input.key(key);
            }
            assert!(!input.text().contains('\u{1b}'), "{}", hostile.name);
            input.height(20);
        }
    }
}

//! The pager, confirmations and the keys.

use punchlist_formats::text::Glyphs;
use punchlist_testkit::naughty;

use super::super::pager::text_lines;
use super::super::screen::{SIZES, Screen};
use super::super::{ConfirmDialog, Dialog, DialogReply, KeysDialog, PagerDialog, Want};
use super::{resized, screens};
use crate::keys::Key;

fn output() -> String {
    let line = |n: u32| match n % 7 {
        0 => format!("line {n}: test parser::deep::nested::case_{n} ... ok, and it took a while"),
        _ => format!("line {n}"),
    };
    (1..=200).map(line).collect::<Vec<_>>().join("\n")
}

fn pager(text: &str) -> Dialog {
    Dialog::Pager(PagerDialog::lines_of("Output of 3", text_lines(text), Glyphs::Unicode))
}

fn confirmed(answers: &[bool]) -> DialogReply {
    DialogReply::Want(Want::Confirmed(answers.to_vec()))
}

fn commands(all: &[&str]) -> Dialog {
    Dialog::Confirm(ConfirmDialog::commands("/verify wants to run", all, Glyphs::Unicode))
}

#[test]
fn a_long_text_at_all_sizes() {
    insta::assert_snapshot!(screens(|| pager(&output()), "jjj"));
}

#[test]
fn a_long_text_is_read_to_its_end_and_filtered() {
    for size in SIZES {
        let mut screen = Screen::new(pager(&output()), size);
        screen.press("G");
        screen.shows("line 200");
        screen.shows("end");
        screen.press("/case_1 ok\r");
        screen.shows("case_14 ");
        screen.lacks("line 200");
        screen.shows("filter: case_1 ok");
        assert_eq!(screen.escape(), DialogReply::Stay);
        screen.shows("line 2");
        screen.press("?");
        screen.shows("next page");
        assert_eq!(screen.escape(), DialogReply::Stay);
        assert_eq!(screen.escape(), DialogReply::Close);
    }
}

#[test]
fn hostile_texts_are_harmless_and_one_huge_line_can_be_read() {
    for it in naughty().into_iter().filter(|it| it.text.len() < 10_000) {
        let mut screen = Screen::new(pager(&it.text), (40, 10));
        screen.press("Gkg");
        screen.shows("Output of 3");
        let text = screen.text();
        assert_eq!(text.lines().count(), 10, "{}:\n{text}", it.name);
    }
    let mut screen = Screen::new(pager(&format!("{}stop", "a ".repeat(100_000))), (40, 10));
    screen.press("G");
    screen.shows("stop");
}

#[test]
fn a_text_is_resized_at_every_step() {
    let keys = ["j", "G", "k", "/", "1", "\r", "G", "\u{1b}", "?", "\u{1b}"];
    resized(|| pager(&output()), &keys, "Output of 3");
}

#[test]
fn the_keys_at_all_sizes() {
    insta::assert_snapshot!(screens(|| Dialog::Keys(KeysDialog::main(Glyphs::Unicode)), "j"));
}

#[test]
fn all_keys_can_be_read_on_a_small_screen() {
    let mut screen = Screen::new(Dialog::Keys(KeysDialog::main(Glyphs::Unicode)), (40, 10));
    let mut seen = screen.text();
    for _ in 0..60 {
        screen.press("j");
        seen.push_str(&screen.text());
    }
    for words in ["Alt-Enter", "Ctrl-T", "Ctrl-R", "end the turn", "go back, close"] {
        assert!(seen.contains(words), "{words}");
    }
    assert_eq!(screen.escape(), DialogReply::Close);
}

#[test]
fn the_keys_are_resized_at_every_step() {
    resized(|| Dialog::Keys(KeysDialog::main(Glyphs::Unicode)), &["j", "G", "k", "g"], "Keys");
}

#[test]
fn an_action_at_all_sizes() {
    let text = "Plan 7f3a \"Release 1.2\" with its 7 items, its journal and its outputs is erased.";
    let make = || Dialog::Confirm(ConfirmDialog::action("Forget the plan?", text, Glyphs::Unicode));
    insta::assert_snapshot!(screens(make, ""));
    for (keys, reply) in [
        ("y", confirmed(&[true])),
        ("n", DialogReply::Close),
        ("\u{1b}", DialogReply::Close),
        ("\r", DialogReply::Stay),
        ("a", DialogReply::Stay),
    ] {
        assert_eq!(Screen::new(make(), (40, 10)).press(keys), reply, "{keys:?}");
    }
}

#[test]
fn shell_commands_at_all_sizes() {
    let make = || commands(&["cargo test", "./publish.sh --prod", "rm -rf build/"]);
    insta::assert_snapshot!(screens(make, "n"));
}

#[test]
fn shell_commands_are_confirmed_one_by_one_or_all() {
    let all = ["cargo test", "./publish.sh --prod", "rm -rf build/"];
    for (keys, reply) in [
        ("yny", confirmed(&[true, false, true])),
        ("nnn", confirmed(&[false, false, false])),
        ("a", confirmed(&[true, true, true])),
        ("na", confirmed(&[false, true, true])),
        ("yy\u{1b}", DialogReply::Close),
    ] {
        assert_eq!(Screen::new(commands(&all), (80, 24)).press(keys), reply, "{keys:?}");
    }
    let mut screen = Screen::new(commands(&all), (40, 10));
    screen.shows("1 of 3");
    screen.shows("rm -rf build/");
    screen.press("y");
    screen.shows("2 of 3");
    screen.lacks("cargo test");
}

#[test]
fn no_key_confirms_what_is_not_drawn() {
    let mut dialog = commands(&["cargo test", "make"]);
    dialog.resize(80, 24);
    assert_eq!(dialog.key(&Key::Char('y')), DialogReply::Stay);
    assert_eq!(dialog.key(&Key::Char('a')), DialogReply::Stay);
    dialog.drawn();
    assert_eq!(dialog.key(&Key::Char('y')), DialogReply::Stay);
    // The second command is not on the screen yet.
    assert_eq!(dialog.key(&Key::Char('y')), DialogReply::Stay);
    dialog.drawn();
    assert_eq!(dialog.key(&Key::Char('y')), confirmed(&[true, true]));
}

#[test]
fn what_is_longer_than_the_screen_is_confirmed_only_after_its_end_was_seen() {
    let long = (1..=30).map(|n| format!("echo {n}")).collect::<Vec<_>>().join("\n");
    let mut screen = Screen::new(commands(&[&long, "make"]), (40, 10));
    assert_eq!(screen.press("y"), DialogReply::Stay);
    screen.shows("There is more below");
    screen.press("G");
    screen.shows("make");
    assert_eq!(screen.press("a"), confirmed(&[true, true]));
    // All of them need all of them on the screen, one needs only itself.
    let many: Vec<String> = (1..=30).map(|n| format!("make {n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut screen = Screen::new(commands(&many), (40, 10));
    assert_eq!(screen.press("a"), DialogReply::Stay);
    screen.shows("There is more below");
    assert_eq!(screen.press("y"), DialogReply::Stay);
    screen.shows("2 of 30");
}

#[test]
fn hostile_commands_are_shown_for_what_they_are() {
    for it in naughty().into_iter().filter(|it| it.text.len() < 10_000) {
        let mut screen = Screen::new(commands(&[&it.text, "make"]), (40, 10));
        screen.press("Gg");
        assert_eq!(screen.text().lines().count(), 10, "{}", it.name);
    }
}

#[test]
fn a_confirmation_is_resized_at_every_step() {
    let make = || commands(&["cargo test", "./publish.sh --prod", "rm -rf build/"]);
    resized(make, &["j", "y", "G", "a"], "/verify wants to run");
}

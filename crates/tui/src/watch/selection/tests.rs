//! Keys in, selection out.

use punchlist_model::agents::State;

use super::*;
use crate::keys::Decoder;

fn pressed(selection: &mut Selection, keys: &str) -> Vec<Pressed> {
    let keys = Decoder::default().push(keys.as_bytes());
    keys.iter().map(|it| selection.key(it)).collect()
}

fn three() -> Selection {
    let rows = ["a", "b", "c"].map(str::to_owned).to_vec();
    Selection { rows, ..Selection::default() }
}

/// Checks the selected and the open row after these keys, over the rows `a`, `b` and `c`.
#[track_caller]
fn check(keys: &str, selected: &str, opened: &str) {
    let mut selection = three();
    for it in pressed(&mut selection, keys) {
        assert_eq!(it, Pressed::Stay, "{keys:?}");
    }
    let is = |it: &Option<String>| it.clone().unwrap_or_default();
    assert_eq!(
        (is(&selection.selected), is(&selection.opened)),
        (selected.into(), opened.into()),
        "{keys:?}"
    );
}

#[test]
fn keys_move_over_rows_and_open_them() {
    check("", "", "");
    check("j", "a", "");
    check("jj", "b", "");
    check("jjjjj", "c", "");
    check("k", "a", "");
    check("jjjk", "b", "");
    check("\u{1b}[B\u{1b}OB\u{1b}[A", "a", "");
    check("\r", "a", "a");
    check("jj ", "b", "b");
    check("jj\r\r", "b", "");
    check("jj\rj", "c", "b");
    check("j\u{1b}[6~", "c", "");
    check("j\u{1b}[6~\u{1b}[5~", "a", "");
    check("\u{1b}[F", "c", "");
}

#[test]
fn escape_goes_back_step_by_step_and_other_keys_do_nothing() {
    check("jj\r\u{1b}", "b", "");
    check("jj\r\u{1b}\u{1b}", "", "");
    check("jwyz\u{1b}[1;5C\u{1b}[200~jq\u{1b}[201~", "a", "");
}

#[test]
fn q_and_ctrl_c_leave_and_ctrl_l_draws_again() {
    let mut selection = Selection::default();
    for (key, expected) in [
        ("q", Pressed::Leave),
        ("Q", Pressed::Leave),
        ("\u{3}", Pressed::Leave),
        ("\u{4}", Pressed::Leave),
        ("\u{c}", Pressed::Redraw),
        ("j", Pressed::Stay),
        ("\r", Pressed::Stay),
    ] {
        assert_eq!(pressed(&mut selection, key), [expected]);
    }
}

#[test]
fn the_selected_row_is_put_away_or_answered() {
    let mut selection = three();
    assert_eq!(pressed(&mut selection, "x"), [Pressed::Stay], "no row is selected");
    assert_eq!(pressed(&mut selection, "a"), [Pressed::Answer(None)]);
    let b = || "b".to_owned();
    assert_eq!(pressed(&mut selection, "jjx")[2], Pressed::Archive(b()));
    assert_eq!(pressed(&mut selection, "a"), [Pressed::Answer(Some(b()))]);
    assert!(!selection.shows_archived());
    pressed(&mut selection, "X");
    assert!(selection.shows_archived());
}

fn row(agent: &str, place: &str) -> Row {
    Row {
        agent: agent.to_owned(),
        place: place.to_owned(),
        project: format!("/home/me/{place}"),
        model: "opus".to_owned(),
        state: State::Working,
        ..Row::default()
    }
}

#[test]
fn a_filter_is_typed_kept_and_ended() {
    let mut selection = three();
    let (shop, docs) = (row("claude", "web-shop"), row("codex", "docs"));
    let shown = |it: &Selection| (it.lets_through(&shop), it.lets_through(&docs));
    // Letters that are keys elsewhere are text here.
    pressed(&mut selection, "/SHOP");
    assert_eq!(shown(&selection), (true, false));
    pressed(&mut selection, " codex");
    assert_eq!(shown(&selection), (false, false));
    pressed(&mut selection, "\u{17}");
    assert_eq!(shown(&selection), (true, false));
    // Arrows still move, and after Enter all keys have their meaning again.
    pressed(&mut selection, "\u{1b}[B");
    assert_eq!(selection.selected.as_deref(), Some("a"));
    assert_eq!(pressed(&mut selection, "\rj").last(), Some(&Pressed::Stay));
    assert_eq!(selection.selected.as_deref(), Some("b"));
    assert_eq!(shown(&selection), (true, false));
    pressed(&mut selection, "\u{1b}");
    assert_eq!(shown(&selection), (true, true));
    pressed(&mut selection, "/working\u{1b}");
    assert_eq!((shown(&selection), selection.is_typing), ((true, true), false));
}

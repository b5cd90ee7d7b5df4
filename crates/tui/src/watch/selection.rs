//! The viewer's selection: the selected row, and the row whose list is open. Pure.

use punchlist_formats::text::Line;
use punchlist_formats::view::Options;
use punchlist_formats::view::watch::{Look, watch};
use punchlist_model::agents::Row;

use crate::keys::Key;

/// The meaning of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pressed {
    /// Leave.
    Leave,
    /// Draw everything again.
    Redraw,
    /// Nothing, or a move of the selection.
    Stay,
}

/// The viewer's selection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Selection {
    /// The keys of the current rows, in order.
    rows: Vec<String>,
    selected: Option<String>,
    opened: Option<String>,
}

impl Selection {
    /// Takes over the current rows.
    pub(super) fn see(&mut self, rows: &[Row]) {
        self.rows = rows.iter().map(|it| it.key.clone()).collect();
        self.selected.take_if(|it| !self.rows.contains(it));
    }

    /// Whether the row exists.
    pub(super) fn has(&self, row: &str) -> bool {
        self.rows.iter().any(|it| it == row)
    }

    /// Handles a key.
    pub(super) fn key(&mut self, key: &Key) -> Pressed {
        let at = self.selected.as_ref().and_then(|it| self.rows.iter().position(|row| row == it));
        match key {
            // Ctrl-C arrives as a key if the terminal does not make it a signal.
            Key::Char('q' | 'Q') | Key::Ctrl('c' | 'd') => return Pressed::Leave,
            Key::Ctrl('l') => return Pressed::Redraw,
            Key::Char('j') | Key::Down => {
                let next = at.map_or(0, |it| (it + 1).min(self.rows.len().saturating_sub(1)));
                self.selected = self.rows.get(next).cloned();
            }
            Key::Char('k') | Key::Up => {
                let next = at.unwrap_or(0).saturating_sub(1);
                self.selected = self.rows.get(next).cloned();
            }
            Key::Enter | Key::Char(' ') => {
                if self.selected.is_none() {
                    self.selected = self.rows.first().cloned();
                }
                let is_open = self.opened.is_some() && self.opened == self.selected;
                self.opened = if is_open { None } else { self.selected.clone() };
            }
            // Goes one step back.
            Key::Escape if self.opened.is_some() => self.opened = None,
            Key::Escape => self.selected = None,
            Key::Char(_)
            | Key::Ctrl(_)
            | Key::Alt(_)
            | Key::Tab
            | Key::Backspace
            | Key::WordBackspace
            | Key::Delete
            | Key::Left
            | Key::Right
            | Key::WordLeft
            | Key::WordRight
            | Key::Home
            | Key::End
            | Key::Paste(_)
            | Key::Other => {}
        }
        Pressed::Stay
    }

    /// Draws the whole screen with the selection. The last frame, which stays, shows no keys.
    pub(super) fn view(
        &self,
        rows: &[Row],
        look: Look<'_>,
        is_last: bool,
        options: &Options,
    ) -> Vec<Line> {
        let selected = self.selected.as_deref().filter(|_| !is_last);
        let look = Look { selected, opened: self.opened.as_deref(), keys: !is_last, ..look };
        watch(rows, look, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Decoder;

    /// Checks the selected and the open row after these keys, over the rows `a`, `b` and `c`.
    #[track_caller]
    fn check(keys: &str, selected: &str, opened: &str) {
        let rows = ["a", "b", "c"].map(str::to_owned).to_vec();
        let mut selection = Selection { rows, ..Selection::default() };
        for key in Decoder::default().push(keys.as_bytes()) {
            assert_eq!(selection.key(&key), Pressed::Stay, "{keys:?}");
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
    }

    #[test]
    fn escape_goes_back_step_by_step_and_other_keys_do_nothing() {
        check("jj\r\u{1b}", "b", "");
        check("jj\r\u{1b}\u{1b}", "", "");
        check("jxyz\u{1b}[1;5C\u{1b}[200~jq\u{1b}[201~", "a", "");
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
            let keys = Decoder::default().push(key.as_bytes());
            assert_eq!(keys.iter().map(|it| selection.key(it)).collect::<Vec<_>>(), [expected]);
        }
    }
}

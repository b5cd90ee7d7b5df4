//! The selected row of a list. It is kept by the row's key, so that it stays on the same thing
//! while others change the list.

use crate::keys::Key;

/// The rows of a list, and which one is selected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Cursor<K> {
    keys: Vec<K>,
    /// The index of the selected row, or where it was before it vanished.
    at: usize,
    /// Whether a row is selected.
    is_on: bool,
    /// The first row that is shown.
    top: usize,
    /// How many rows fit on the screen.
    rows: usize,
}

impl<K: PartialEq> Cursor<K> {
    /// A cursor on the first row.
    pub(super) fn new(keys: Vec<K>) -> Self {
        let is_on = !keys.is_empty();
        Self { keys, at: 0, is_on, top: 0, rows: 20 }
    }

    /// The rows' keys.
    pub(super) fn keys(&self) -> &[K] {
        &self.keys
    }

    /// The key of the selected row.
    pub(super) fn selected(&self) -> Option<&K> {
        self.keys.get(self.at).filter(|_| self.is_on)
    }

    /// Selects a row.
    pub(super) fn select(&mut self, key: &K) {
        if let Some(at) = self.keys.iter().position(|it| it == key) {
            (self.at, self.is_on) = (at, true);
            self.follow();
        }
    }

    /// Takes new rows. If the selected row has vanished, no row is selected until the next move: a
    /// key must not act on a row that nobody chose. Returns whether the selected row has vanished.
    pub(super) fn set(&mut self, keys: Vec<K>) -> bool {
        let was_empty = self.keys.is_empty();
        let found = self.selected().and_then(|it| keys.iter().position(|key| key == it));
        let is_lost = self.is_on && found.is_none();
        self.at = found.unwrap_or(self.at).min(keys.len().saturating_sub(1));
        self.is_on = (self.is_on && !is_lost) || (was_empty && !keys.is_empty());
        self.keys = keys;
        self.follow();
        is_lost
    }

    /// Takes the rows that a filter leaves. The first one is selected if the selected one is not
    /// among them.
    pub(super) fn narrow(&mut self, keys: Vec<K>) {
        if self.set(keys) {
            self.at = 0;
        }
        self.is_on = !self.keys.is_empty();
        self.follow();
    }

    /// Takes the number of rows that fit on the screen.
    pub(super) fn resize(&mut self, rows: usize) {
        self.rows = rows.max(1);
        self.follow();
    }

    /// Moves the selection. Returns whether the key is one for that.
    pub(super) fn key(&mut self, key: &Key) -> bool {
        let last = self.keys.len().saturating_sub(1);
        let page = self.rows.max(1);
        let half = page.div_ceil(2);
        // If the selected row has vanished, the row in its place is next in both directions.
        let to = match key {
            Key::Char('j' | 'k') | Key::Down | Key::Up if !self.is_on => self.at,
            Key::Char('j') | Key::Down => self.at + 1,
            Key::Char('k') | Key::Up => self.at.saturating_sub(1),
            Key::Char('g') | Key::Home => 0,
            Key::Char('G') | Key::End => last,
            Key::Ctrl('d') => self.at + half,
            Key::Ctrl('u') => self.at.saturating_sub(half),
            Key::Ctrl('f') | Key::PageDown => self.at + page,
            Key::Ctrl('b') | Key::PageUp => self.at.saturating_sub(page),
            _ => return false,
        };
        self.at = to.min(last);
        self.is_on = !self.keys.is_empty();
        self.follow();
        true
    }

    fn follow(&mut self) {
        self.top = self.first(self.rows);
    }

    /// The first row to show where this many fit, so that the selected one is among them.
    pub(super) fn first(&self, rows: usize) -> usize {
        let last_top = self.keys.len().saturating_sub(rows);
        self.top.min(self.at).max((self.at + 1).saturating_sub(rows)).min(last_top)
    }

    /// Whether a row is the selected one.
    pub(super) fn is_at(&self, index: usize) -> bool {
        self.is_on && self.at == index
    }

    /// The index of the selected row and the number of rows, for a heading: `3/12`.
    pub(super) fn place(&self) -> String {
        match (self.is_on, self.keys.len()) {
            (_, 0) => "0/0".to_owned(),
            (true, all) => format!("{}/{all}", self.at + 1),
            (false, all) => format!("-/{all}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(count: u32, rows: usize) -> Cursor<u32> {
        let mut cursor = Cursor::new((1..=count).collect());
        cursor.resize(rows);
        cursor
    }

    fn press(cursor: &mut Cursor<u32>, keys: &str) {
        for key in keys.chars() {
            assert!(cursor.key(&Key::Char(key)));
        }
    }

    #[test]
    fn the_window_moves_only_when_the_selection_leaves_it() {
        let mut cursor = cursor(10, 4);
        press(&mut cursor, "jjj");
        assert_eq!((cursor.selected(), cursor.first(4)), (Some(&4), 0));
        press(&mut cursor, "j");
        assert_eq!((cursor.selected(), cursor.first(4)), (Some(&5), 1));
        press(&mut cursor, "kkk");
        assert_eq!((cursor.selected(), cursor.first(4)), (Some(&2), 1));
        press(&mut cursor, "G");
        assert_eq!((cursor.selected(), cursor.first(4)), (Some(&10), 6));
        press(&mut cursor, "gk");
        assert_eq!((cursor.selected(), cursor.first(4)), (Some(&1), 0));
    }

    #[test]
    fn the_selected_row_is_in_the_window_at_every_height() {
        let mut cursor = cursor(100, 40);
        for step in 0..100 {
            for rows in [1, 2, 7, 36, 200] {
                let top = cursor.first(rows);
                assert!((top..top + rows).contains(&step), "{step} in {rows} from {top}");
            }
            press(&mut cursor, "j");
        }
    }

    #[test]
    fn the_selection_stays_with_its_row_while_the_list_changes() {
        let mut cursor = cursor(5, 4);
        press(&mut cursor, "jj");
        assert!(!cursor.set(vec![9, 8, 5, 3, 1]));
        assert_eq!(cursor.selected(), Some(&3));
        assert!(cursor.set(vec![9, 8, 5, 1]), "it has vanished");
        assert_eq!(cursor.selected(), None);
        press(&mut cursor, "j");
        assert_eq!(cursor.selected(), Some(&1), "the row in its place");
        assert!(cursor.set(Vec::new()));
        assert_eq!((cursor.selected(), cursor.place().as_str()), (None, "0/0"));
        assert!(!cursor.set(vec![4]));
        assert_eq!(cursor.selected(), Some(&4));
    }

    #[test]
    fn a_filter_selects_the_first_row_that_it_leaves() {
        let mut cursor = cursor(5, 4);
        press(&mut cursor, "j");
        cursor.narrow(vec![2, 3]);
        assert_eq!(cursor.selected(), Some(&2));
        cursor.narrow(vec![4, 5]);
        assert_eq!(cursor.selected(), Some(&4));
    }
}

//! The escape sequences for drawing a few lines in place, again and again. Pure.
//!
//! Between two frames the cursor is in the row that the frame chose, or hidden at the beginning of
//! the first row. When a window is resized, the terminal keeps the cursor in its line. Most terminals
//! wrap lines that have become too wide: the widths of the rows above the cursor tell where the frame
//! begins then. Some cut them ([`cuts_lines`]): there each row still is one row. So the next frame
//! starts at the right row, and nothing above is overwritten.

/// Hides the cursor, and enables bracketed paste, so that pasted text differs from keys.
pub(super) const HIDE_CURSOR: &str = "\x1b[?25l\x1b[?2004h";
/// Enables messages about the focus of the window.
pub(super) const HEAR_FOCUS: &str = "\x1b[?1004h";
/// Undoes both. A terminal that never heard of the focus ignores that part.
pub(super) const RESTORED: &str = "\x1b[?1004l\x1b[?2004l\x1b[?25h";
/// Undoes everything after a kill: a sequence that was cut off, synchronized output, wrapping, the
/// alternate screen, the modes and the style. The cursor goes to an empty line at the bottom.
pub(super) const ALL_UNDONE: &str =
    "\x1b\\\x1b[?2026l\x1b[?7h\x1b[?1049l\x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[0m\x1b[999;1H\r\n";
/// Switches to the alternate screen, and back.
pub(super) const ENTER_ALTERNATE: &str = "\x1b[?1049h\x1b[?25l\x1b[2J\x1b[H";
pub(super) const LEAVE_ALTERNATE: &str = "\x1b[?1049l";
/// Begins a synchronized update, which a terminal that supports it shows at once, and disables
/// wrapping: if the terminal has become narrower, a wrapped line would move the cursor too far
/// down.
const BEGIN_FRAME: &str = "\x1b[?2026h\x1b[?7l";
const END_FRAME: &str = "\x1b[?7h\x1b[?2026l";

/// Asks the terminal of which kind it is.
pub(super) const ASK_KIND: &str = "\x1b[>c";

/// Whether a terminal cuts lines that have become too wide, instead of wrapping them. `kind` is the
/// number with which it names itself: xterm and GNU screen do.
pub(crate) fn cuts_lines(kind: u16) -> bool {
    const XTERM: u16 = 41;
    const SCREEN: u16 = 83;
    [XTERM, SCREEN].contains(&kind)
}

/// One row of a frame.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Row {
    /// The text, with escape sequences for its styles.
    pub(crate) text: String,
    /// The width in columns.
    pub(crate) width: usize,
}

/// The columns and rows of a terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Size {
    pub(crate) columns: u16,
    pub(crate) rows: u16,
}

/// A frame to be drawn.
#[derive(Clone, Default, Debug)]
pub(crate) struct Picture {
    /// The rows. There must not be more of them than the screen has.
    pub(crate) rows: Vec<Row>,
    /// Column and row of the cursor; hidden without.
    pub(crate) cursor: Option<(u16, u16)>,
}

/// The rows that are on the screen.
#[derive(Default, Debug)]
pub(crate) struct Frame {
    rows: Vec<Row>,
    cursor: Option<(u16, u16)>,
    /// Whether the terminal cuts lines that have become too wide.
    cuts_lines: bool,
}

impl Frame {
    /// An empty frame on a terminal that cuts lines that have become too wide, or wraps them.
    pub(crate) fn on(cuts_lines: bool) -> Self {
        Self { cuts_lines, ..Self::default() }
    }

    /// Says whether the terminal cuts lines that have become too wide.
    pub(super) fn set_cuts_lines(&mut self, cuts_lines: bool) {
        self.cuts_lines = cuts_lines;
    }

    /// The text that draws these lines, with a hidden cursor. Empty if nothing has changed. `anew`: the
    /// terminal has changed, so this many lines are cleared first.
    pub(crate) fn draw(&mut self, lines: Vec<String>, anew: Option<usize>) -> String {
        // The widths matter only above a visible cursor.
        let rows = lines.into_iter().map(|text| Row { text, width: 0 }).collect();
        let rows_of =
            |rows: usize| Size { columns: 0, rows: u16::try_from(rows).unwrap_or(u16::MAX) };
        self.update(&[], Picture { rows, cursor: None }, anew.map(rows_of))
    }

    /// The text that writes finished lines above the frame, where they stay, and draws the frame below
    /// them. Empty if nothing has changed. `anew`: the terminal has changed, and has this size now.
    pub(crate) fn update(
        &mut self,
        above: &[String],
        picture: Picture,
        anew: Option<Size>,
    ) -> String {
        let Picture { rows, cursor } = picture;
        if above.is_empty() && anew.is_none() && rows == self.rows && cursor == self.cursor {
            return String::new();
        }
        let mut out = String::from(BEGIN_FRAME);
        if self.cursor.is_some() {
            out.push_str("\x1b[?25l");
        }
        out.push_str(&up(self.above_cursor(anew)));
        out.push('\r');
        if let Some(size) = anew {
            out.push_str(&cleared(usize::from(size.rows)));
            self.rows.clear();
        } else if !above.is_empty() {
            out.push_str(&cleared(self.rows.len()));
            self.rows.clear();
        }
        if !above.is_empty() {
            // A finished line may be wider than the screen: the terminal wraps it.
            out.push_str("\x1b[?7h");
            above.iter().for_each(|it| out.push_str(&format!("{it}\r\n")));
            out.push_str("\x1b[?7l");
        }
        for (at, row) in rows.iter().enumerate() {
            if at > 0 {
                out.push_str("\r\n");
            }
            // An unchanged row is not written again.
            // The rest of the row is erased first: behind a full row, the last column would go.
            if self.rows.get(at) != Some(row) {
                out.push_str("\x1b[K");
                out.push_str(&row.text);
            }
        }
        if rows.is_empty() {
            out.push_str("\x1b[J");
        } else if rows.len() < self.rows.len() {
            out.push_str("\r\n\x1b[J\x1b[A");
        }
        let last = rows.len().saturating_sub(1);
        let (column, row) = cursor.unwrap_or_default();
        out.push_str(&up(last.saturating_sub(usize::from(row))));
        out.push('\r');
        if cursor.is_some() {
            if column > 0 {
                out.push_str(&format!("\x1b[{column}C"));
            }
            out.push_str("\x1b[?25h");
        }
        out.push_str(END_FRAME);
        (self.rows, self.cursor) = (rows, cursor);
        out
    }

    /// Shows the cursor again that another screen has hidden.
    pub(super) fn cursor_again(&self) -> &'static str {
        if self.cursor.is_some() { "\x1b[?25h" } else { "" }
    }

    /// How many rows of the screen the frame has above the cursor.
    fn above_cursor(&self, resized: Option<Size>) -> usize {
        let Some((column, row)) = self.cursor else { return 0 };
        let columns = resized.map_or(0, |it| usize::from(it.columns));
        if columns == 0 || self.cuts_lines {
            return usize::from(row);
        }
        let wrapped = |row: &Row| row.width.div_ceil(columns).max(1);
        let rows = self.rows.iter().take(usize::from(row)).map(wrapped).sum::<usize>();
        rows + usize::from(column) / columns
    }

    /// The lines on the screen.
    pub(super) fn into_lines(self) -> Vec<String> {
        self.rows.into_iter().map(|it| it.text).collect()
    }

    /// The number of rows from the cursor on.
    pub(super) fn below(&self) -> usize {
        let row = self.cursor.map_or(0, |it| usize::from(it.1));
        self.rows.len().saturating_sub(row)
    }
}

/// Clears this many lines, one by one: if they are cleared in one go, some terminals copy them to
/// their history.
pub(super) fn cleared(lines: usize) -> String {
    format!("\x1b7{}\x1b[2K\x1b8", "\x1b[2K\x1b[B".repeat(lines.saturating_sub(1)))
}

fn up(lines: usize) -> String {
    if lines == 0 { String::new() } else { format!("\x1b[{lines}A") }
}

/// Moves the cursor below the frame, with line feeds, because the frame may end at the bottom of
/// the screen.
pub(super) fn leave_frame(below: usize) -> String {
    "\r\n".repeat(below) + RESTORED
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(cells: u16) -> std::num::NonZeroU16 {
        std::num::NonZeroU16::new(cells).unwrap()
    }

    /// A terminal emulator with some text, and a frame on it.
    struct Screen {
        terminal: vt100::Parser,
        frame: Frame,
    }

    impl Screen {
        fn new(rows: u16, columns: u16, before: usize) -> Self {
            let mut terminal = vt100::Parser::new(size(rows), size(columns), 1000);
            for n in 1..=before {
                terminal.process(format!("line {n}\r\n").as_bytes());
            }
            Self { terminal, frame: Frame::default() }
        }

        fn draw(&mut self, lines: &[&str], anew: bool) -> String {
            let lines = lines.iter().map(|it| (*it).to_owned()).collect();
            let rows = usize::from(self.terminal.screen().size().0.get());
            let out = self.frame.draw(lines, anew.then_some(rows));
            self.terminal.process(out.as_bytes());
            out
        }

        /// All lines from the beginning, including those that have scrolled out.
        fn all(&mut self) -> Vec<String> {
            let screen = self.terminal.screen_mut();
            let (rows, columns) = screen.size();
            screen.set_scrollback(usize::MAX);
            let mut all = Vec::new();
            for back in (0..=screen.scrollback()).rev() {
                screen.set_scrollback(back);
                let count = if back == 0 { rows.get() } else { 1 };
                all.extend(screen.rows(0, columns.get()).take(usize::from(count)));
            }
            while all.last().is_some_and(|it| it.trim().is_empty()) {
                all.pop();
            }
            all
        }
    }

    #[test]
    fn a_frame_grows_and_shrinks_in_place_and_touches_nothing_above() {
        for before in [0, 3, 8, 20] {
            let mut screen = Screen::new(8, 40, before);
            let above: Vec<String> = (1..=before).map(|n| format!("line {n}")).collect();
            for lines in [
                &["head", "a", "b"][..],
                &["head", "a", "b", "c", "d"],
                &["head 2", "d"],
                &["only"],
                &[],
                &["1", "2", "3", "4", "5", "6", "7"],
            ] {
                screen.draw(lines, false);
                let expected: Vec<String> =
                    above.iter().cloned().chain(lines.iter().map(|it| (*it).to_owned())).collect();
                assert_eq!(screen.all(), expected, "{before} before");
            }
        }
    }

    #[test]
    fn what_stands_there_already_is_not_drawn_again() {
        let mut screen = Screen::new(8, 40, 2);
        screen.draw(&["head", "a", "b"], false);
        assert_eq!(screen.draw(&["head", "a", "b"], false), "");
        let out = screen.draw(&["head", "a", "changed"], false);
        assert!(!out.contains("head") && out.contains("changed"), "{out:?}");
        assert_eq!(screen.all()[2..], ["head", "a", "changed"]);
    }

    #[test]
    fn after_a_resize_the_frame_is_drawn_once_where_it_was() {
        let mut screen = Screen::new(8, 40, 3);
        screen.draw(&["head", "a long line of forty columns, or nearly"], false);
        screen.terminal.screen_mut().set_size(size(8), size(20));
        screen.draw(&["head", "a short line"], true);
        assert_eq!(screen.all(), ["line 1", "line 2", "line 3", "head", "a short line"]);
    }

    fn picture(rows: &[&str], cursor: (u16, u16)) -> Picture {
        let row = |it: &&str| Row { text: (*it).to_owned(), width: it.len() };
        Picture { rows: rows.iter().map(row).collect(), cursor: Some(cursor) }
    }

    #[test]
    fn finished_lines_stay_above_a_frame_with_a_cursor() {
        for before in [0, 3, 20] {
            let mut screen = Screen::new(8, 40, before);
            let mut above: Vec<String> = (1..=before).map(|n| format!("line {n}")).collect();
            for (finished, rows, cursor) in [
                (&[][..], &["plan", "> hel", "status"][..], (5, 1)),
                (&["one", "two"], &["plan", "call", "> hello", "status"], (7, 2)),
                (&["three"], &["> ", "status"], (2, 0)),
                (&[], &["1", "2", "3", "4", "5", "6", "7", "8"], (1, 7)),
                (&["four", "five"], &["1", "2", "3", "4", "5", "6", "7", "8"], (1, 3)),
            ] {
                let finished: Vec<String> = finished.iter().map(|it| (*it).to_owned()).collect();
                let out = screen.frame.update(&finished, picture(rows, cursor), None);
                screen.terminal.process(out.as_bytes());
                above.extend(finished);
                let shown = rows.iter().map(|it| (*it).to_owned());
                let expected: Vec<String> = above.iter().cloned().chain(shown).collect();
                let (row, column) = screen.terminal.screen().cursor_position();
                assert!(!screen.terminal.screen().hide_cursor());
                let at = screen.terminal.screen().rows(0, 40).nth(usize::from(row)).unwrap();
                let expected_row = rows[usize::from(cursor.1)];
                assert_eq!((column, at.trim_end()), (cursor.0, expected_row.trim_end()));
                assert_eq!(screen.all(), expected, "{before} before");
            }
        }
    }

    #[test]
    fn a_terminal_that_wraps_again_is_drawn_from_the_right_row() {
        let mut frame = Frame::default();
        let wide = "a row of thirty-six columns, or more";
        frame.update(&[], picture(&[wide, "short", "> text"], (6, 2)), None);
        // At 10 columns the first row takes four, the second one.
        let size = Size { columns: 10, rows: 8 };
        assert_eq!(frame.above_cursor(Some(size)), 5);
        assert_eq!(frame.above_cursor(Some(Size { columns: 40, rows: 8 })), 2);
        assert_eq!(frame.above_cursor(None), 2);
    }

    /// Resizes a terminal that wraps lines that have become too wide, and joins them again: its lines
    /// are written anew at the new width, and the cursor stays in its line.
    fn wrapped_again(terminal: &vt100::Parser, columns: u16) -> vt100::Parser {
        let mut old = terminal.screen().clone();
        let (rows, width) = old.size();
        old.set_scrollback(usize::MAX);
        let hidden = old.scrollback();
        let (mut lines, mut cursor) = (vec![String::new()], (0, 0));
        let at = old.cursor_position();
        for number in 0..hidden + usize::from(rows.get()) {
            old.set_scrollback(hidden.saturating_sub(number));
            let row = u16::try_from(number.saturating_sub(hidden)).unwrap();
            let text = old.rows(0, width.get()).nth(usize::from(row)).unwrap();
            if number == hidden + usize::from(at.0) {
                cursor = (lines.len() - 1, lines.last().unwrap().len() + usize::from(at.1));
            }
            lines.last_mut().unwrap().push_str(text.trim_end());
            if !old.row_wrapped(row) {
                lines.push(String::new());
            }
        }
        while lines.len() > cursor.0 + 1 && lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        let mut new = vt100::Parser::new(rows, size(columns), 1000);
        new.process(lines.join("\r\n").as_bytes());
        let rows_of = |it: &String| it.len().div_ceil(usize::from(columns)).max(1);
        let below: usize = lines[cursor.0..].iter().map(rows_of).sum();
        let row = usize::from(new.screen().cursor_position().0) + 1 - below;
        let row = row + cursor.1 / usize::from(columns);
        let column = cursor.1 % usize::from(columns);
        new.process(format!("\x1b[{};{}H", row + 1, column + 1).as_bytes());
        new
    }

    #[test]
    fn at_each_width_step_no_finished_line_is_overwritten_and_no_row_is_left_behind() {
        for cuts_lines in [true, false] {
            for before in [2, 30] {
                let mut screen = Screen::new(12, 60, 0);
                screen.frame = Frame::on(cuts_lines);
                let mut count = 0;
                for columns in [60_u16, 52, 44, 36, 28, 20, 14, 20, 33, 47, 60, 24, 60] {
                    let is_first = count == 0;
                    let resized = Size { columns, rows: 12 };
                    if cuts_lines {
                        screen.terminal.screen_mut().set_size(size(12), size(columns));
                    } else {
                        screen.terminal = wrapped_again(&screen.terminal, columns);
                    }
                    let width = usize::from(columns);
                    let lines = if is_first { before } else { 1 };
                    let new: Vec<String> =
                        (count..count + lines).map(|n| format!("line {n:02}.")).collect();
                    count += lines;
                    let rows = [
                        format!("plan {}", "p".repeat(width - 5)),
                        format!("call {}", "c".repeat(width - 5)),
                        "> typed".to_owned(),
                        format!("status {}", "s".repeat(width - 7)),
                    ];
                    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
                    // First the frame alone, as a resize draws it; then with a new line above.
                    let anew = (!is_first).then_some(resized);
                    let out = screen.frame.update(&[], picture(&rows, (7, 2)), anew);
                    screen.terminal.process(out.as_bytes());
                    let out = screen.frame.update(&new, picture(&rows, (7, 2)), None);
                    screen.terminal.process(out.as_bytes());
                    let all = screen.all().join("\n");
                    let about = format!("cuts: {cuts_lines}, {before} before, {columns}:\n{all}");
                    for n in 0..count {
                        let line = format!("line {n:02}.");
                        assert_eq!(all.matches(&line).count(), 1, "{line}, {about}");
                    }
                    for row in ["plan ", "call ", "> typed", "status "] {
                        assert_eq!(all.matches(row).count(), 1, "{row}, {about}");
                    }
                    assert!(all.ends_with(rows[3]), "{about}");
                }
            }
        }
    }

    #[test]
    fn xterm_and_screen_are_known_to_cut_lines() {
        use crate::keys::{Decoder, Key};
        for (reply, expected) in [
            ("\x1b[>41;390;0c", true),
            ("\x1b[>83;40900;0c", true),
            ("\x1b[>84;0;0c", false),
            ("\x1b[>65;7600;1c", false),
            ("\x1b[>1;4000;31c", false),
            ("\x1b[>0;10;1c", false),
        ] {
            let keys = Decoder::default().push(reply.as_bytes());
            let [Key::Terminal(kind)] = keys[..] else { panic!("{reply:?}: {keys:?}") };
            assert_eq!(cuts_lines(kind), expected, "{reply:?}");
        }
    }

    #[test]
    fn leaving_goes_below_the_frame() {
        for before in [0, 3, 20] {
            let mut screen = Screen::new(8, 40, before);
            screen.draw(&["head", "a", "b"], false);
            screen.terminal.process(leave_frame(screen.frame.below()).as_bytes());
            screen.terminal.process(b"$ next");
            let all = screen.all();
            assert_eq!(all[before..], ["head", "a", "b", "$ next"], "{before}");
        }
    }
}

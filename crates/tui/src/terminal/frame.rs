//! The escape sequences for drawing a few lines in place, again and again. Pure.
//!
//! Between two frames the hidden cursor is at the beginning of the first line. When a window is
//! resized, the terminal keeps the cursor in its line. So the next frame starts at the right line,
//! however the lines below were wrapped, and nothing above is overwritten.

/// Hides the cursor, and enables bracketed paste, so that pasted text differs from keys.
pub(super) const HIDE_CURSOR: &str = "\x1b[?25l\x1b[?2004h";
const SHOW_CURSOR: &str = "\x1b[?2004l\x1b[?25h";
/// Begins a synchronized update, which a terminal that supports it shows at once, and disables
/// wrapping: if the terminal has become narrower, a wrapped line would move the cursor too far
/// down.
const BEGIN_FRAME: &str = "\x1b[?2026h\x1b[?7l";
const END_FRAME: &str = "\x1b[?7h\x1b[?2026l";

/// The lines that are on the screen.
#[derive(Default, Debug)]
pub(crate) struct Frame {
    lines: Vec<String>,
}

impl Frame {
    /// The text that draws these lines. Empty if nothing has changed. `anew`: the terminal has
    /// changed, so this many lines are cleared first.
    pub(crate) fn draw(&mut self, lines: Vec<String>, anew: Option<usize>) -> String {
        if anew.is_none() && lines == self.lines {
            return String::new();
        }
        let mut out = String::from(BEGIN_FRAME);
        out.push('\r');
        if let Some(height) = anew {
            out.push_str(&cleared(height));
        }
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                out.push_str("\r\n");
            }
            // An unchanged line is not written again.
            if anew.is_some() || self.lines.get(at) != Some(line) {
                out.push_str(line);
                out.push_str("\x1b[K");
            }
        }
        if lines.is_empty() {
            out.push_str("\x1b[J");
        } else if lines.len() < self.lines.len() {
            out.push_str("\r\n\x1b[J\x1b[A");
        }
        out.push_str(&up(lines.len().saturating_sub(1)));
        out.push('\r');
        out.push_str(END_FRAME);
        self.lines = lines;
        out
    }

    /// The lines on the screen.
    pub(super) fn into_lines(self) -> Vec<String> {
        self.lines
    }

    /// The number of lines below the cursor.
    pub(super) fn below(&self) -> usize {
        self.lines.len()
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
    "\r\n".repeat(below) + SHOW_CURSOR
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

//! The progress of reading files, on one line of the terminal.

use std::io::{self, IsTerminal};

use punchlist_formats::text;

use super::output::err;

/// A progress line, on a terminal only.
pub struct Progress {
    /// The size of all files.
    total: u64,
    files: usize,
    is_shown: bool,
    drawn: String,
}

impl Progress {
    /// A progress line for this size; `None` if it is unknown. Not shown if the result itself goes
    /// to the terminal.
    pub fn over(total: Option<u64>, files: usize) -> Self {
        let is_shown = total.is_some() && io::stderr().is_terminal() && !io::stdout().is_terminal();
        Self { total: total.unwrap_or(0), files, is_shown, drawn: String::new() }
    }

    /// Draws the line if it has changed.
    pub fn draw(&mut self, bytes: u64, done: usize) {
        if !self.is_shown {
            return;
        }
        let bar = bar(bytes, self.total, done, self.files);
        if self.drawn != bar {
            // A wrapped line could not be erased.
            let columns = rustix::termios::tcgetwinsize(io::stderr()).map_or(0, |it| it.ws_col);
            let columns = if columns == 0 { 80 } else { usize::from(columns) };
            err(&format!("\r\x1b[K{}", text::truncate(&bar, columns - 1)));
            self.drawn = bar;
        }
    }

    /// Erases the line.
    pub fn clear(&mut self) {
        if !self.drawn.is_empty() {
            self.drawn.clear();
            err("\r\x1b[K");
        }
    }
}

/// ` 45 %  █████████░░░░░░░░░░░  136 of 300 MB, file 2 of 7`
fn bar(bytes: u64, total: u64, done: usize, files: usize) -> String {
    const CELLS: u64 = 20;
    let bytes = bytes.min(total);
    let share = |of: u64| (u128::from(bytes) * u128::from(of) / u128::from(total.max(1))) as u64;
    let (full, percent) = (share(CELLS) as usize, share(100));
    let cells = "█".repeat(full) + &"░".repeat(CELLS as usize - full);
    let (bytes, total) = (bytes / 1_000_000, total / 1_000_000);
    let at = (done + 1).min(files);
    format!("{percent:>3} %  {cells}  {bytes} of {total} MB, file {at} of {files}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_up_and_never_overflows() {
        let at = |bytes, total| bar(bytes, total, 0, 2);
        assert_eq!(at(0, 0), "  0 %  ░░░░░░░░░░░░░░░░░░░░  0 of 0 MB, file 1 of 2");
        let half = "50 %  ██████████░░░░░░░░░░  150 of 300 MB, file 1 of 2";
        assert_eq!(at(150_000_000, 300_000_000), format!(" {half}"));
        let full = "100 %  ████████████████████  300 of 300 MB, file 2 of 2";
        assert_eq!(bar(u64::MAX, 300_000_000, 2, 2), full);
    }
}

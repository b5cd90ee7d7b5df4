//! Counts passed, failed and skipped tests in the output of test programs.

use std::fmt;
use std::ops::{Add, AddAssign};

/// Three counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Tally {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// The format in which a program reports its results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Report {
    /// Rust's own harness: `test result: ok. 2 passed; …`, a line per test program.
    Harness,
    /// nextest: `Summary [ 0.1s] 2 tests run: 2 passed, …`, one line in all.
    Nextest,
}

impl Report {
    /// The counts in one line; zero unless it is a summary.
    ///
    /// nextest repeats the output of failed tests, which may contain summaries of the harness. So
    /// each format reads only its own.
    pub(super) fn of_line(self, line: &str) -> Tally {
        let plain = without_colour(line);
        let counts = match self {
            Self::Harness => plain
                .strip_prefix("test result: ")
                .and_then(|it| it.split_once(". "))
                .map(|(_, counts)| counts.replace(';', ",")),
            Self::Nextest => plain
                .trim_start()
                .strip_prefix("Summary [")
                .and_then(|it| it.split_once(" run: "))
                .map(|(_, counts)| without_brackets(counts)),
        };
        let counts = counts.unwrap_or_default();
        counts.split(',').map(of_part).fold(Tally::default(), Add::add)
    }
}

/// `2 passed` and the like. Everything that is neither passed nor skipped nor unrelated counts as
/// failed, because nextest reports `timed out` and `exec failed` separately.
fn of_part(part: &str) -> Tally {
    let Some((count, what)) = part.trim().split_once(' ') else { return Tally::default() };
    let Ok(count) = count.parse() else { return Tally::default() };
    match what {
        "passed" => Tally { passed: count, ..Tally::default() },
        "failed" | "timed out" | "exec failed" => Tally { failed: count, ..Tally::default() },
        "skipped" | "ignored" => Tally { skipped: count, ..Tally::default() },
        _ => Tally::default(),
    }
}

/// Removes remarks such as `(1 slow, 2 flaky)`, whose commas would split a count.
fn without_brackets(text: &str) -> String {
    let mut depth = 0_u32;
    let mut plain = String::new();
    for character in text.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(character),
            _ => {}
        }
    }
    plain.replace(" ,", ",")
}

/// Removes colour escapes.
fn without_colour(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            characters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(character);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::Report::{Harness, Nextest};

    #[track_caller]
    fn check(report: Report, line: &str, expected: &str) {
        assert_eq!(report.of_line(line).to_string(), expected, "{line:?}");
    }

    #[test]
    fn the_harness_reports_each_program() {
        check(
            Harness,
            "test result: ok. 5 passed; 0 failed; 2 ignored; 0 measured; 7 filtered out; finished in 0.00s",
            "5 passed, 0 failed, 2 skipped",
        );
        check(
            Harness,
            "test result: \u{1b}[31mFAILED\u{1b}(B\u{1b}[m. 4 passed; 1 failed; 0 ignored; 0 measured\n",
            "4 passed, 1 failed, 0 skipped",
        );
    }

    #[test]
    fn nextest_reports_once() {
        check(
            Nextest,
            "     Summary [   0.012s] 5 tests run: 5 passed, 0 skipped",
            "5 passed, 0 failed, 0 skipped",
        );
        check(
            Nextest,
            "\u{1b}[1m     Summary\u{1b}[0m [   2.5s] 9/10 tests run: 5 \u{1b}[32mpassed\u{1b}[0m \
             (1 slow, 1 flaky), 2 failed, 1 exec failed, 1 timed out, 3 skipped\n",
            "5 passed, 4 failed, 3 skipped",
        );
    }

    #[test]
    fn what_a_failed_test_printed_is_not_counted() {
        check(
            Nextest,
            "    test result: FAILED. 0 passed; 1 failed",
            "0 passed, 0 failed, 0 skipped",
        );
        check(
            Harness,
            "    test result: FAILED. 0 passed; 1 failed",
            "0 passed, 0 failed, 0 skipped",
        );
    }

    #[test]
    fn anything_else_reports_nothing() {
        for line in ["", "\n", "running 3 tests", "test result:", "Summary [", "1 passed, 2 failed"]
        {
            check(Harness, line, "0 passed, 0 failed, 0 skipped");
            check(Nextest, line, "0 passed, 0 failed, 0 skipped");
        }
    }
}

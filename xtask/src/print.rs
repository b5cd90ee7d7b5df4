//! The only place that prints, so that results and the rest stay apart.

/// A line on standard output.
#[expect(clippy::print_stdout, reason = "this is the one place that prints")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}

/// A line on standard error.
#[expect(clippy::print_stderr, reason = "this is the one place that prints")]
pub(crate) fn warn(line: &str) {
    eprintln!("{line}");
}

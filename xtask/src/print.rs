//! The only place that prints: results to stdout, everything else to stderr.

/// Prints a line to stdout.
#[expect(clippy::print_stdout, reason = "this is the one place that prints")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}

/// Prints a line to stderr.
#[expect(clippy::print_stderr, reason = "this is the one place that prints")]
pub(crate) fn warn(line: &str) {
    eprintln!("{line}");
}

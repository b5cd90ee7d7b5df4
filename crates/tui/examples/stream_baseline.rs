//! The programs that `cargo xtask bench tui` compares the terminal UI with while a model streams: one
//! prints each word as it is, the other draws the whole screen again for each word.
//!
//! This program is not an example of how to use the crate.

use std::error::Error;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const USAGE: &str = "usage: stream_baseline words|screens FILE PAUSE_MS COLUMNS ROWS";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If stderr is closed, the exit code must do.
            drop(writeln!(io::stderr(), "error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Outcome {
    let [how, file, pause, columns, rows] = arguments else { return Err(USAGE.into()) };
    let text = std::fs::read_to_string(file)?;
    let pause = Duration::from_millis(pause.parse()?);
    let (columns, rows): (usize, usize) = (columns.parse()?, rows.parse()?);
    let mut out = io::stdout().lock();
    let mut said = String::new();
    for word in text.split_inclusive(' ') {
        said.push_str(word);
        match how.as_str() {
            "words" => out.write_all(word.as_bytes())?,
            "screens" => out.write_all(screen(&said, columns, rows).as_bytes())?,
            _ => return Err(USAGE.into()),
        }
        out.flush()?;
        thread::sleep(pause);
    }
    Ok(())
}

/// Everything that fits on the screen, after it was cleared.
fn screen(said: &str, columns: usize, rows: usize) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for mut line in said.lines() {
        while let Some((first, rest)) = line.split_at_checked(columns) {
            lines.push(first);
            line = rest;
        }
        lines.push(line);
    }
    let shown = lines.split_off(lines.len().saturating_sub(rows));
    format!("\x1b[2J\x1b[H{}", shown.join("\r\n"))
}

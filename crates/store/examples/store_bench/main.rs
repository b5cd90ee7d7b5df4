//! The programs that `cargo xtask bench store` starts.
//!
//! Each mode prints lines with a name and a whole number; `xtask` judges them. This program is not
//! an example of how to use the store.

mod desk;
mod react;
mod ready;
mod writer;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use punchlist_store::Durability;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "usage: store_bench plan DATABASE | writer DATABASE WHO MILLISECONDS \
    | next DIRECTORY ITEMS COUNT \
    | react DIRECTORY COUNT MILLISECONDS | follower DATABASE MILLISECONDS";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If this cannot be written, the exit code must do.
            drop(writeln!(std::io::stderr(), "error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Outcome {
    match arguments {
        ["plan", database] => desk::make(Path::new(database), Durability::Full).map(drop),
        ["writer", database, who, millis] => {
            let time = Duration::from_millis(millis.parse()?);
            writer::run(Path::new(database), who.parse()?, time)
        }
        ["next", directory, items, count] => {
            ready::run(Path::new(directory), items.parse()?, count.parse()?)
        }
        ["react", directory, count, millis] => {
            react::run(Path::new(directory), count.parse()?, millis)
        }
        ["follower", database, millis] => {
            react::follow(Path::new(database), Duration::from_millis(millis.parse()?))
        }
        _ => Err(USAGE.into()),
    }
}

/// Prints a figure.
fn tell(name: &str, figure: u128) -> Outcome {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{name} {figure}")?;
    Ok(out.flush()?)
}

/// Measures `work`, in nanoseconds.
fn timed(work: impl FnOnce() -> Outcome) -> Outcome<u128> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed().as_nanos())
}

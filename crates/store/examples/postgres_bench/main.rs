//! The programs that `cargo xtask bench postgres` starts.
//!
//! Each mode prints lines with a name and a whole number; `xtask` judges them. This program is not an
//! example of how to use the store.

mod hand;
mod many;
mod ours;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use punchlist_testkit::postgres::{Server, Setup, query};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const USAGE: &str = "usage: postgres_bench workers PROGRAMS MILLISECONDS ROUNDS \
    | react PROGRAMS COUNT | items PROGRAMS ITEMS COUNT \
    | claim|add|hand-claim|hand-add ADDRESS FIRST WORKERS MILLISECONDS";

/// The numbers of workers that are compared.
const WORKERS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// The processes that they are spread over.
const PROCESSES: u32 = 4;

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
        ["workers", programs, millis, rounds] => {
            workers(Path::new(programs), millis, rounds.parse()?)
        }
        ["react", programs, count] => ours::react(&durable(Path::new(programs)), count.parse()?),
        ["items", programs, items, count] => {
            many::run(&durable(Path::new(programs)), items.parse()?, count.parse()?)
        }
        [work, address, first, workers, millis] => {
            let (first, workers) = (first.parse()?, workers.parse()?);
            let time = Duration::from_millis(millis.parse()?);
            let done = match *work {
                "claim" => ours::claim(address, first, workers, time)?,
                "add" => ours::add(address, first, workers, time)?,
                "hand-claim" => hand::claim(address, first, workers, time)?,
                "hand-add" => hand::add(address, first, workers, time)?,
                _ => return Err(USAGE.into()),
            };
            tell("rate", u128::from(done))
        }
        _ => Err(USAGE.into()),
    }
}

/// A server that waits for its disk.
fn durable(programs: &Path) -> Server {
    let settings = ["synchronous_commit=on", "max_wal_size=4GB", "shared_buffers=256MB"];
    Server::start(programs, Setup { fsync: true, settings: &settings, ..Setup::default() })
}

/// Compares ours and the statements by hand, with more and more workers.
fn workers(programs: &Path, millis: &str, rounds: u32) -> Outcome {
    let server = durable(programs);
    for workers in WORKERS {
        for _ in 0..rounds {
            // One after the other, in the same minute, each in a database of its own.
            for work in ["add", "hand-add", "claim", "hand-claim"] {
                let address = server.database();
                match work {
                    "claim" => ours::prepare(&address, workers, 2 + 8000 / workers)?,
                    "add" => ours::prepare(&address, workers, 0)?,
                    _ => hand::prepare(&address, workers, 2 + 8000 / workers)?,
                }
                query(&address, "VACUUM ANALYZE")?;
                let per_second = spread(work, &address, workers, millis)? / 1000;
                tell(&format!("{work}-{workers}"), per_second)?;
            }
        }
    }
    Ok(())
}

/// Runs workers in several processes, and adds up how often they did their work in 1000 seconds.
fn spread(work: &str, address: &str, workers: u32, millis: &str) -> Outcome<u128> {
    let processes = workers.min(PROCESSES);
    let each = workers / processes;
    let mut children = Vec::new();
    for process in 0..processes {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([work, address, &(process * each).to_string(), &each.to_string(), millis]);
        children.push(command.stdout(Stdio::piped()).spawn()?);
    }
    let mut all = 0;
    for mut child in children {
        let stdout = child.stdout.take().ok_or("no output")?;
        for line in BufReader::new(stdout).lines() {
            if let Some(rate) = line?.strip_prefix("rate ") {
                all += rate.parse::<u128>()?;
            }
        }
        if !child.wait()?.success() {
            return Err("a worker failed".into());
        }
    }
    Ok(all)
}

/// How often something was done in 1000 seconds, if it was done `count` times in this time. A worker that
/// runs out of items on a fast machine stops early, and its rate counts.
fn rate(count: u64, took: Duration) -> u64 {
    let micros = took.as_micros().max(1);
    u64::try_from(u128::from(count) * 1_000_000_000 / micros).unwrap_or(u64::MAX)
}

/// Prints a figure.
fn tell(name: &str, figure: u128) -> Outcome {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{name} {figure}")?;
    Ok(out.flush()?)
}

//! The program that `cargo xtask bench peers` and `bench mcp` start. For `bench peers` it adds
//! tasks to a list from several processes at once, counts the acknowledged ones, and then the
//! stored ones. For `bench mcp` it measures one call after the other.
//!
//! It talks to peers as an agent does, over MCP on standard input and output. For `bench peers`,
//! our own processes call the library directly. This program is not an example of how to use
//! either.

mod client;
mod ours;
mod peers;
mod timed;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::thread;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const USAGE: &str = "usage: peer_load PEER INSTALLED DIRECTORY PROCESSES COUNT IN_FLIGHT \
    | time PEER INSTALLED DIRECTORY COUNT | add DATABASE WHO COUNT IN_FLIGHT";

/// How many adds, and how many of them at once.
#[derive(Clone, Copy)]
struct Load {
    count: u32,
    in_flight: u32,
}

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
        ["add", database, who, count, in_flight] => {
            let load = Load { count: count.parse()?, in_flight: in_flight.parse()? };
            ours::add(Path::new(database), who.parse()?, load)
        }
        ["time", peer, installed, directory, count] => {
            timed::run(peer, Path::new(installed), Path::new(directory), count.parse()?)
        }
        [peer, installed, directory, processes, count, in_flight] => {
            let load = Load { count: count.parse()?, in_flight: in_flight.parse()? };
            let directory = Path::new(directory);
            measure(peer, Path::new(installed), directory, processes.parse()?, load)
        }
        _ => Err(USAGE.into()),
    }
}

/// Runs several adding processes at once and prints the results.
fn measure(peer: &str, installed: &Path, directory: &Path, processes: u32, load: Load) -> Outcome {
    let peer = peers::find(peer, installed, directory)?;
    peer.prepare()?;
    let work = |who: u32| peer.add(who, load);
    let acknowledged: Vec<Outcome<u32>> = thread::scope(|scope| {
        let work = &work;
        let working: Vec<_> = (0..processes).map(|who| scope.spawn(move || work(who))).collect();
        let ended = working.into_iter().map(|it| it.join());
        ended.map(|it| it.unwrap_or_else(|_| Err("a thread panicked".into()))).collect()
    });
    let mut out = std::io::stdout().lock();
    writeln!(out, "sent {}", processes * load.count)?;
    let mut sum = 0;
    for acknowledged in acknowledged {
        match acknowledged {
            Ok(count) => sum += count,
            Err(error) => writeln!(out, "failed {error}")?,
        }
    }
    writeln!(out, "acknowledged {sum}")?;
    match peer.stored() {
        Ok(ids) => {
            let unique: BTreeSet<&String> = ids.iter().collect();
            writeln!(out, "stored {}\nunique {}", ids.len(), unique.len())?;
        }
        Err(error) => writeln!(out, "unreadable {error}")?,
    }
    Ok(())
}

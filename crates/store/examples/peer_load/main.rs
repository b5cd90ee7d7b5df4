//! The program that `cargo xtask bench peers` and `bench mcp` start. For the one it adds tasks to a
//! list from several processes at once, counts what was acknowledged, and then what is stored; for the
//! other it takes the time of one call after the other.
//!
//! Peers are spoken to as an agent does, over MCP on standard input and output. Where things are
//! counted, our processes call the library. It is no example of how to use either.

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

/// So many adds, so many of them at once.
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
            // Where this cannot be written, the exit code has to do.
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

/// Lets several processes add at once, and tells what came of it.
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

//! The program that `cargo xtask bench sched` starts: compares machine and driver with one tokio
//! task per node.
//!
//! Each mode prints one figure per line: a name and a whole number. The chore judges them. This is
//! no example of how to use the driver.

mod graph;
mod guarded;
mod ours;
mod tasks;

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Instant;

use graph::Graph;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const USAGE: &str = "usage: sched_bench graph CALLS ROOM ROUNDS | memory CALLS ROOM \
    | processes COUNT JOBS ROUNDS";

fn main() -> ExitCode {
    punchlist_sched::guardian::enter_if_called();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If stderr is closed, the exit code must do.
            drop(writeln!(std::io::stderr(), "error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match arguments {
        ["graph", calls, room, rounds] => {
            let graph = Graph::random(calls.parse()?);
            for _ in 0..rounds.parse::<u32>()? {
                let stage = ours::Stage::new(&graph, room.parse()?)?;
                let began = Instant::now();
                let left = runtime.block_on(stage.run())?;
                say("ours", began.elapsed().as_nanos())?;
                // Cleaning up is measured on neither side, so it must end before the other side
                // begins.
                runtime.block_on(ours::clear(left))?;
                let nodes = tasks::Nodes::new(&graph);
                let began = Instant::now();
                runtime.block_on(nodes.run())?;
                say("tasks", began.elapsed().as_nanos())?;
                drop(nodes);
            }
            Ok(())
        }
        ["memory", calls, room] => {
            // Ten graphs in one process need as much memory as one, because finished calls are
            // forgotten.
            let graph = Graph::random(calls.parse()?);
            let before = peak()?;
            let stage = ours::Stage::new(&graph, room.parse()?)?;
            let run = runtime.block_on(stage.run())?;
            say("kilobytes", (peak()? - before).into())?;
            for _ in 0..9 {
                runtime.block_on(ours::run_again(&run, &graph))?;
            }
            say("kilobytes_of_ten", (peak()? - before).into())?;
            runtime.block_on(ours::clear(run))
        }
        ["processes", count, jobs, rounds] => {
            let (count, jobs) = (count.parse()?, jobs.parse::<u32>()?.max(1));
            let processes = punchlist_sched::Processes::guarded()?;
            // The guardian starts before anything is measured.
            runtime.block_on(guarded::guarded(&processes, jobs, jobs))?;
            for _ in 0..rounds.parse::<u32>()? {
                let began = Instant::now();
                runtime.block_on(guarded::guarded(&processes, count, jobs))?;
                say("guarded", began.elapsed().as_nanos())?;
                let began = Instant::now();
                guarded::bare(count, jobs)?;
                say("bare", began.elapsed().as_nanos())?;
            }
            runtime.block_on(processes.close());
            Ok(())
        }
        _ => Err(USAGE.into()),
    }
}

fn say(name: &str, value: u128) -> Outcome {
    Ok(writeln!(std::io::stdout(), "{name} {value}")?)
}

/// The peak memory of this process, in kilobytes.
fn peak() -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.split_whitespace().next().ok_or("no figure")?.parse()?)
}

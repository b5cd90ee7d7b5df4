//! The program that `cargo xtask bench turn` starts: the model calls of a session, compared with the
//! same requests sent by the provider client alone.
//!
//! It prints one figure per line: a name and nanoseconds per model call. `xtask` judges them. This
//! program is not an example of how to use a session.

mod server;
mod session;

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use punchlist_agent::provider::{ModelRequest, Provider as _};
use punchlist_model::session::Store;
use punchlist_model::store::memory::Memory;
use punchlist_store::{Options, Threaded};

use server::Server;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const USAGE: &str = "usage: turn_bench DIRECTORY CALLS ROUNDS";

fn main() -> ExitCode {
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
    let [directory, calls, rounds] = arguments else { return Err(USAGE.into()) };
    let (directory, calls, rounds) =
        (Path::new(directory), calls.parse::<usize>()?, rounds.parse::<u32>()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let server = Server::start(calls)?;
    // The first session is not measured: it shows what is sent.
    let memory = || Arc::new(Memory::default()) as Arc<dyn Store>;
    let sent = runtime.block_on(session::run(&server, memory(), directory, calls, true))?.requests;
    for round in 0..rounds {
        tell("bare", &runtime.block_on(bare(&server, &sent))?)?;
        let ran = runtime.block_on(session::run(&server, memory(), directory, calls, false))?;
        same_count(&ran.times, &sent)?;
        tell("session", &ran.times)?;
        let database = Options::new(directory.join(format!("turn-{round}.db")));
        let sqlite = Arc::new(Threaded::open(&database)?);
        let ran = runtime.block_on(session::run(&server, sqlite, directory, calls, false))?;
        same_count(&ran.times, &sent)?;
        tell("durable", &ran.times)?;
    }
    Ok(())
}

/// The provider client alone, with the requests of a session.
async fn bare(server: &Server, sent: &[ModelRequest]) -> Outcome<Vec<Duration>> {
    server.rewind();
    let provider = session::provider(server)?;
    let mut times = Vec::with_capacity(sent.len());
    for request in sent {
        let began = Instant::now();
        provider.call(request, &mut |_| {}).await?;
        times.push(began.elapsed());
    }
    Ok(times)
}

fn same_count(times: &[Duration], sent: &[ModelRequest]) -> Outcome {
    if times.len() == sent.len() {
        return Ok(());
    }
    Err(format!("one session made {} calls, another {}", times.len(), sent.len()).into())
}

/// Prints the time of a call: on average, in the second tenth of all calls, and in the last one. In the
/// first tenth the conversation is shorter than in all that follow.
fn tell(name: &str, times: &[Duration]) -> Outcome {
    let tenth = times.len() / 10;
    let second = times.get(tenth..tenth * 2).unwrap_or_default();
    let last = times.get(times.len() - tenth..).unwrap_or_default();
    let mut out = std::io::stdout().lock();
    for (name, times) in [
        (name.to_owned(), times),
        (format!("{name}_second"), second),
        (format!("{name}_last"), last),
    ] {
        let count = u32::try_from(times.len())?.max(1);
        let each = times.iter().sum::<Duration>() / count;
        writeln!(out, "{name} {}", each.as_nanos())?;
    }
    Ok(out.flush()?)
}

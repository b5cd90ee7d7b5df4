//! What reading a log costs: ours beside the limits, in one process, in turn.
//!
//! `generate FILE MEGABYTES` writes a log, `measure FILE ROUNDS` prints `NAME MICROSECONDS` a line for
//! each round, and `peak FILE lists|all` reads it once as a stream and prints the most memory that it
//! took. `repeat FILE ROUNDS lists|all` does one thing and nothing else, for a profiler to look at. What is
//! measured here is one core and no input or output.

#![forbid(unsafe_code)]

mod generate;
mod typed;

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::process::ExitCode;
use std::time::Instant;

use punchlist_streams::event::{Event, KindName, KindSet};
use punchlist_streams::{Options, Source, Stream};

/// How often what takes little time is done before the clock is looked at, which goes by milliseconds.
const SEVERAL: u128 = 8;

/// How much is handed on at once, as the program reads.
const CHUNK: usize = 256 << 10;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome =
        match arguments.as_slice() {
            ["generate", file, megabytes] => generate(file, megabytes),
            ["measure", file, rounds] => measure(file, rounds),
            ["peak", file, what] => peak(file, what),
            ["repeat", file, rounds, what] => repeat(file, rounds, what),
            _ => Err("usage: generate FILE MEGABYTES | measure FILE ROUNDS | peak FILE lists|all | \
                      repeat FILE ROUNDS lists|all"
                .to_owned()),
        };
    match outcome {
        Ok(text) => {
            std::io::stdout().write_all(text.as_bytes()).ok();
            ExitCode::SUCCESS
        }
        Err(message) => {
            std::io::stderr().write_all(format!("error: {message}\n").as_bytes()).ok();
            ExitCode::FAILURE
        }
    }
}

fn generate(file: &str, megabytes: &str) -> Result<String, String> {
    let megabytes: u64 = megabytes.parse().map_err(|_| "megabytes is a number".to_owned())?;
    generate::log(file, megabytes << 20).map_err(|why| format!("{file}: {why}"))
}

fn measure(file: &str, rounds: &str) -> Result<String, String> {
    let rounds: usize = rounds.parse().map_err(|_| "rounds is a number".to_owned())?;
    let bytes = fs::read(file).map_err(|why| format!("{file}: {why}"))?;
    let mut text = String::new();
    let mut lists = None;
    for _ in 0..rounds {
        let mut time = |name: &str, times: u128, work: &mut dyn FnMut() -> u64| {
            let began = Clock::now();
            let mut found = 0;
            for _ in 0..times {
                found = black_box(work());
            }
            text.push_str(&format!("{name} {}\n", began.micros() / times));
            found
        };
        time("lines", SEVERAL, &mut || scan(&bytes));
        let only = time("lists", SEVERAL, &mut || ours(&bytes, KindSet::of([KindName::TodoList])));
        let typed = time("sonic", 1, &mut || typed::lists(&bytes));
        let all = time("all", 1, &mut || ours(&bytes, KindSet::ALL));
        // Whoever finds something else has read something else.
        let same = *lists.get_or_insert(only);
        if (only, typed, all) != (same, same, same) {
            return Err(format!(
                "{only}, {typed} and {all} lists were found; they should be as many"
            ));
        }
    }
    text.push_str(&format!("bytes {}\nfound {}\n", bytes.len(), lists.unwrap_or(0)));
    Ok(text)
}

/// Time on the processor where the system tells it, so that others on this machine do not count; else
/// time as it passes.
struct Clock {
    began: Instant,
    worked: Option<u64>,
}

impl Clock {
    fn now() -> Self {
        Self { began: Instant::now(), worked: Self::worked() }
    }

    /// Nanoseconds that this thread was on a processor.
    fn worked() -> Option<u64> {
        let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split(' ').next()?.parse().ok().filter(|it| *it > 0)
    }

    fn micros(&self) -> u128 {
        match self.worked.zip(Self::worked()) {
            Some((began, ended)) if ended > began => u128::from(ended - began) / 1_000,
            Some(_) | None => self.began.elapsed().as_micros(),
        }
    }
}

/// A scan for lines, and nothing else: the limit for whoever must find them.
fn scan(bytes: &[u8]) -> u64 {
    let (mut at, mut sum) = (0, 0);
    for end in memchr::memchr_iter(b'\n', bytes) {
        sum += black_box(&bytes[at..end]).len() as u64;
        at = end + 1;
    }
    sum
}

/// Our events as the lines that the program writes. Gives how many lists there were.
fn ours(bytes: &[u8], only: KindSet) -> u64 {
    let mut out = Vec::with_capacity(2 * CHUNK);
    let mut stream = Stream::new(Source::ClaudeCode, Options { only, ..Options::default() });
    for chunk in bytes.chunks(CHUNK) {
        stream.push(chunk, &mut |event: &Event<'_>| event.write_json(&mut out));
        black_box(&out);
        out.clear();
    }
    stream.end(&mut |event: &Event<'_>| event.write_json(&mut out));
    stream.tally().lists
}

fn kinds(what: &str) -> Result<KindSet, String> {
    match what {
        "lists" => Ok(KindSet::of([KindName::TodoList])),
        "all" => Ok(KindSet::ALL),
        other => Err(format!("{other} is neither lists nor all")),
    }
}

fn repeat(file: &str, rounds: &str, what: &str) -> Result<String, String> {
    let rounds: usize = rounds.parse().map_err(|_| "rounds is a number".to_owned())?;
    let bytes = fs::read(file).map_err(|why| format!("{file}: {why}"))?;
    let only = kinds(what)?;
    let mut text = String::new();
    for _ in 0..rounds {
        let began = Clock::now();
        black_box(ours(&bytes, only));
        text.push_str(&format!("{what} {}\n", began.micros()));
    }
    Ok(text)
}

/// Reads a file as the program does, and gives the most memory that the process had, in kilobytes.
fn peak(file: &str, what: &str) -> Result<String, String> {
    let only = kinds(what)?;
    let mut source = File::open(file).map_err(|why| format!("{file}: {why}"))?;
    let mut buffer = vec![0; CHUNK];
    let mut out = Vec::new();
    let mut stream = Stream::new(Source::ClaudeCode, Options { only, ..Options::default() });
    loop {
        let count = source.read(&mut buffer).map_err(|why| format!("{file}: {why}"))?;
        if count == 0 {
            break;
        }
        stream.push(&buffer[..count], &mut |event: &Event<'_>| event.write_json(&mut out));
        out.clear();
    }
    stream.end(&mut |event: &Event<'_>| event.write_json(&mut out));
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|it| it.strip_prefix("VmHWM:")).unwrap_or("0");
    Ok(format!("peak {}\n", peak.trim().trim_end_matches(" kB")))
}

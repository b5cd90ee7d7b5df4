//! Spoilt recordings for every parser of streams: nothing may make one panic, write a line that is no
//! event, or take more memory than a fixed bound.
//!
//! `streams-fuzz FIXTURES EXECUTIONS [SEED [FIRST]]`. An execution is one stream of up to a dozen lines
//! out of a recording, spoilt in up to eight places. Each draws its own chances from seed and number, so
//! one that failed is run again by its number.

#![forbid(unsafe_code)]

mod chance;
mod extremes;
mod spoil;

use std::fs;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use chance::Chance;
use punchlist_streams::event::{Event, KindName, KindSet};
use punchlist_streams::event::owned::AgentEvent;
use punchlist_streams::{Options, Source, Stream};

/// The most memory that the whole process may take, in kilobytes, corpus and threads included.
const BOUND: u64 = 256 << 10;

/// How the kind of a list is written.
const LIST: &[u8] = b"\"type\":\"todo_list\"";

/// How many executions a thread takes at once.
const BATCH: u64 = 1_024;

/// The recordings of one agent, as lines.
pub(crate) type Corpus = Vec<Vec<Vec<u8>>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say(&format!("error: {message}\n"));
            ExitCode::FAILURE
        }
    }
}

pub(crate) fn say(text: &str) {
    std::io::stdout().write_all(text.as_bytes()).ok();
}

fn run(arguments: &[String]) -> Result<(), String> {
    let [fixtures, rest @ ..] = arguments else {
        return Err("usage: FIXTURES EXECUTIONS [SEED [FIRST]]".to_owned());
    };
    let number = |at: usize, default: u64| match rest.get(at) {
        Some(text) => text.replace('_', "").parse().map_err(|_| format!("{text} is no number")),
        None => Ok(default),
    };
    let (executions, seed, first) = (number(0, 10_000_000)?, number(1, 1)?, number(2, 0)?);
    let corpora = Source::ALL.map(|source| (source, corpus(Path::new(fixtures), source)));
    for (source, corpus) in &corpora {
        say(&format!("{}: {} recordings\n", source.name(), corpus.len()));
    }
    if first == 0 {
        extremes::all(&corpora)?;
    }
    let next = AtomicU64::new(first);
    let (lines, events, failed) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !failed.load(Ordering::Relaxed) {
                    let begin = next.fetch_add(BATCH, Ordering::Relaxed);
                    let end = (begin + BATCH).min(first + executions);
                    if begin >= end {
                        break;
                    }
                    for number in begin..end {
                        let mut chance = Chance::new(seed, number);
                        let outcome = catch_unwind(AssertUnwindSafe(|| one(&corpora, &mut chance)));
                        let problem = match outcome {
                            Ok(Ok((read, told))) => {
                                lines.fetch_add(read, Ordering::Relaxed);
                                events.fetch_add(told, Ordering::Relaxed);
                                continue;
                            }
                            Ok(Err(problem)) => problem,
                            Err(_) => "it panicked".to_owned(),
                        };
                        say(&format!("execution {number} of seed {seed}: {problem}\n"));
                        failed.store(true, Ordering::Relaxed);
                        return;
                    }
                    if begin % (BATCH * 1_000) == 0 && begin > first {
                        say(&format!("{begin} executions, {} MB at most\n", peak() >> 10));
                    }
                }
            });
        }
    });
    if failed.load(Ordering::Relaxed) {
        return Err("a parser failed; run it again with that seed and number".to_owned());
    }
    say(&format!(
        "{executions} executions (seed {seed}): {} lines read, {} events told, no failure\n",
        lines.load(Ordering::Relaxed),
        events.load(Ordering::Relaxed)
    ));
    say(&format!("memory: {} MB at most, {} MB allowed\n", peak() >> 10, BOUND >> 10));
    if peak() > BOUND { Err("too much memory".to_owned()) } else { Ok(()) }
}

/// The most memory that the process has had, in kilobytes; 0 where the system does not say.
pub(crate) fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|it| it.strip_prefix("VmHWM:")).unwrap_or("0");
    peak.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}

fn corpus(fixtures: &Path, source: Source) -> Corpus {
    let Ok(entries) = fs::read_dir(fixtures.join(source.name())) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|it| it.path()).collect();
    paths.retain(|it| it.extension().is_some_and(|it| it == "jsonl"));
    paths.sort();
    let lines = |bytes: Vec<u8>| bytes.split(|it| *it == b'\n').map(<[u8]>::to_vec).collect();
    paths.into_iter().filter_map(|it| fs::read(it).ok()).map(lines).collect()
}

/// One execution. Gives how many lines it read and how many events it told.
fn one(corpora: &[(Source, Corpus)], chance: &mut Chance) -> Result<(u64, u64), String> {
    let (source, corpus) = chance.pick(corpora);
    // Now and then another agent's recording, or none at all.
    let (_, other) = chance.pick(corpora);
    let corpus = if chance.one_in(16) { other } else { corpus };
    let bytes = spoil::stream(corpus, chance);
    let is_thorough = chance.one_in(64);
    let lists = KindSet::of([KindName::TodoList]);
    let only = if chance.one_in(4) { lists } else { KindSet::ALL };
    let (out, tally) =
        read(*source, only, &bytes, chance.below(bytes.len() as u64 + 1) as usize + 1);
    for line in out.split(|it| *it == b'\n').filter(|it| !it.is_empty()) {
        if is_thorough {
            serde_json::from_slice::<AgentEvent>(line).map_err(|why| problem(&why, line))?;
        } else {
            serde_json::from_slice::<serde::de::IgnoredAny>(line)
                .map_err(|why| problem(&why, line))?;
        }
    }
    if is_thorough {
        let (again, _) = read(*source, only, &bytes, 1 + chance.below(64) as usize);
        if again != out {
            return Err("cut otherwise, it is read otherwise".to_owned());
        }
    }
    if only == KindSet::ALL && chance.one_in(4) {
        let (alone, (lines, _)) = read(*source, lists, &bytes, bytes.len() + 1);
        if alone != lists_of(&out) {
            return Err("lists alone are other lists".to_owned());
        }
        if lines != tally.0 {
            return Err("lines that are not read are not counted".to_owned());
        }
    }
    Ok((tally.0, tally.1))
}

/// Those of the lines that are lists.
fn lists_of(out: &[u8]) -> Vec<u8> {
    // The first `"type":` is the kind: a quote within an agent's name would have a backslash before it.
    let is_list = |line: &&[u8]| {
        let mut words = line.windows(LIST.len());
        words.find(|it| it.starts_with(b"\"type\":")).is_some_and(|it| it == LIST)
    };
    out.split_inclusive(|it| *it == b'\n').filter(is_list).flatten().copied().collect()
}

fn problem(why: &serde_json::Error, line: &[u8]) -> String {
    format!("{why}: {}", String::from_utf8_lossy(line))
}

pub(crate) fn read(
    source: Source,
    only: KindSet,
    bytes: &[u8],
    chunk: usize,
) -> (Vec<u8>, (u64, u64)) {
    let mut out = Vec::new();
    let mut sink = |event: &Event<'_>| event.write_json(&mut out);
    let mut stream = Stream::new(source, Options { only, ..Options::default() });
    bytes.chunks(chunk).for_each(|chunk| stream.push(chunk, &mut sink));
    stream.end(&mut sink);
    let tally = (stream.tally().lines, stream.tally().events);
    (out, tally)
}

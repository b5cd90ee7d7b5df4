//! Reads files or stdin as streams of agents: in parallel, but delivered in order.
//!
//! Memory does not grow with the input: a reader blocks while its pieces are not taken. The caller
//! writes the output.

pub mod files;
mod summary;

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use punchlist_streams::event::{Event, KindSet};
use punchlist_streams::{
    Foreign, LOOK_AHEAD, Options, Record, Source, Stream, Tally, foreign, is_record, recognise,
};

pub use summary::Summary;

/// How many bytes are read at once. The chunk and its result fit into the processor's cache.
const CHUNK: usize = 256 << 10;

/// How many pieces of a file may be queued.
const WAITING: usize = 4;

/// How often the waiting receiver wakes up to report progress.
const GLANCE: Duration = Duration::from_millis(100);

/// An input.
#[derive(Clone, Debug)]
pub enum Input {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl Input {
    /// The name for messages.
    pub fn name(&self) -> String {
        match self {
            Self::Stdin => "stdin".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    fn open(&self) -> io::Result<Box<dyn Read>> {
        Ok(match self {
            Self::Stdin => Box::new(io::stdin().lock()),
            Self::File(path) => Box::new(File::open(path)?),
        })
    }
}

/// How inputs are read.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// The agent of the streams, if known.
    pub from: Option<Source>,
    /// The kinds of events to return.
    pub only: KindSet,
    /// How many inputs are read in parallel.
    pub jobs: usize,
}

/// How reading an input ended.
#[derive(Debug)]
pub enum Ended {
    /// The input was read to its end.
    Read(Tally),
    /// It is not clear which agent wrote it, or another program did.
    Unrecognised(Option<Foreign>),
    /// The input could not be read.
    Failed(io::Error),
}

/// What the caller receives.
pub enum Given {
    /// Lines with events.
    Lines(Vec<u8>),
    /// Nothing yet.
    Nothing,
    /// The input with this index is finished.
    Ended(usize, Ended),
}

/// The progress of reading.
#[derive(Clone, Copy, Debug)]
pub struct Reached {
    /// Bytes read so far.
    pub bytes: u64,
    /// Inputs that are finished and delivered.
    pub inputs: usize,
}

enum Piece {
    Lines(Vec<u8>),
    Ended(Ended),
}

/// Reads all inputs and delivers the results in order. Ends early if `take` returns `false`.
pub fn all<E>(
    inputs: &[Input],
    how: Reading,
    mut take: impl FnMut(Given, Reached) -> Result<bool, E>,
) -> Result<(), E> {
    let (senders, receivers): (Vec<_>, Vec<_>) =
        inputs.iter().map(|_| sync_channel::<Piece>(WAITING)).unzip();
    let senders: Vec<_> = senders.into_iter().map(|it| std::sync::Mutex::new(Some(it))).collect();
    let (next, bytes, stop) = (AtomicUsize::new(0), AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..how.jobs.clamp(1, inputs.len().max(1)) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let (Some(input), Some(sender)) = (inputs.get(at), senders.get(at)) else {
                        break;
                    };
                    let sender = sender.lock().ok().and_then(|mut it| it.take());
                    let Some(sender) = sender else { continue };
                    let ended = read(input, how, &bytes, &sender);
                    sender.send(Piece::Ended(ended)).ok();
                }
            });
        }
        let outcome = give(receivers, &bytes, &mut take);
        // Readers that are still running find the channel closed and end.
        stop.store(true, Ordering::Relaxed);
        outcome
    })
}

fn give<E>(
    receivers: Vec<Receiver<Piece>>,
    bytes: &AtomicU64,
    take: &mut impl FnMut(Given, Reached) -> Result<bool, E>,
) -> Result<(), E> {
    for (at, receiver) in receivers.into_iter().enumerate() {
        loop {
            let given = match receiver.recv_timeout(GLANCE) {
                Ok(Piece::Lines(lines)) => Given::Lines(lines),
                Ok(Piece::Ended(ended)) => Given::Ended(at, ended),
                Err(RecvTimeoutError::Timeout) => Given::Nothing,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let is_over = matches!(given, Given::Ended(..));
            let inputs = at + usize::from(is_over);
            if !take(given, Reached { bytes: bytes.load(Ordering::Relaxed), inputs })? {
                return Ok(());
            }
            if is_over {
                break;
            }
        }
    }
    Ok(())
}

fn read(input: &Input, how: Reading, bytes: &AtomicU64, sender: &SyncSender<Piece>) -> Ended {
    match input.open().and_then(|mut source| pump(&mut *source, how, bytes, sender)) {
        Ok(ended) => ended,
        Err(why) => Ended::Failed(why),
    }
}

fn pump(
    source: &mut dyn Read,
    how: Reading,
    bytes: &AtomicU64,
    sender: &SyncSender<Piece>,
) -> io::Result<Ended> {
    let options = Options { only: how.only, ..Options::default() };
    let mut stream = how.from.map(|it| Reader::stream(it, &options));
    // The bytes read before the agent is recognised.
    let mut head = Vec::new();
    let mut buffer = vec![0; CHUNK];
    let mut out = Vec::new();
    loop {
        let count = match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
            Err(why) => return Err(why),
        };
        bytes.fetch_add(count as u64, Ordering::Relaxed);
        let chunk = &buffer[..count];
        match &mut stream {
            Some(stream) => stream.push(chunk, &mut out),
            None => {
                head.extend_from_slice(chunk);
                // An incomplete line may look like another agent's.
                let is_enough = head.len() >= LOOK_AHEAD;
                let whole = head.iter().rposition(|it| *it == b'\n').map_or(0, |it| it + 1);
                let shown = if is_enough { &head[..] } else { &head[..whole] };
                match Reader::of(shown, &options) {
                    Some(mut found) => {
                        found.push(&head, &mut out);
                        head = Vec::new();
                        stream = Some(found);
                    }
                    None if is_enough => return Ok(Ended::Unrecognised(foreign(&head))),
                    None => {}
                }
            }
        }
        if !out.is_empty() && sender.send(Piece::Lines(std::mem::take(&mut out))).is_err() {
            // The receiver is gone.
            break;
        }
    }
    let mut stream = match stream {
        Some(stream) => stream,
        None if head.trim_ascii().is_empty() => return Ok(Ended::Read(Tally::default())),
        None => {
            let Some(mut found) = Reader::of(&head, &options) else {
                return Ok(Ended::Unrecognised(foreign(&head)));
            };
            found.push(&head, &mut out);
            found
        }
    };
    stream.end(&mut out);
    if !out.is_empty() {
        sender.send(Piece::Lines(out)).ok();
    }
    Ok(Ended::Read(stream.tally().clone()))
}

/// Reads one input.
enum Reader {
    /// The stream of an agent.
    Stream(Box<Stream>),
    /// A record of events that this program wrote.
    Record(Record),
}

impl Reader {
    fn stream(source: Source, options: &Options) -> Self {
        Self::Stream(Box::new(Stream::new(source, options.clone())))
    }

    /// The reader for an input that begins so; `None` if it is not recognised.
    fn of(head: &[u8], options: &Options) -> Option<Self> {
        if is_record(head) {
            return Some(Self::Record(Record::new(options.only)));
        }
        recognise(head).map(|it| Self::stream(it, options))
    }

    fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Stream(it) => it.push(chunk, &mut |event: &Event<'_>| event.write_json(out)),
            Self::Record(it) => it.push(chunk, out),
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        match self {
            Self::Stream(it) => it.end(&mut |event: &Event<'_>| event.write_json(out)),
            Self::Record(it) => it.end(out),
        }
    }

    fn tally(&self) -> &Tally {
        match self {
            Self::Stream(it) => it.tally(),
            Self::Record(it) => it.tally(),
        }
    }
}

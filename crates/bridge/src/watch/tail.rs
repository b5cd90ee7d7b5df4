//! Reads one session file as it grows, and keeps the result with the session.
//!
//! Nothing is read twice unless the file was replaced, truncated or rewritten; then it is read from
//! the beginning. A file that has been quiet for a while loses its parser, which is created again
//! from the beginning of the file when it grows. So memory depends on the number of busy sessions.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use punchlist_streams::event::{Event, KindName, KindSet};
use punchlist_streams::watch::Seen;
use punchlist_streams::{
    LOOK_AHEAD, Options, RecordEvents, Shared, Source, Stream, Tally, foreign, is_record, recognise,
};

use super::group::{self, Group};
use super::{Told, find};

/// How much is read at once.
const CHUNK: usize = 256 << 10;

/// In a longer file, only lists are read from the beginning, and everything near the end.
pub const LIST_ONLY: u64 = 16 << 20;

/// How much of the end of such a file is read completely.
const END: u64 = 1 << 20;

/// How much of the beginning is read to recognise the agent.
const HEAD: usize = 256 << 10;

/// How many bytes before the current position are kept, to detect that the file was rewritten.
const MARK: usize = 64;

/// How long a file must be quiet before its parser is dropped.
const REST_MS: i64 = 5 * 60_000;

/// How long a file that is no longer found is kept after its last write.
const STAY_MS: i64 = 60_000;

/// The file to follow.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) path: PathBuf,
    /// Its agent, if the location determines it; otherwise the content does.
    pub(super) source: Option<Source>,
    /// The agent's working directory, if the location determines it.
    pub(super) directory: Option<String>,
}

/// The result of reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Came {
    /// Nothing is new.
    Nothing,
    /// Something is new.
    News,
    /// The file was replaced. Nothing was read, because the state of its session comes from the old
    /// file.
    Other,
}

pub(super) struct Tail {
    target: Target,
    /// The session that it belongs to.
    group: PathBuf,
    /// Device and inode.
    identity: Option<(u64, u64)>,
    offset: u64,
    mark: VecDeque<u8>,
    /// `None` while it is quiet, and before the first read.
    reader: Option<Reader>,
    source: Option<Source>,
    /// When watching began; earlier events are not live.
    started: i64,
    /// When something was last read.
    read_at: i64,
    /// How many to-do tool calls there were, and how many lists they produced.
    calls: u64,
    lists: u64,
    trouble: Option<String>,
}

impl Tail {
    pub(super) fn new(target: Target, started: i64) -> Self {
        let source = target.source;
        Self {
            group: group::name(&target.path),
            target,
            identity: None,
            offset: 0,
            mark: VecDeque::new(),
            reader: None,
            source,
            started,
            read_at: i64::MIN,
            calls: 0,
            lists: 0,
            trouble: None,
        }
    }

    /// The name of its session.
    pub(super) fn group(&self) -> &Path {
        &self.group
    }

    /// A new session.
    pub(super) fn new_group(&self) -> Group {
        Group::within(self.target.directory.clone())
    }

    /// How many to-do tool calls there were, and how many lists they produced.
    pub(super) fn calls_and_lists(&self) -> (u64, u64) {
        (self.calls, self.lists)
    }

    /// Why the file cannot be read or parsed.
    pub(super) fn trouble(&self) -> Option<String> {
        let name = self.target.path.display();
        let unread = self.trouble.as_ref().map(|why| format!("cannot read {name}: {why}"));
        unread.or_else(|| Some(unknown(&name.to_string(), self.reader.as_ref()?.head()?)))
    }

    /// Whether to keep the file although it is no longer found.
    pub(super) fn stays(&self, now: i64) -> bool {
        self.target.path.exists() && now.saturating_sub(self.read_at) < STAY_MS
    }

    /// Drops the parser if the file has been quiet for a while.
    pub(super) fn rest(&mut self, now: i64) {
        if now.saturating_sub(self.read_at) >= REST_MS {
            self.reader = None;
        }
    }

    /// Starts again at the beginning.
    pub(super) fn forget(&mut self) {
        self.identity = None;
        self.offset = 0;
        self.mark.clear();
        self.reader = None;
        self.source = self.target.source;
    }

    /// Reads what is new into its session.
    pub(super) fn read(&mut self, now: i64, group: &mut Group, told: &mut dyn Told) -> Came {
        match self.try_read(now, group, told) {
            Ok(came) => {
                self.trouble = None;
                came
            }
            // The file does not exist yet, or was deleted. Its state is kept until it is dropped.
            Err(why) if why.kind() == ErrorKind::NotFound => Came::Nothing,
            Err(why) => {
                let why = why.to_string();
                let is_new = self.trouble.as_ref() != Some(&why);
                self.trouble = Some(why);
                if is_new { Came::News } else { Came::Nothing }
            }
        }
    }

    fn try_read(&mut self, now: i64, group: &mut Group, told: &mut dyn Told) -> io::Result<Came> {
        let data = fs::metadata(&self.target.path)?;
        if !data.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a plain file"));
        }
        let identity = (data.dev(), data.ino());
        let is_other = self.identity != Some(identity) || data.len() < self.offset;
        if !is_other && data.len() == self.offset {
            return Ok(Came::Nothing);
        }
        let file = File::open(&self.target.path)?;
        // A file that is renamed over it meanwhile is read next time.
        let data = file.metadata()?;
        let identity = (data.dev(), data.ino());
        let is_other = self.identity.is_some_and(|it| it != identity)
            || data.len() < self.offset
            || !self.is_where_it_was(&file)?;
        if is_other {
            return Ok(Came::Other);
        }
        self.identity = Some(identity);
        let is_first = self.offset == 0;
        let mut reader = match self.reader.take() {
            Some(reader) => reader,
            None => self.again(&file, data.len())?,
        };
        let read_at = if is_first { find::modified(&data).min(now) } else { now };
        let mut from = self.offset;
        let until = data.len();
        // Most appends are short, so the buffer is small.
        let room = usize::try_from(until.saturating_sub(from)).unwrap_or(CHUNK).min(CHUNK);
        let mut buffer = vec![0; room];
        let started = self.started;
        while from < until {
            let most = usize::try_from(until - from).unwrap_or(CHUNK).min(CHUNK);
            let count = file.read_at(&mut buffer[..most], from)?;
            if count == 0 {
                break;
            }
            let chunk = &buffer[..count];
            let fold = &mut group.fold;
            reader.push(chunk, from, &mut group.shared, &mut |event| {
                // Events of the first read are live only if they happened after watching began.
                let live = !is_first || event.timestamp.is_some_and(|it| it >= started);
                fold.event(event, read_at);
                told.event(event, live);
            });
            from += count as u64;
            self.remember(chunk);
            if is_first && until > LIST_ONLY {
                told.progress(from, until);
            }
        }
        self.offset = from;
        self.source = self.source.or(reader.source());
        group.source = group.source.or(self.source);
        (self.calls, self.lists) = reader.tally().map_or((0, 0), |it| (it.todo_calls, it.lists));
        self.reader = Some(reader);
        self.read_at = read_at.max(self.read_at);
        Ok(Came::News)
    }

    /// A parser that has read everything up to the current position.
    fn again(&self, file: &File, len: u64) -> io::Result<Reader> {
        let is_long = len > LIST_ONLY;
        let mut reader = match self.source {
            Some(source) if is_long => Reader::Long(Box::new(Long::begin(source, file, len)?)),
            Some(source) => {
                Reader::Whole(source, Box::new(Stream::new(source, Options::default())))
            }
            None => Reader::Unknown(Vec::new()),
        };
        let mut buffer = vec![0; CHUNK];
        // The shared state was kept, so this parser gets its own.
        let mut shared = Shared::default();
        let mut from = 0;
        while from < self.offset {
            let most = usize::try_from(self.offset - from).unwrap_or(CHUNK).min(CHUNK);
            let count = file.read_at(&mut buffer[..most], from)?;
            if count == 0 {
                break;
            }
            reader.push(&buffer[..count], from, &mut shared, &mut |_| {});
            from += count as u64;
        }
        Ok(reader)
    }

    /// Whether the bytes before the current position are still the same.
    fn is_where_it_was(&self, file: &File) -> io::Result<bool> {
        let mut there = vec![0; self.mark.len()];
        let at = self.offset.saturating_sub(there.len() as u64);
        match file.read_exact_at(&mut there, at) {
            Ok(()) => Ok(self.mark.iter().eq(&there)),
            Err(why) if why.kind() == ErrorKind::UnexpectedEof => Ok(false),
            Err(why) => Err(why),
        }
    }

    fn remember(&mut self, chunk: &[u8]) {
        let new = &chunk[chunk.len().saturating_sub(MARK)..];
        self.mark.extend(new);
        let excess = self.mark.len().saturating_sub(MARK);
        self.mark.drain(..excess);
    }
}

/// The message for a file whose agent is not recognised.
fn unknown(name: &str, head: &[u8]) -> String {
    match foreign(head) {
        Some(program) => format!("{name} was written by {program}, which is not supported"),
        None => format!("cannot tell which agent wrote {name}"),
    }
}

/// The parser of a stream.
enum Reader {
    /// The agent is not recognised yet.
    Unknown(Vec<u8>),
    /// The agent is unknown; the beginning of the stream.
    Foreign(Vec<u8>),
    /// Everything is parsed.
    Whole(Source, Box<Stream>),
    /// Only lists are parsed from the beginning.
    Long(Box<Long>),
    /// A record of unified events, which may be of several agents.
    Record(Box<RecordEvents>),
}

impl Reader {
    /// The beginning of the stream while the agent is unknown: whole lines, if there are any.
    fn head(&self) -> Option<&[u8]> {
        match self {
            Self::Unknown(head) => {
                let whole = head.iter().rposition(|it| *it == b'\n')?;
                Some(&head[..=whole]).filter(|it| !it.trim_ascii().is_empty())
            }
            Self::Foreign(head) => Some(head),
            Self::Whole(..) | Self::Long(_) | Self::Record(_) => None,
        }
    }

    fn source(&self) -> Option<Source> {
        match self {
            Self::Unknown(_) | Self::Foreign(_) | Self::Record(_) => None,
            Self::Whole(source, _) => Some(*source),
            Self::Long(long) => Some(long.source),
        }
    }

    fn tally(&self) -> Option<&Tally> {
        match self {
            Self::Unknown(_) | Self::Foreign(_) | Self::Record(_) => None,
            Self::Whole(_, stream) => Some(stream.tally()),
            Self::Long(long) => Some(long.lists.tally()),
        }
    }

    fn push(
        &mut self,
        chunk: &[u8],
        from: u64,
        shared: &mut Shared,
        sink: &mut dyn FnMut(&Event<'_>),
    ) {
        match self {
            Self::Foreign(_) => {}
            Self::Whole(_, stream) => {
                stream.push_sharing(chunk, shared, &mut |event: &Event<'_>| sink(event));
            }
            Self::Long(long) => long.push(chunk, from, shared, sink),
            Self::Record(record) => record.push(chunk, sink),
            Self::Unknown(head) => {
                head.extend_from_slice(chunk);
                let is_enough = head.len() >= LOOK_AHEAD;
                // A partial line might be recognised wrongly.
                let whole = head.iter().rposition(|it| *it == b'\n').map_or(0, |it| it + 1);
                let shown = if is_enough { &head[..] } else { &head[..whole] };
                if is_record(shown) {
                    let mut record = Box::new(RecordEvents::default());
                    record.push(head, sink);
                    *self = Self::Record(record);
                } else if let Some(source) = recognise(shown) {
                    let mut stream = Box::new(Stream::new(source, Options::default()));
                    stream.push_sharing(head, shared, &mut |event: &Event<'_>| sink(event));
                    *self = Self::Whole(source, stream);
                } else if is_enough {
                    *self = Self::Foreign(std::mem::take(head));
                }
            }
        }
    }
}

/// A long file: lists from the beginning, everything else from near the end.
struct Long {
    source: Source,
    lists: Stream,
    rest: Option<Stream>,
    /// The first line, from which the agent is recognised.
    head: Vec<u8>,
    /// Where the second parser begins.
    at: u64,
}

impl Long {
    fn begin(source: Source, file: &File, len: u64) -> io::Result<Self> {
        let only = KindSet::of([KindName::TodoList]);
        let mut head = vec![0; HEAD];
        let count = file.read_at(&mut head, 0)?;
        head.truncate(count);
        let line = head.iter().position(|it| *it == b'\n').map_or(0, |it| it + 1);
        head.truncate(line);
        // The second parser begins at a line break.
        let from = len.saturating_sub(END);
        let mut end = vec![0; CHUNK];
        let count = file.read_at(&mut end, from)?;
        let line = end[..count].iter().position(|it| *it == b'\n').map_or(count, |it| it + 1);
        Ok(Self {
            source,
            lists: Stream::new(source, Options { only, ..Options::default() }),
            rest: None,
            head,
            at: from + line as u64,
        })
    }

    fn push(
        &mut self,
        chunk: &[u8],
        from: u64,
        shared: &mut Shared,
        sink: &mut dyn FnMut(&Event<'_>),
    ) {
        let before = self.at.saturating_sub(from);
        let (old, new) =
            chunk.split_at(usize::try_from(before).unwrap_or(usize::MAX).min(chunk.len()));
        self.lists.push_sharing(old, shared, &mut |event: &Event<'_>| sink(event));
        if new.is_empty() && self.rest.is_none() {
            return;
        }
        if self.rest.is_none() {
            self.rest = Some(self.begin_rest(sink));
        }
        self.lists.push_sharing(new, shared, &mut |event: &Event<'_>| sink(event));
        if let Some(rest) = &mut self.rest {
            rest.push(new, &mut |event: &Event<'_>| sink(event));
        }
    }

    /// The parser near the end ignores lists; the other one has read them from the beginning.
    fn begin_rest(&self, sink: &mut dyn FnMut(&Event<'_>)) -> Stream {
        let kinds = KindName::ALL.into_iter().filter(|it| *it != KindName::TodoList);
        let has_head = !self.head.is_empty();
        let lines_before = self.lists.tally().lines.saturating_sub(u64::from(has_head));
        let options = Options { only: KindSet::of(kinds), lines_before, ..Options::default() };
        let mut rest = Stream::new(self.source, options);
        rest.push(&self.head, &mut |event: &Event<'_>| sink(event));
        rest
    }
}

/// A stream from a pipe.
pub struct Piped {
    reader: Reader,
    group: Group,
}

impl Default for Piped {
    fn default() -> Self {
        Self { reader: Reader::Unknown(Vec::new()), group: Group::default() }
    }
}

impl Piped {
    /// Parses the next bytes.
    pub fn push(&mut self, chunk: &[u8], now: i64, told: &mut dyn Told) {
        let Group { shared, fold, source: _ } = &mut self.group;
        self.reader.push(chunk, 0, shared, &mut |event| {
            fold.event(event, now);
            told.event(event, true);
        });
    }

    /// The stream is over. Returns whether its agent was recognised.
    pub fn end(&mut self, now: i64, told: &mut dyn Told) -> bool {
        if let Reader::Unknown(head) = &self.reader {
            if head.trim_ascii().is_empty() {
                return true;
            }
            if is_record(head) {
                let mut record = Box::new(RecordEvents::default());
                let head = head.clone();
                let fold = &mut self.group.fold;
                record.push(&head, &mut |event: &Event<'_>| {
                    fold.event(event, now);
                    told.event(event, true);
                });
                self.reader = Reader::Record(record);
                return self.end(now, told);
            }
            let Some(source) = recognise(head) else { return false };
            let mut stream = Box::new(Stream::new(source, Options::default()));
            let head = head.clone();
            let fold = &mut self.group.fold;
            stream.push(&head, &mut |event: &Event<'_>| {
                fold.event(event, now);
                told.event(event, true);
            });
            self.reader = Reader::Whole(source, stream);
        }
        let fold = &mut self.group.fold;
        match &mut self.reader {
            Reader::Whole(_, stream) => {
                stream.end(&mut |event: &Event<'_>| {
                    fold.event(event, now);
                    told.event(event, true);
                });
                true
            }
            Reader::Record(record) => {
                record.end(&mut |event: &Event<'_>| {
                    fold.event(event, now);
                    told.event(event, true);
                });
                true
            }
            Reader::Unknown(_) | Reader::Foreign(_) => false,
            Reader::Long(_) => true,
        }
    }

    /// The message if the agent is unknown.
    pub fn unknown(&self) -> Option<String> {
        match &self.reader {
            Reader::Unknown(head) | Reader::Foreign(head) => Some(unknown("stdin", head)),
            Reader::Whole(..) | Reader::Long(_) | Reader::Record(_) => None,
        }
    }

    /// The agents of the stream.
    pub fn agents(&self) -> &[Seen] {
        self.group.fold.agents()
    }
}

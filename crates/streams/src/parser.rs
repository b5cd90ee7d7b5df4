//! Bytes in, events out: [`Stream`] takes bytes in pieces of any size, [`Parser`] takes lines.

use crate::event::{Event, KindName, KindSet};
use crate::json::{self, Object, Objects};
use crate::lines::{LONGEST_LINE, Lines, Piece, Take};
use crate::parse::emit::{Core, Emit, Tally};
use crate::parse::{Agent, Shared, agent_of};
use crate::prefilter::{LONGEST_NEEDLE, Prefilter};
use crate::source::Source;

/// A receiver of events.
pub trait Sink {
    /// Takes an event.
    fn event(&mut self, event: &Event<'_>);
}

impl<F: FnMut(&Event<'_>)> Sink for F {
    fn event(&mut self, event: &Event<'_>) {
        self(event);
    }
}

/// The options of a parser.
#[derive(Clone, Debug)]
pub struct Options {
    /// The wanted kinds of events. If only lists are wanted, lines that cannot change one are not
    /// parsed.
    pub only: KindSet,
    /// The agent's name, if it is not its session.
    pub agent: Option<String>,
    /// The number of lines before the first one.
    pub lines_before: u64,
    /// Maximum length of a line.
    pub longest_line: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { only: KindSet::ALL, agent: None, lines_before: 0, longest_line: LONGEST_LINE }
    }
}

/// Parses the lines of one stream.
pub struct Parser {
    core: Core,
    prefilter: Prefilter,
    agent: Box<dyn Agent>,
    /// Whether only lists are wanted, so that lines that cannot change one are skipped.
    is_quick: bool,
    longest_line: usize,
    document: Document,
}

/// Maximum of objects in one line.
const MOST_OBJECTS: usize = 64;

/// How many bytes are searched for needles at a time. They fit into the processor's first-level
/// cache, so that counting their lines afterwards is cheap.
const BLOCK: usize = 8 << 10;

/// A stream that is one object over many lines, as older programs write a whole session.
#[derive(Default, Debug)]
enum Document {
    /// No line has arrived yet.
    #[default]
    Unknown,
    /// Each line is an object.
    None,
    /// The beginning of the object.
    Begun(Vec<u8>),
    /// The object is too long.
    TooLong,
}

impl Parser {
    /// A parser for a stream of a known program.
    pub fn new(source: Source, options: Options) -> Self {
        let agent = agent_of(source);
        let only_lists = options.only.is_within(KindSet::of([KindName::TodoList]));
        Self {
            core: Core::new(source.agent_type(), &options),
            prefilter: Prefilter::default(),
            agent,
            is_quick: only_lists,
            longest_line: options.longest_line,
            document: Document::Unknown,
        }
    }

    /// Parses one line, without its line break.
    pub fn line(&mut self, line: &[u8], sink: &mut dyn Sink) {
        if line.len() > self.longest_line {
            return self.too_long(line.len() as u64, sink);
        }
        self.core.next_line();
        if self.is_of_document(line, sink) {
            return;
        }
        let line = line.trim_ascii();
        if !line.is_empty() {
            self.objects(line, sink);
        }
    }

    /// Parses the objects of a line: one, or several if two programs wrote at the same time.
    fn objects(&mut self, line: &[u8], sink: &mut dyn Sink) {
        let mut emit = Emit::new(&mut self.core, sink);
        let line = match json::text(line) {
            Ok(line) => line,
            Err(flaw) => return emit.warn(flaw.to_string()),
        };
        for (number, object) in Objects::of(&line, self.agent.path()).enumerate() {
            if number >= MOST_OBJECTS {
                return emit.warn(format!("more than {MOST_OBJECTS} objects in a line"));
            }
            match object {
                Ok(Some(object)) => take(&mut *self.agent, &object, &mut emit),
                Ok(None) => emit.warn("not a JSON object"),
                Err(flaw) => return emit.warn(flaw.to_string()),
            }
        }
    }

    /// Stores a line of an object over many lines, and parses the object at its last line.
    fn is_of_document(&mut self, line: &[u8], sink: &mut dyn Sink) -> bool {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match &mut self.document {
            Document::None => return false,
            Document::Unknown if line.trim_ascii().is_empty() => return false,
            Document::Unknown => {
                let is_begin = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) == b"{";
                self.document =
                    if is_begin { Document::Begun(b"{".to_vec()) } else { Document::None };
                return is_begin;
            }
            Document::TooLong => {}
            Document::Begun(text) if text.len() + line.len() >= self.longest_line => {
                self.document = Document::TooLong;
            }
            Document::Begun(text) => {
                text.push(b'\n');
                text.extend_from_slice(line);
            }
        }
        // Within the object, every line is indented.
        if line == b"}" {
            match std::mem::replace(&mut self.document, Document::None) {
                Document::Begun(text) => self.objects(&text, sink),
                Document::TooLong => {
                    let why = format!("a document of more than {} bytes", self.longest_line);
                    Emit::new(&mut self.core, sink).warn(why);
                }
                Document::Unknown | Document::None => {}
            }
        }
        true
    }

    /// Whether an object over many lines is incomplete.
    fn is_in_document(&self) -> bool {
        matches!(self.document, Document::Begun(_) | Document::TooLong)
    }

    /// Handles a line that was too long.
    pub fn too_long(&mut self, bytes: u64, sink: &mut dyn Sink) {
        self.core.next_line();
        let why = format!("a line of {bytes} bytes; at most {} are read", self.longest_line);
        Emit::new(&mut self.core, sink).warn(why);
    }

    /// Parses any number of whole lines.
    pub fn lines(&mut self, lines: &[u8], sink: &mut dyn Sink) {
        self.read(lines, false, sink);
    }

    /// Parses lines. The text after the last line break is a line too, unless `is_cut`. Returns
    /// where the unparsed text begins.
    fn read(&mut self, lines: &[u8], is_cut: bool, sink: &mut dyn Sink) -> usize {
        let mut at = 0;
        while at < lines.len() {
            let is_waiting = self.agent.is_waiting() || self.core.is_waiting();
            if self.is_quick && !is_waiting && !self.is_in_document() {
                match self.skip(lines, at) {
                    Some(line) => at = line,
                    None => {
                        let last = memchr::memrchr(b'\n', &lines[at..]);
                        let whole = last.map_or(at, |it| at + it + 1);
                        if is_cut {
                            return whole;
                        }
                        self.core.skip_lines(u64::from(whole < lines.len()));
                        return lines.len();
                    }
                }
            }
            let rest = &lines[at..];
            let end = match memchr::memchr(b'\n', rest) {
                Some(end) => end,
                None if is_cut => return at,
                None => rest.len(),
            };
            self.line(&rest[..end], sink);
            at += end + 1;
        }
        lines.len()
    }

    /// Skips lines that cannot change a list, starting with the line at `from`. Returns where the
    /// first other line begins, if there is one.
    fn skip(&mut self, lines: &[u8], from: usize) -> Option<usize> {
        let agent = &*self.agent;
        let is_telling = |found: &[u8]| agent.is_telling(found);
        let mut at = from;
        while at < lines.len() {
            let end = lines.len().min(at + BLOCK);
            // A needle may begin in this block and end in the next.
            let block = &lines[at..lines.len().min(end + LONGEST_NEEDLE)];
            if let Some(found) = self.prefilter.find(agent.needles(), is_telling, block) {
                let before = memchr::memrchr(b'\n', &lines[from..at + found]);
                let line = before.map_or(from, |it| from + it + 1);
                self.core.skip_lines(count_lines(&lines[at.min(line)..line]));
                return Some(line);
            }
            self.core.skip_lines(count_lines(&lines[at..end]));
            at = end;
        }
        None
    }

    /// Ends the stream. Events from now on have the line after the last.
    pub fn end(&mut self, sink: &mut dyn Sink) {
        self.core.next_line();
        let is_cut = self.is_in_document();
        let mut emit = Emit::new(&mut self.core, sink);
        if is_cut {
            emit.warn("not JSON: it ends in the middle");
        }
        self.agent.end(&mut emit);
        emit.begin_held();
        self.core.tally.lines -= 1;
    }

    /// The counts so far.
    pub fn tally(&self) -> &Tally {
        &self.core.tally
    }
}

/// Passes an object to the agent's parser.
fn take(agent: &mut dyn Agent, object: &Object<'_>, emit: &mut Emit<'_>) {
    agent.line(object, emit);
    emit.note_version(object);
}

fn count_lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// A parser with a line splitter: bytes in, events out.
pub struct Stream {
    lines: Lines,
    parser: Parser,
}

impl Stream {
    /// A stream of a known program.
    pub fn new(source: Source, options: Options) -> Self {
        Self { lines: Lines::new(options.longest_line), parser: Parser::new(source, options) }
    }

    /// Adds bytes.
    pub fn push(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        self.lines.push_to(chunk, Reader { parser: &mut self.parser, sink });
        // Programs that write one object over many lines often omit the last line break.
        if self.parser.is_in_document() && self.lines.carried() == b"}" {
            self.lines.end_to(Reader { parser: &mut self.parser, sink });
        }
    }

    /// Adds bytes of one of several streams that share a state. All bytes of such a stream must be
    /// added this way; the streams may be read in any order.
    pub fn push_sharing(&mut self, chunk: &[u8], shared: &mut Shared, sink: &mut dyn Sink) {
        self.parser.agent.share(shared);
        self.push(chunk, sink);
        self.parser.agent.share(shared);
    }

    /// Ends the stream.
    pub fn end(&mut self, sink: &mut dyn Sink) {
        self.lines.end_to(Reader { parser: &mut self.parser, sink });
        self.parser.end(sink);
    }

    /// The counts so far.
    pub fn tally(&self) -> &Tally {
        self.parser.tally()
    }
}

/// A parser and its receiver, as a receiver of pieces.
struct Reader<'a> {
    parser: &'a mut Parser,
    sink: &'a mut dyn Sink,
}

impl Take for Reader<'_> {
    fn piece(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Lines(lines) => self.parser.lines(lines, self.sink),
            Piece::TooLong(bytes) => self.parser.too_long(bytes, self.sink),
        }
    }

    fn whole_lines(&mut self, bytes: &[u8]) -> usize {
        self.parser.read(bytes, true, self.sink)
    }
}

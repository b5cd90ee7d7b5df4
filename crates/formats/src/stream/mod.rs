//! What other agents say while they work, as one stream of events.
//!
//! Bytes in, events out: [`Stream`] takes bytes however they are cut, [`Parser`] takes lines. Neither
//! ever fails: what cannot be read is a `warning` event with its line, and the next line is read.
//! Memory is bounded whatever comes. Each agent's shapes are known to its own folder alone.
//!
//! A list is told when the agent's program says that it took it, not when the model asks for it.

mod acp;
mod claude;
mod codex;
mod emit;
pub mod event;
mod gemini;
mod json;
mod kinds;
pub mod lines;
mod names;
mod ours;
pub mod owned;
mod pending;
mod recognise;
mod search;
mod texts;
mod time;
mod todo;
mod turns;
mod wide;
mod write;

pub use emit::Tally;
use emit::{Core, Emit};
use event::{AgentType, Event, KindName, KindSet};
use json::{Flaw, Tape, Value};
use lines::{LONGEST_LINE, Lines, Piece, Take};
pub use recognise::{Foreign, LOOK_AHEAD, foreign, recognise};
use search::Needle;

/// Which program's stream it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Source {
    /// Claude Code: `stream-json`, or a transcript.
    ClaudeCode,
    /// Codex: `exec --json`, a rollout, or the app server's notifications.
    Codex,
    /// Gemini CLI: `stream-json`, or a chat file.
    Gemini,
    /// An agent that speaks the Agent Client Protocol.
    Acp,
}

impl Source {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::ClaudeCode, Self::Codex, Self::Gemini, Self::Acp];

    /// What a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Acp => "acp",
        }
    }

    /// The one that a person calls so.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// As events carry it.
    pub fn agent_type(self) -> AgentType {
        match self {
            Self::ClaudeCode => AgentType::ClaudeCode,
            Self::Codex => AgentType::OpenaiCodex,
            Self::Gemini => AgentType::GoogleGemini,
            Self::Acp => AgentType::Acp,
        }
    }

    fn agent(self) -> Box<dyn Agent> {
        match self {
            Self::ClaudeCode => Box::new(claude::Claude::default()),
            Self::Codex => Box::new(codex::Codex::default()),
            Self::Gemini => Box::new(gemini::Gemini::default()),
            Self::Acp => Box::new(acp::Acp::default()),
        }
    }
}

/// Where events go.
pub trait Sink {
    /// Takes one.
    fn event(&mut self, event: &Event<'_>);
}

impl<F: FnMut(&Event<'_>)> Sink for F {
    fn event(&mut self, event: &Event<'_>) {
        self(event);
    }
}

/// What is wanted of a stream.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which kinds of events. If only lists are wanted, lines that cannot concern one are not read.
    pub only: KindSet,
    /// What the agent is called, if not by its session.
    pub agent: Option<String>,
    /// How many lines were there before the first one.
    pub lines_before: u64,
    /// The longest line that is read.
    pub longest_line: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { only: KindSet::ALL, agent: None, lines_before: 0, longest_line: LONGEST_LINE }
    }
}

/// What the streams of one session know together, where each of its agents writes a file of its own: the
/// tasks that they share.
#[derive(Default, Debug)]
pub struct Shared(claude::Board);

/// What knows one agent's lines. It keeps what it must from line to line, within bounds.
trait Agent: Send {
    /// Reads one line.
    fn line(&mut self, line: Value<'_>, emit: &mut Emit<'_>);

    /// The stream is over: tells what never was confirmed.
    fn end(&mut self, emit: &mut Emit<'_>);

    /// Texts of which every line has one that can change a list, while nothing is awaited. They must
    /// not depend on blanks between tokens. They may change from call to call. A line without any is not
    /// read if only lists are wanted: nothing in it may matter to a later list, nor to its id.
    fn needles(&self) -> &'static [Needle];

    /// Whether a place where a needle was found can really change a list. It begins with the needle and
    /// may be cut short by the end of the lines.
    fn is_telling(&self, _found: &[u8]) -> bool {
        true
    }

    /// Whether a call of a todo tool awaits its result, so that every line may matter.
    fn is_waiting(&self) -> bool;

    /// Changes what is known for what is shared, as far as the agent's files share anything.
    fn share(&mut self, _shared: &mut Shared) {}
}

/// Reads the lines of one stream.
pub struct Parser {
    core: Core,
    tape: Tape,
    agent: Box<dyn Agent>,
    /// Whether only lists are wanted, so that lines that cannot change one need not be read.
    is_quick: bool,
    longest_line: usize,
    document: Document,
}

/// The most objects that one line may have.
const MOST_OBJECTS: usize = 64;

/// A stream that is one object over many lines, as older programs write a whole session.
#[derive(Default, Debug)]
enum Document {
    /// No line has come.
    #[default]
    Unknown,
    /// Lines are objects.
    None,
    /// It has begun.
    Begun(Vec<u8>),
    /// It is longer than what is kept.
    TooLong,
}

impl Parser {
    /// A parser for one stream of a known program.
    pub fn new(source: Source, options: Options) -> Self {
        let agent = source.agent();
        let only_lists = options.only.is_within(KindSet::of([KindName::TodoList]));
        Self {
            core: Core::new(source.agent_type(), &options),
            tape: Tape::default(),
            agent,
            is_quick: only_lists,
            longest_line: options.longest_line,
            document: Document::Unknown,
        }
    }

    /// Reads one line, without its newline.
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

    /// Reads the objects of a line: one, or several where two programs wrote at once.
    fn objects(&mut self, line: &[u8], sink: &mut dyn Sink) {
        let mut rest = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        for _ in 0..MOST_OBJECTS {
            let mut emit = Emit::new(&mut self.core, sink);
            let end = match self.tape.read(rest) {
                Ok(value) => return take(&mut *self.agent, value, &mut emit),
                Err(Flaw::Syntax(at)) if rest.get(at) == Some(&b'{') => at,
                Err(flaw) => return emit.warn(flaw.to_string()),
            };
            let (first, next) = rest.split_at(end);
            match self.tape.read(first) {
                Ok(value) => take(&mut *self.agent, value, &mut emit),
                // What follows a flaw begins nothing.
                Err(_) => return emit.warn(Flaw::Syntax(end).to_string()),
            }
            rest = next;
        }
        Emit::new(&mut self.core, sink).warn(format!("more than {MOST_OBJECTS} objects in a line"));
    }

    /// Keeps a line that belongs to an object over many lines, and reads the whole with the last of them.
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
        // Within the object every line is indented.
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

    /// Whether an object over many lines has begun and not ended.
    fn is_in_document(&self) -> bool {
        matches!(self.document, Document::Begun(_) | Document::TooLong)
    }

    /// Goes over a line that was too long to keep.
    pub fn too_long(&mut self, bytes: u64, sink: &mut dyn Sink) {
        self.core.next_line();
        let why = format!("a line of {bytes} bytes; at most {} are read", self.longest_line);
        Emit::new(&mut self.core, sink).warn(why);
    }

    /// Reads any number of whole lines with the newlines between them.
    pub fn lines(&mut self, lines: &[u8], sink: &mut dyn Sink) {
        self.read(lines, false, sink);
    }

    /// Reads lines. What follows the last line end is one too, unless it is cut off there. Gives where what
    /// is cut off begins.
    fn read(&mut self, lines: &[u8], is_cut: bool, sink: &mut dyn Sink) -> usize {
        let mut at = 0;
        while at < lines.len() {
            let is_waiting = self.agent.is_waiting() || self.core.ours.is_waiting();
            if self.is_quick && !is_waiting && !self.is_in_document() {
                let found = search::next(&*self.agent, lines, at);
                self.core.skip_lines(found.newlines);
                let Some(line) = found.line else {
                    if is_cut {
                        return memchr::memrchr(b'\n', &lines[at..]).map_or(at, |it| at + it + 1);
                    }
                    let is_open = lines.last().is_some_and(|it| *it != b'\n');
                    self.core.skip_lines(u64::from(is_open));
                    return lines.len();
                };
                at = line;
            }
            let Some(rest) = lines.get(at..) else { break };
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

    /// The stream is over. What comes now is on the line after the last.
    pub fn end(&mut self, sink: &mut dyn Sink) {
        self.core.next_line();
        let is_cut = self.is_in_document();
        let mut emit = Emit::new(&mut self.core, sink);
        if is_cut {
            emit.warn(Flaw::Short.to_string());
        }
        self.agent.end(&mut emit);
        emit.begin_held();
        self.core.tally.lines -= 1;
    }

    /// What the stream had in it so far.
    pub fn tally(&self) -> &Tally {
        &self.core.tally
    }
}

/// Hands one value to whoever knows the agent's.
fn take(agent: &mut dyn Agent, value: Value<'_>, emit: &mut Emit<'_>) {
    if value.is_object() {
        agent.line(value, emit);
        emit.note_version(value);
    } else {
        emit.warn("not a JSON object");
    }
}

/// A parser with a cutter before it: bytes in, events out.
pub struct Stream {
    lines: Lines,
    parser: Parser,
}

impl Stream {
    /// A stream of a known program.
    pub fn new(source: Source, options: Options) -> Self {
        Self { lines: Lines::new(options.longest_line), parser: Parser::new(source, options) }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        self.lines.push_to(chunk, Reader { parser: &mut self.parser, sink });
        // Who writes a whole object over many lines mostly leaves out the last line's end.
        if self.parser.is_in_document() && self.lines.carried() == b"}" {
            self.lines.end_to(Reader { parser: &mut self.parser, sink });
        }
    }

    /// Takes the next bytes of one of several streams that share what they know. All bytes of it must come
    /// this way; the streams may be read in any order.
    pub fn push_sharing(&mut self, chunk: &[u8], shared: &mut Shared, sink: &mut dyn Sink) {
        self.parser.agent.share(shared);
        self.push(chunk, sink);
        self.parser.agent.share(shared);
    }

    /// The stream is over.
    pub fn end(&mut self, sink: &mut dyn Sink) {
        self.lines.end_to(Reader { parser: &mut self.parser, sink });
        self.parser.end(sink);
    }

    /// What the stream had in it so far.
    pub fn tally(&self) -> &Tally {
        self.parser.tally()
    }
}

/// A parser that takes pieces, and where its events go.
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

#[cfg(test)]
mod tests;

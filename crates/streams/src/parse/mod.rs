//! Parsers: what each agent's lines mean, as unified events.
//!
//! Each agent's shapes are known to its own folder alone. A list is told when the agent's program says that
//! it took it, not when the model asks for it.

mod acp;
mod claude;
mod codex;
pub(crate) mod emit;
mod gemini;
mod names;
mod ours;
mod pending;
mod time;
mod todo;
mod turns;

use emit::Emit;

use crate::json::Object;
use crate::source::Source;

/// What the streams of one session know together, where each of its agents writes a file of its own: the
/// tasks that they share.
#[derive(Default, Debug)]
pub struct Shared(claude::Board);

/// What knows one agent's lines. It keeps what it must from line to line, within bounds.
pub(crate) trait Agent: Send {
    /// The part of each line that the parser always reads; it is read together with the line.
    fn path(&self) -> &'static [&'static str] {
        &[]
    }

    /// Reads one line.
    fn line(&mut self, line: &Object<'_>, emit: &mut Emit<'_>);

    /// The stream is over: tells what never was confirmed.
    fn end(&mut self, emit: &mut Emit<'_>);

    /// Texts of which every line has one that can change a list, while nothing is awaited. They must
    /// not depend on blanks between tokens. They may change from call to call. A line without any is not
    /// read if only lists are wanted: nothing in it may matter to a later list, nor to its id.
    fn needles(&self) -> &'static [&'static str];

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

/// What reads the lines of a program.
pub(crate) fn agent_of(source: Source) -> Box<dyn Agent> {
    match source {
        Source::ClaudeCode => Box::new(claude::Claude::default()),
        Source::Codex => Box::new(codex::Codex::default()),
        Source::Gemini => Box::new(gemini::Gemini::default()),
        Source::Acp => Box::new(acp::Acp::default()),
    }
}

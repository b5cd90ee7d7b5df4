//! The parsers: convert each agent's lines to unified events.
//!
//! Each agent's formats are known only to its own folder. A list is reported when the agent's
//! program confirms it, not when the model requests it.

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

/// The task lists that the streams of one session share, if each of its agents writes its own file.
#[derive(Default, Debug)]
pub struct Shared(claude::Board);

/// The parser of one agent's lines. Its state between lines is bounded.
pub(crate) trait Agent: Send {
    /// The part of each line that the parser always reads; it is parsed together with the line.
    fn path(&self) -> &'static [&'static str] {
        &[]
    }

    /// Parses one line.
    fn line(&mut self, line: &Object<'_>, emit: &mut Emit<'_>);

    /// Handles the end of the stream: reports unconfirmed lists.
    fn end(&mut self, emit: &mut Emit<'_>);

    /// Needles: every line that can change a list contains one of these texts, while no result is
    /// pending. They must not depend on blanks between tokens. They may change from call to call.
    /// If only lists are wanted, lines without a needle are not parsed: nothing in them may affect
    /// a later list or its id.
    fn needles(&self) -> &'static [&'static str];

    /// Whether a found needle can really change a list. `_found` begins with the needle and may be
    /// cut off by the end of the lines.
    fn is_telling(&self, _found: &[u8]) -> bool {
        true
    }

    /// Whether a call of a todo tool has no result yet, so that every line may matter.
    fn is_waiting(&self) -> bool;

    /// Swaps the state with the shared one, if the agent's files share any.
    fn share(&mut self, _shared: &mut Shared) {}
}

/// The parser for a program.
pub(crate) fn agent_of(source: Source) -> Box<dyn Agent> {
    match source {
        Source::ClaudeCode => Box::new(claude::Claude::default()),
        Source::Codex => Box::new(codex::Codex::default()),
        Source::Gemini => Box::new(gemini::Gemini::default()),
        Source::Acp => Box::new(acp::Acp::default()),
    }
}

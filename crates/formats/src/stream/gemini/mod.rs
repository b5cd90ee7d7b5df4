//! The lines of Gemini.

use super::Agent;
use super::emit::Emit;
use super::json::Value;

/// What is kept from line to line.
#[derive(Default, Debug)]
pub(super) struct Gemini {}

impl Agent for Gemini {
    fn line(&mut self, line: Value<'_>, emit: &mut Emit<'_>) {
        emit.unknown(&line.text("type").map_or_else(Default::default, |it| it.cow()));
    }

    fn end(&mut self, _: &mut Emit<'_>) {}

    fn needles(&self) -> &'static [&'static str] {
        &[]
    }

    fn is_waiting(&self) -> bool {
        false
    }
}

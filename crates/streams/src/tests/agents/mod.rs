//! The tests of each agent's parser: recordings and hand-written lines.

mod acp;
mod claude;
mod codex;
mod gemini;
mod older;

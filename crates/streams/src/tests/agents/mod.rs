//! The tests of each agent's parser: recordings, and lines that are written by hand.

mod acp;
mod claude;
mod codex;
mod gemini;
mod older;

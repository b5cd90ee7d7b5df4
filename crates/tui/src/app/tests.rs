//! Screens as a person sees them: keys and reports in, the screen of a terminal emulator out.

mod commands;
mod flows;
mod harness;
mod questions;
mod queue;
mod sessions;
mod sizes;
mod typing;

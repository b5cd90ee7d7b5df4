//! The engine of `punchlist run`: a plan file, worked off.
//!
//! It joins the rooms: the file from `formats`, the plan and what is remembered of calls in the store, and
//! the scheduler, which decides what runs when. What a rule says is decided there, never here.

mod board;
mod course;

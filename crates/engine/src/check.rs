//! Checks: the command that shows whether an item is done, and the evidence that it gives.
//!
//! [`verify`] selects the checks that are due, runs one and records the evidence. [`runner`] runs a
//! command, [`evidence`] lists the files that a check covers and whether they have changed since,
//! [`glob`] finds files by pattern.

pub mod evidence;
pub mod glob;
pub mod runner;
pub mod verify;

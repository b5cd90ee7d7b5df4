//! Checks: the command that shows whether an item is done, and the evidence that it leaves.
//!
//! [`verify`] says which checks are due, runs one and records the evidence. [`runner`] runs a command,
//! [`evidence`] says which files a check speaks for and whether they have changed since, [`glob`] finds
//! files by pattern.

pub mod evidence;
pub mod glob;
pub mod runner;
pub mod verify;

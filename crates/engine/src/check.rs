//! Checks: the command that shows whether an item is done, and the evidence that it leaves.
//!
//! [`runner`] runs a check, [`evidence`] says which files it speaks for and whether they have changed
//! since, [`glob`] finds files by pattern.

pub mod evidence;
pub mod glob;
pub mod runner;

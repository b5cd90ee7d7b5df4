//! Test code that several crates share.
//!
//! A dev-dependency only. A helper that only one crate needs stays in that crate's tests; it moves
//! here when a second crate needs it.

#![forbid(unsafe_code)]

pub mod aimock;
pub mod features;
pub mod model;
pub mod naughty;
pub mod person;

pub use naughty::{Naughty, NotText, dangers, naughty, not_utf8};

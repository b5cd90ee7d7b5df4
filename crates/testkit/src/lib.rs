//! Test code that several crates share.
//!
//! A dev-dependency only. A helper that only one crate needs stays in that crate's tests; it moves
//! here when a second crate needs it.

#![forbid(unsafe_code)]

pub mod aimock;
pub mod features;
pub mod http_client;
pub mod model;
pub mod naughty;
pub mod network;
pub mod person;
pub mod picture;
pub mod pooler;
pub mod postgres;

pub use naughty::{Naughty, NotText, dangers, naughty, not_utf8};

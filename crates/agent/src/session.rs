//! A session: a conversation of a user with a model that works on the user's requests, turn after turn.

mod entry;

pub use entry::{Answer, Entry, Recorded, Result};

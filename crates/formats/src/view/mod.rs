//! Pure functions from a plan to what is shown of it.
//!
//! A view for people returns [`Line`]s of styled spans; whoever shows them turns them into text or draws
//! them. A view in a notation of its own (XML, Markdown, JSON, a graph) returns text.
//!
//! No rule lives here and nothing is decided: a view reads. Whatever agents wrote goes through
//! [`crate::text`] on its way out, so no view can be made to act on a terminal or to break its
//! notation. The one exception is [`json`], whose notation carries any text; there [`json::render`]
//! takes care of terminals.

pub mod boxed;
pub mod call;
pub mod change;
pub mod check;
pub mod detail;
pub mod duration;
mod frame;
pub mod goal;
pub mod graph;
pub mod json;
pub mod ledger;
pub mod list;
pub mod log;
pub mod markdown;
pub mod order;
pub mod plain;
pub mod plans;
pub mod questions;
pub mod run;
pub mod schema;
pub mod team;
pub mod watch;
pub mod xml;

use std::borrow::Cow;
use std::collections::BTreeSet;

use punchlist_model::{Item, Number, Timestamp};

use crate::text::one_line;
pub use crate::text::{Colour, Glyphs, Line, Span, Style};

/// What a view needs to know of the place that it is shown in.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// Columns.
    pub width: u16,
    /// Which signs can be shown.
    pub glyphs: Glyphs,
    /// The time that durations are counted to.
    pub now: Timestamp,
    /// The items whose covered files have changed since they were checked.
    pub stale: BTreeSet<Number>,
    /// Who reads it.
    pub reader: Reader,
}

/// Who reads a view. Commands that only a person may run are named to people alone; an agent is told to
/// ask its user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reader {
    /// Somebody at a terminal, or a program of theirs.
    Person,
    /// An agent.
    Agent,
}

impl Options {
    /// Eighty columns, Unicode, nothing stale, for a person.
    pub fn plain(now: Timestamp) -> Self {
        Self {
            width: 80,
            glyphs: Glyphs::Unicode,
            now,
            stale: BTreeSet::new(),
            reader: Reader::Person,
        }
    }
}

/// A text for one line of a screen, or a word that says that there is none.
fn shown(text: &str) -> Cow<'_, str> {
    let clean = one_line(text);
    if clean.is_empty() { Cow::Borrowed("(no title)") } else { clean }
}

/// What to show for an item now: the active form while it is in progress, else the title.
fn label(item: &Item) -> Cow<'_, str> {
    shown(item.label())
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
pub(crate) mod hostile_tests;
#[cfg(test)]
mod tests;

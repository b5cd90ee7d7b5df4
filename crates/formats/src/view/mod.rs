//! Views: pure functions from a plan to lines or text.
//!
//! A view for people returns [`Line`]s of styled spans; the caller draws them or converts them to
//! text. A view in another format (XML, Markdown, JSON, a graph) returns text.
//!
//! Views contain no rules and decide nothing. Every text of an agent goes through [`crate::text`],
//! so that it cannot control a terminal or break the format. The exception is [`json`], which can
//! carry any text; [`json::render`] escapes it for terminals.

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
pub mod live;
pub mod log;
pub mod markdown;
pub mod order;
pub mod pane;
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

/// Where and for whom a view is drawn.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// The width in columns.
    pub width: u16,
    /// Which signs the terminal can show.
    pub glyphs: Glyphs,
    /// The current time, for durations.
    pub now: Timestamp,
    /// The items with stale evidence.
    pub stale: BTreeSet<Number>,
    /// Who reads the view.
    pub reader: Reader,
}

/// Who reads a view. Only people are shown commands that only a person may run; an agent is told to
/// ask its user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reader {
    /// A person, or a program of theirs.
    Person,
    /// An agent.
    Agent,
}

impl Options {
    /// 80 columns, Unicode, nothing stale, for a person.
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

/// A text for one line, or a placeholder if it is empty.
fn shown(text: &str) -> Cow<'_, str> {
    let clean = one_line(text);
    if clean.is_empty() { Cow::Borrowed("(no title)") } else { clean }
}

/// The text for an item: the active form while it is in progress, otherwise the title.
fn label(item: &Item) -> Cow<'_, str> {
    shown(item.label())
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
pub(crate) mod hostile_tests;
#[cfg(test)]
mod tests;

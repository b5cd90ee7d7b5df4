//! What people type and paste: items by number, title or id, whole lists, edited forms.
//!
//! Pure: text in, operations out. Text that cannot be parsed is a [`Mistake`] with a hint; nothing
//! is guessed. The model decides whether a change is allowed.

pub mod budget;
pub mod checklist;
mod expect;
pub mod item_form;
pub mod items;
pub mod titles;
pub mod wanted;
pub mod whole_list;

use punchlist_model::item::RESERVED;
use serde_json::{Map, Value};

pub use expect::Expect;

/// A mistake in a text that somebody typed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// Which kind of mistake it is.
    pub kind: Kind,
    /// What is wrong.
    pub message: String,
    /// What to do about it, in a sentence.
    pub hint: Option<String>,
}

/// The kind of a mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The text cannot be parsed.
    Unreadable,
    /// The text has more entries than one call may have.
    TooLong,
    /// The text names an item that the plan does not have.
    NotFound,
}

impl Mistake {
    /// A text that cannot be parsed.
    pub fn new(message: impl Into<String>) -> Self {
        Self { kind: Kind::Unreadable, message: message.into(), hint: None }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// The metadata of an item: a JSON object, as typed after `--meta`.
pub fn metadata(text: &str) -> Result<Map<String, Value>, Mistake> {
    let wrong = |why: &str| {
        Mistake::new(format!("--meta is not a JSON object: {why}"))
            .hint("write it as `--meta '{\"ticket\": 12}'`.")
    };
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) if map.contains_key(RESERVED) => Err(Mistake::new(format!(
            "the key {RESERVED:?} of --meta is reserved"
        ))
        .hint("`punchlist run` stores the directory of a plan file there; use another key.")),
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(wrong("it is another kind of value")),
        Err(why) => Err(wrong(&why.to_string())),
    }
}

/// A field that an empty text clears.
pub fn optional(text: Option<String>) -> Option<Option<String>> {
    text.map(|text| Some(text).filter(|text| !text.is_empty()))
}

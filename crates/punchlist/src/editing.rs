//! The user's editor, and whether somebody could use it.

use std::env;

use punchlist_tui::terminal::editing::{Edited, Editor};

use crate::fail::Fail;
use crate::{person, places, print};

/// Whether an editor is known and somebody could use it.
pub(crate) fn is_possible() -> bool {
    !person::is_agent() && (chosen().is_some() || print::can_ask())
}

/// The user's editor.
fn chosen() -> Option<String> {
    let set = |name: &str| env::var(name).ok().filter(|it| !it.trim().is_empty());
    set("VISUAL").or_else(|| set("EDITOR"))
}

/// Opens a text in the user's editor; where there is a terminal, there is `vi`. `None` if the text comes back
/// as it was, or empty.
pub(crate) fn edit<T>(
    name: &str,
    text: &str,
    read: impl Fn(&str) -> Result<T, Fail>,
) -> Result<Option<Edited<T>>, Fail> {
    let command = chosen().unwrap_or_else(|| "vi".to_owned());
    Editor { command, directory: places::data()? }.edit(name, text, read)
}

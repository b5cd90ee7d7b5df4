//! The user's editor.

use std::env;

use punchlist_tui::terminal::editing::{Edited, Editor};

use crate::fail::Fail;
use crate::{person, places, print};

/// Whether there is an editor and a terminal to use it at.
pub(crate) fn is_possible() -> bool {
    !person::is_agent() && (chosen().is_some() || print::can_ask())
}

/// The editor that the user has set.
pub(crate) fn chosen() -> Option<String> {
    let set = |name: &str| env::var(name).ok().filter(|it| !it.trim().is_empty());
    set("VISUAL").or_else(|| set("EDITOR"))
}

/// Opens a text in the user's editor, `vi` by default. `None` if the text comes back unchanged or
/// empty.
pub(crate) fn edit<T>(
    name: &str,
    text: &str,
    read: impl Fn(&str) -> Result<T, Fail>,
) -> Result<Option<Edited<T>>, Fail> {
    let command = chosen().unwrap_or_else(|| "vi".to_owned());
    Editor { command, directory: places::data()? }.edit(name, text, read)
}

//! The user's pager.

use std::env;
use std::io::BufRead;

use punchlist_tui::terminal::pager;

use crate::fail::Fail;

/// Shows a text, on a terminal in the user's pager.
pub(crate) fn show(text: impl BufRead) -> Result<(), Fail> {
    pager::show(text, wanted().as_deref())
}

/// The pager that the user has set; `None` for `cat` and an empty value.
fn wanted() -> Option<String> {
    let set = ["PUNCHLIST_PAGER", "PAGER"].into_iter().find_map(|it| env::var(it).ok());
    let pager = set.unwrap_or_else(|| "less".to_owned());
    Some(pager.trim().to_owned()).filter(|it| !it.is_empty() && it != "cat")
}

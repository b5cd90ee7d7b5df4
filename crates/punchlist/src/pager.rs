//! The pager that the user wants.

use std::env;
use std::io::BufRead;

use punchlist_tui::terminal::pager;

use crate::fail::Fail;

/// Shows a text, on a terminal through the user's pager.
pub(crate) fn show(text: impl BufRead) -> Result<(), Fail> {
    pager::show(text, wanted().as_deref())
}

/// The user's pager; `cat` and nothing want none.
fn wanted() -> Option<String> {
    let set = ["PUNCHLIST_PAGER", "PAGER"].into_iter().find_map(|it| env::var(it).ok());
    let pager = set.unwrap_or_else(|| "less".to_owned());
    Some(pager.trim().to_owned()).filter(|it| !it.is_empty() && it != "cat")
}

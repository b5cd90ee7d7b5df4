//! The last message of a call, which is not stored: the request and the list as they stand. So neither
//! scrolls out of the window, and compaction cannot lose them.

use super::Context;
use super::quote::{DATA, cut, fenced_within};

pub(super) fn message(context: &Context<'_>) -> String {
    let most = context.options.list_bytes;
    let mut parts = vec![request(context.request, most)];
    let item = filled(context.in_progress)
        .map(|text| fenced_within("Item in progress", DATA, text, most / 2));
    let room = most.saturating_sub(item.as_ref().map_or(0, String::len));
    let list =
        filled(context.list).map(|text| fenced_within("TODO list (as of now)", DATA, text, room));
    parts.extend(list);
    parts.extend(item);
    parts.join("\n\n")
}

fn request(request: &str, most: usize) -> String {
    let shown = cut(request, most);
    let note =
        if shown.len() < request.len() { "\n(Cut: the whole request is above.)" } else { "" };
    format!("The request of this turn:\n{shown}{note}")
}

fn filled(text: Option<&str>) -> Option<&str> {
    text.filter(|it| !it.trim().is_empty())
}

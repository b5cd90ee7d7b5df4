//! A message instead of a page: not found, failed.

use maud::{Markup, html};
use punchlist_formats::text::one_line;

use super::shell::head;

/// The message, and the way back.
pub(crate) fn message(base: &str, heading: &str, text: &str, hint: Option<&str>) -> Markup {
    html! {
        (head(base, &format!("{heading} · Punchlist"), false))
        body.plain {
            main.message {
                h1 { (heading) }
                p { bdi { (one_line(text)) } }
                @if let Some(hint) = hint { p.muted { (hint) } }
                p { a.button href=(format!("{base}/agents")) { "To the agents" } }
            }
        }
    }
}

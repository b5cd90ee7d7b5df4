//! The two written forms of a list that results contain.
//!
//! Pure and total: whatever the titles hold, the XML is well-formed, a line stays one line, and no
//! escape, control character or bidi override gets out raw.

use punchlist_model::{Item, Plan, Status};

/// `<todos><todo id="1" status="doing">…</todo></todos>`; ids are positions.
pub(super) fn xml(plan: &Plan) -> String {
    let mut out = String::from("<todos>");
    for item in plan.listed() {
        out.push_str(&xml_item(item));
    }
    out.push_str("</todos>");
    out
}

/// One `<todo>` element.
pub(super) fn xml_item(item: &Item) -> String {
    let mut out = format!("<todo id=\"{}\" status=\"", item.position.unwrap_or_default());
    out.push_str(manager_status(item.status));
    out.push_str("\">");
    for char in item.title.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\n' | '\t' => out.push(char),
            '\r' => out.push_str("&#13;"),
            other => out.push(safe(other)),
        }
    }
    out.push_str("</todo>");
    out
}

/// What `manager` calls a status.
pub(super) fn manager_status(status: Status) -> &'static str {
    match status {
        Status::Pending => "todo",
        Status::InProgress => "doing",
        Status::Completed => "done",
        Status::Cancelled => "skipped",
    }
}

/// One line an item, a blank line, and how far it has come; `No todos.` when there are none.
pub(super) fn text(plan: &Plan) -> String {
    let items = plan.listed();
    if items.is_empty() {
        return "No todos.".to_owned();
    }
    let mut out = String::new();
    for item in items {
        let mark = match item.status {
            Status::Completed => "[x]",
            Status::InProgress => "[>]",
            Status::Pending => "[ ]",
            Status::Cancelled => "[-]",
        };
        out.push_str(mark);
        out.push(' ');
        out.push_str(&line(&item.title));
        if item.status == Status::InProgress
            && let Some(active) = &item.active_form
        {
            out.push_str(" <- ");
            out.push_str(&line(active));
        }
        out.push('\n');
    }
    let progress = plan.progress();
    out.push_str(&format!("\n({}/{} completed)", progress.completed, progress.total));
    out
}

/// A text on one line.
pub(super) fn line(text: &str) -> String {
    text.chars()
        .map(|char| match char {
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' | '\u{85}' => ' ',
            other => safe(other),
        })
        .collect()
}

/// The character, or the sign for one that cannot be shown.
fn safe(char: char) -> char {
    let bidi = matches!(
        char,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    if char.is_control() || bidi || matches!(char, '\u{fffe}' | '\u{ffff}') {
        char::REPLACEMENT_CHARACTER
    } else {
        char
    }
}

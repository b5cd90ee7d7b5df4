//! A whole list as people and programs write it: a checklist in text or Markdown, or a JSON array.
//!
//! Text that cannot be parsed is an error that names the line. Nothing is guessed.

use punchlist_model::{ItemRef, ListEntry, Status};
use serde::Deserialize;

use super::{Kind, Mistake, items};

/// Most entries of a list.
pub const MOST: usize = 10_000;

/// Reads a list.
pub fn parse(text: &str) -> Result<Vec<ListEntry>, Mistake> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(Mistake::new("there is no list on stdin")
            .hint("to empty the list on purpose: `echo '[]' | punchlist replace`."));
    }
    if is_json(text) { json(text) } else { lines(text) }
}

/// A text may also begin with a bracket, that of `[x]`.
fn is_json(text: &str) -> bool {
    let rest = text.trim_start().strip_prefix('[').map(str::trim_start);
    rest.is_some_and(|rest| rest.starts_with(['{', ']', '"']))
}

#[derive(Deserialize)]
struct Entry {
    #[serde(alias = "content", alias = "text")]
    title: String,
    #[serde(default)]
    status: Option<String>,
    #[serde(default, alias = "activeForm")]
    active_form: Option<String>,
    #[serde(default)]
    id: Option<serde_json::Value>,
    #[serde(default)]
    number: Option<u32>,
    #[serde(default, alias = "waitingOn")]
    waiting_on: Option<String>,
}

fn json(text: &str) -> Result<Vec<ListEntry>, Mistake> {
    let values: Vec<serde_json::Value> =
        serde_json::from_str(text).map_err(|why| Mistake::new(format!("stdin: {why}")))?;
    if values.len() > MOST {
        return Err(too_many());
    }
    (1..).zip(values).map(|(n, value)| entry(value).map_err(|why| bad_entry(n, &why))).collect()
}

/// The error for a list with too many entries.
pub fn too_many() -> Mistake {
    Mistake { kind: Kind::TooLong, ..Mistake::new(format!("a list of more than {MOST} entries")) }
        .hint("split it into several plans with `--plan NAME`.")
}

fn bad_entry(n: usize, why: &str) -> Mistake {
    Mistake::new(format!("entry {n}: {why}"))
        .hint("an entry is {\"title\": \"…\", \"status\": \"pending\"}, or just its title.")
}

fn entry(value: serde_json::Value) -> Result<ListEntry, String> {
    if let serde_json::Value::String(title) = value {
        return Ok(ListEntry::titled(title, Status::Pending));
    }
    let entry: Entry = serde_json::from_value(value).map_err(|why| why.to_string())?;
    let status = match entry.status.as_deref() {
        Some(text) => {
            text.parse().map_err(|why: punchlist_model::item::UnknownStatus| why.to_string())?
        }
        None => Status::Pending,
    };
    let item = match (entry.number, entry.id) {
        (Some(number), _) => Some(punchlist_model::Number(number).into()),
        (None, Some(id)) => typed(&id),
        (None, None) => None,
    };
    Ok(ListEntry {
        item,
        title: entry.title,
        active_form: entry.active_form,
        status,
        waiting_on: entry.waiting_on,
    })
}

/// An id that Punchlist did not give out is somebody's own label; then the title decides.
fn typed(id: &serde_json::Value) -> Option<ItemRef> {
    let text = match id {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Number(number) => number.to_string(),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Array(_)
        | serde_json::Value::Object(_) => return None,
    };
    items::reference(text.strip_prefix('#').unwrap_or(&text))
}

fn lines(text: &str) -> Result<Vec<ListEntry>, Mistake> {
    let mut entries = Vec::new();
    for (n, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || is_count(line) || line == "No todos." {
            continue;
        }
        let entry = line_entry(line).ok_or_else(|| {
            Mistake::new(format!("line {n} is not an entry of a list")).hint(
                "write `- [ ] title`, or `[x]`, `[>]` and `[-]` for completed, in progress and cancelled.",
            )
        })?;
        entries.push(entry);
        if entries.len() > MOST {
            return Err(too_many());
        }
    }
    if entries.is_empty() && !text.contains("No todos.") {
        return Err(Mistake::new("there is no entry on stdin")
            .hint("to empty the list on purpose: `echo '[]' | punchlist replace`."));
    }
    Ok(entries)
}

/// `(1/3 completed)`, the last line of a printed list.
fn is_count(line: &str) -> bool {
    let inner = line.strip_prefix('(').and_then(|it| it.strip_suffix(" completed)"));
    let counts = inner.and_then(|it| it.split_once('/'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    counts.is_some_and(|(done, all)| is_number(done) && is_number(all))
}

fn line_entry(line: &str) -> Option<ListEntry> {
    let bullet = without_bullet(line);
    let body = bullet.unwrap_or(line).trim_start();
    let (status, rest) = match marker(body) {
        Some(found) => found,
        // A line without a bullet needs a box; otherwise it is prose.
        None => (Status::Pending, bullet?),
    };
    let rest = rest.trim();
    let (title, active) = match rest.split_once(" <- ") {
        Some((title, active)) if status == Status::InProgress => (title, Some(active)),
        Some(_) | None => (rest, None),
    };
    // Backslashes are escapes only in Markdown.
    let plain = |text: &str| if bullet.is_some() { unescaped(text) } else { text.to_owned() };
    Some(ListEntry { active_form: active.map(plain), ..ListEntry::titled(plain(title), status) })
}

/// A line with a box.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Boxed<'a> {
    /// Its indentation.
    pub indent: usize,
    /// The status of the box.
    pub status: Status,
    /// The text after the box, as written.
    pub title: &'a str,
}

/// A line such as `  - [x] title`; `None` for any other.
pub fn boxed(line: &str) -> Option<Boxed<'_>> {
    let body = line.trim_start();
    let indent =
        line[..line.len() - body.len()].chars().map(|it| if it == '\t' { 4 } else { 1 }).sum();
    let (status, title) = marker(without_bullet(body)?)?;
    Some(Boxed { indent, status, title: title.trim() })
}

fn without_bullet(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|it: char| it.is_ascii_digit());
    let rest = match rest.len() == line.len() {
        true => line.strip_prefix(['-', '*', '+']),
        false => rest.strip_prefix(['.', ')']),
    };
    rest.filter(|rest| rest.starts_with([' ', '\t'])).map(str::trim_start)
}

fn marker(body: &str) -> Option<(Status, &str)> {
    let inner = body.strip_prefix('[')?;
    let sign = inner.chars().next()?;
    let rest = inner[sign.len_utf8()..].strip_prefix(']')?;
    let status = match sign {
        ' ' => Status::Pending,
        'x' | 'X' => Status::Completed,
        '>' => Status::InProgress,
        '-' => Status::Cancelled,
        _ => return None,
    };
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some((status, rest))
}

/// The text without Markdown's backslashes.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(ch) = chars.next() {
        match chars.peek() {
            Some(next) if ch == '\\' && next.is_ascii_punctuation() => {}
            Some(_) | None => {
                out.push(ch);
                continue;
            }
        }
        out.extend(chars.next());
    }
    out
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    fn shown(text: &str) -> String {
        let entries = match parse(text) {
            Ok(entries) => entries,
            Err(fail) => return format!("error: {}", fail.message),
        };
        let mut out = String::new();
        for entry in entries {
            write!(out, "{} {:?}", entry.status, entry.title).unwrap();
            if let Some(item) = &entry.item {
                write!(out, " #{item}").unwrap();
            }
            if let Some(active) = &entry.active_form {
                write!(out, " <- {active:?}").unwrap();
            }
            out.push('\n');
        }
        out
    }

    #[test]
    fn lists_are_read_as_they_are_written() {
        let cases = [
            "[x] done\n[>] title <- doing it\n[ ] pending\n[-] given up\n\n(1/3 completed)\n",
            "# Release\n\n- [ ] Build\n  - [x] Nested\n* plain bullet\n3. [>] third\n",
            "- [ ] a \\*star\\* and a \\\\ and c:\\dir\n[ ] a \\*star\\*\n",
            "[{\"content\": \"a\", \"status\": \"completed\", \"activeForm\": \"Doing a\", \"id\": \"3\"}, \"b\"]",
            "[{\"title\": \"a\", \"number\": 4}, {\"title\": \"b\", \"id\": \"their own\"}]",
            "[]",
            "No todos.",
            "",
            "  \n\n",
            "# Only a heading\n",
            "- [ ] good\nsome prose\n",
            "[?] odd\n",
            "[{\"title\": \"a\", \"status\": \"doing\"}]",
            "[{\"status\": \"pending\"}]",
            "[{\"title\": 3}]",
            "[{\"title\": \"a\"",
        ];
        let table: String =
            cases.iter().map(|text| format!("{text:?}\n{}\n\n", shown(text).trim_end())).collect();
        insta::assert_snapshot!(table);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\PC|[\\[\\]x>{}\":,\\- \n]){0,80}") {
            drop(parse(&text));
        }
    }
}

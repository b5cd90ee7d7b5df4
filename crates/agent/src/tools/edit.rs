//! `edit`: replaces an exact piece of text in a file. The text must occur once, unless all
//! occurrences are to be replaced.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use futures_core::future::BoxFuture;
use punchlist_sched::call::{Checked, Ended};
use punchlist_sched::{Preview, Tool, Work};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::diff::diff;
use super::text::{Found, MOST, is_crlf, read_file, stamp, to_crlf, write_file};
use super::{Place, Root, arguments, run_blocking, schema, writes};

/// How many occurrences a message lists.
const MOST_PLACES: usize = 10;

/// The tool.
pub struct Edit {
    root: Root,
    schema: Value,
}

#[derive(Clone, Deserialize, JsonSchema)]
struct Arguments {
    /// The file, relative to the project's root.
    path: String,
    /// The text to replace, exactly as it is in the file, with enough around it to be there only once.
    #[schemars(length(min = 1))]
    old: String,
    /// The text to put in its place.
    new: String,
    /// Replace every occurrence of the text.
    #[serde(default)]
    replace_all: bool,
}

impl Edit {
    /// Edits files of the project, and others if the policy allows it.
    pub fn new(root: Root) -> Self {
        Self { root, schema: schema::<Arguments>() }
    }
}

impl Tool for Edit {
    fn name(&self) -> &'static str {
        "edit"
    }

    fn description(&self) -> &'static str {
        "Replace a piece of a text file. The old text must match exactly, blanks and line ends included, \
         and be there only once unless replace_all is set. Read the file first."
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn check(&self, input: &Value) -> Result<Checked, String> {
        let input: Arguments = arguments(input)?;
        if input.old.is_empty() {
            return Err("old is empty; use write for a new file".to_owned());
        }
        if input.old == input.new {
            return Err("old and new are the same".to_owned());
        }
        Ok(writes(self.name(), &self.root.resolve_to_write(&input.path)?))
    }

    fn preview(&self, input: &Value) -> Preview {
        let input = arguments::<Arguments>(input);
        let input = input.and_then(|it| Ok((self.root.resolve_to_write(&it.path)?, it)));
        let Ok((place, input)) = input else {
            return Preview { what: "edit".to_owned(), ..Preview::default() };
        };
        let diff = match text(&place) {
            Ok((_, old)) => match replaced(&old, &input) {
                Ok((new, _)) => diff(&old, &new),
                Err(why) => Some(format!("with the current file this would fail: {why}\n")),
            },
            Err(why) => Some(format!("at the moment this would fail: {why}\n")),
        };
        let what = format!("edit {}", place.shown);
        Preview { what, diff, touches: vec![place.shown], ..Preview::default() }
    }

    fn stamp(&self, input: &Value) -> Option<String> {
        let input: Arguments = arguments(input).ok()?;
        Some(stamp(&self.root.resolve_to_write(&input.path).ok()?))
    }

    fn run(&self, input: Value, work: Work) -> BoxFuture<'static, Ended> {
        let root = self.root.clone();
        run_blocking(work, move |_| {
            let input: Arguments = arguments(&input)?;
            edited(&root.resolve_to_write(&input.path)?, &input)
        })
    }
}

/// The text of the file.
fn text(place: &Place) -> Result<(Found, String), String> {
    let found = read_file(place)?;
    let shown = &place.shown;
    match &found {
        Found::Text(text, _) => {
            let text = text.clone();
            Ok((found, text))
        }
        Found::Nothing => Err(format!("{shown} does not exist; write makes files")),
        Found::Other(what, _) => Err(format!("{shown} cannot be edited: {what}")),
    }
}

fn edited(place: &Place, input: &Arguments) -> Result<String, String> {
    let (found, old) = text(place)?;
    let (new, places) = replaced(&old, input).map_err(|why| format!("{}: {why}", place.shown))?;
    write_file(place, &found, &new)?;
    let places = if places == 1 { "1 place".to_owned() } else { format!("{places} places") };
    Ok(format!("edited {} ({places})", place.shown))
}

/// The text after the replacement, and the number of replacements.
fn replaced(text: &str, input: &Arguments) -> Result<(String, usize), String> {
    // Models write one kind of line end; the file keeps its own.
    let fit = |it: &str| if is_crlf(text) { to_crlf(it) } else { it.to_owned() };
    let (old, new) = (fit(&input.old), fit(&input.new));
    let Some(first) = text.find(&old) else { return Err(missing(text, &old)) };
    let long = || format!("the file would be longer than {MOST} bytes");
    if input.replace_all {
        let count = text.matches(&old).count();
        let longer = new.len().saturating_sub(old.len()).saturating_mul(count);
        if text.len().saturating_add(longer) as u64 > MOST {
            return Err(long());
        }
        return Ok((text.replace(&old, &new), count));
    }
    if text.len().saturating_add(new.len()) as u64 > MOST {
        return Err(long());
    }
    let places = places(text, &old);
    if places.len() > 1 {
        let lines: Vec<String> = places.iter().map(ToString::to_string).collect();
        let more = if places.len() == MOST_PLACES { " and maybe more" } else { "" };
        return Err(format!(
            "the old text is there more than once, at lines {}{more}; give more of what is around it, or \
             set replace_all",
            lines.join(", ")
        ));
    }
    let mut out = String::with_capacity(text.len() + new.len());
    out.push_str(text.get(..first).unwrap_or_default());
    out.push_str(&new);
    out.push_str(text.get(first + old.len()..).unwrap_or_default());
    Ok((out, 1))
}

/// The lines where the text begins, overlapping occurrences included: nobody knows which of them is
/// meant.
fn places(text: &str, piece: &str) -> Vec<usize> {
    let mut places = Vec::new();
    let (mut from, mut line) = (0, 1);
    while let Some(at) = text.get(from..).and_then(|it| it.find(piece)) {
        line += text.get(from..from + at).unwrap_or_default().matches('\n').count();
        places.push(line);
        if places.len() == MOST_PLACES {
            break;
        }
        let begin = from + at;
        let step = text.get(begin..).and_then(|it| it.chars().next()).map_or(1, char::len_utf8);
        line += usize::from(text.get(begin..).is_some_and(|it| it.starts_with('\n')));
        from = begin + step;
    }
    places
}

/// Why the text was not found, as far as that can be guessed.
fn missing(text: &str, old: &str) -> String {
    let mut why = "the old text is not in the file".to_owned();
    let squeezed = |it: &str| it.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted = squeezed(old);
    let numbered = old
        .lines()
        .any(|it| it.split_once('\t').is_some_and(|it| it.0.trim().parse::<u64>().is_ok()));
    let hint = if numbered {
        "; leave the line numbers out"
    } else if !wanted.is_empty() && squeezed(text).contains(&wanted) {
        "; only its blanks or line ends differ"
    } else {
        "; read the file again"
    };
    // Writing to a string cannot fail.
    why.write_str(hint).unwrap_or_default();
    why
}

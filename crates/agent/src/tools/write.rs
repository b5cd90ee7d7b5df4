//! `write`: replaces the whole text of a file.

use futures_core::future::BoxFuture;
use punchlist_sched::call::{Checked, Ended};
use punchlist_sched::{Preview, Tool, Work};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::diff::diff;
use super::text::{Found, is_crlf, lines, read_file, stamp, to_crlf, write_file};
use super::{Place, Root, arguments, run_blocking, schema, writes};

/// The tool.
pub struct Write {
    root: Root,
    schema: Value,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The file, relative to the project's root. Directories that are missing are made.
    path: String,
    /// The whole text of the file.
    content: String,
}

impl Write {
    /// Writes files of the project, and others if the policy allows it.
    pub fn new(root: Root) -> Self {
        Self { root, schema: schema::<Arguments>() }
    }
}

/// The text to store: a file whose lines all end with CRLF keeps them.
fn with_line_ends_of(found: &Found, content: String) -> String {
    match found {
        Found::Text(old, _) if is_crlf(old) && !content.contains('\r') => to_crlf(&content),
        Found::Text(..) | Found::Nothing | Found::Other(..) => content,
    }
}

impl Tool for Write {
    fn name(&self) -> &'static str {
        "write"
    }

    fn description(&self) -> &'static str {
        "Create a file, or replace the whole text of one. Use edit to change a part."
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn check(&self, input: &Value) -> Result<Checked, String> {
        let input: Arguments = arguments(input)?;
        Ok(writes(self.name(), &self.root.resolve_to_write(&input.path)?))
    }

    fn preview(&self, input: &Value) -> Preview {
        let input = arguments::<Arguments>(input);
        let input = input.and_then(|it| Ok((self.root.resolve_to_write(&it.path)?, it.content)));
        let Ok((place, content)) = input else {
            return Preview { what: "write".to_owned(), ..Preview::default() };
        };
        let found = read_file(&place).unwrap_or(Found::Nothing);
        let content = with_line_ends_of(&found, content);
        let verb = if found == Found::Nothing { "create" } else { "replace" };
        let diff = match &found {
            Found::Nothing => diff("", &content),
            Found::Text(old, _) => diff(old, &content),
            Found::Other(what, _) => Some(format!("the file cannot be shown: {what}\n")),
        };
        let what = format!("{verb} {}", place.shown);
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
            written(&root.resolve_to_write(&input.path)?, input.content)
        })
    }
}

fn written(place: &Place, content: String) -> Result<String, String> {
    let found = read_file(place)?;
    let content = with_line_ends_of(&found, content);
    let how_much = lines(&content);
    let message = match &found {
        Found::Text(old, _) if *old == content => {
            return Ok(format!("{} already has this content", place.shown));
        }
        Found::Nothing => format!("created {} ({how_much})", place.shown),
        Found::Text(old, _) => {
            format!("replaced {} ({how_much}, before {})", place.shown, lines(old))
        }
        Found::Other(..) => format!("replaced {} ({how_much})", place.shown),
    };
    write_file(place, &found, &content)?;
    Ok(message)
}

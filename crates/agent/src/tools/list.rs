//! `list`: the entries of a directory, without those that git ignores.

use std::fs;
use std::path::Path;

use futures_core::future::BoxFuture;
use ignore::WalkBuilder;
use punchlist_sched::call::{Checked, Ended};
use punchlist_sched::{Preview, Tool, Work};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Place, Root, arguments, reads_names, run_blocking, schema};

/// Maximum of entries that are shown.
const MOST: usize = 1_000;

/// The tool.
pub struct List {
    root: Root,
    schema: Value,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The directory, relative to the project's root; the root if left out.
    path: Option<String>,
    /// How many levels to show; 1 if left out.
    #[schemars(range(min = 1, max = 10))]
    depth: Option<u8>,
}

impl List {
    /// Lists directories of the project, and others if the policy allows it.
    pub fn new(root: Root) -> Self {
        Self { root, schema: schema::<Arguments>() }
    }
}

fn place(root: &Root, input: &Value) -> Result<(Place, u8), String> {
    let input: Arguments = arguments(input)?;
    let place = root.resolve(input.path.as_deref().unwrap_or("."))?;
    Ok((place, input.depth.unwrap_or(1).clamp(1, 10)))
}

impl Tool for List {
    fn name(&self) -> &'static str {
        "list"
    }

    fn description(&self) -> &'static str {
        "List a directory's files and, with a slash at the end, directories. What .gitignore leaves out is \
         left out."
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn check(&self, input: &Value) -> Result<Checked, String> {
        Ok(reads_names(self.name(), &place(&self.root, input)?.0))
    }

    fn preview(&self, input: &Value) -> Preview {
        let shown: Vec<String> =
            place(&self.root, input).into_iter().map(|it| it.0.shown).collect();
        Preview { what: format!("list {}", shown.concat()), touches: shown, ..Preview::default() }
    }

    fn run(&self, input: Value, work: Work) -> BoxFuture<'static, Ended> {
        let root = self.root.clone();
        run_blocking(work, move |work| {
            let (place, depth) = place(&root, &input)?;
            listed(&place, depth, work)
        })
    }
}

/// A walk over what git does not ignore. It follows no links and reads no settings from the home
/// directory.
pub(crate) fn walk(path: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(path);
    walk.hidden(false)
        .require_git(false)
        .git_global(false)
        .follow_links(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(|it| it.depth() == 0 || it.file_name() != ".git");
    walk
}

/// The path of an entry relative to `below`, escaped to fit on one line.
pub(crate) fn shown(path: &Path, below: &Path) -> String {
    let path = path.strip_prefix(below).unwrap_or(path).to_string_lossy();
    if path.chars().any(char::is_control) { format!("{path:?}") } else { path.into_owned() }
}

fn listed(place: &Place, depth: u8, work: &Work) -> Result<String, String> {
    let meta =
        fs::metadata(&place.real).map_err(|why| format!("cannot list {}: {why}", place.shown))?;
    if !meta.is_dir() {
        return Err(format!("{} is not a directory", place.shown));
    }
    let mut out = String::new();
    let mut count = 0;
    for entry in walk(&place.real).max_depth(Some(usize::from(depth))).build() {
        if work.is_stopping() {
            return Err("stopped".to_owned());
        }
        // Entries that cannot be read are left out: they belong to another user or have just been
        // removed.
        let Ok(entry) = entry else { continue };
        if entry.depth() == 0 {
            continue;
        }
        if count == MOST {
            out.push_str(&format!(
                "(there is more; only {MOST} are shown: list a directory below)\n"
            ));
            return Ok(out);
        }
        count += 1;
        let sign = match entry.file_type() {
            Some(it) if it.is_dir() => "/",
            Some(it) if it.is_symlink() => "@",
            Some(_) | None => "",
        };
        out.push_str(&format!("{}{sign}\n", shown(entry.path(), &place.real)));
    }
    if out.is_empty() {
        out.push_str("(nothing, or nothing that .gitignore does not leave out)\n");
    }
    Ok(out)
}

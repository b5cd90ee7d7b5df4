//! The tools that there are, by name, each with its schema ready for use.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::Value;

use super::{Preview, Tool};
use crate::call::Checked;
use crate::driver::panicked;
use crate::policy::Policy;

/// How many faults in arguments are named.
const MOST_FAULTS: usize = 5;
/// How many characters of a fault are said. It may quote the arguments.
const LONGEST_FAULT: usize = 300;

/// A tool that cannot be offered: a fault of whoever made it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadTool {
    /// There is one of that name.
    #[error("there are two tools called {0:?}")]
    Twice(String),
    /// Its schema is not a JSON Schema.
    #[error("the schema of the tool {name:?} is not a JSON Schema: {why}")]
    Schema {
        /// The tool.
        name: String,
        /// What is wrong.
        why: String,
    },
}

/// The tools that there are.
#[derive(Clone, Default)]
pub struct Tools {
    by_name: BTreeMap<String, Place>,
    all: Vec<Entry>,
}

/// Where a tool is among all tools. None is ever taken out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place(std::num::NonZeroU32);

impl Place {
    /// The place after so many others.
    fn after(others: usize) -> Option<Self> {
        std::num::NonZeroU32::new(u32::try_from(others).ok()?.checked_add(1)?).map(Self)
    }

    fn index(self) -> usize {
        usize::try_from(self.0.get() - 1).unwrap_or(usize::MAX)
    }
}

#[derive(Clone)]
struct Entry {
    tool: Arc<dyn Tool>,
    schema: Arc<Validator>,
}

impl Tools {
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), BadTool> {
        let name = tool.name().to_owned();
        if self.by_name.contains_key(&name) {
            return Err(BadTool::Twice(name));
        }
        let schema = jsonschema::validator_for(tool.schema()).map_err(|error| {
            let why = shortened(&error.to_string());
            BadTool::Schema { name: name.clone(), why }
        })?;
        if let Some(place) = Place::after(self.all.len()) {
            self.by_name.insert(name, place);
            self.all.push(Entry { tool, schema: Arc::new(schema) });
        }
        Ok(())
    }

    /// A tool by its name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.at(self.place(name)?)
    }

    /// Where a tool is.
    pub(crate) fn place(&self, name: &str) -> Option<Place> {
        self.by_name.get(name).copied()
    }

    /// The tool that is there.
    pub(crate) fn at(&self, place: Place) -> Option<&Arc<dyn Tool>> {
        self.all.get(place.index()).map(|entry| &entry.tool)
    }

    /// All tools, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.by_name.values().filter_map(|place| self.at(*place))
    }

    /// The tools that a model is offered: all but those that rules deny wholly. It would only learn that
    /// they are denied.
    pub fn offered(&self, policy: &Policy) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.iter().filter(|it| !policy.denies_all_of(it.name(), it.server()))
    }

    /// Looks at a call: the tool exists, the arguments fit its schema, and it agrees itself.
    pub fn check(&self, name: &str, arguments: &Value) -> Result<Checked, String> {
        self.check_at(self.place(name), name, arguments)
    }

    /// The same where the tool's place is known, if it has one.
    pub(crate) fn check_at(
        &self,
        place: Option<Place>,
        name: &str,
        arguments: &Value,
    ) -> Result<Checked, String> {
        let found = place.and_then(|it| self.all.get(it.index()));
        let Some(Entry { tool, schema }) = found else {
            let names: Vec<&str> = self.by_name.keys().map(String::as_str).collect();
            let name = shortened(name);
            return Err(format!("there is no tool {name:?}; there are: {}", names.join(", ")));
        };
        if !schema.is_valid(arguments) {
            return Err(faults(schema, arguments));
        }
        let check = || tool.check(arguments);
        catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|payload| {
            Err(format!("the tool broke while it looked at them: {}", panicked(&*payload)))
        })
    }

    /// What a question about a call rests on.
    pub(crate) fn stamp(&self, name: &str, arguments: &Value) -> Option<String> {
        let stamp = || self.get(name).and_then(|tool| tool.stamp(arguments));
        catch_unwind(AssertUnwindSafe(stamp)).ok().flatten()
    }

    /// What a call would do, in the tool's words. What a tool that breaks would do is not known.
    pub(crate) fn preview(&self, name: &str, arguments: &Value) -> Preview {
        let preview = || self.get(name).map(|tool| tool.preview(arguments));
        let shown = catch_unwind(AssertUnwindSafe(preview)).ok().flatten();
        shown.unwrap_or_else(|| Preview { what: name.to_owned(), ..Preview::default() })
    }
}

fn faults(schema: &Validator, arguments: &Value) -> String {
    let mut all = schema.iter_errors(arguments);
    let named: Vec<String> = all
        .by_ref()
        .take(MOST_FAULTS)
        .map(|fault| {
            let (path, what) = (fault.instance_path().to_string(), shortened(&fault.to_string()));
            if path.is_empty() { what } else { format!("at {}: {what}", shortened(&path)) }
        })
        .collect();
    let more = if all.next().is_some() { "; and more" } else { "" };
    format!("the arguments do not fit: {}{more}", named.join("; "))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_FAULT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

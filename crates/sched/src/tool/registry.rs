//! The registry of tools, by name, with their compiled schemas.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::Value;

use super::{Preview, Tool};
use crate::call::Checked;
use crate::policy::Policy;
use crate::run::panicked;

/// Maximum of reported errors in arguments.
const MOST_FAULTS: usize = 5;
/// Maximum length of an error message in characters. It may quote the arguments.
const LONGEST_FAULT: usize = 300;

/// A tool that cannot be registered: a bug of its author.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadTool {
    /// There is another tool of that name.
    #[error("there are two tools called {0:?}")]
    Twice(String),
    /// The tool's schema is not a JSON Schema.
    #[error("the schema of tool {name:?} is not a valid JSON Schema: {why}")]
    Schema {
        /// The tool.
        name: String,
        /// The error message.
        why: String,
    },
}

/// The registry of tools, by name.
#[derive(Clone, Default)]
pub struct Tools(BTreeMap<String, Entry>);

#[derive(Clone)]
struct Entry {
    tool: Arc<dyn Tool>,
    schema: Arc<Validator>,
}

impl Tools {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), BadTool> {
        let name = tool.name().to_owned();
        if self.0.contains_key(&name) {
            return Err(BadTool::Twice(name));
        }
        let schema = jsonschema::validator_for(tool.schema()).map_err(|error| {
            let why = shortened(&error.to_string());
            BadTool::Schema { name: name.clone(), why }
        })?;
        self.0.insert(name, Entry { tool, schema: Arc::new(schema) });
        Ok(())
    }

    /// Adds a tool, and returns the registry.
    pub fn with(mut self, tool: impl Tool + 'static) -> Result<Self, BadTool> {
        self.add(Arc::new(tool))?;
        Ok(self)
    }

    /// A tool by its name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.0.get(name).map(|it| &it.tool)
    }

    /// All tools, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.0.values().map(|it| &it.tool)
    }

    /// The tools that a model gets: all but those that the policy denies completely.
    pub fn offered(&self, policy: &Policy) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.iter().filter(|it| !policy.denies_all_of(it.name(), it.server()))
    }

    /// Validates a call: the tool exists, the arguments match its schema, and the tool accepts
    /// them.
    pub fn check(&self, name: &str, arguments: &Value) -> Result<Checked, String> {
        let Some(Entry { tool, schema }) = self.0.get(name) else {
            let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
            let name = shortened(name);
            return Err(format!("there is no tool {name:?}; there are: {}", names.join(", ")));
        };
        if !schema.is_valid(arguments) {
            return Err(faults(schema, arguments));
        }
        let check = || tool.check(arguments);
        catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|payload| {
            Err(format!(
                "the tool panicked while it checked the arguments: {}",
                panicked(&*payload)
            ))
        })
    }

    /// The tool's stamp for a call.
    pub(crate) fn stamp(&self, name: &str, arguments: &Value) -> Option<String> {
        let stamp = || self.get(name).and_then(|tool| tool.stamp(arguments));
        catch_unwind(AssertUnwindSafe(stamp)).ok().flatten()
    }

    /// The tool's preview of a call; empty if the tool panics.
    pub(crate) fn preview(&self, name: &str, arguments: &Value) -> Preview {
        let preview = || self.get(name).map(|tool| tool.preview(arguments));
        let shown = catch_unwind(AssertUnwindSafe(preview)).ok().flatten();
        shown.unwrap_or_else(|| Preview { what: name.to_owned(), ..Preview::default() })
    }
}

/// Why a value does not fit a JSON Schema; `None` if it fits. Fails if the schema itself is wrong.
pub fn misfit(schema: &Value, value: &Value) -> Result<Option<String>, String> {
    let schema = jsonschema::validator_for(schema).map_err(|why| shortened(&why.to_string()))?;
    Ok((!schema.is_valid(value)).then(|| named_faults(&schema, value)))
}

fn faults(schema: &Validator, arguments: &Value) -> String {
    format!("the arguments do not fit: {}", named_faults(schema, arguments))
}

/// The first faults of a value.
fn named_faults(schema: &Validator, value: &Value) -> String {
    let mut all = schema.iter_errors(value);
    let named: Vec<String> = all
        .by_ref()
        .take(MOST_FAULTS)
        .map(|fault| {
            let (path, what) = (fault.instance_path().to_string(), shortened(&fault.to_string()));
            if path.is_empty() { what } else { format!("at {}: {what}", shortened(&path)) }
        })
        .collect();
    let more = if all.next().is_some() { "; and more" } else { "" };
    format!("{}{more}", named.join("; "))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_FAULT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

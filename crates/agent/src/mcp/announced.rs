//! The tools that a server announces, checked and bounded. A tool that cannot be shown or checked safely is
//! left out, with a note.

mod schema;

use std::collections::BTreeSet;
use std::sync::Arc;

use punchlist_sched::tool::BadTool;
use punchlist_sched::{Tools, tool_fn};
use rmcp::model;
use serde_json::Value;

use super::words::{bounded, one_line};

/// Most tools of one server. Each costs tokens in every model call.
pub(super) const MOST_TOOLS: usize = 128;
/// The longest name of a tool, as the server calls it.
const LONGEST_NAME: usize = 256;
/// The longest description, in characters.
const LONGEST_DESCRIPTION: usize = 2_000;
/// Most notes about one announcement.
const MOST_NOTES: usize = 5;

/// A tool of a server.
#[derive(Debug)]
pub(super) struct Announced {
    /// Its name, as the server calls it.
    pub(super) name: String,
    /// Its description for models, marked as the server's.
    pub(super) description: String,
    /// The schema of its arguments.
    pub(super) schema: Value,
}

/// What is used of an announcement.
#[derive(Debug, Default)]
pub(super) struct Announcement {
    pub(super) tools: Vec<Arc<Announced>>,
    /// What was left out, and why.
    pub(super) notes: Vec<String>,
}

/// Checks an announcement. `wanted` are the tools that the configuration names. `more` says that the
/// server announced more tools than these.
pub(super) fn checked(
    server: &str,
    all: Vec<model::Tool>,
    more: bool,
    wanted: Option<&[String]>,
) -> Announcement {
    let mut announcement = Announcement::default();
    let mut names = BTreeSet::new();
    let mut notes = Vec::new();
    for tool in all {
        if wanted.is_some_and(|it| !it.iter().any(|name| *name == tool.name)) {
            continue;
        }
        if announcement.tools.len() == MOST_TOOLS {
            notes.push(format!("only its first {MOST_TOOLS} tools are used"));
            break;
        }
        let name = tool.name.to_string();
        match one(server, &tool) {
            Ok(_) if !names.insert(name.clone()) => {
                notes.push(format!("it announces the tool {} twice", shown(&name)));
            }
            Ok(tool) => announcement.tools.push(Arc::new(tool)),
            Err(why) => notes.push(format!("its tool {} is not used: {why}", shown(&name))),
        }
    }
    let missing = |name: &&String| !more && !names.contains(*name);
    for name in wanted.into_iter().flatten().filter(missing) {
        notes.push(format!("it has no usable tool {}", shown(name)));
    }
    if more && announcement.tools.len() < MOST_TOOLS {
        notes.push("it announces too many tools; some are not used".to_owned());
    }
    if let Some(left_out @ 1..) = notes.len().checked_sub(MOST_NOTES) {
        notes.truncate(MOST_NOTES);
        notes.push(format!("and {left_out} more"));
    }
    announcement.notes = notes;
    announcement
}

fn one(server: &str, tool: &model::Tool) -> Result<Announced, String> {
    let name = tool.name.to_string();
    if name.is_empty() || name.len() > LONGEST_NAME {
        return Err(format!("its name does not have 1 to {LONGEST_NAME} bytes"));
    }
    let told = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
    let told = bounded(told, LONGEST_DESCRIPTION);
    let description = format!("[MCP server {server}] {told}").trim_end().to_owned();
    let schema = schema::usable(&tool.input_schema)?;
    // The scheduler compiles it; whether it can is seen here, where the tool can be left out.
    let probe = tool_fn("tool", schema.clone(), |_, _| async { Ok::<_, String>("") });
    match Tools::new().with(probe) {
        Ok(_) => {}
        Err(BadTool::Schema { why, .. }) => {
            return Err(format!("its schema is not valid: {}", one_line(&why, 200)));
        }
        Err(BadTool::Twice(_)) => return Err("it is there twice".to_owned()),
    }
    Ok(Announced { name, description, schema })
}

fn shown(name: &str) -> String {
    format!("{:?}", one_line(name, 40))
}

//! Punchlist's entries in Claude Code's files.
//!
//! There are two files: one with the MCP servers, one with permissions and hooks. Claude Code has a
//! command to add a server, but it writes other state into the user's home, which `uninstall` could
//! not restore. So both files are edited here.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Scope;
use super::edit::{Document, Step};
use super::entries::{
    Made, Wanted, drop_if_empty, hooked, missing, put_hooks, take_all_hooks, unfit,
};
use Step::{Index, Key};

/// The permission that lets all tools of Punchlist's server run without asking.
pub const PERMISSION: &str = "mcp__punchlist";

/// The events with hooks, and for tool events the tools.
pub const EVENTS: [(&str, Option<&str>); 11] = [
    ("SessionStart", None),
    ("UserPromptSubmit", None),
    ("PostToolUse", Some("TodoWrite|TaskCreate|TaskUpdate|TaskList|TaskGet")),
    ("PostToolUseFailure", Some("TaskCreate")),
    ("PostToolBatch", None),
    ("TaskCreated", None),
    ("TaskCompleted", None),
    ("SubagentStart", None),
    ("SubagentStop", None),
    ("Stop", None),
    ("SessionEnd", None),
];

/// The two files of a scope.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    /// With the MCP servers.
    pub servers: PathBuf,
    /// With permissions and hooks.
    pub settings: PathBuf,
}

impl Places {
    /// The files of a scope.
    pub fn of(home: &Path, config_dir: Option<&Path>, scope: &Scope) -> Self {
        match scope {
            Scope::User => {
                let directory = config_dir.map_or_else(|| home.join(".claude"), Path::to_owned);
                // An older location that Claude Code prefers if it exists.
                let old = directory.join(".config.json");
                let servers = if old.exists() {
                    old
                } else {
                    config_dir.unwrap_or(home).join(".claude.json")
                };
                Self { servers, settings: directory.join("settings.json") }
            }
            Scope::Project(root) => Self {
                servers: root.join(".mcp.json"),
                settings: root.join(".claude").join("settings.json"),
            },
        }
    }
}

/// The entry of Punchlist's server.
pub(crate) fn server(binary: &str, arguments: &[&str]) -> Value {
    json!({
        "type": "stdio",
        "command": binary,
        "args": arguments,
        // Claude Code then waits for the connection and loads the tools. Otherwise it may show the
        // model only their names.
        "alwaysLoad": true,
    })
}

/// Whether settings contain the permission.
pub(crate) fn permits(settings: &Value) -> bool {
    let allowed = settings["permissions"]["allow"].as_array();
    allowed.is_some_and(|it| it.iter().any(|it| it == PERMISSION))
}

/// Adds permission and hooks to the settings. Removes our permission if it is no longer wanted.
pub(crate) fn put_settings(
    doc: &mut Document,
    wanted: &Wanted,
    made: Made<'_>,
) -> Result<(), String> {
    if wanted.permission && !permits(&doc.value()) {
        let array = [Key("permissions"), Key("allow")];
        let count = doc.get(&array).as_ref().and_then(Value::as_array).map_or(0, Vec::len);
        let key_path = [array[0], array[1], Index(count)];
        doc.put(&key_path, &json!(PERMISSION)).map_err(|it| unfit(&key_path, it))?;
    }
    if !wanted.permission {
        let had_ours = !hooked(wanted.agent, &doc.value()).is_empty();
        take_permission(doc, made, had_ours);
    }
    put_hooks(doc, wanted)
}

/// Removes permission and hooks from the settings, and the containers that were created for them.
pub(crate) fn take_settings(doc: &mut Document, made: Made<'_>) {
    let had_ours = take_all_hooks(doc, punchlist_formats::hook::Agent::Claude, made);
    take_permission(doc, made, had_ours);
}

/// Removes the permission if it is ours, and the containers that were created for it.
fn take_permission(doc: &mut Document, made: Made<'_>, had_ours: bool) {
    let array = [Key("permissions"), Key("allow")];
    let allowed = doc.get(&array).unwrap_or_default();
    let at = allowed.as_array().and_then(|it| it.iter().rposition(|it| it == PERMISSION));
    let at = at.filter(|_| made.has(MADE_PERMISSION, had_ours));
    if let Some(at) = at {
        doc.remove(&[array[0], array[1], Index(at)]);
    }
    drop_if_empty(doc, &array, "permissions/allow", made, at.is_some());
    drop_if_empty(doc, &array[..1], "permissions", made, at.is_some());
}

/// The name of the permission in the record.
pub(crate) const MADE_PERMISSION: &str = "permissions/allow/mcp__punchlist";

/// The names of everything that our edits would have to create.
pub(crate) fn all_missing(value: &Value) -> Vec<String> {
    let more = ["mcpServers", "permissions", "permissions/allow"];
    let mut names = missing(value, punchlist_formats::hook::Agent::Claude, &more);
    if !permits(value) {
        names.push(MADE_PERMISSION.to_owned());
    }
    names
}

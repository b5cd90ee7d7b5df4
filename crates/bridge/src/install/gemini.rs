//! What stands in Gemini CLI's settings for us: one file with servers and hooks.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Scope;

/// The events that we hear of. A tool that was called stands for a model turn, so that all tools
/// matter.
pub const EVENTS: [(&str, Option<&str>); 5] = [
    ("SessionStart", Some("*")),
    ("BeforeAgent", Some("*")),
    ("AfterTool", Some("*")),
    ("AfterAgent", Some("*")),
    ("SessionEnd", Some("*")),
];

/// The settings of a scope.
pub(crate) fn settings(home: &Path, config_dir: Option<&Path>, scope: &Scope) -> PathBuf {
    match scope {
        Scope::User => {
            let directory = config_dir.map_or_else(|| home.join(".gemini"), Path::to_owned);
            directory.join("settings.json")
        }
        Scope::Project(root) => root.join(".gemini").join("settings.json"),
    }
}

/// After so many milliseconds Gemini CLI goes on without our server, or without its answer. It would
/// wait ten minutes otherwise, before it so much as looks at the prompt.
const SERVER_MILLISECONDS: u32 = 10_000;

/// The entry of our server. With `trust` its tools run without asking; a run without a screen does
/// not even show them to the model otherwise.
pub(crate) fn server(binary: &str, arguments: &[&str], permission: bool) -> Value {
    let mut server = json!({"command": binary, "args": arguments, "timeout": SERVER_MILLISECONDS});
    if permission {
        server["trust"] = json!(true);
    }
    server
}

/// What Gemini CLI would read as a variable of the environment in a word of its settings.
pub(crate) fn variable(word: &str) -> Option<String> {
    let names = word.split('$').skip(1);
    names
        .map(|rest| {
            let rest = rest.strip_prefix('{').unwrap_or(rest);
            rest.chars().take_while(|it| it.is_ascii_alphanumeric() || *it == '_').collect()
        })
        .find(|name: &String| !name.is_empty())
}

//! Punchlist's entries in Gemini CLI's settings: one file with servers and hooks.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Scope;

/// The events with hooks. A tool call counts as a model turn, so the hook is for all tools.
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

/// The timeout of Gemini CLI for the server's start and for each call. The default is ten minutes,
/// in which Gemini CLI would not even read the prompt.
const SERVER_MILLISECONDS: u32 = 10_000;

/// The entry of Punchlist's server. With `trust` its tools run without asking; without it, a
/// headless run does not even offer them to the model.
pub(crate) fn server(binary: &str, arguments: &[&str], permission: bool) -> Value {
    let mut server = json!({"command": binary, "args": arguments, "timeout": SERVER_MILLISECONDS});
    if permission {
        server["trust"] = json!(true);
    }
    server
}

/// The environment variable that Gemini CLI would expand in a text of its settings.
pub(crate) fn variable(word: &str) -> Option<String> {
    let names = word.split('$').skip(1);
    names
        .map(|rest| {
            let rest = rest.strip_prefix('{').unwrap_or(rest);
            rest.chars().take_while(|it| it.is_ascii_alphanumeric() || *it == '_').collect()
        })
        .find(|name: &String| !name.is_empty())
}

//! `.mcp.json` of a project: servers that come with somebody's repository.
//!
//! Each needs a person's consent. The entry gets no variable of the user that the question did not name,
//! and no command is run to look up a value.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use punchlist_engine::policy::trusted_files;
use serde::Deserialize;
use serde_json::Value;

use super::config::{Launch, ServerConfig};
use super::foreign::{ForeignServer, ForeignServers, MOST_SERVERS, Origin};
use super::names::check_server;
use super::template::Template;
use super::words::one_line;

/// The file.
pub const FILE: &str = ".mcp.json";

/// An entry as Claude Code writes it. Other fields are ignored.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

impl ForeignServers {
    /// Reads the file of a project. A project without one has no servers.
    pub fn of_project(root: &Path) -> Self {
        let path = root.join(FILE);
        let Ok(meta) = fs::symlink_metadata(&path) else { return Self::default() };
        if !meta.is_file() {
            return Self::noted(format!("ignored {FILE}: it is not a plain file"));
        }
        match trusted_files::text(&path) {
            Ok(text) => Self::parse_file(&text),
            Err(why) => Self::noted(format!("ignored {FILE}: {}", one_line(&why.message, 300))),
        }
    }

    /// Reads the text of a project's file.
    pub fn parse_file(text: &str) -> Self {
        let file: Value = match serde_json::from_str(text) {
            Ok(file) => file,
            Err(why) => return Self::noted(format!("ignored {FILE}: {why}")),
        };
        let Some(entries) = file.get("mcpServers").and_then(Value::as_object) else {
            return Self::noted(format!("ignored {FILE}: it has no object mcpServers"));
        };
        let mut all = Self::default();
        for (name, entry) in entries.iter().take(MOST_SERVERS) {
            let server = config(name, entry);
            match server.and_then(|it| ForeignServer::new(it, entry, Origin::Project)) {
                Ok(server) => all.servers.push(server),
                Err(why) => {
                    let name = one_line(name, 40);
                    all.notes.push(format!("ignored server {name:?} of {FILE}: {why}"));
                }
            }
        }
        if entries.len() > MOST_SERVERS {
            all.notes
                .push(format!("{FILE} has more than {MOST_SERVERS} servers; ignored the rest"));
        }
        all
    }
}

fn config(name: &str, entry: &Value) -> Result<ServerConfig, String> {
    check_server(name)?;
    if !entry.is_object() {
        return Err("its entry is not an object".to_owned());
    }
    let Entry { kind, command, args, env, url, headers } =
        Entry::deserialize(entry).map_err(|why| one_line(&why.to_string(), 300))?;
    let values = |all: BTreeMap<String, String>| -> BTreeMap<String, Template> {
        all.into_iter().map(|(name, text)| (name, Template::of_project(&text))).collect()
    };
    let launch = match (kind.as_deref(), command, url) {
        (None | Some("stdio"), Some(command), None) if !command.is_empty() => {
            let words = std::iter::once(&command).chain(&args);
            let command = words.map(|it| Template::of_project(it)).collect();
            Launch::Program { command, env: values(env), directory: None }
        }
        (None | Some("http" | "streamable-http" | "streamableHttp"), None, Some(url)) => {
            Launch::Http { url: Template::of_project(&url), headers: values(headers) }
        }
        (Some(kind @ ("sse" | "ws")), _, _) => {
            return Err(format!("the transport {kind} is not supported"));
        }
        (_, _, _) => return Err("it needs a command, or a url with type http".to_owned()),
    };
    Ok(ServerConfig { name: name.to_owned(), launch, timeout: None, tools: None })
}

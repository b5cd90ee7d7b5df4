//! `.mcp.json` of a project: servers that come with somebody's repository.
//!
//! Each is started only after a person's yes, which holds for exactly one entry: the consent is bound to
//! the entry's digest, and a changed entry asks again. The entry gets no variable of the user that the
//! question did not name, and no command is run to look up a value.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use punchlist_engine::policy::trusted_files;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::config::{Launch, ServerConfig};
use super::names::check_server;
use super::template::Template;
use super::words::one_line;

/// The file.
pub const FILE: &str = ".mcp.json";
/// Most servers of one file.
const MOST_SERVERS: usize = 50;
/// The longest entry. A person must be able to read all of it.
const LONGEST_ENTRY: usize = 4 * 1024;

/// The servers of a project's file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProjectServers {
    /// The servers, in the order of the file.
    pub servers: Vec<ProjectServer>,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

/// A server of a project's file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProjectServer {
    /// How it would be started.
    pub config: ServerConfig,
    /// The digest of its name and entry, which a consent is bound to.
    pub digest: String,
}

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

impl ProjectServers {
    /// Reads the file of a project. A project without one has no servers.
    pub fn open(root: &Path) -> Self {
        let path = root.join(FILE);
        let Ok(meta) = fs::symlink_metadata(&path) else { return Self::default() };
        if !meta.is_file() {
            return Self::noted(format!("ignored {FILE}: it is not a plain file"));
        }
        match trusted_files::text(&path) {
            Ok(text) => Self::parse(&text),
            Err(why) => Self::noted(format!("ignored {FILE}: {}", one_line(&why.message, 300))),
        }
    }

    /// Reads the text of a file.
    pub fn parse(text: &str) -> Self {
        let file: Value = match serde_json::from_str(text) {
            Ok(file) => file,
            Err(why) => return Self::noted(format!("ignored {FILE}: {why}")),
        };
        let Some(entries) = file.get("mcpServers").and_then(Value::as_object) else {
            return Self::noted(format!("ignored {FILE}: it has no object mcpServers"));
        };
        let mut all = Self::default();
        for (name, entry) in entries.iter().take(MOST_SERVERS) {
            match config(name, entry) {
                Ok(config) => {
                    all.servers.push(ProjectServer { config, digest: digest(name, entry) });
                }
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

    /// The servers that nobody has allowed yet. `is_allowed` is asked about digests.
    pub fn to_ask(
        &self,
        is_allowed: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = &ProjectServer> {
        self.servers.iter().filter(move |it| !is_allowed(&it.digest))
    }

    /// All servers, for [`super::connect`]. Those that nobody has allowed are not started, and say how
    /// to allow them.
    pub fn configs(&self, is_allowed: impl Fn(&str) -> bool) -> Vec<ServerConfig> {
        let configs = self.servers.iter().map(|it| {
            if is_allowed(&it.digest) {
                return it.config.clone();
            }
            let why = format!(
                "{FILE} of the project has it, and you have not allowed it; start `punchlist do` at a \
                 terminal to be asked"
            );
            ServerConfig::not(&it.config.name, &why)
        });
        configs.collect()
    }

    fn noted(note: String) -> Self {
        Self { notes: vec![note], ..Self::default() }
    }
}

impl ProjectServer {
    /// Explains what a yes means, for the person who is asked.
    pub fn meaning(&self, project: &str) -> Vec<String> {
        let name = &self.config.name;
        let mut lines = Vec::new();
        let mut variables: BTreeSet<&str> = BTreeSet::new();
        match &self.config.launch {
            Launch::Program { command, env, .. } => {
                lines.push(format!("{FILE} of this project wants to start the MCP server {name}:"));
                let words: Vec<String> = command.iter().map(quoted).collect();
                lines.push(format!("    {}", words.join(" ")));
                lines.extend(env.iter().map(|(name, value)| {
                    format!("    {}={}", quoted(&Template::plain(name)), quoted(value))
                }));
                variables.extend(command.iter().chain(env.values()).flat_map(|it| it.variables()));
                lines.push("It is a program that can do all that you can do.".to_owned());
            }
            Launch::Http { url, headers } => {
                lines.push(format!("{FILE} of this project wants to use the MCP server {name}:"));
                lines.push(format!("    {}", quoted(url)));
                lines.extend(headers.iter().map(|(name, value)| {
                    format!("    {}: {}", quoted(&Template::plain(name)), quoted(value))
                }));
                variables.extend(url.variables());
                variables.extend(headers.values().flat_map(|it| it.variables()));
                lines.push("It gets what the model sends to its tools.".to_owned());
            }
            Launch::Not(_) => {}
        }
        if !variables.is_empty() {
            let names: Vec<&str> = variables.into_iter().collect();
            lines.push(format!(
                "It gets the values of these variables of yours: {}",
                names.join(", ")
            ));
        }
        lines.push(format!("Your yes holds for this entry in {project};"));
        lines.push("if the entry changes, you are asked again.".to_owned());
        lines
    }
}

fn config(name: &str, entry: &Value) -> Result<ServerConfig, String> {
    check_server(name)?;
    if !entry.is_object() {
        return Err("its entry is not an object".to_owned());
    }
    if entry.to_string().len() > LONGEST_ENTRY {
        return Err(format!("its entry is longer than {LONGEST_ENTRY} bytes"));
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

/// A value as a person sees it: nothing in it can hide, and spaces do not join words.
fn quoted(value: &Template) -> String {
    let text = value.to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,${}".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) { text } else { format!("{text:?}") }
}

/// The digest of an entry. The order of its fields does not matter.
fn digest(name: &str, entry: &Value) -> String {
    let canonical = sorted(&json!({"entry": entry, "name": name})).to_string();
    Sha256::digest(canonical).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The value with the fields of all objects in order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let ordered: BTreeMap<&String, &Value> = fields.iter().collect();
            let ordered = ordered.into_iter().map(|(name, it)| (name.clone(), sorted(it)));
            Value::Object(ordered.collect::<Map<_, _>>())
        }
        Value::Array(all) => Value::Array(all.iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

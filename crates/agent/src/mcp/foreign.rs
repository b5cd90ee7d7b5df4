//! Servers that somebody else named: the project's `.mcp.json`, or an editor.
//!
//! Each is started only after a person's yes, which holds for exactly one entry: the consent is bound to
//! the entry's digest, and a changed entry asks again.

use std::collections::{BTreeMap, BTreeSet};

use punchlist_formats::text::secret::mask;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::FILE;
use super::config::{Launch, ServerConfig};
use super::template::Template;

/// Most servers of one file or editor.
pub(super) const MOST_SERVERS: usize = 50;
/// The longest entry. A person must be able to read all of it.
const LONGEST_ENTRY: usize = 4 * 1024;

/// Servers that need a person's consent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ForeignServers {
    /// The servers, in the order in which they are named.
    pub servers: Vec<ForeignServer>,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

/// A server that needs a person's consent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignServer {
    /// How it would be started.
    pub config: ServerConfig,
    /// The digest of its name and entry, which a consent is bound to.
    pub digest: String,
    /// Who named it.
    pub origin: Origin,
}

/// Who named a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The project's `.mcp.json`.
    Project,
    /// The editor that started this program.
    Editor,
}

impl ForeignServers {
    /// The servers that nobody has allowed yet. `is_allowed` is asked about digests.
    pub fn to_ask(
        &self,
        is_allowed: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = &ForeignServer> {
        self.servers.iter().filter(move |it| !is_allowed(&it.digest))
    }

    /// All servers, for [`super::connect`]. Those that nobody has allowed are not started, and say
    /// why.
    pub fn configs(&self, is_allowed: impl Fn(&str) -> bool) -> Vec<ServerConfig> {
        let configs = self.servers.iter().map(|it| {
            if is_allowed(&it.digest) {
                return it.config.clone();
            }
            ServerConfig::not(&it.config.name, &it.origin.not_allowed())
        });
        configs.collect()
    }

    pub(super) fn noted(note: String) -> Self {
        Self { notes: vec![note], ..Self::default() }
    }
}

impl Origin {
    fn not_allowed(self) -> String {
        match self {
            Self::Project => format!(
                "{FILE} of the project has it, and you have not allowed it; start `punchlist do` at a \
                 terminal to be asked"
            ),
            Self::Editor => {
                "the editor offers it, and you have not allowed it; the editor asks in each new \
                 session"
                    .to_owned()
            }
        }
    }
}

impl ForeignServer {
    /// A server with the digest of its entry. Refuses an entry that nobody would read.
    pub(super) fn new(config: ServerConfig, entry: &Value, origin: Origin) -> Result<Self, String> {
        if entry.to_string().len() > LONGEST_ENTRY {
            return Err(format!("its entry is longer than {LONGEST_ENTRY} bytes"));
        }
        let digest = digest(&config.name, entry, origin);
        Ok(Self { config, digest, origin })
    }

    /// The command line or the address, on one line, for lists. Secrets of known shapes are masked.
    pub fn what(&self) -> String {
        let whole = match &self.config.launch {
            Launch::Program { command, .. } => {
                command.iter().map(quoted).collect::<Vec<_>>().join(" ")
            }
            Launch::Http { url, .. } => quoted(url),
            Launch::Not(why) => why.clone(),
        };
        mask(&whole).into_owned()
    }

    /// Explains what a yes means, for the person who is asked.
    pub fn meaning(&self, project: &str) -> Vec<String> {
        let name = &self.config.name;
        let mut lines = Vec::new();
        let mut variables: BTreeSet<&str> = BTreeSet::new();
        let who = match self.origin {
            Origin::Project => format!("{FILE} of this project"),
            Origin::Editor => "Your editor".to_owned(),
        };
        match &self.config.launch {
            Launch::Program { command, env, .. } => {
                lines.push(format!("{who} wants to start the MCP server {name}:"));
                let words: Vec<String> = command.iter().map(quoted).collect();
                lines.push(format!("    {}", words.join(" ")));
                lines.extend(env.iter().map(|(name, value)| {
                    format!("    {}={}", quoted(&Template::plain(name)), quoted(value))
                }));
                variables.extend(command.iter().chain(env.values()).flat_map(|it| it.variables()));
                lines.push("It is a program that can do all that you can do.".to_owned());
            }
            Launch::Http { url, headers } => {
                lines.push(format!("{who} wants to use the MCP server {name}:"));
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

/// A value as a person sees it: nothing in it can hide, and spaces do not join words. A key is not
/// shown.
fn quoted(value: &Template) -> String {
    if value.is_hidden() {
        return "(hidden)".to_owned();
    }
    let text = value.to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,${}".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) { text } else { format!("{text:?}") }
}

/// The digest of an entry. The order of its fields does not matter. The same entry in a file and from
/// an editor has two digests.
fn digest(name: &str, entry: &Value, origin: Origin) -> String {
    let whole = match origin {
        Origin::Project => json!({"entry": entry, "name": name}),
        Origin::Editor => json!({"editor": entry, "name": name}),
    };
    let canonical = sorted(&whole).to_string();
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

//! `[mcp.NAME]` of the user's settings: how a server is started or reached.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use punchlist_engine::settings::seconds;
use serde::Deserialize;
use serde_json::Value;

use super::names::check_server;
use super::template::Template;

/// A configured server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerConfig {
    /// Its name, in the names of its tools and in rules.
    pub name: String,
    /// How it is started or reached.
    pub launch: Launch,
    /// How long it may take to start, and how long a call may take.
    pub timeout: Option<Duration>,
    /// The tools to use, by the server's names; `None` for all.
    pub tools: Option<Vec<String>>,
}

/// How a server is started or reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Launch {
    /// A program that is talked to over its stdin and stdout.
    Program {
        /// The program and its arguments.
        command: Vec<Template>,
        /// Variables of its environment, besides a few harmless ones of the user.
        env: BTreeMap<String, Template>,
        /// Its working directory, from the project's root; the root itself if not set.
        directory: Option<PathBuf>,
    },
    /// A server that is reached over HTTP.
    Http {
        /// Its address.
        url: Template,
        /// Headers of each request.
        headers: BTreeMap<String, Template>,
    },
    /// The server is not to be started, for this reason.
    Not(String),
}

/// An entry as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    command: Option<Vec<String>>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    timeout: Option<Value>,
    tools: Option<Vec<String>>,
    enabled: Option<bool>,
}

impl ServerConfig {
    /// A server of the user's settings. An entry with a mistake becomes a server that is not started,
    /// with the reason.
    pub fn from_settings(name: &str, entry: &Value) -> Self {
        Self::parse(name, entry)
            .unwrap_or_else(|why| Self::not(name, &format!("[mcp.{name}]: {why}")))
    }

    /// A server that is not started.
    pub fn not(name: &str, why: &str) -> Self {
        let launch = Launch::Not(why.to_owned());
        Self { name: name.to_owned(), launch, timeout: None, tools: None }
    }

    fn parse(name: &str, entry: &Value) -> Result<Self, String> {
        check_server(name)?;
        check_kinds(entry)?;
        let entry = Entry::deserialize(entry).map_err(|why| why.to_string())?;
        let timeout = entry.timeout.as_ref().map(duration).transpose()?;
        let tools = entry.tools.clone();
        if entry.enabled == Some(false) {
            return Ok(Self { timeout, tools, ..Self::not(name, "switched off in your settings") });
        }
        let launch = entry.launch()?;
        Ok(Self { name: name.to_owned(), launch, timeout, tools })
    }
}

impl Entry {
    fn launch(self) -> Result<Launch, String> {
        match (self.command, self.url) {
            (Some(command), None) => {
                if !self.headers.is_empty() {
                    return Err("headers are for servers with a url".to_owned());
                }
                if command.first().is_none_or(String::is_empty) {
                    return Err("command names no program".to_owned());
                }
                let command = command.iter().map(|it| Template::plain(it)).collect();
                Ok(Launch::Program { command, env: values(self.env), directory: self.cwd })
            }
            (None, Some(url)) => {
                if !self.env.is_empty() || self.cwd.is_some() {
                    return Err("env and cwd are for servers with a command".to_owned());
                }
                let headers = values(self.headers);
                let is_written_out = |it: &(&String, &Template)| is_secret(it.0) && it.1.is_plain();
                if let Some((header, _)) = headers.iter().find(is_written_out) {
                    // The text may be a key, so it is not repeated.
                    return Err(format!(
                        "headers.{header} must use \"$VARIABLE\" or \"!command\": keys are not kept \
                         in settings"
                    ));
                }
                Ok(Launch::Http { url: Template::plain(&url), headers })
            }
            (None, None) => Err("command or url is missing".to_owned()),
            (Some(_), Some(_)) => Err("command and url exclude each other".to_owned()),
        }
    }
}

/// Checks what kind of value each field has. The message does not repeat the value, which may be a key.
fn check_kinds(entry: &Value) -> Result<(), String> {
    let fields = entry.as_object().ok_or("it is not a table")?;
    for (name, value) in fields {
        let (is_right, what) = match name.as_str() {
            "command" | "tools" => {
                let all = value.as_array();
                (all.is_some_and(|all| all.iter().all(Value::is_string)), "a list of texts")
            }
            "env" | "headers" => {
                let all = value.as_object();
                (all.is_some_and(|all| all.values().all(Value::is_string)), "a table of texts")
            }
            "cwd" | "url" => (value.is_string(), "a text"),
            "enabled" => (value.is_boolean(), "true or false"),
            _ => (true, ""),
        };
        if !is_right {
            return Err(format!("{name} is not {what}"));
        }
    }
    Ok(())
}

fn values(all: BTreeMap<String, String>) -> BTreeMap<String, Template> {
    all.into_iter().map(|(name, text)| (name, Template::of_user(&text))).collect()
}

/// Whether a header or a variable with this name usually has a key in it.
pub(super) fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    ["authorization", "cookie", "key", "token", "secret", "password"]
        .iter()
        .any(|it| name.contains(it))
}

fn duration(value: &Value) -> Result<Duration, String> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let seconds = seconds("timeout", &text).map_err(|why| why.message)?;
    Ok(Duration::from_secs(seconds.into()))
}

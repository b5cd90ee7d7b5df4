//! The servers that an editor offers with a session, as the Agent Client Protocol writes them.
//!
//! The user configured them in the editor, but some editors also take them from files of the project.
//! So each needs a person's consent, like the entries of `.mcp.json`. Their values are used as they are:
//! no variable of the user is looked up, and no command is run.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::config::{Launch, ServerConfig, is_secret};
use super::foreign::{ForeignServer, ForeignServers, MOST_SERVERS, Origin};
use super::names::{check_server, clean_server};
use super::template::Template;
use super::words::one_line;

/// An entry as the protocol writes it. Other fields are ignored.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: Option<String>,
    name: String,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: Vec<Pair>,
    url: Option<String>,
    #[serde(default)]
    headers: Vec<Pair>,
}

/// A variable or a header.
#[derive(Deserialize)]
struct Pair {
    name: String,
    value: String,
}

impl ForeignServers {
    /// Reads the servers that an editor offers. What cannot be used is left out with a note.
    pub fn of_editor(entries: &[Value]) -> Self {
        let mut all = Self::default();
        for (number, entry) in (1..).zip(entries.iter().take(MOST_SERVERS)) {
            match config(entry).and_then(|it| ForeignServer::new(it, entry, Origin::Editor)) {
                Ok(server) => all.servers.push(server),
                Err(why) => {
                    all.notes.push(format!("ignored MCP server {number} of the editor: {why}"));
                }
            }
        }
        if entries.len() > MOST_SERVERS {
            all.notes.push(format!(
                "the editor offers more than {MOST_SERVERS} MCP servers; ignored the rest"
            ));
        }
        all
    }
}

fn config(entry: &Value) -> Result<ServerConfig, String> {
    // The message does not repeat a value, which may be a key.
    let entry = Entry::deserialize(entry).map_err(|_| {
        "it needs a name, and a command with args and env or a url with headers".to_owned()
    })?;
    let name = clean_server(&entry.name);
    check_server(&name).map_err(|_| {
        format!("the name {:?} has no letters or digits", one_line(&entry.name, 40))
    })?;
    let launch = match (entry.kind.as_deref(), entry.command, entry.url) {
        (None | Some("stdio"), Some(command), None) if !command.is_empty() => {
            let words = std::iter::once(&command).chain(&entry.args);
            let command = words.map(|it| Template::plain(it)).collect();
            Launch::Program { command, env: values(entry.env), directory: None }
        }
        (Some("http"), None, Some(url)) => {
            Launch::Http { url: Template::plain(&url), headers: values(entry.headers) }
        }
        (Some("sse"), _, _) => return Err("the transport sse is not supported".to_owned()),
        (_, _, _) => return Err("it needs a command, or a url with type http".to_owned()),
    };
    Ok(ServerConfig { name, launch, timeout: None, tools: None })
}

/// The values by their names. Those that are keys by their names are never shown.
fn values(all: Vec<Pair>) -> BTreeMap<String, Template> {
    let value = |it: Pair| {
        let is_hidden = is_secret(&it.name);
        let value =
            if is_hidden { Template::hidden(&it.value) } else { Template::plain(&it.value) };
        (it.name, value)
    };
    all.into_iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_person_sees_the_entry_of_an_editor_without_its_keys() {
        let offered = ForeignServers::of_editor(&[
            json!({
                "name": "My database!", "command": "/bin/db", "args": ["--read only", "${HOME}"],
                "env": [{"name": "DB_TOKEN", "value": "k3y-canary"}, {"name": "LD_PRELOAD", "value": "/x.so"}],
            }),
            json!({
                "type": "http", "name": "web", "url": "https://mcp.example/",
                "headers": [{"name": "Authorization", "value": "Bearer k3y-canary"}],
            }),
        ]);
        assert_eq!(offered.notes, [""; 0]);
        let shown: Vec<String> = offered.servers.iter().flat_map(|it| it.meaning("/p")).collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        Your editor wants to start the MCP server My-database:
            /bin/db "--read only" ${HOME}
            DB_TOKEN=(hidden)
            LD_PRELOAD=/x.so
        It is a program that can do all that you can do.
        Your yes holds for this entry in /p;
        if the entry changes, you are asked again.
        Your editor wants to use the MCP server web:
            https://mcp.example/
            Authorization: (hidden)
        It gets what the model sends to its tools.
        Your yes holds for this entry in /p;
        if the entry changes, you are asked again.
        "#);
        assert!(!format!("{offered:?}").contains("k3y-canary"), "{offered:?}");
    }

    #[test]
    fn what_an_editor_should_not_offer_is_left_out_with_a_note() {
        let bad = [
            json!(null),
            json!({"command": "a"}),
            json!({"name": "a"}),
            json!({"name": "\u{1b}\u{1b}", "command": "a"}),
            json!({"name": "a", "command": "", "args": [], "env": []}),
            json!({"name": "a", "command": "a", "env": {"A": "k3y-canary"}}),
            json!({"type": "sse", "name": "a", "url": "https://a/", "headers": []}),
            json!({"name": "a", "url": "https://a/"}),
            json!({"name": "a", "command": "a", "args": ["x".repeat(9_000)]}),
        ];
        let offered = ForeignServers::of_editor(&bad);
        assert_eq!((offered.servers.len(), offered.notes.len()), (0, bad.len()));
        assert!(!offered.notes.concat().contains("k3y-canary"), "{:?}", offered.notes);
        let many: Vec<Value> =
            (0..1_000).map(|it| json!({"name": format!("s{it}"), "command": "a"})).collect();
        let offered = ForeignServers::of_editor(&many);
        assert_eq!((offered.servers.len(), offered.notes.len()), (50, 1));
    }

    #[test]
    fn a_consent_to_an_editors_entry_holds_for_no_other() {
        let entry =
            json!({"name": "db", "command": "a", "args": [], "env": [{"name": "K", "value": "1"}]});
        let of = |entry: &Value| {
            ForeignServers::of_editor(std::slice::from_ref(entry)).servers[0].digest.clone()
        };
        let mut changed = entry.clone();
        changed["env"][0]["value"] = json!("2");
        assert_ne!(of(&entry), of(&changed));
        let file = json!({"mcpServers": {"db": entry}}).to_string();
        let of_file =
            ForeignServers::parse_file(&file.replace("[{\"name\":\"K\",\"value\":\"1\"}]", "{}"));
        assert_ne!(of(&entry), of_file.servers[0].digest);
    }
}

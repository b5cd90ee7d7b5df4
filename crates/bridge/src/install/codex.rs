//! Punchlist's entries in Codex's files: the server and the trust in `config.toml`, the hooks in
//! `hooks.json`.
//!
//! Codex runs a hook only if the user trusts it. The trust is a hash of the hook, stored under the
//! hook's position. It is always in the user's own `config.toml`, even for a project's hooks.

use std::path::{Path, PathBuf};

use punchlist_formats::hook::Agent;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Scope;
use super::entries::{self, Made, SERVER, Wanted, is_our_hook, is_our_server};
use super::toml::Toml;

/// The events with hooks. A tool call counts as a model turn, so the hook is for all tools.
pub const EVENTS: [(&str, Option<&str>); 8] = [
    ("SessionStart", None),
    ("UserPromptSubmit", None),
    ("PostToolUse", None),
    ("PostCompact", None),
    ("SubagentStart", None),
    ("SubagentStop", None),
    ("Stop", None),
    ("SessionEnd", None),
];

/// Environment variables that Codex must pass to the server: directories, and the chosen plan.
const VARIABLES: [&str; 3] = ["PUNCHLIST_PLAN", "XDG_CONFIG_HOME", "XDG_DATA_HOME"];

/// The path to the entry of Punchlist's server.
pub(crate) const SERVER_PATH: [&str; 2] = ["mcp_servers", SERVER];
/// The path to the setting of Codex's own planning tool.
pub(crate) const UPDATE_PLAN: [&str; 3] = ["tools", "update_plan", "enabled"];
/// The path to the trusted hooks.
const STATE: [&str; 2] = ["hooks", "state"];

/// The files of a scope.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    /// The file with the server.
    pub config: PathBuf,
    /// The file with the hooks.
    pub hooks: PathBuf,
    /// The file with the trust in the hooks.
    pub trust: PathBuf,
}

impl Places {
    /// The files of a scope.
    pub fn of(home: &Path, config_dir: Option<&Path>, scope: &Scope) -> Self {
        let own = config_dir.map_or_else(|| home.join(".codex"), Path::to_owned);
        let trust = own.join("config.toml");
        let directory = match scope {
            Scope::User => own,
            Scope::Project(root) => root.join(".codex"),
        };
        let (config, hooks) = (directory.join("config.toml"), directory.join("hooks.json"));
        Self { config, hooks, trust }
    }
}

/// The entry of Punchlist's server.
pub(crate) fn server(binary: &str, arguments: &[&str], permission: bool) -> Value {
    let mut server = json!({
        "command": binary,
        "args": arguments,
        "env_vars": VARIABLES,
        // Without it, the model sees only the names of the tools, or not even these.
        "omit_tools_from": ["code_mode", "deferred"],
    });
    if permission {
        // Without it, Codex asks before each call, and refuses where nobody can be asked.
        server["default_tools_approval_mode"] = json!("approve");
    }
    server
}

/// Whether an installation with these hooks records the list of Codex's own tool.
pub(crate) fn uses_own_tool(hooks: &Value) -> bool {
    let groups = hooks["hooks"].as_object().into_iter().flatten().map(|(_, groups)| groups);
    let ours = groups.flat_map(entries::hooks).map(|(_, hook)| hook);
    let mut ours = ours.filter(|it| is_our_hook(Agent::Codex, it));
    ours.any(|it| it["command"].as_str().is_some_and(|it| it.contains(entries::OWN_TOOLS)))
}

/// Codex's own tool, if the existing installation uses it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnTool<'a> {
    /// What that installation created.
    pub(crate) made: Made<'a>,
    /// The setting of the tool before that installation.
    pub(crate) before: Option<&'a Value>,
}

impl OwnTool<'_> {
    /// Restores the setting of the tool, unless somebody else has changed it since.
    fn give_back(self, doc: &mut Toml) -> Result<(), String> {
        if doc.get(&UPDATE_PLAN) != Some(json!(true)) {
            return Ok(());
        }
        match self.before {
            Some(before) => doc.put(&UPDATE_PLAN, before)?,
            None if self.made.has(&UPDATE_PLAN.join("/"), false) => doc.remove(&UPDATE_PLAN)?,
            None => {}
        }
        drop_if_empty(doc, &UPDATE_PLAN[..2], self.made, false)?;
        drop_if_empty(doc, &UPDATE_PLAN[..1], self.made, false)
    }
}

/// Adds Punchlist's server, or enables Codex's own tool. If the server replaces Codex's own tool,
/// the setting of the tool is restored.
pub(crate) fn put_config(
    doc: &mut Toml,
    wanted: &Wanted,
    own: Option<OwnTool<'_>>,
) -> Result<(), String> {
    let there = doc.get(&SERVER_PATH);
    if there.as_ref().is_some_and(|it| !is_our_server(it)) {
        return Err(format!("mcp_servers.{SERVER} is somebody else's server"));
    }
    let Some(server) = wanted.server.as_ref().and_then(Value::as_object) else {
        doc.remove(&SERVER_PATH)?;
        return doc.put(&UPDATE_PLAN, &json!(true));
    };
    own.map_or(Ok(()), |it| it.give_back(doc))?;
    // Keys that the user added to the entry stay.
    for (name, value) in server {
        doc.put(&[SERVER_PATH[0], SERVER_PATH[1], name], value)?;
    }
    let approves = there.as_ref().is_some_and(|it| it["default_tools_approval_mode"] == "approve");
    if approves && !wanted.permission {
        doc.remove(&[SERVER_PATH[0], SERVER_PATH[1], "default_tools_approval_mode"])?;
    }
    Ok(())
}

/// Removes Punchlist's server, and restores the setting of Codex's own tool if it was used.
pub(crate) fn take_config(
    doc: &mut Toml,
    made: Made<'_>,
    own: Option<OwnTool<'_>>,
) -> Result<(), String> {
    let had_ours = doc.get(&SERVER_PATH).is_some_and(|it| is_our_server(&it));
    if had_ours {
        doc.remove(&SERVER_PATH)?;
    }
    own.map_or(Ok(()), |it| it.give_back(doc))?;
    drop_if_empty(doc, &SERVER_PATH[..1], made, had_ours)
}

fn drop_if_empty(
    doc: &mut Toml,
    key_path: &[&str],
    made: Made<'_>,
    had_ours: bool,
) -> Result<(), String> {
    let is_empty = |it: Value| it.as_object().is_some_and(serde_json::Map::is_empty);
    if made.has(&key_path.join("/"), had_ours) && doc.get(key_path).is_some_and(is_empty) {
        doc.remove(key_path)?;
    }
    Ok(())
}

/// The hash with which Codex trusts a hook: of the hook's fields, with sorted keys.
pub(crate) fn hash(event: &str, group: &Value, hook: &Value) -> String {
    let seconds = hook["timeout"].as_u64();
    let seconds = match event {
        "SessionEnd" => seconds.unwrap_or(1).clamp(1, 3),
        _ => seconds.unwrap_or(600).max(1),
    };
    let mut handler = serde_json::Map::new();
    handler.insert("async".to_owned(), json!(hook["async"].as_bool().unwrap_or(false)));
    handler.insert("command".to_owned(), hook["command"].clone());
    if let Some(message) = hook.get("statusMessage").filter(|it| !it.is_null()) {
        handler.insert("statusMessage".to_owned(), message.clone());
    }
    handler.insert("timeout".to_owned(), json!(seconds));
    handler.insert("type".to_owned(), json!("command"));
    let mut whole = json!({"event_name": snake(event), "hooks": [handler]});
    let has_matcher = !matches!(event, "Stop" | "UserPromptSubmit");
    if let Some(matcher) = group.get("matcher").filter(|it| has_matcher && !it.is_null()) {
        whole["matcher"] = matcher.clone();
    }
    let digest = Sha256::digest(whole.to_string().as_bytes());
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digits}")
}

/// `SessionStart` as `session_start`.
fn snake(event: &str) -> String {
    let mut name = String::new();
    for letter in event.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// The key of the trust in a hook.
fn key(file: &str, event: &str, (group, hook): (usize, usize)) -> String {
    format!("{file}:{}:{group}:{hook}", snake(event))
}

/// Our hooks in a file, each with the key and the hash of its trust.
pub(crate) fn trusted(file: &str, hooks: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (event, groups) in hooks["hooks"].as_object().into_iter().flatten() {
        for (at, hook) in entries::hooks(groups) {
            if is_our_hook(Agent::Codex, hook) {
                found.push((key(file, event, at), hash(event, &groups[at.0], hook)));
            }
        }
    }
    found
}

/// Whether a configuration trusts a hook.
pub(crate) fn trusts(doc: &Toml, key: &str, hash: &str) -> bool {
    doc.get(&[STATE[0], STATE[1], key, "trusted_hash"]) == Some(json!(hash))
}

/// Adds the trust in our hooks to the user's configuration.
pub(crate) fn put_trust(
    doc: &mut Toml,
    file: &str,
    hooks: &Value,
    wanted: &Wanted,
) -> Result<(), String> {
    if !wanted.trust {
        return Ok(());
    }
    for (key, hash) in trusted(file, hooks) {
        doc.put(&[STATE[0], STATE[1], &key, "trusted_hash"], &json!(hash))?;
    }
    Ok(())
}

/// Removes the trust in our hooks. Hooks of others after ours move up, so their trust entries move
/// too.
pub(crate) fn take_trust(
    doc: &mut Toml,
    file: &str,
    before: &Value,
    after: &Value,
    made: Made<'_>,
) -> Result<(), String> {
    let ours = trusted(file, before);
    let state = doc.get(&STATE).unwrap_or_default();
    // Also entries that an earlier installation left for another position.
    let prefix = format!("{}/{file}:", STATE.join("/"));
    let old = made.0.into_iter().flatten().filter(|it| it.starts_with(&prefix));
    let old = old.map(|it| it[STATE.join("/").len() + 1..].to_owned());
    let mut gone: Vec<String> = ours.into_iter().map(|(key, _)| key).chain(old).collect();
    gone.retain(|key| state.get(key).is_some());
    gone.sort();
    gone.dedup();
    let had_ours = !gone.is_empty();
    for key in gone {
        doc.remove(&[STATE[0], STATE[1], &key])?;
    }
    let others = |value: &Value, event: &str| {
        let all = entries::hooks(&value["hooks"][event]);
        let others = all.iter().filter(|it| !is_our_hook(Agent::Codex, it.1));
        others.map(|it| it.0).collect::<Vec<_>>()
    };
    for event in before["hooks"].as_object().into_iter().flatten().map(|it| it.0) {
        for (then, now) in others(before, event).into_iter().zip(others(after, event)) {
            let (then, now) = (key(file, event, then), key(file, event, now));
            if let Some(trust) = state.get(&then).filter(|_| then != now) {
                doc.remove(&[STATE[0], STATE[1], &then])?;
                doc.put(&[STATE[0], STATE[1], &now], trust)?;
            }
        }
    }
    drop_if_empty(doc, &STATE, made, had_ours)?;
    drop_if_empty(doc, &STATE[..1], made, had_ours)
}

/// The names of everything that our edits would have to create.
pub(crate) fn missing(doc: &Toml, file: &str, hooks: &Value) -> Vec<String> {
    let mut ways: Vec<Vec<String>> = [
        &SERVER_PATH[..1],
        &UPDATE_PLAN[..1],
        &UPDATE_PLAN[..2],
        &UPDATE_PLAN,
        &STATE[..1],
        &STATE,
    ]
    .iter()
    .map(|key_path| key_path.iter().map(|it| (*it).to_owned()).collect())
    .collect();
    for (key, _) in trusted(file, hooks) {
        ways.push(vec![STATE[0].to_owned(), STATE[1].to_owned(), key]);
    }
    ways.retain(|key_path| {
        doc.get(&key_path.iter().map(String::as_str).collect::<Vec<_>>()).is_none()
    });
    ways.into_iter().map(|key_path| key_path.join("/")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hashes that Codex itself computed for these hooks.
    #[test]
    fn the_hash_is_the_one_that_codex_computes() {
        let hook = json!({"type": "command", "command": "true", "timeout": 10});
        for (event, group, expected) in CASES {
            let group: Value = serde_json::from_str(group).unwrap();
            assert_eq!(hash(event, &group, &hook), expected, "{event} {group}");
        }
    }

    const CASES: [(&str, &str, &str); 6] = [
        (
            "Stop",
            r#"{}"#,
            "sha256:8ba29ded04038c52832548d01a197dd3c24aac6e21d816f388f046ab09768060",
        ),
        (
            "Stop",
            r#"{"matcher": "x"}"#,
            "sha256:8ba29ded04038c52832548d01a197dd3c24aac6e21d816f388f046ab09768060",
        ),
        (
            "SessionEnd",
            r#"{}"#,
            "sha256:0408973db4c606ef0b942b13de03431201c09e7746a6fbf2d078370f1af83d68",
        ),
        (
            "PostToolUse",
            r#"{}"#,
            "sha256:8a91adff655a5f730584d4ba6cae0c9d760fbdd17cccc831a4a5c4fc247afbcd",
        ),
        (
            "PostToolUse",
            r#"{"matcher": "é|\"Bash\""}"#,
            "sha256:978886cc0b17bd6409f704a6a80af333f9b3816123f9c34701a2d405e405e04c",
        ),
        (
            "SubagentStop",
            r#"{}"#,
            "sha256:860b239bcb80a5cf006cb33731f84116963c7de7152b330be38127ee63169044",
        ),
    ];
}

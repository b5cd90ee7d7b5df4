//! What stands in Codex's files for us: the server and the trust in `config.toml`, the hooks in
//! `hooks.json`.
//!
//! Codex runs a hook only once the user has trusted it, by a hash of the hook that it keeps under the
//! place where the hook stands. That state is the user's alone, so it is always in the user's own
//! `config.toml`, for a project's hooks as well.

use std::path::{Path, PathBuf};

use punchlist_formats::hook::Agent;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Scope;
use super::entries::{self, Made, SERVER, Wanted, is_our_hook, is_our_server};
use super::toml::Toml;

/// The events that we hear of. A tool that was called stands for a model turn, so that all tools
/// matter.
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

/// Variables that Codex would keep from the server otherwise: where we keep things, and which plan
/// is meant.
const VARIABLES: [&str; 3] = ["PUNCHLIST_PLAN", "XDG_CONFIG_HOME", "XDG_DATA_HOME"];

/// The way to our server's entry.
pub(crate) const SERVER_WAY: [&str; 2] = ["mcp_servers", SERVER];
/// The way to Codex's own tool for plans.
pub(crate) const UPDATE_PLAN: [&str; 3] = ["tools", "update_plan", "enabled"];
/// The way to what is known of trusted hooks.
const STATE: [&str; 2] = ["hooks", "state"];

/// The files of a scope.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    /// With the server.
    pub config: PathBuf,
    /// With the hooks.
    pub hooks: PathBuf,
    /// With the trust in them.
    pub trust: PathBuf,
}

impl Places {
    /// Where a scope has them.
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

/// The entry of our server.
pub(crate) fn server(binary: &str, arguments: &[&str], permission: bool) -> Value {
    let mut server = json!({
        "command": binary,
        "args": arguments,
        "env_vars": VARIABLES,
        // Otherwise a model sees no more than the names of the tools, or not even those.
        "omit_tools_from": ["code_mode", "deferred"],
    });
    if permission {
        // Without it Codex asks, and where nobody can be asked, refuses.
        server["default_tools_approval_mode"] = json!("approve");
    }
    server
}

/// Whether an installation with these hooks keeps the list of Codex's own tool.
pub(crate) fn uses_own_tool(hooks: &Value) -> bool {
    let groups = hooks["hooks"].as_object().into_iter().flatten().map(|(_, groups)| groups);
    let ours = groups.flat_map(entries::hooks).map(|(_, hook)| hook);
    let mut ours = ours.filter(|it| is_our_hook(Agent::Codex, it));
    ours.any(|it| it["command"].as_str().is_some_and(|it| it.contains(entries::OWN_TOOLS)))
}

/// Codex's own tool, where an installation that is there uses it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnTool<'a> {
    /// What that installation made.
    pub(crate) made: Made<'a>,
    /// How the tool was set before it.
    pub(crate) before: Option<&'a Value>,
}

impl OwnTool<'_> {
    /// Sets the tool as it was. One that somebody else has set since stays as it is.
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

/// Puts our server, or the agent's own tool, into the configuration. The tool of an installation that
/// used it is given back where the server takes its place.
pub(crate) fn put_config(
    doc: &mut Toml,
    wanted: &Wanted,
    own: Option<OwnTool<'_>>,
) -> Result<(), String> {
    let there = doc.get(&SERVER_WAY);
    if there.as_ref().is_some_and(|it| !is_our_server(it)) {
        return Err(format!("mcp_servers.{SERVER} is somebody else's server"));
    }
    let Some(server) = wanted.server.as_ref().and_then(Value::as_object) else {
        doc.remove(&SERVER_WAY)?;
        return doc.put(&UPDATE_PLAN, &json!(true));
    };
    own.map_or(Ok(()), |it| it.give_back(doc))?;
    // What the user added to the entry stays.
    for (name, value) in server {
        doc.put(&[SERVER_WAY[0], SERVER_WAY[1], name], value)?;
    }
    let approves = there.as_ref().is_some_and(|it| it["default_tools_approval_mode"] == "approve");
    if approves && !wanted.permission {
        doc.remove(&[SERVER_WAY[0], SERVER_WAY[1], "default_tools_approval_mode"])?;
    }
    Ok(())
}

/// Takes our server out of the configuration, and gives the agent's own tool back if it was used.
pub(crate) fn take_config(
    doc: &mut Toml,
    made: Made<'_>,
    own: Option<OwnTool<'_>>,
) -> Result<(), String> {
    let had_ours = doc.get(&SERVER_WAY).is_some_and(|it| is_our_server(&it));
    if had_ours {
        doc.remove(&SERVER_WAY)?;
    }
    own.map_or(Ok(()), |it| it.give_back(doc))?;
    drop_if_empty(doc, &SERVER_WAY[..1], made, had_ours)
}

fn drop_if_empty(
    doc: &mut Toml,
    way: &[&str],
    made: Made<'_>,
    had_ours: bool,
) -> Result<(), String> {
    let is_empty = |it: Value| it.as_object().is_some_and(serde_json::Map::is_empty);
    if made.has(&way.join("/"), had_ours) && doc.get(way).is_some_and(is_empty) {
        doc.remove(way)?;
    }
    Ok(())
}

/// The hash under which Codex trusts a hook: of what the hook is, keys in order.
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

/// Under what the trust in a hook is kept.
fn key(file: &str, event: &str, (group, hook): (usize, usize)) -> String {
    format!("{file}:{}:{group}:{hook}", snake(event))
}

/// Our hooks in a file, each with the key of its trust and the hash that makes it trusted.
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

/// Puts the trust in our hooks into the user's configuration.
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

/// Takes the trust in our hooks out again. Hooks of others behind ours move up, and the trust in them
/// with them.
pub(crate) fn take_trust(
    doc: &mut Toml,
    file: &str,
    before: &Value,
    after: &Value,
    made: Made<'_>,
) -> Result<(), String> {
    let ours = trusted(file, before);
    let state = doc.get(&STATE).unwrap_or_default();
    // Also what an earlier installation left at another place.
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

/// The names of all that our edits would have to make, which is not there yet.
pub(crate) fn missing(doc: &Toml, file: &str, hooks: &Value) -> Vec<String> {
    let mut ways: Vec<Vec<String>> =
        [&SERVER_WAY[..1], &UPDATE_PLAN[..1], &UPDATE_PLAN[..2], &UPDATE_PLAN, &STATE[..1], &STATE]
            .iter()
            .map(|way| way.iter().map(|it| (*it).to_owned()).collect())
            .collect();
    for (key, _) in trusted(file, hooks) {
        ways.push(vec![STATE[0].to_owned(), STATE[1].to_owned(), key]);
    }
    ways.retain(|way| doc.get(&way.iter().map(String::as_str).collect::<Vec<_>>()).is_none());
    ways.into_iter().map(|way| way.join("/")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Codex itself gave for these hooks.
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

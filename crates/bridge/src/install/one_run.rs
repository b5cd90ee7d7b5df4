//! Punchlist's entries for one run of an agent, given as arguments. No settings file is changed.
//!
//! Gemini CLI takes neither servers nor hooks as arguments, and other files than the user's only if they
//! belong to the administrator. So Punchlist must be installed for it.

use std::path::{Path, PathBuf};

use punchlist_formats::hook::Agent;
use serde_json::{Map, Value, json};

use super::entries::{self, SERVER, Wanted, is_our_hook};
use super::part::Doc;
use super::{Error, Options, claude, codex, configuration, file, parse, toml};

/// The name under which Codex knows hooks that are given as arguments.
const CODEX_ARGUMENTS: &str = "/<session-flags>/config.toml";

/// The arguments with the entries of these options: the server, its permission and the hooks. `None` if
/// the agent takes none.
pub fn arguments(options: &Options) -> Result<Option<Vec<String>>, Error> {
    options.refuse_too_old()?;
    let wanted = Wanted::of(options).ok_or(Error::NoText)?;
    Ok(match options.agent {
        Agent::Claude => Some(claude_arguments(&wanted)),
        Agent::Codex => codex_arguments(&wanted),
        Agent::Gemini => None,
    })
}

/// The database of an installation whose hooks the agent runs; `None` if there is no such
/// installation. A file that cannot be read counts as without.
pub fn installed_database(options: &Options) -> Option<PathBuf> {
    options.parts().iter().find_map(|part| {
        let Doc::Json(doc) = parse(&file::look(&part.path).ok()?).ok()? else { return None };
        let settings = doc.value();
        let groups = settings["hooks"].as_object().into_iter().flatten().map(|(_, it)| it);
        let mut ours = groups.flat_map(entries::hooks).map(|(_, hook)| hook);
        let hook = ours.find(|it| is_our_hook(options.agent, it))?;
        if options.agent == Agent::Codex && !is_trusted(options, &part.path, &settings) {
            return None;
        }
        entries::argument(hook["command"].as_str()?, "--db").map(PathBuf::from)
    })
}

/// Whether Codex runs our hooks in this file.
fn is_trusted(options: &Options, hooks: &Path, settings: &Value) -> bool {
    let (home, config) = (&options.home, options.config_dir.as_deref());
    let places = codex::Places::of(home, config, &options.scope);
    let (Ok(trust), Some(file)) = (configuration(&places.trust), hooks.to_str()) else {
        return false;
    };
    codex::trusted(file, settings).iter().all(|(key, hash)| codex::trusts(&trust, key, hash))
}

fn hooks(wanted: &Wanted) -> Map<String, Value> {
    let events = wanted.events.iter();
    events.map(|(event, tools)| ((*event).to_owned(), json!([wanted.group(*tools)]))).collect()
}

fn claude_arguments(wanted: &Wanted) -> Vec<String> {
    let servers = json!({"mcpServers": {SERVER: wanted.server}});
    let settings = json!({"permissions": {"allow": [claude::PERMISSION]}, "hooks": hooks(wanted)});
    let options = [("--mcp-config", servers), ("--settings", settings)];
    options.into_iter().flat_map(|(name, value)| [name.to_owned(), value.to_string()]).collect()
}

fn codex_arguments(wanted: &Wanted) -> Option<Vec<String>> {
    let hooks = hooks(wanted);
    let trusted = codex::trusted(CODEX_ARGUMENTS, &json!({"hooks": hooks}));
    let trusted: Map<String, Value> =
        trusted.into_iter().map(|(key, hash)| (key, json!({"trusted_hash": hash}))).collect();
    let server = wanted.server.clone()?;
    let mut settings = vec![(codex::SERVER_PATH.join("."), server)];
    settings.extend(hooks.into_iter().map(|(event, groups)| (format!("hooks.{event}"), groups)));
    settings.push(("hooks.state".to_owned(), Value::Object(trusted)));
    let mut arguments = Vec::new();
    for (key, value) in settings {
        arguments.extend(["-c".to_owned(), format!("{key}={}", toml::inline(&value)?.trim())]);
    }
    Some(arguments)
}

#[cfg(test)]
mod tests {
    use super::super::Scope;
    use super::*;

    fn options(agent: Agent, root: &Path) -> Options {
        Options {
            agent,
            home: root.join("home"),
            config_dir: None,
            scope: Scope::User,
            data: root.join("data"),
            binary: "/opt/punchlist".into(),
            database: "/d/p.db".into(),
            plan: None,
            permission: true,
            trust: true,
            own_tools: false,
            version: None,
        }
    }

    #[test]
    fn entries_are_given_as_arguments_if_the_agent_takes_them() {
        let given = |agent| arguments(&options(agent, Path::new("/r"))).unwrap();
        let claude = given(Agent::Claude).unwrap();
        assert_eq!((claude[0].as_str(), claude[2].as_str()), ("--mcp-config", "--settings"));
        let settings: Value = serde_json::from_str(&claude[3]).unwrap();
        assert!(settings["hooks"]["Stop"][0]["hooks"][0]["command"].is_string(), "{settings}");
        let codex = given(Agent::Codex).unwrap().join("\n");
        for it in [
            "-c\nmcp_servers.punchlist={ ",
            "command = \"/opt/punchlist\"",
            "\nhooks.Stop=[{ hooks = [{ ",
            "\"/<session-flags>/config.toml:stop:0:0\" = { trusted_hash = ",
        ] {
            assert!(codex.contains(it), "{it} is not in {codex}");
        }
        assert_eq!(given(Agent::Gemini), None);
    }

    #[test]
    fn an_installation_is_found_with_its_database_if_its_hooks_run() {
        for agent in Agent::ALL {
            let dir = tempfile::tempdir().unwrap();
            let options = options(agent, dir.path());
            assert_eq!(installed_database(&options), None);
            super::super::install(&Options { trust: false, ..options.clone() }).unwrap();
            let untrusted = installed_database(&options);
            assert_eq!(untrusted.is_none(), agent == Agent::Codex, "{agent:?}");
            super::super::install(&options).unwrap();
            assert_eq!(installed_database(&options), Some("/d/p.db".into()), "{agent:?}");
        }
    }
}

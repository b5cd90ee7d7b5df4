//! Punchlist's entries for one run of an agent, given with the call. No settings file of the user is
//! changed.
//!
//! Claude Code and Codex take entries as arguments. Gemini CLI takes them from a file with the
//! system's defaults, which a variable names; what the file of this machine says is kept in it.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use punchlist_formats::hook::Agent;
use serde_json::{Map, Value, json};
use tempfile::NamedTempFile;

use super::edit::Document;
use super::entries::{self, SERVER, Wanted, is_our_hook, put_hooks, put_server};
use super::part::Doc;
use super::{Error, Options, claude, codex, configuration, document, file, parse, toml};

/// The name under which Codex knows hooks that are given as arguments.
const CODEX_ARGUMENTS: &str = "/<session-flags>/config.toml";
/// The variable that names Gemini CLI's file of defaults.
const GEMINI_DEFAULTS: &str = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH";

/// Entries for one run.
#[derive(Debug, Default)]
pub struct OneRun {
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// Variables of its environment.
    pub variables: Vec<(OsString, OsString)>,
    /// The file that a variable names. It is removed when this is dropped.
    _file: Option<NamedTempFile>,
}

impl OneRun {
    /// The entries of these options: the server, its permission and the hooks. `defaults` is Gemini CLI's
    /// file of defaults on this machine, which need not exist.
    pub fn new(options: &Options, defaults: &Path) -> Result<Self, Error> {
        options.refuse_too_old()?;
        let wanted = Wanted::of(options).ok_or(Error::NoText)?;
        match options.agent {
            Agent::Claude => Ok(Self::with(claude_arguments(&wanted))),
            Agent::Codex => codex_arguments(&wanted).map(Self::with).ok_or(Error::NoText),
            Agent::Gemini => {
                options.refuse_variables()?;
                Self::with_defaults(options, &wanted, defaults)
            }
        }
    }

    fn with(arguments: Vec<String>) -> Self {
        Self { arguments, ..Self::default() }
    }

    fn with_defaults(options: &Options, wanted: &Wanted, defaults: &Path) -> Result<Self, Error> {
        let odd = |what| Error::Odd { path: defaults.to_owned(), what };
        let mut doc: Document = document(options.agent, defaults)?;
        put_server(&mut doc, wanted).map_err(odd)?;
        put_hooks(&mut doc, wanted).map_err(odd)?;
        let unwritable = |why| Error::Unwritable { path: options.data.clone(), why };
        fs::create_dir_all(&options.data).map_err(unwritable)?;
        let mut builder = tempfile::Builder::new();
        let file = builder.prefix("gemini-").suffix(".json").tempfile_in(&options.data);
        let mut file = file.map_err(unwritable)?;
        file.write_all(&doc.bytes()).map_err(unwritable)?;
        let variables = vec![(GEMINI_DEFAULTS.into(), file.path().into())];
        Ok(Self { arguments: Vec::new(), variables, _file: Some(file) })
    }
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
    let trusted = codex::trusted(CODEX_ARGUMENTS, &json!({"hooks": hooks.clone()}));
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
    fn entries_are_given_as_arguments_or_as_a_file_that_goes_away() {
        let dir = tempfile::tempdir().unwrap();
        let defaults = dir.path().join("defaults.json");
        fs::write(&defaults, "{\"ui\": {\"theme\": \"x\"}}\n").unwrap();
        let run = |agent| OneRun::new(&options(agent, dir.path()), &defaults).unwrap();
        let claude = run(Agent::Claude);
        assert_eq!(claude.arguments[0], "--mcp-config");
        let settings: Value = serde_json::from_str(&claude.arguments[3]).unwrap();
        assert!(settings["hooks"]["Stop"][0]["hooks"][0]["command"].is_string(), "{settings}");
        let codex = run(Agent::Codex).arguments.join("\n");
        assert!(
            codex.starts_with("-c\nmcp_servers.punchlist={ command = \"/opt/punchlist\""),
            "{codex}"
        );
        assert!(codex.contains("\nhooks.Stop=[{ hooks = [{ "), "{codex}");
        assert!(codex.contains("{ \"/<session-flags>/config.toml:"), "{codex}");
        let gemini = run(Agent::Gemini);
        let path = PathBuf::from(&gemini.variables[0].1);
        let text: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(text["ui"]["theme"], "x");
        assert_eq!(text["mcpServers"]["punchlist"]["trust"], true);
        assert!(text["hooks"]["AfterAgent"][0]["hooks"][0]["command"].is_string(), "{text}");
        drop(gemini);
        assert!(!path.exists());
        assert!(!dir.path().join("home").exists());
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

//! Examines the entries of Punchlist in the settings files of one agent and one scope: whether they
//! are complete and up to date, and whether the hook and the MCP server that they name work.

use std::path::{Path, PathBuf};
use std::process::Command;

use punchlist_formats::hook::Agent;
use serde_json::{Value, json};

use super::{Finding, Options, PROBLEM_SEPARATOR, is_same_file, mcp, run, thousands};
use crate::install::claude::{self, PERMISSION};
use crate::install::edit::Document;
use crate::install::entries::{self, OWN_TOOLS, SERVER, SERVER_PATH, Wanted, hooked, our_hooks};
use crate::install::known::events;
use crate::install::{self, Scope, codex, gemini};

/// The fix if the hook runs but reports a problem, such as a database that cannot be opened. The
/// report has details about it further down, in parts that the caller adds.
const SEE_BELOW: &str = "see `hooks` and `store` below";

/// What the settings files of one agent and one scope contain.
pub(super) struct Wiring {
    agent: Agent,
    scope: Scope,
    /// The entry of Punchlist's MCP server, if there is one.
    server: Option<Value>,
    /// The content of the file with the hooks.
    settings: Value,
    /// The content of the file with the other settings. Only Codex has a separate file for them.
    config: Value,
    /// The number of hooks that the agent does not trust; `None` if it has no trust setting.
    untrusted: Option<usize>,
}

/// Reads the settings files of one scope.
pub(super) fn read(options: &Options, scope: Scope) -> Result<Wiring, install::Error> {
    let install = &options.install;
    let agent = install.agent;
    let (home, config_dir) = (&install.home, install.config_dir.as_deref());
    let wiring = |server: Option<Value>, settings: Value, config: Value| Wiring {
        agent,
        scope: scope.clone(),
        server: server.filter(entries::is_our_server),
        settings,
        config,
        untrusted: None,
    };
    Ok(match agent {
        Agent::Claude => {
            let places = claude::Places::of(home, config_dir, &scope);
            let server = install::document(agent, &places.servers)?.get(&SERVER_PATH);
            let settings = Document::value(&install::document(agent, &places.settings)?);
            wiring(server, settings.clone(), settings)
        }
        Agent::Gemini => {
            let doc = install::document(agent, &gemini::settings(home, config_dir, &scope))?;
            wiring(doc.get(&SERVER_PATH), doc.value(), doc.value())
        }
        Agent::Codex => {
            let places = codex::Places::of(home, config_dir, &scope);
            let config = install::configuration(&places.config)?;
            let trust = install::configuration(&places.trust)?;
            let hooks = install::document(agent, &places.hooks)?.value();
            let ours = codex::trusted(&places.hooks.to_string_lossy(), &hooks);
            let untrusted = ours.iter().filter(|(key, hash)| !codex::trusts(&trust, key, hash));
            let untrusted = Some(untrusted.count());
            let found = wiring(config.get(&codex::SERVER_PATH), hooks, config.value());
            Wiring { untrusted, ..found }
        }
    })
}

impl Wiring {
    /// Whether there is any entry of Punchlist.
    pub(super) fn has_entries(&self) -> bool {
        self.server.is_some() || !hooked(self.agent, &self.settings).is_empty()
    }

    /// The command line of Punchlist's hook: that of the first event that has one.
    pub(super) fn command(&self) -> Option<String> {
        let events = self.settings["hooks"].as_object()?;
        events.values().find_map(|groups| {
            let (group, hook) = *our_hooks(self.agent, groups).first()?;
            Some(groups[group]["hooks"][hook]["command"].as_str()?.to_owned())
        })
    }

    /// The value of an option in the server's arguments or, without a server, in the hook's
    /// command.
    fn argument(&self, name: &str) -> Option<String> {
        let Some(server) = &self.server else {
            return entries::argument(&self.command()?, name);
        };
        let arguments = server["args"].as_array()?;
        let at = arguments.iter().position(|it| it == name)?;
        Some(arguments.get(at + 1)?.as_str()?.to_owned())
    }

    /// The database that the entries name.
    pub(super) fn database(&self) -> Option<PathBuf> {
        self.argument("--db").map(PathBuf::from)
    }

    pub(super) fn is_for_project(&self) -> bool {
        self.scope != Scope::User
    }

    /// The options with which `install` writes these entries again.
    fn install(&self, options: &Options) -> install::Options {
        install::Options {
            scope: self.scope.clone(),
            database: self.database().unwrap_or_else(|| options.install.database.clone()),
            plan: self.argument("--plan"),
            permission: self.permits(),
            own_tools: self.has_own_tools(),
            ..options.install.clone()
        }
    }

    /// The `punchlist install` command that writes these entries again.
    fn fix(&self, options: &Options) -> String {
        let wanted = self.install(options);
        let mut command = format!("punchlist install {}", self.agent.as_str());
        if self.is_for_project() {
            command.push_str(" --project");
        }
        if wanted.database != options.install.database {
            command.push_str(&format!(
                " --db {}",
                entries::quoted(&wanted.database.to_string_lossy())
            ));
        }
        if wanted.own_tools {
            command.push_str(OWN_TOOLS);
        }
        if let Some(plan) = &wanted.plan {
            command.push_str(&format!(" --plan {}", entries::quoted(plan)));
        }
        command
    }

    /// Examines everything.
    pub(super) fn findings(&self, options: &Options) -> Vec<Finding> {
        let mut findings = vec![self.entries(options), self.binary(options)];
        findings.extend(self.permission(options));
        findings.extend(self.deferred(options));
        findings.extend(self.switched_off());
        findings.extend(self.trust(options));
        let hook = self.test_hook(options);
        // If the hook reports a problem with the store, the server has the same problem.
        let fix =
            hook.fix.clone().filter(|it| it == SEE_BELOW).unwrap_or_else(|| self.fix(options));
        findings.push(hook);
        findings.extend(self.test_server(options, fix));
        findings
    }

    /// Compares the entries with those that `install` would write now.
    fn entries(&self, options: &Options) -> Finding {
        let fix = self.fix(options);
        let mut called =
            CalledPrograms { install: self.install(options), others: Vec::new(), own_count: 0 };
        if Wanted::of(&called.install).is_none() {
            return Finding::bad("entries", install::Error::NoText.to_string(), fix);
        }
        let mut wrong = Vec::new();
        match &self.server {
            None if !called.install.own_tools => {
                wrong.push(format!("the MCP server {SERVER} is missing"));
            }
            None => {}
            Some(server) => {
                let wanted = called.wanted(server["command"].as_str().map(str::to_owned));
                let wanted = wanted.and_then(|it| it.server).unwrap_or_default();
                let differs = self.differing_keys(server, &wanted);
                if !differs.is_empty() {
                    let differs = differs.join(", ");
                    wrong.push(format!("the MCP server {SERVER} differs in {differs}"));
                }
            }
        }
        let mut missing = Vec::new();
        let mut differs = Vec::new();
        let wanted = events(self.agent, options.install.version);
        for &(event, matcher) in &wanted {
            let groups = &self.settings["hooks"][event];
            let ours = our_hooks(self.agent, groups);
            let mut is_right = |(group, hook): &(usize, usize)| {
                let group = &groups[*group];
                let command = group["hooks"][*hook]["command"].as_str().unwrap_or_default();
                let wanted = called.wanted(entries::program(command));
                wanted.is_some_and(|it| group["hooks"][*hook] == it.group(matcher)["hooks"][0])
                    && group["matcher"].as_str().unwrap_or_default() == matcher.unwrap_or_default()
            };
            match ours.as_slice() {
                [] => missing.push(event),
                [one] if is_right(one) => {}
                [_, ..] => differs.push(event),
            }
        }
        let is_wanted = |event: &String| wanted.iter().any(|(it, _)| it == event);
        let old = hooked(self.agent, &self.settings).into_iter().filter(|it| !is_wanted(it));
        let (unknown, old): (Vec<String>, Vec<String>) =
            old.partition(|event| events(self.agent, None).iter().any(|(it, _)| it == event));
        if let (false, Some(version)) = (unknown.is_empty(), options.install.version) {
            wrong.push(format!(
                "{} {version} does not know the hook events {}, and may therefore ignore the whole \
                 settings file, including its permissions",
                self.agent.title(),
                unknown.join(", ")
            ));
        }
        for (what, events) in [
            ("no hook at", missing.join(", ")),
            ("a different hook at", differs.join(", ")),
            ("an obsolete hook at", old.join(", ")),
        ] {
            if !events.is_empty() {
                wrong.push(format!("{what} {events}"));
            }
        }
        if !wrong.is_empty() {
            wrong.extend(called.describe_others().map(|it| format!("the entries {it}")));
            return Finding::bad("entries", wrong.join("; "), fix);
        }
        let whom = match &self.scope {
            Scope::User => "for you in every project".to_owned(),
            Scope::Project(root) => format!("for {}", root.display()),
        };
        let what = if self.server.is_some() { "server and hooks" } else { "hooks" };
        match called.describe_others() {
            // Not an error: the other program may work. The tests of hook and server run it.
            Some(it) => {
                // The fix names this program by its path, because the command `punchlist` may run
                // the other program.
                let own = entries::quoted(&options.install.binary.to_string_lossy());
                let fix = fix.replacen("punchlist", &own, 1);
                Finding::note("entries", format!("{what} {whom} {it}"), fix)
            }
            None => Finding::good("entries", format!("{what} {whom}")),
        }
    }

    /// Reports whether the binary in the entries starts, and its version.
    fn binary(&self, options: &Options) -> Finding {
        let fix = self.fix(options);
        let named = self.server.as_ref().and_then(|it| Some(it["command"].as_str()?.to_owned()));
        let called = || self.command().as_deref().and_then(entries::program);
        let Some(binary) = &named.or_else(called) else {
            return Finding::bad("binary", "no entry names a binary", fix);
        };
        let mut command = Command::new(binary);
        command.arg("--version");
        let ran = match run::run(command, b"", options.patience) {
            Ok(ran) => ran,
            Err(why) => {
                return Finding::bad("binary", format!("{binary} does not start: {why}"), fix);
            }
        };
        let text = String::from_utf8_lossy(&ran.out);
        let version = text.trim().strip_prefix("punchlist ").filter(|_| ran.code == Some(0));
        match version {
            Some(version) if version == options.version => {
                Finding::good("binary", format!("{version}  {binary}"))
            }
            Some(version) => Finding::note(
                "binary",
                format!("{binary} is version {version}, this program is {}", options.version),
                fix,
            ),
            None => Finding::bad("binary", format!("{binary} --version {}", ran.end()), fix),
        }
    }

    /// The keys in which the server's entry differs from the wanted entry. Keys that the user added
    /// to Codex's entry do not count.
    fn differing_keys(&self, server: &Value, wanted: &Value) -> Vec<String> {
        let names = |it: &Value| -> Vec<String> {
            it.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
        };
        let mut all = names(wanted);
        match self.agent {
            Agent::Codex => {}
            Agent::Claude | Agent::Gemini => {
                all.extend(names(server).into_iter().filter(|it| wanted.get(it).is_none()));
            }
        }
        all.retain(|name| server.get(name) != wanted.get(name));
        all
    }

    /// Whether the agent runs the plan tools without asking the user.
    fn permits(&self) -> bool {
        let server = self.server.as_ref();
        match self.agent {
            Agent::Claude => claude::permits(&self.settings),
            Agent::Codex | Agent::Gemini => {
                server.is_none_or(|it| entries::is_approved(self.agent, it))
            }
        }
    }

    /// Whether the agent uses its own planning tool instead of the plan tools (`--own-tools`).
    fn has_own_tools(&self) -> bool {
        self.command().is_some_and(|it| it.contains(OWN_TOOLS))
    }

    /// Reports whether the agent runs the plan tools without asking the user.
    fn permission(&self, options: &Options) -> Option<Finding> {
        let allows = || {
            let list = self.settings["permissions"]["allow"].as_array();
            list.is_some_and(|it| {
                it.iter()
                    .filter_map(Value::as_str)
                    .any(|it| it == PERMISSION || it == "mcp__punchlist__*")
            })
        };
        let permits = self.permits() || self.agent == Agent::Claude && allows();
        let (given, missing) = match self.agent {
            Agent::Claude => (
                format!("{PERMISSION}: the plan tools run without asking"),
                format!(
                    "{PERMISSION} is not allowed: Claude Code asks before it uses a plan tool, and \
                     `claude -p` refuses"
                ),
            ),
            _ if self.has_own_tools() => return None,
            Agent::Codex => (
                "the plan tools are approved".to_owned(),
                "the plan tools are not approved: Codex asks, and `codex exec` refuses".to_owned(),
            ),
            Agent::Gemini => (
                "trust: the plan tools run without asking".to_owned(),
                "the server is not trusted: Gemini CLI asks, and a headless run has no plan tools"
                    .to_owned(),
            ),
        };
        Some(if permits {
            Finding::good("permission", given)
        } else {
            Finding::note("permission", missing, self.fix(options))
        })
    }

    /// Reports plan tools that are deferred: the agent does not give their descriptions to the
    /// model at the start of a session.
    fn deferred(&self, options: &Options) -> Option<Finding> {
        let server = self.server.as_ref()?;
        let omits = |what: &str| {
            let list = server["omit_tools_from"].as_array();
            list.is_some_and(|it| it.iter().any(|it| it == what))
        };
        let is_deferred = match self.agent {
            Agent::Claude => server["alwaysLoad"] != true,
            Agent::Codex => !omits("deferred"),
            Agent::Gemini => return None,
        };
        is_deferred.then(|| {
            let said = format!(
                "the plan tools are deferred: {} does not show them to the model",
                self.agent.title()
            );
            Finding::bad("tools", said, self.fix(options))
        })
    }

    /// Reports a setting of the agent that disables all hooks, or those of Punchlist.
    fn switched_off(&self) -> Option<Finding> {
        let off = |said: &str, fix: &str| Some(Finding::bad("hooks", said, fix));
        let names_us =
            |list: &Value| list.as_array().is_some_and(|it| it.iter().any(|it| it == SERVER));
        match self.agent {
            Agent::Codex if self.config["features"]["hooks"] == false => off(
                "features.hooks is false: Codex calls no hook at all",
                "remove `hooks = false` from [features] in config.toml",
            ),
            Agent::Gemini if self.config["hooksConfig"]["enabled"] == false => off(
                "hooksConfig.enabled is false: Gemini CLI calls no hook at all",
                "remove hooksConfig.enabled from the settings",
            ),
            Agent::Gemini if names_us(&self.config["hooksConfig"]["disabled"]) => off(
                "hooksConfig.disabled names punchlist: Gemini CLI does not call our hooks",
                "remove punchlist from hooksConfig.disabled in the settings",
            ),
            Agent::Claude | Agent::Codex | Agent::Gemini => None,
        }
    }

    /// Reports whether Codex trusts the hooks. It silently skips hooks that it does not trust.
    fn trust(&self, options: &Options) -> Option<Finding> {
        let all = events(self.agent, options.install.version).len();
        match self.untrusted? {
            0 => Some(Finding::good("trust", "Codex trusts the hooks")),
            n => Some(Finding::bad(
                "trust",
                format!("{n} of {all} hooks are not trusted: Codex silently skips them"),
                format!("{}, or accept them at the start of `codex`", self.fix(options)),
            )),
        }
    }

    /// Calls the hook as the agent would.
    fn test_hook(&self, options: &Options) -> Finding {
        let fix = self.fix(options);
        let Some(line) = self.command() else {
            return Finding::bad("hooks", "no hook is set up", fix);
        };
        let event = json!({
            "hook_event_name": "PunchlistDoctor",
            "session_id": "doctor",
            "cwd": options.directory.to_string_lossy(),
        });
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line).current_dir(&options.directory);
        let ran = match run::run(command, event.to_string().as_bytes(), options.patience) {
            Ok(ran) => ran,
            Err(why) => {
                return Finding::bad("hooks", format!("the hook does not start: {why}"), fix);
            }
        };
        let took = format!("{} ms", ran.took.as_millis());
        let answer: Option<Value> = serde_json::from_slice(&ran.out).ok();
        let said = answer.as_ref().and_then(|it| it["systemMessage"].as_str());
        let own = said.and_then(|it| it.strip_prefix(&format!("punchlist {}", options.version)));
        if let Some(why) = own.and_then(|it| it.strip_prefix(PROBLEM_SEPARATOR)) {
            let said = format!("answered in {took}, but reports a problem: {why}");
            return Finding::bad("hooks", said, SEE_BELOW);
        }
        match said {
            Some(_) if own == Some("") => Finding::good("hooks", format!("answered in {took}")),
            Some(said) if said.starts_with("punchlist ") => Finding::note(
                "hooks",
                format!("answered in {took}, but the answer is from {said}"),
                fix,
            ),
            Some(_) | None if ran.code.is_none() => {
                Finding::bad("hooks", format!("no answer within {took}"), fix)
            }
            Some(_) | None if ran.out.is_empty() => Finding::bad(
                "hooks",
                format!("the hook printed nothing ({took}): its binary is missing or fails"),
                fix,
            ),
            Some(_) | None => Finding::bad("hooks", "the answer does not come from Punchlist", fix),
        }
    }

    /// Starts the MCP server as the agent would, and lists its tools.
    fn test_server(&self, options: &Options, fix: String) -> Option<Finding> {
        let Some(server) = &self.server else {
            let said = "no MCP server is set up";
            return (!self.has_own_tools()).then(|| Finding::bad("mcp", said, fix));
        };
        let mut command = Command::new(server["command"].as_str().unwrap_or_default());
        let arguments = server["args"].as_array().into_iter().flatten();
        command.args(arguments.filter_map(Value::as_str)).current_dir(&options.directory);
        Some(match mcp::tools(command, &options.version, options.patience) {
            Ok(tools) if tools.names.is_empty() => {
                Finding::bad("mcp", "the server has no tools", fix)
            }
            Ok(tools) => Finding::good(
                "mcp",
                format!(
                    "{} tools, about {} tokens, in {} ms",
                    tools.names.len(),
                    thousands(tools.bytes / 4),
                    tools.took.as_millis()
                ),
            ),
            Err(why) => Finding::bad("mcp", format!("the server {why}"), fix),
        })
    }
}

/// The programs that the entries call. Another program than this one is reported once, not for each
/// entry.
struct CalledPrograms {
    /// The options of an installation by this program.
    install: install::Options,
    /// Other programs that entries call.
    others: Vec<String>,
    /// The number of entries that call this program.
    own_count: usize,
}

impl CalledPrograms {
    /// The entries that `program` would write. Notes that an entry calls it.
    fn wanted(&mut self, program: Option<String>) -> Option<Wanted> {
        let Some(program) = program else { return Wanted::of(&self.install) };
        if is_same_file(Path::new(&program), &self.install.binary) {
            self.own_count += 1;
        } else if !self.others.contains(&program) {
            self.others.push(program.clone());
        }
        Wanted::of(&install::Options { binary: PathBuf::from(program), ..self.install.clone() })
    }

    /// Which other programs the entries call: the end of a sentence about the entries.
    fn describe_others(&self) -> Option<String> {
        let others = self.others.join(" and ");
        match (others.as_str(), self.own_count) {
            ("", _) => None,
            (others, 0) => Some(format!("call {others}, not this program")),
            (others, _) => Some(format!("call {others} in some places, this program in others")),
        }
    }
}

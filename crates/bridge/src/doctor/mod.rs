//! Says what is wired into an agent and whether it works, by really doing it: the installed hook is
//! called as the agent calls it, the installed server is started and asked for its tools.
//!
//! Nothing is changed and nothing is believed that can be tried. A finding says what is so and, where
//! something is amiss, the command that mends it. The store is looked at by the caller, who has it.

mod mcp;
mod run;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::install::claude::{self, PERMISSION, SERVER, Wanted};
use crate::install::edit::Document;
use crate::install::{self, Scope};

/// What is looked at.
#[derive(Clone, Debug)]
pub struct Options {
    /// What an installation now would depend on.
    pub install: install::Options,
    /// The agent's program, where it was found.
    pub program: Option<PathBuf>,
    /// Our version.
    pub version: String,
    /// The directory that hook and server are called in.
    pub directory: PathBuf,
    /// How long anything may take.
    pub patience: Duration,
}

/// One finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What it is about.
    pub about: &'static str,
    /// How it stands.
    pub state: State,
    /// What is so.
    pub said: String,
    /// What to do about it.
    pub fix: Option<String>,
}

/// How something stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
    /// It works.
    Good,
    /// It works, but somebody should know.
    Note,
    /// It does not work.
    Bad,
}

impl State {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Note => "note",
            Self::Bad => "broken",
        }
    }
}

impl Finding {
    /// Something that works.
    pub fn good(about: &'static str, said: impl Into<String>) -> Self {
        Self { about, state: State::Good, said: said.into(), fix: None }
    }

    /// Something to know, and what can be done about it.
    pub fn note(about: &'static str, said: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { about, state: State::Note, said: said.into(), fix: Some(fix.into()) }
    }

    /// Something that does not work, and what mends it.
    pub fn bad(about: &'static str, said: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { about, state: State::Bad, said: said.into(), fix: Some(fix.into()) }
    }
}

/// What is known of one scope's files.
struct Wiring {
    scope: Scope,
    /// Our server's entry.
    server: Option<Value>,
    settings: Value,
}

/// What was found, and the database that the entries name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The findings.
    pub findings: Vec<Finding>,
    /// The database that hooks and server use, if they are set up.
    pub database: Option<PathBuf>,
}

/// Looks at Claude Code.
pub fn claude(options: &Options) -> Report {
    let mut report = Report { findings: vec![program(options)], database: None };
    let own = Scope::Project(match &options.install.scope {
        Scope::Project(root) => root.clone(),
        Scope::User => options.directory.clone(),
    });
    let mut wired = Vec::new();
    for scope in [Scope::User, own] {
        match look(options, scope) {
            Ok(wiring) if wiring.is_there() => wired.push(wiring),
            Ok(_) => {}
            Err(error) => {
                report.findings.push(Finding::bad("entries", error.to_string(), error.hint()));
            }
        }
    }
    if wired.is_empty() && report.findings.iter().all(|it| it.about != "entries") {
        let fix = "punchlist install claude";
        report.findings.push(Finding::note("entries", "Claude Code is not set up", fix));
    }
    if let [one, other] = wired.as_slice()
        && one.command() != other.command()
    {
        report.findings.push(Finding::note(
            "entries",
            "set up for you and for this project, in different ways: every hook runs twice",
            "punchlist uninstall claude --project",
        ));
    }
    for wiring in wired {
        report.findings.extend(wiring.findings(options));
        report.database = report.database.or_else(|| wiring.database());
    }
    report
}

/// The agent itself.
fn program(options: &Options) -> Finding {
    let Some(path) = &options.program else {
        let said = "not found on this machine";
        return Finding::note("program", said, "install Claude Code, or put it on the PATH");
    };
    let mut command = Command::new(path);
    command.arg("--version");
    let place = path.display();
    match run::run(command, b"", options.patience) {
        Ok(ran) if ran.code == Some(0) => {
            let text = String::from_utf8_lossy(&ran.out);
            let version = text.split_whitespace().next().unwrap_or("of unknown version").to_owned();
            Finding::good("program", format!("{version}  {place}"))
        }
        Ok(ran) => Finding::bad(
            "program",
            format!("{place} --version {}", ran.end()),
            "see why it does not start, or install it anew",
        ),
        Err(why) => {
            Finding::bad("program", format!("{place} does not start: {why}"), "install it anew")
        }
    }
}

fn look(options: &Options, scope: Scope) -> Result<Wiring, install::Error> {
    let places = install::Options { scope: scope.clone(), ..options.install.clone() }.places();
    let servers = install::document(&places.servers)?;
    let settings = install::document(&places.settings)?;
    let server = servers.get(&claude::SERVER_WAY).filter(claude::is_our_server);
    Ok(Wiring { scope, server, settings: Document::value(&settings) })
}

impl Wiring {
    fn is_there(&self) -> bool {
        self.server.is_some() || !claude::hooked(&self.settings).is_empty()
    }

    /// The hook's command, as it is called.
    fn command(&self) -> Option<String> {
        let events = self.settings["hooks"].as_object()?;
        events.values().find_map(|groups| {
            let (group, hook) = *claude::our_hooks(groups).first()?;
            Some(groups[group]["hooks"][hook]["command"].as_str()?.to_owned())
        })
    }

    /// An argument of the server's, or, where that is lost, of the hook's.
    fn argument(&self, name: &str) -> Option<String> {
        let Some(server) = &self.server else {
            return claude::argument(&self.command()?, name);
        };
        let arguments = server["args"].as_array()?;
        let at = arguments.iter().position(|it| it == name)?;
        Some(arguments.get(at + 1)?.as_str()?.to_owned())
    }

    fn database(&self) -> Option<PathBuf> {
        self.argument("--db").map(PathBuf::from)
    }

    /// What an installation of the same kind would depend on now.
    fn install(&self, options: &Options) -> install::Options {
        install::Options {
            scope: self.scope.clone(),
            database: self.database().unwrap_or_else(|| options.install.database.clone()),
            plan: self.argument("--plan"),
            permission: claude::permits(&self.settings),
            ..options.install.clone()
        }
    }

    /// The command that installs it anew in the same way.
    fn fix(&self, options: &Options) -> String {
        let wanted = self.install(options);
        let mut command = "punchlist install claude".to_owned();
        if self.scope != Scope::User {
            command.push_str(" --project");
        }
        if wanted.database != options.install.database {
            command
                .push_str(&format!(" --db {}", claude::quoted(&wanted.database.to_string_lossy())));
        }
        if let Some(plan) = &wanted.plan {
            command.push_str(&format!(" --plan {}", claude::quoted(plan)));
        }
        command
    }

    fn findings(&self, options: &Options) -> Vec<Finding> {
        let mut findings = vec![self.entries(options), self.binary(options)];
        findings.extend(self.permission(options));
        findings.extend(self.switched_off());
        findings.push(self.hook(options));
        findings.push(self.server(options));
        findings
    }

    /// Whether the entries are those that an installation would write.
    fn entries(&self, options: &Options) -> Finding {
        let fix = self.fix(options);
        let Some(wanted) = Wanted::of(&self.install(options)) else {
            return Finding::bad("entries", install::Error::NoText.to_string(), fix);
        };
        let mut wrong = Vec::new();
        match &self.server {
            None => wrong.push(format!("the MCP server {SERVER} is missing")),
            Some(server) if *server != wanted.server => {
                wrong.push(format!("the MCP server {SERVER} differs"));
            }
            Some(_) => {}
        }
        let mut missing = Vec::new();
        let mut differs = Vec::new();
        for (event, matcher) in claude::EVENTS {
            let groups = &self.settings["hooks"][event];
            let ours = claude::our_hooks(groups);
            let is_right = |(group, hook): &(usize, usize)| {
                let (group, wanted) = (&groups[*group], wanted.group(matcher));
                group["hooks"][*hook] == wanted["hooks"][0]
                    && group["matcher"].as_str().unwrap_or_default() == matcher.unwrap_or_default()
            };
            match ours.as_slice() {
                [] => missing.push(event),
                [one] if is_right(one) => {}
                [_, ..] => differs.push(event),
            }
        }
        let known = |event: &String| claude::EVENTS.iter().any(|(it, _)| it == event);
        let old = claude::hooked(&self.settings).into_iter().filter(|it| !known(it));
        let old: Vec<String> = old.collect();
        for (what, events) in [
            ("no hook at", missing.join(", ")),
            ("another hook at", differs.join(", ")),
            ("a hook too many at", old.join(", ")),
        ] {
            if !events.is_empty() {
                wrong.push(format!("{what} {events}"));
            }
        }
        if wrong.is_empty() {
            let whom = match &self.scope {
                Scope::User => "for you in every project".to_owned(),
                Scope::Project(root) => format!("for {}", root.display()),
            };
            return Finding::good("entries", format!("server and hooks {whom}"));
        }
        Finding::bad("entries", wrong.join("; "), fix)
    }

    /// Whether the binary that the entries name is there, and which it is.
    fn binary(&self, options: &Options) -> Finding {
        let fix = self.fix(options);
        let Some(binary) = self.server.as_ref().and_then(|it| it["command"].as_str()) else {
            return Finding::bad("binary", "no entry names one", fix);
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
                format!("{binary} is version {version}, this one is {}", options.version),
                fix,
            ),
            None => Finding::bad("binary", format!("{binary} --version {}", ran.end()), fix),
        }
    }

    fn permission(&self, options: &Options) -> Option<Finding> {
        let lists = |name: &str| {
            let list = self.settings["permissions"][name].as_array();
            list.is_some_and(|it| {
                it.iter()
                    .filter_map(Value::as_str)
                    .any(|it| it == PERMISSION || it == "mcp__punchlist__*")
            })
        };
        Some(if lists("deny") {
            let said = format!("permissions.deny names {PERMISSION}: no plan tool can be used");
            Finding::bad("permission", said, "take it out of the settings")
        } else if lists("allow") {
            Finding::good("permission", format!("{PERMISSION}: the plan tools run without asking"))
        } else {
            let said =
                format!("{PERMISSION} is not allowed: Claude Code asks before it uses a plan tool");
            Finding::note("permission", said, self.fix(options))
        })
    }

    fn switched_off(&self) -> Option<Finding> {
        (self.settings["disableAllHooks"] == true).then(|| {
            let said = "disableAllHooks is set: Claude Code calls no hook at all";
            Finding::bad("hooks", said, "take disableAllHooks out of the settings")
        })
    }

    /// Calls the hook as the agent would.
    fn hook(&self, options: &Options) -> Finding {
        let fix = self.fix(options);
        let Some(line) = self.command() else {
            return Finding::bad("hooks", "none is set up", fix);
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
        match said {
            Some(said) if said == format!("punchlist {}", options.version) => {
                Finding::good("hooks", format!("answered in {took}"))
            }
            Some(said) if said.starts_with("punchlist ") => {
                Finding::note("hooks", format!("answered in {took}, but by {said}"), fix)
            }
            Some(_) | None if ran.code.is_none() => {
                Finding::bad("hooks", format!("no answer within {took}"), fix)
            }
            Some(_) | None if ran.out.is_empty() => Finding::bad(
                "hooks",
                format!("the hook said nothing ({took}): its binary is missing or fails"),
                fix,
            ),
            Some(_) | None => Finding::bad("hooks", "the answer is none of ours", fix),
        }
    }

    /// Starts the server as the agent would.
    fn server(&self, options: &Options) -> Finding {
        let fix = self.fix(options);
        let Some(server) = &self.server else {
            return Finding::bad("mcp", "no server is set up", fix);
        };
        let mut command = Command::new(server["command"].as_str().unwrap_or_default());
        let arguments = server["args"].as_array().into_iter().flatten();
        command.args(arguments.filter_map(Value::as_str)).current_dir(&options.directory);
        match mcp::tools(command, &options.version, options.patience) {
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
        }
    }
}

/// `1240` as `1,240`.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Whether all is as it should be.
pub fn is_well(findings: &[Finding]) -> bool {
    findings.iter().all(|it| it.state != State::Bad)
}

/// Whether a file is the other, by whatever path.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |path: &Path| std::fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
    one == other || id(one).is_some_and(|it| id(other) == Some(it))
}

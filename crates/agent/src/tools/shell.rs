//! `shell`: runs a command line, in the sandbox where one is in force.
//!
//! The policy sees each command of the line, and whether the sandbox contains it. A command line may
//! touch anything, so nothing that reads or writes runs at the same time.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use futures_core::future::BoxFuture;
use punchlist_sched::call::{Checked, Ended};
use punchlist_sched::policy::Commands;
use punchlist_sched::sandbox::{InForce, SandboxOptions};
use punchlist_sched::{Access, Command, Preview, Tool, Work};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::place::{guarded, is_guarded, is_secret};
use super::{Root, SHELL, arguments, ended, schema, stopped};
use punchlist_engine::policy::shell;

/// Variables that make a shell execute a file first, or parse a command line differently.
const SHELLS_OWN: &[&str] =
    &["ENV", "BASH_ENV", "BASHOPTS", "SHELLOPTS", "POSIXLY_CORRECT", "IFS", "CDPATH"];

/// The arguments that exist only where there is a sandbox.
const OUTSIDE: &str = "outside_sandbox";
const REASON: &str = "reason";
/// Maximum length of the model's reason in a question, in characters.
const LONGEST_REASON: usize = 500;

/// How long a command may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShellTimeout {
    /// If the call does not say.
    pub usual: Duration,
    /// The most that a call may ask for.
    pub most: Duration,
}

impl Default for ShellTimeout {
    fn default() -> Self {
        Self { usual: Duration::from_secs(120), most: Duration::from_secs(1800) }
    }
}

/// The tool.
pub struct Shell {
    root: Root,
    environment: Vec<(OsString, OsString)>,
    sandbox: InForce,
    timeout: ShellTimeout,
    schema: Value,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The command line, for `sh`. It gets no input and no terminal.
    #[schemars(length(min = 1))]
    command: String,
    /// The directory to run it in, inside the project. The project's root if left out; better than `cd`.
    directory: Option<String>,
    /// Seconds after which the command is ended.
    #[schemars(range(min = 1))]
    timeout: Option<u64>,
    /// Run it outside the sandbox; a person is asked first. Only for a command that cannot work inside.
    #[serde(default)]
    outside_sandbox: bool,
    /// With `outside_sandbox`: tells the person why the command needs it.
    #[serde(default)]
    reason: Option<String>,
}

impl Shell {
    /// Runs commands in a project with this environment, without variables that affect the shell
    /// itself, in this sandbox.
    pub fn new(
        root: Root,
        mut environment: Vec<(OsString, OsString)>,
        sandbox: InForce,
        timeout: ShellTimeout,
    ) -> Self {
        environment.retain(|(name, _)| {
            let name = name.to_string_lossy();
            !SHELLS_OWN.contains(&&*name) && !name.starts_with("BASH_FUNC_")
        });
        let mut schema = schema::<Arguments>();
        let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
        if let Some(properties) = properties.filter(|_| !sandbox.is_on()) {
            properties.retain(|name, _| name != OUTSIDE && name != REASON);
        }
        let (usual, most) = (timeout.usual.as_secs(), timeout.most.as_secs());
        if let Some(seconds) = schema.pointer_mut("/properties/timeout") {
            seconds["description"] = Value::from(format!(
                "Seconds after which the command is ended: {usual} if left out, at most {most}."
            ));
            seconds["maximum"] = Value::from(most);
        }
        Self { root, environment, sandbox, timeout, schema }
    }

    fn directory(&self, directory: Option<&str>) -> Result<super::Place, String> {
        let place = self.root.resolve(directory.unwrap_or("."))?;
        if !place.inside {
            return Err(format!("{} is outside the project", place.shown));
        }
        if !place.real.is_dir() {
            return Err(format!("{} is not a directory", place.shown));
        }
        Ok(place)
    }

    /// The sandbox of a call; `None` if it runs without one.
    fn sandbox_of(&self, call: &Arguments) -> Option<SandboxOptions> {
        let is_sandboxed = self.sandbox.is_on() && !call.outside_sandbox;
        is_sandboxed.then(|| SandboxOptions { writable: vec![self.root.path().to_owned()] })
    }

    /// Whether a call leaves the sandbox that is in force.
    fn is_outside(&self, call: &Arguments) -> bool {
        self.sandbox.is_on() && call.outside_sandbox
    }
}

impl Tool for Shell {
    fn name(&self) -> &'static str {
        "shell"
    }

    fn description(&self) -> &'static str {
        if self.sandbox.is_on() {
            "Run a command line with sh in the project and get its output. It runs in a sandbox: it \
             can write only in the project and in $TMPDIR, and has no network. Keep command lines \
             plain: no variables, here-documents, eval or sh -c. Use read, search, list, write and \
             edit for files."
        } else {
            "Run a command line with sh in the project and get its output. Commands that are allowed one by \
             one run without a question; keep them plain: no variables, here-documents, eval or sh -c. \
             Use read, search, list, write and edit for files."
        }
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn check(&self, input: &Value) -> Result<Checked, String> {
        let call: Arguments = arguments(input)?;
        let command = &call.command;
        if command.trim().is_empty() || command.contains('\0') {
            return Err("the command is empty, or contains a NUL".to_owned());
        }
        if command.starts_with(['-', '+']) {
            return Err("the command begins with - or +: sh would read it as an option".to_owned());
        }
        let has_reason = call.reason.as_ref().is_some_and(|it| !it.trim().is_empty());
        if self.is_outside(&call) && !has_reason {
            return Err(format!("{OUTSIDE} needs a {REASON}, for the person who is asked"));
        }
        let place = self.directory(call.directory.as_deref())?;
        let mut subject = shell::subject_below(self.name(), command, Some(&place.shown));
        if let Commands::All(all) = &subject.commands {
            let files = all.iter().filter(|it| it.is_write()).filter_map(|it| it.known.get(1));
            files.filter(|it| is_guarded(Path::new(it))).try_for_each(|it| Err(guarded(it)))?;
        }
        subject.always_asks = self.is_outside(&call);
        subject.contained =
            self.sandbox == InForce::On && !call.outside_sandbox && !names_special_file(command);
        if self.is_outside(&call) {
            subject.arguments.push((OUTSIDE.to_owned(), "true".to_owned()));
        }
        Ok(Checked { access: Access::writes(["/"]), kind: SHELL, subject })
    }

    fn preview(&self, input: &Value) -> Preview {
        let Ok(call) = arguments::<Arguments>(input) else {
            return Preview { what: "run".to_owned(), ..Preview::default() };
        };
        let (what, comma) = match (self.is_outside(&call), self.sandbox.is_on()) {
            (true, _) => ("run outside the sandbox", ","),
            (false, true) => ("run in the sandbox", ","),
            (false, false) => ("run", ""),
        };
        let what = match &call.directory {
            Some(directory) => format!("{what}{comma} in {directory}"),
            None => what.to_owned(),
        };
        let reason = call.reason.as_ref().filter(|_| self.is_outside(&call));
        let why = reason.map(|reason| {
            let reason: String = reason.trim().chars().take(LONGEST_REASON).collect();
            format!("the model says: {reason}")
        });
        Preview { what, command: Some(call.command), why, ..Preview::default() }
    }

    fn timeout(&self, input: &Value) -> Option<Duration> {
        let asked = arguments::<Arguments>(input).ok().and_then(|it| it.timeout);
        let asked = asked.map_or(self.timeout.usual, Duration::from_secs);
        Some(asked.min(self.timeout.most))
    }

    fn run(&self, input: Value, work: Work) -> BoxFuture<'static, Ended> {
        let command = arguments::<Arguments>(&input).and_then(|it| {
            let directory = self.directory(it.directory.as_deref())?.real;
            let sandbox = self.sandbox_of(&it);
            let command = Command::shell(it.command, directory).envs(self.environment.clone());
            Ok(Command { sandbox, ..command })
        });
        Box::pin(async move {
            let command = match command {
                Ok(command) => command,
                Err(what) => return ended(Err(what)),
            };
            let is_sandboxed = command.sandbox.is_some();
            match work.run(command).await {
                Ok(finished) if is_sandboxed => stopped::explained(finished),
                Ok(finished) => finished.ended(),
                Err(why) => ended(Err(why.to_string())),
            }
        })
    }
}

/// Whether a command line names a file with secrets, or one whose content others execute, such as a
/// hook of git. The sandbox does not keep a command from these, so it does not contain such a
/// command.
fn names_special_file(command: &str) -> bool {
    let is_of_path = |it: char| it.is_alphanumeric() || "._-/~".contains(it);
    let paths = command.split(|it| !is_of_path(it)).filter(|it| !it.is_empty()).map(Path::new);
    paths.into_iter().any(|it| is_secret(it) || is_guarded(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_that_name_special_files() {
        for command in [
            "cat .env",
            "cat<.env.local",
            "cp x .git/hooks/pre-commit",
            "python3 -c \"open('.git/config', 'a')\"",
            "tar --file=$HOME/.ssh/id_rsa",
            "cat ~/.aws/credentials",
            "echo > punchlist.toml",
        ] {
            assert!(names_special_file(command), "{command}");
        }
        for command in ["git status", "cat .gitignore", "cargo test", "ls src/env", "cat a.keys"] {
            assert!(!names_special_file(command), "{command}");
        }
    }
}

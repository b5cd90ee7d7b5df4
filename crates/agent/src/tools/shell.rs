//! `shell`: runs a command line.
//!
//! The policy sees each command of the line. A command line may touch anything, so nothing that
//! reads or writes runs at the same time.

use std::ffi::OsString;
use std::path::Path;

use futures_core::future::BoxFuture;
use punchlist_sched::call::{Checked, Ended};
use punchlist_sched::policy::Commands;
use punchlist_sched::{Access, Command, Preview, Tool, Work};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::place::{guarded, is_guarded};
use super::{Root, SHELL, arguments, ended, schema};
use punchlist_engine::policy::shell;

/// Variables that make a shell execute a file first, or parse a command line differently.
const SHELLS_OWN: &[&str] =
    &["ENV", "BASH_ENV", "BASHOPTS", "SHELLOPTS", "POSIXLY_CORRECT", "IFS", "CDPATH"];

/// The tool.
pub struct Shell {
    root: Root,
    environment: Vec<(OsString, OsString)>,
    schema: Value,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The command line, for `sh`. It gets no input and no terminal.
    #[schemars(length(min = 1))]
    command: String,
    /// The directory to run it in, inside the project. The project's root if left out; better than `cd`.
    directory: Option<String>,
}

impl Shell {
    /// Runs commands in a project with this environment, without variables that affect the shell
    /// itself.
    pub fn new(root: Root, mut environment: Vec<(OsString, OsString)>) -> Self {
        environment.retain(|(name, _)| {
            let name = name.to_string_lossy();
            !SHELLS_OWN.contains(&&*name) && !name.starts_with("BASH_FUNC_")
        });
        Self { root, environment, schema: schema::<Arguments>() }
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
}

impl Tool for Shell {
    fn name(&self) -> &'static str {
        "shell"
    }

    fn description(&self) -> &'static str {
        "Run a command line with sh in the project and get its output. Commands that are allowed one by \
         one run without a question; keep them plain: no variables, here-documents, eval or sh -c. \
         Use read, search, list, write and edit for files."
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn check(&self, input: &Value) -> Result<Checked, String> {
        let Arguments { command, directory } = arguments(input)?;
        if command.trim().is_empty() || command.contains('\0') {
            return Err("the command is empty, or contains a NUL".to_owned());
        }
        if command.starts_with(['-', '+']) {
            return Err("the command begins with - or +: sh would read it as an option".to_owned());
        }
        let place = self.directory(directory.as_deref())?;
        let subject = shell::subject_below(self.name(), &command, Some(&place.shown));
        if let Commands::All(all) = &subject.commands {
            let files = all.iter().filter(|it| it.is_write()).filter_map(|it| it.known.get(1));
            files.filter(|it| is_guarded(Path::new(it))).try_for_each(|it| Err(guarded(it)))?;
        }
        Ok(Checked { access: Access::writes(["/"]), kind: SHELL, subject })
    }

    fn preview(&self, input: &Value) -> Preview {
        let what = "run".to_owned();
        let Ok(Arguments { command, directory }) = arguments(input) else {
            return Preview { what, ..Preview::default() };
        };
        let what = match directory {
            Some(directory) => format!("{what} in {directory}"),
            None => what,
        };
        Preview { what, command: Some(command), ..Preview::default() }
    }

    fn run(&self, input: Value, work: Work) -> BoxFuture<'static, Ended> {
        let command = arguments::<Arguments>(&input).and_then(|it| {
            let directory = self.directory(it.directory.as_deref())?.real;
            Ok(Command::shell(it.command, directory).envs(self.environment.clone()))
        });
        Box::pin(async move {
            let command = match command {
                Ok(command) => command,
                Err(what) => return ended(Err(what)),
            };
            match work.run(command).await {
                Ok(finished) => finished.ended(),
                Err(why) => ended(Err(why.to_string())),
            }
        })
    }
}

//! `punchlist policy`.

use std::path::PathBuf;

use punchlist_agent::tools;
use punchlist_engine::policy::explain::{self, Explanation, RuleBook};
use punchlist_engine::policy::{checks, shell};
use punchlist_sched::Tools;
use punchlist_sched::policy::Subject;
use punchlist_sched::sandbox::InForce;
use serde_json::json;

use super::{Group, Verb};
use crate::app::App;
use crate::fail::Fail;
use crate::print::Reply;
use crate::{person, places};

/// Show what the policy says about a command, and why
///
/// Nothing is executed. A command line is split into its commands; for each of them, Punchlist
/// shows which of your rules or the project's rules allows it, denies it or asks, if any does. The
/// same rules apply to an agent's calls. A plan file that you run yourself needs no rule that
/// allows its commands, but rules that ask or deny apply to it too.
#[derive(clap::Args)]
pub(crate) struct Policy {
    /// The command line or, with `--tool`, the path that the tool is called with
    #[arg(
        required = true,
        value_name = "COMMAND",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<String>,
    /// The tool: shell, verify, read, write, edit, list, search or agent
    #[arg(long, value_name = "NAME", default_value = "shell")]
    tool: String,
}

impl Verb for Policy {
    const NAME: &'static str = "policy";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist policy git push origin main
  punchlist policy --json 'cd src && make test'
  punchlist policy --tool write .env";

    fn run(mut self, app: &App) -> Result<Reply, Fail> {
        let is_json = self.takes_json()? || app.globals.json;
        let asked = explain::command_line(&self.words);
        let (user_file, project) = (places::config().ok(), app.project()?);
        let book = RuleBook {
            rules: &app.settings()?.rules,
            project: &project.name,
            user_file: user_file.as_deref(),
            project_file: &project.root.join("punchlist.toml"),
            reader: person::reader(),
        };
        let explanation = match self.subject(app, &asked)? {
            Ok(subject) => Explanation::of(&book, &subject),
            Err(why) => Explanation::never(why),
        };
        if is_json {
            return Ok(Reply::json(&explanation.json(&self.tool, &asked)));
        }
        Ok(Reply::text(explanation.text(&asked)))
    }
}

impl Policy {
    /// Every word after the first belongs to the command, options too. `--json` counts as our
    /// option only after a quoted command line or a path.
    fn takes_json(&mut self) -> Result<bool, Fail> {
        let is_command = ["shell", "verify"].contains(&self.tool.as_str());
        match self.words.as_slice() {
            [_, rest @ ..] if !is_command && rest == ["--json"] => {
                self.words.truncate(1);
                Ok(true)
            }
            [line, rest @ ..] if line.contains(char::is_whitespace) && !rest.is_empty() => {
                if rest != ["--json"] {
                    return Err(Fail::usage("a quoted command line must be the only argument")
                        .hint("give one command line, or its words; options come before it."));
                }
                self.words.truncate(1);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// What the policy is asked about; `Err` if the tool itself rejects the arguments.
    fn subject(&self, app: &App, asked: &str) -> Result<Result<Subject, String>, Fail> {
        let tool = self.tool.as_str();
        let here = std::env::current_dir().unwrap_or_default();
        let here = app.globals.directory.clone().unwrap_or(here);
        let below = std::fs::canonicalize(here).ok().and_then(|it| checks::below(&it));
        if ["shell", "verify"].contains(&tool) {
            return Ok(Ok(shell::subject_below(tool, asked, below.as_deref())));
        }
        if tool == "agent" {
            let arguments = vec![("agent".to_owned(), asked.to_owned())];
            return Ok(Ok(Subject { tool: tool.to_owned(), arguments, ..Subject::default() }));
        }
        if let Some(name) = tool.strip_prefix("mcp__") {
            let server = name.split_once("__").map(|it| it.0.to_owned());
            return Ok(Ok(Subject { tool: tool.to_owned(), server, ..Subject::default() }));
        }
        let arguments = match tool {
            "read" | "list" => json!({"path": asked}),
            "write" => json!({"path": asked, "content": ""}),
            "edit" => json!({"path": asked, "old": "a", "new": "b"}),
            "search" => json!({"path": asked, "pattern": "a"}),
            _ => {
                return Err(Fail::usage(format!("there is no tool {tool:?}")).hint(
                    "the tools are shell, verify, read, write, edit, list, search and agent.",
                ));
            }
        };
        let root = app.project()?.root.clone();
        let guarded: Vec<PathBuf> =
            places::config().ok().into_iter().chain(places::data().ok()).collect();
        // No command is checked here, so the sandbox makes no difference.
        let sandbox = InForce::Off(String::new());
        let options = tools::Options { root, environment: Vec::new(), guarded, sandbox };
        let mut all = Tools::new();
        let ours = |why: String| Fail::ours(format!("the tools cannot be made: {why}"));
        for it in tools::all(options).map_err(|why| ours(why.to_string()))? {
            all.add(it).map_err(|why| ours(why.to_string()))?;
        }
        Ok(all.check(tool, &arguments).map(|it| it.subject))
    }
}

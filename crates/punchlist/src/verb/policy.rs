//! `punchlist policy`.

use punchlist_agent::tools;
use punchlist_engine::policy::checks;
use punchlist_engine::policy::explain::{self, Explanation, RuleBook};
use punchlist_engine::policy::given::{self, Given};
use punchlist_formats::text::one_line;
use punchlist_sched::policy::Subject;
use punchlist_sched::sandbox::{self, InForce};
use serde_json::{Value, json};

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
/// allows its commands, but rules that ask or deny apply to it too. For a shell command it also says
/// what the sandbox of `punchlist do` changes.
///
/// `--consents` lists what you have allowed besides rules: checks that agents wrote, the instructions
/// of projects (`AGENTS.md`), MCP servers, and files that `init` trusted. `--take-back` takes one of
/// them back, so that you are asked again.
#[derive(clap::Args)]
pub(crate) struct Policy {
    /// The command line or, with `--tool`, the path, agent or worker that the tool is called with
    #[arg(
        required_unless_present_any = ["consents", "take_back"],
        conflicts_with_all = ["consents", "take_back"],
        value_name = "COMMAND",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<String>,
    /// The tool: shell, verify, read, write, edit, list, search, agent or delegate
    #[arg(long, value_name = "NAME", default_value = "shell")]
    tool: String,
    /// List what you have allowed in all projects
    #[arg(long)]
    consents: bool,
    /// Take back what you have allowed in this project: `checks`, `instructions`, `mcp.NAME`, or the
    /// path of a trusted file
    #[arg(long, value_name = "WHAT", conflicts_with = "consents")]
    take_back: Option<String>,
}

impl Verb for Policy {
    const NAME: &'static str = "policy";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist policy git push origin main
  punchlist policy --json 'cd src && make test'
  punchlist policy --tool write .env
  punchlist policy --consents
  punchlist policy --take-back mcp.db";

    fn run(mut self, app: &App) -> Result<Reply, Fail> {
        if self.consents {
            return consents(app);
        }
        if let Some(name) = &self.take_back {
            return take_back(app, name);
        }
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
            Ok(subject) => {
                let explanation = Explanation::of(&book, &subject);
                match self.in_session(app, &asked)? {
                    Some((subject, sandbox)) => explanation.in_session(&book, &subject, &sandbox),
                    None => explanation,
                }
            }
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
        let here = app.directory().unwrap_or_default();
        let below = std::fs::canonicalize(here).ok().and_then(|it| checks::below(&it));
        let options = options(app, InForce::Off(String::new()))?;
        tools::policy_subject(&self.tool, asked, below.as_deref(), options)
    }

    /// A shell command as the tool of a session sees it, and the sandbox of the session.
    fn in_session(&self, app: &App, asked: &str) -> Result<Option<(Subject, InForce)>, Fail> {
        if self.tool != "shell" {
            return Ok(None);
        }
        let sandbox = app.settings()?.sandbox.in_force(sandbox::support());
        let subject = tools::session_subject(asked, options(app, sandbox.clone())?)?;
        Ok(subject.map(|it| (it, sandbox)))
    }
}

/// The options of a session's tools in this project.
fn options(app: &App, sandbox: InForce) -> Result<tools::Options, Fail> {
    Ok(tools::Options {
        root: app.project()?.root.clone(),
        environment: Vec::new(),
        guarded: places::config().ok().into_iter().chain(places::data().ok()).collect(),
        sandbox,
        shell_timeout: tools::ShellTimeout::default(),
    })
}

/// Lists what the user has allowed.
fn consents(app: &App) -> Result<Reply, Fail> {
    let all = given::all(&places::data()?, &places::trusted_files())?;
    if app.globals.json {
        let all: Vec<Value> = all.iter().map(Given::json).collect();
        return Ok(Reply::json(&json!({ "consents": all })));
    }
    if all.is_empty() {
        return Ok(Reply::text("You have allowed nothing besides your policy rules.\n"));
    }
    Ok(Reply::text(given::text(&all)))
}

/// Takes back what the user has allowed in this project.
fn take_back(app: &App, name: &str) -> Result<Reply, Fail> {
    person::not_an_agent("consent is taken back")?;
    let project = &app.project()?.name;
    given::take_back(&places::data()?, &places::trusted_files(), project, name)?;
    if app.globals.json {
        let value = json!({"project": project, "takenBack": name});
        return Ok(Reply { changed: true, ..Reply::json(&value) });
    }
    let text = format!("Took back the consent to {}. You will be asked again.\n", one_line(name));
    Ok(Reply { changed: true, ..Reply::prose(text) })
}

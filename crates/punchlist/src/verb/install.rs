//! `punchlist install`.

use punchlist_bridge::install::{self, Change, Options, claude};

use super::{Group, Verb};
use crate::agent::{self, Agent, Goal};
use crate::app::App;
use crate::error::{Code, Fail};
use crate::print::{self, Reply, Said};

/// Set an agent up to work with Punchlist
///
/// Writes three things into the agent's own settings: the MCP server with the plan tools, the
/// permission to use them without asking, and hooks that keep the plan, put it back after a
/// compaction and hold a turn that would end with items open. Says so first and asks, unless
/// `--yes`. What is there already stays, formatting included; `punchlist uninstall` takes it all
/// back. Without an agent, shows the ones on this machine.
#[derive(clap::Args)]
pub(crate) struct Install {
    /// Which agent: claude
    #[arg(value_name = "AGENT")]
    agent: Option<String>,
    /// For you, in every project (the default)
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// For this project, in files at its root
    #[arg(long)]
    project: bool,
    /// Show what would change, as a diff, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Leave the permission out: the agent asks before it uses a plan tool
    #[arg(long)]
    without_permission: bool,
}

impl Verb for Install {
    const NAME: &'static str = "install";
    const GROUP: Group = Group::Agent;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist install claude
  punchlist install claude --dry-run
  punchlist install claude --project --yes
  punchlist install claude --plan release --yes";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let Some(name) = &self.agent else { return agents(app, &self) };
        let agent = agent::named(name)?;
        self.into(app, agent)
    }
}

impl Install {
    fn into(self, app: &App, agent: Agent) -> Result<Reply, Fail> {
        let goal = if self.project { Goal::Project } else { Goal::User };
        let mut options = agent::options(app, goal)?;
        options.permission = !self.without_permission;
        let would = install::would_install(&options).map_err(agent::fail)?;
        if self.dry_run {
            let last = match would.len() {
                0 => format!("nothing would change: {} is set up\n", agent.title()),
                n => format!(
                    "{} would change, 0 removed; undo with: {}\n",
                    agent::files(n),
                    agent::command("uninstall", agent, goal)
                ),
            };
            return agent::dry_run(app, agent, goal, &would, &last);
        }
        if would.is_empty() {
            return agent::done(app, agent, goal, &[], "nothing to do: it is set up already");
        }
        if !self.yes {
            ask(app, agent, goal, &mut options, &would)?;
        }
        let changes = install::install(&options).map_err(agent::fail)?;
        let last = format!(
            "Start {} anew, then see with `punchlist doctor`. Undo with `{}`.",
            agent.title(),
            agent::command("uninstall", agent, goal)
        );
        agent::done(app, agent, goal, &changes, &last)
    }
}

/// Says what will be done, each consent by its name, and asks.
fn ask(
    app: &App,
    agent: Agent,
    goal: Goal,
    options: &mut Options,
    would: &[Change],
) -> Result<(), Fail> {
    let (binary, database) = (options.binary.display(), options.database.display());
    let adds_permission = options.permission && adds_permission(would);
    let events: Vec<&str> = claude::EVENTS.iter().map(|(event, _)| *event).collect();
    let mut words = vec![format!("{}, {}:", agent.title(), goal.words())];
    for change in would {
        let what = if change.before.is_none() { "makes" } else { "edits" };
        words.push(format!("  {what} {}", change.path.display()));
    }
    words.push(String::new());
    let plan = options.plan.as_ref().map(|it| format!(" --plan {it}")).unwrap_or_default();
    words.push(format!("  server      {binary} mcp --db {database}{plan}"));
    words.push("              the plan tools; started with each session".to_owned());
    words.push(format!("  hooks       {binary} hook claude --db {database}{plan}"));
    words.push(
        "              commands run at these events, and may hold a turn that would end with"
            .to_owned(),
    );
    words.push("              items open:".to_owned());
    for line in events.chunks(4) {
        words.push(format!("              {}", line.join(", ")));
    }
    if adds_permission {
        words.push(format!("  permission  {}", claude::PERMISSION));
        words.push("              its tools run without asking; asked for on its own".to_owned());
    }
    words.push(String::new());
    if !app.globals.json {
        print::say(&words);
    }
    settled(print::confirm("Write these entries?"))?;
    if adds_permission {
        let question = format!("Let the plan tools run without asking ({})?", claude::PERMISSION);
        options.permission = print::confirm(&question) == Said::Yes;
    }
    Ok(())
}

/// Whether one of the changes gives the permission.
fn adds_permission(would: &[Change]) -> bool {
    let has = |bytes: &Option<Vec<u8>>| {
        let bytes = bytes.as_deref().unwrap_or_default();
        String::from_utf8_lossy(bytes).contains(&format!("\"{}\"", claude::PERMISSION))
    };
    would.iter().any(|it| has(&it.after) && !has(&it.before))
}

fn settled(said: Said) -> Result<(), Fail> {
    match said {
        Said::Yes => Ok(()),
        Said::No => Err(Fail::new(Code::Interrupted, "nothing was changed")),
        Said::Nothing => Err(Fail::usage("it asks first, and there is no terminal to ask at")
            .hint("add `--yes` to agree to the server, the hooks and the permission; `--dry-run` shows them.")),
    }
}

/// Without an agent's name: which there are, and for the one that can be set up, the same question.
fn agents(app: &App, verb: &Install) -> Result<Reply, Fail> {
    let found = agent::on_this_machine();
    if app.globals.json {
        let agents: Vec<_> = found
            .iter()
            .map(|it| {
                let path = it.program.as_ref().map(|it| it.to_string_lossy().into_owned());
                serde_json::json!({"agent": it.name, "program": path, "supported": it.supported})
            })
            .collect();
        return Ok(Reply::json(&serde_json::json!({"agents": agents})));
    }
    let mut lines = Vec::new();
    for it in &found {
        let what = match (&it.program, it.supported) {
            (Some(program), true) => program.display().to_string(),
            (Some(_), false) => "not yet: this version does not know how to set it up".to_owned(),
            (None, _) => "not found on this machine".to_owned(),
        };
        lines.push(format!("{:<8}{what}", it.name));
    }
    let can = found.iter().any(|it| it.supported && it.program.is_some());
    if !can || verb.dry_run || verb.yes {
        if !can {
            lines.push(String::new());
            lines.push("`punchlist install claude` sets it up all the same.".to_owned());
            return Ok(Reply::text(agent::text(&lines)));
        }
        print::say(&lines);
    } else {
        lines.push(String::new());
        print::say(&lines);
    }
    let verb = Install { agent: None, ..*verb };
    verb.into(app, Agent::Claude)
}

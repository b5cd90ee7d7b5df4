//! `punchlist install`.

use punchlist_bridge::install::known::events;
use punchlist_bridge::install::{self, Change, Options, claude};
use punchlist_formats::hook::Agent;
use punchlist_formats::view::Reader;

use super::{Group, Verb};
use crate::agent::{self, Goal};
use crate::app::App;
use crate::error::{Code, Fail};
use crate::print::{self, Reply, Said};
use crate::{person, places};

/// Set an agent up to work with Punchlist
///
/// Writes into the agent's own settings: the MCP server with the plan tools, the permission to use
/// them without asking, and hooks that keep the plan, put it back after a compaction and hold a turn
/// that would end with items open. Says so first and asks, for each thing that the agent itself would
/// ask about on its own, unless `--yes`. What is there already stays, formatting included; `punchlist
/// uninstall` takes it all back. Without an agent, does so for each one that is on this machine.
///
/// An agent that calls it can set up what is not there yet, but gives no consent in your place: with
/// `--without-permission`, and for Codex `--without-trust`, you are asked by the agent itself.
#[derive(clap::Args)]
pub(crate) struct Install {
    /// Which agent: claude, codex, gemini; else all that are on this machine
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
    /// Codex: leave the trust out, and accept the hooks in Codex itself
    #[arg(long)]
    without_trust: bool,
    /// Codex: switch its own `update_plan` on and keep that list, instead of our plan tools
    #[arg(long)]
    own_tools: bool,
}

impl Verb for Install {
    const NAME: &'static str = "install";
    const GROUP: Group = Group::Agent;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist install
  punchlist install claude
  punchlist install codex --dry-run
  punchlist install gemini --project --yes
  punchlist install claude --plan release --yes";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let Some(name) = &self.agent else { return self.all(app) };
        let agent = agent::named(name)?;
        let codex_alone =
            [(self.own_tools, "--own-tools"), (self.without_trust, "--without-trust")];
        if agent != Agent::Codex
            && let Some((_, option)) = codex_alone.iter().find(|it| it.0)
        {
            return Err(Fail::usage(format!("{} has no such choice", agent.title()))
                .hint(format!("{option} is for codex: leave it out.")));
        }
        self.set_up(app, agent)
    }
}

impl Install {
    fn goal(&self) -> Goal {
        if self.project { Goal::Project } else { Goal::User }
    }

    fn options(&self, app: &App, agent: Agent) -> Result<Options, Fail> {
        let mut options = agent::options(app, agent, self.goal())?;
        options.permission = !self.without_permission;
        options.trust = !self.without_trust;
        options.own_tools = self.own_tools && agent == Agent::Codex;
        options.version = agent::version(agent);
        Ok(options)
    }

    fn set_up(&self, app: &App, agent: Agent) -> Result<Reply, Fail> {
        let goal = self.goal();
        let mut options = self.options(app, agent)?;
        let would = install::would_install(&options).map_err(agent::fail)?;
        // Taking it out again is for people.
        let undo = |before: &str, after: &str| match person::reader() {
            Reader::Person => {
                format!("{before}{}{after}", agent::command("uninstall", agent, goal))
            }
            Reader::Agent => String::new(),
        };
        if self.dry_run {
            let last = match would.len() {
                0 => format!("nothing would change: {} is set up\n", agent.title()),
                n => format!(
                    "{} would change, 0 removed{}\n",
                    agent::files(n),
                    undo("; undo with: ", "")
                ),
            };
            return agent::dry_run(app, agent, goal, &would, &last);
        }
        if !person::is_agent() {
            places::record()?;
        }
        if would.is_empty() {
            let last = self.with_permission(&options, "nothing to do: it is set up already");
            return agent::done(app, agent, goal, &[], &last);
        }
        self.may(&options)?;
        if !self.yes {
            self.ask(app, &mut options, &would)?;
        }
        let changes = install::install(&options).map_err(agent::fail)?;
        let undo = undo(" Undo with `", "`.");
        let last = format!("Start {} anew, then see with `punchlist doctor`.{undo}", agent.title());
        agent::done(app, agent, goal, &changes, &self.with_permission(&options, &last))
    }

    /// What is said last, and that a permission stays which was not to be, as it is not ours to take.
    fn with_permission(&self, options: &Options, last: &str) -> String {
        if !self.without_permission || !install::is_permitted(options) {
            return last.to_owned();
        }
        let name = permission_name(options.agent);
        format!(
            "{name} is not from Punchlist and stays: the plan tools run without asking.\n{last}"
        )
    }

    /// Refuses what an agent may not do, whoever asked it to: give a consent in the user's place, or
    /// change what is there, which is what holds it.
    fn may(&self, options: &Options) -> Result<(), Fail> {
        let agent = options.agent;
        if install::is_set_up(options) {
            return person::not_an_agent("an installation is changed");
        }
        let consents = [
            (options.permission, "`--without-permission`"),
            (options.trust && agent == Agent::Codex, "`--without-trust`"),
        ];
        let consents: Vec<&str> = consents.into_iter().filter(|it| it.0).map(|it| it.1).collect();
        if consents.is_empty() {
            return Ok(());
        }
        person::not_an_agent("consents are given").map_err(|fail| {
            fail.hint(format!(
                "ask your user to install it; or leave the consents out with {}, and {} asks them itself.",
                consents.join(" and "),
                agent.title()
            ))
        })
    }

    /// Says what will be done, each consent by its name, and asks.
    fn ask(&self, app: &App, options: &mut Options, would: &[Change]) -> Result<(), Fail> {
        let agent = options.agent;
        if !app.globals.json {
            print::say(&words(options, self.goal(), would));
        }
        if let Some(question) = self.choice(options, would).filter(|_| print::can_ask()) {
            options.own_tools = print::confirm(question) == Said::Yes;
        }
        settled(print::confirm("Write these entries?"))?;
        if let Some(question) = permission(options) {
            options.permission = print::confirm(&question) == Said::Yes;
        }
        let without = Options { trust: false, ..options.clone() };
        if agent == Agent::Codex && differ(options, &without)? {
            let question = "Codex runs a hook only once you have trusted it. Trust these now \
                            (trusted_hash in hooks.state)?";
            options.trust = print::confirm(question) == Said::Yes;
        }
        Ok(())
    }

    /// The question which tools are to be used, where there is a choice that nobody has made.
    fn choice(&self, options: &Options, would: &[Change]) -> Option<&'static str> {
        if options.agent != Agent::Codex || self.own_tools {
            return None;
        }
        if install::switches_own_tools_off(would) {
            return Some(
                "So far Punchlist keeps the list of Codex's own plan tool, update_plan, and had it \
                 switched on. Stay with that one, instead of the plan tools above?",
            );
        }
        (!install::has_own_tools(options)).then_some(
            "Codex has a plan tool of its own, update_plan, which is off. Switch it on and keep its \
             list, instead of the plan tools above?",
        )
    }

    /// Without an agent's name: each one that is on this machine, in turn.
    fn all(&self, app: &App) -> Result<Reply, Fail> {
        let found = agent::on_this_machine();
        if found.is_empty() {
            return Err(Fail::not_found("no agent was found on this machine").hint(
                "`punchlist install claude` (or codex, or gemini) sets one up all the same.",
            ));
        }
        if self.own_tools {
            return Err(Fail::usage("--own-tools is for one agent").hint(
                "call `punchlist install codex --own-tools`, then `punchlist install` for the rest.",
            ));
        }
        if !self.dry_run && !self.yes && !print::can_ask() {
            let mut details = Vec::new();
            for (agent, program) in &found {
                let options = self.options(app, *agent)?;
                details.push(format!("{}  {}", agent.as_str(), program.display()));
                details.extend(summary(&options).into_iter().map(|it| format!("  {it}")));
            }
            return Err(Fail::usage("it asks first, and there is no terminal to ask at")
                .details(details)
                .hint(
                    "add `--yes` to agree to all of it; `--dry-run` shows it; name one agent to \
                       set up that one alone.",
                ));
        }
        let mut whole = Reply { prose: !self.dry_run, ..Reply::default() };
        let mut parts = Vec::new();
        for (agent, program) in found {
            if !app.globals.json && !self.dry_run {
                let head = format!("{}  {}", agent.title(), program.display());
                whole.out.push_str(&agent::text(&[head]));
            }
            match self.set_up(app, agent) {
                Ok(reply) => {
                    whole.changed |= reply.changed;
                    parts.push(reply.out);
                }
                // One that is not wanted, or cannot be edited, does not keep the others from it.
                Err(fail) if fail.code == Code::Interrupted => {
                    parts.push(format!("left as it is: {}\n", agent.title()));
                }
                Err(fail) => {
                    whole.exit = fail.code.exit();
                    whole.notes.push(format!("{}: {}", agent.title(), fail.message));
                    whole.notes.extend(fail.hint.map(|it| format!("hint: {it}")));
                    continue;
                }
            }
            if !app.globals.json {
                whole.out.push_str(&parts.pop().unwrap_or_default());
            }
        }
        if app.globals.json {
            let parts = parts.iter().filter_map(|it| serde_json::from_str(it).ok());
            let agents: Vec<serde_json::Value> = parts.collect();
            whole.out = Reply::json(&serde_json::json!({"agents": agents})).out;
        }
        Ok(whole)
    }
}

/// What will be done, in words.
fn words(options: &Options, goal: Goal, would: &[Change]) -> Vec<String> {
    let agent = options.agent;
    let (binary, database) = (options.binary.display(), options.database.display());
    let mut words = vec![format!("{}, {}:", agent.title(), goal.words())];
    for change in would {
        let what = if change.before.is_none() { "makes" } else { "edits" };
        words.push(format!("  {what} {}", change.path.display()));
    }
    words.push(String::new());
    let plan = options.plan.as_ref().map(|it| format!(" --plan {it}")).unwrap_or_default();
    if options.own_tools {
        words.push("  tool        update_plan, Codex's own, is switched on".to_owned());
    } else {
        words.push(format!("  server      {binary} mcp --db {database}{plan}"));
        words.push("              the plan tools; started with each session".to_owned());
    }
    if install::switches_own_tools_off(would) {
        words.push("  tool        update_plan, Codex's own, is set as it was before".to_owned());
    }
    words.push(format!("  hooks       {binary} hook {} --db {database}{plan}", agent.as_str()));
    words.push(
        "              commands run at these events, and may hold a turn that would end with"
            .to_owned(),
    );
    words.push("              items open:".to_owned());
    let events: Vec<&str> = events(agent, options.version).iter().map(|it| it.0).collect();
    for line in events.chunks(4) {
        words.push(format!("              {}", line.join(", ")));
    }
    if permission(options).is_some() {
        words.push(format!("  permission  {}", permission_name(agent)));
        words.push("              its tools run without asking; asked for on its own".to_owned());
    }
    if agent == Agent::Codex && options.trust {
        words.push("  trust       hooks.state, trusted_hash".to_owned());
        words.push(
            "              Codex runs the hooks without asking; asked for on its own".to_owned(),
        );
    }
    words.push(String::new());
    words
}

/// What would be done to an agent, in a line each.
fn summary(options: &Options) -> Vec<String> {
    match install::would_install(options) {
        Ok(would) if would.is_empty() => vec!["is set up already".to_owned()],
        Ok(would) => would
            .iter()
            .map(|it| {
                let what = if it.before.is_none() { "makes" } else { "edits" };
                format!("{what} {}", it.path.display())
            })
            .collect(),
        Err(error) => vec![error.to_string()],
    }
}

/// What the permission is called in the agent's settings.
fn permission_name(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => claude::PERMISSION,
        Agent::Codex => "default_tools_approval_mode = \"approve\"",
        Agent::Gemini => "trust: true",
    }
}

/// The question for the permission, if it would be given anew.
fn permission(options: &Options) -> Option<String> {
    let without = Options { permission: false, ..options.clone() };
    let is_new = options.permission && !install::is_permitted(options);
    let adds = is_new && differ(options, &without).unwrap_or(false);
    let name = permission_name(options.agent);
    adds.then(|| format!("Let the plan tools run without asking ({name})?"))
}

/// Whether two installations would come to different files.
fn differ(one: &Options, other: &Options) -> Result<bool, Fail> {
    let would = |it: &Options| install::would_install(it).map_err(agent::fail);
    Ok(would(one)? != would(other)?)
}

fn settled(said: Said) -> Result<(), Fail> {
    match said {
        Said::Yes => Ok(()),
        Said::No => Err(Fail::new(Code::Interrupted, "nothing was changed")),
        Said::Nothing => Err(Fail::usage("it asks first, and there is no terminal to ask at")
            .hint("add `--yes` to agree to the server, the hooks and the permission; `--dry-run` shows them.")),
    }
}

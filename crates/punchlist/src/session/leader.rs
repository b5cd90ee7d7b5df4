//! A session that an agent of the user leads: finds its program, gives it the plan tools and the hooks,
//! and runs it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use punchlist_agent::config::AgentConfig;
use punchlist_agent::leader::{CommandLine, Leader, Led};
use punchlist_agent::session::{Allowance, Budget, JsonEvents};
use punchlist_agent::turn::Ending;
use punchlist_bridge::install::one_run::{self, installed_database};
use punchlist_bridge::install::{Error, Options, known};
use punchlist_bridge::lead::{self, Lead};
use punchlist_engine::Which;
use punchlist_formats::dialect::{Dialect, Surface};
use punchlist_formats::hook::Agent;
use punchlist_tui::session::Shown;

use super::{Output, front_end_showing, reply_with, runtime, world};
use crate::agent::{self, Goal};
use crate::app::App;
use crate::clock::{self, Clock};
use crate::fail::Fail;
use crate::print::Reply;

/// The variable that names the plan to hooks and server.
const PLAN: &str = "PUNCHLIST_PLAN";

/// Tools of the agents themselves that write a list. The hooks store it, and the plan is shown.
const OWN_TOOLS: [&str; 7] =
    ["TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "update_plan", "write_todos"];

/// What the user chose for the session.
pub(crate) struct Chosen<'a> {
    /// The model, as the program names it.
    pub(crate) model: Option<&'a str>,
    /// Further arguments of the program.
    pub(crate) arguments: &'a [String],
    /// The budget, instead of the configured one.
    pub(crate) budget: Option<Budget>,
    /// How it is shown.
    pub(crate) output: Output,
}

/// Lets an agent do a task.
pub(crate) fn lead(
    app: &App,
    agent: Agent,
    task: &str,
    chosen: &Chosen<'_>,
    config: &AgentConfig,
) -> Result<Reply, Fail> {
    if task.len() > lead::MOST_BYTES {
        return Err(Fail::usage("the task is too long for an argument of a program")
            .hint("put it into a file of the project, and name the file in the task."));
    }
    let allowance = allowance(chosen.budget, config)?;
    let program = program(agent)?;
    let entries = entries(app, agent)?;
    if !entries.is_empty() {
        refuse_taken(agent, chosen.arguments)?;
    }
    let directory = world::top(app)?;
    let shown = shown(agent, chosen.output, &directory, task);
    let leader = Leader {
        agent,
        command_line: command_line(agent, &program, chosen, entries, &allowance)?,
        environment: environment(app),
        processes: world::processes()?,
        engine: world::engine(app, config)?,
        around: Arc::new(Clock),
        time_zone: clock::time_zone(),
        project: app.project()?.name.clone(),
        directory,
        plan: app.globals.plan.as_ref().map(|it| match it.parse() {
            Ok(id) => Which::Id(id),
            Err(_) => Which::Named(it.clone()),
        }),
        allowance,
        wait_for_quota: config.agent.wait_for_quota.unwrap_or(true),
    };
    let led = runtime()?.block_on(async {
        let mut front = front_end_showing(app, shown)?;
        let led = leader.lead(&lead::prompt(task), &mut front).await;
        leader.processes.close().await;
        led
    })?;
    Ok(reply(agent, &led, chosen.output))
}

/// What one run may use.
fn allowance(given: Option<Budget>, config: &AgentConfig) -> Result<Allowance, Fail> {
    match given {
        Some(budget) if budget.day != Allowance::default() => {
            Err(Fail::usage("the budget of a day does not count what other agents use")
                .hint("with `--agent`, give tokens, minutes or cost."))
        }
        Some(budget) => Ok(budget.run),
        None => Ok(config.agent.budget().map_err(Fail::usage)?.run),
    }
}

/// The agent's program, as the user would start it.
fn program(agent: Agent) -> Result<PathBuf, Fail> {
    let name = agent.as_str();
    agent::program(name).ok_or_else(|| {
        Fail::not_found(format!("there is no program {name}: {} is not installed", agent.title()))
            .hint("install it, run it once and sign in; or use another agent, or `--model`.")
    })
}

/// The arguments with the plan tools and the hooks for this run; none if they are installed.
fn entries(app: &App, agent: Agent) -> Result<Vec<String>, Fail> {
    let version = agent::version(agent);
    let minimum = known::minimum(agent);
    if let Some(version) = version.filter(|it| *it < minimum) {
        return Err(Error::TooOld { agent, version, minimum }.into());
    }
    let options = |goal| Ok::<_, Fail>(Options { version, ..agent::options(app, agent, goal)? });
    // The project's options name the database that this call uses.
    let options = [options(Goal::Project)?, options(Goal::User)?];
    let (title, name) = (agent.title(), agent.as_str());
    match options.iter().find_map(installed_database) {
        Some(theirs) if theirs == options[0].database => Ok(Vec::new()),
        Some(theirs) => {
            let theirs = theirs.display();
            let what = format!("Punchlist is installed for {title} with another database: {theirs}");
            Err(Fail::usage(what).hint(format!("use that one with `--db {theirs}`.")))
        }
        None => one_run::arguments(&options[0])?.ok_or_else(|| {
            Fail::usage(format!("{title} takes hooks only from its settings files")).hint(format!(
                "run `punchlist install {name}` first; `punchlist uninstall {name}` restores the files."
            ))
        }),
    }
}

/// Claude Code takes only one `--settings`, and ours has the hooks.
fn refuse_taken(agent: Agent, arguments: &[String]) -> Result<(), Fail> {
    let is_taken = |it: &String| it == "--settings" || it.starts_with("--settings=");
    if agent == Agent::Claude && arguments.iter().any(is_taken) {
        return Err(Fail::usage(
            "Claude Code takes one `--settings`, which has the hooks of Punchlist",
        )
        .hint("run `punchlist install claude`: then yours is free."));
    }
    Ok(())
}

/// Makes the command lines of the program.
fn command_line(
    agent: Agent,
    program: &Path,
    chosen: &Chosen<'_>,
    entries: Vec<String>,
    allowance: &Allowance,
) -> Result<CommandLine, Fail> {
    let program = program.to_str().map(str::to_owned);
    let program = program.ok_or_else(|| Fail::usage("the path of the program is not UTF-8"))?;
    let model = chosen.model.map(str::to_owned);
    let mut arguments = entries;
    if let (Agent::Claude, Some(micros)) = (agent, allowance.cost_micros) {
        // It tells its cost only at the end, but has a limit of its own.
        let dollars = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
        arguments.extend(["--max-budget-usd".to_owned(), dollars]);
    }
    arguments.extend_from_slice(chosen.arguments);
    Ok(Arc::new(move |session, prompt| {
        lead::command(&Lead {
            agent,
            program: &program,
            model: model.as_deref(),
            session,
            prompt,
            arguments: &arguments,
        })
    }))
}

/// The environment of the program. It signs in with the user's variables, so all are passed on.
fn environment(app: &App) -> Vec<(OsString, OsString)> {
    let variables = env::vars_os().filter(|(name, _)| name != PLAN);
    variables.chain(app.globals.plan.iter().map(|it| (PLAN.into(), it.into()))).collect()
}

fn shown(agent: Agent, output: Output, directory: &Path, task: &str) -> Shown {
    match output {
        Output::Lines => Shown::Lines(plan_tools(agent)),
        Output::Quiet => Shown::Nothing,
        Output::Json => {
            Shown::Events(JsonEvents::led_by(agent, &directory.display().to_string(), task))
        }
    }
}

/// The tools of the plan, as the program names them.
fn plan_tools(agent: Agent) -> Vec<String> {
    let server = match agent {
        Agent::Claude | Agent::Codex => "mcp__punchlist__",
        Agent::Gemini => "mcp_punchlist_",
    };
    let tools = Dialect::Turn.tools(Surface::Full);
    let ours = tools.iter().map(|it| format!("{server}{}", it.name));
    ours.chain(OWN_TOOLS.map(str::to_owned)).collect()
}

fn reply(agent: Agent, led: &Led, output: Output) -> Reply {
    let resume = led.session.as_ref().map(|it| lead::resume(agent, it));
    let mut reply = reply_with(&led.ended, output, resume.as_deref().unwrap_or_default());
    if let Ending::Failed(why) = &led.ended.ending {
        if output == Output::Quiet {
            reply.notes.push(why.clone());
        }
        let remedy = lead::remedy(agent, &format!("{why}\n{}", led.said));
        reply.notes.extend(remedy.map(|it| format!("hint: {it}")));
    }
    reply
}

//! A session that an agent of the user leads: finds its program, gives it the plan tools and the hooks,
//! and runs it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use punchlist_agent::config::AgentConfig;
use punchlist_agent::leader::{CommandLine, Leader, LeaderPlace, LeadingProgram, Led, LedBy};
use punchlist_agent::session::{Allowance, Budget, JsonEvents};
use punchlist_agent::turn::Ending;
use punchlist_bridge::install::one_run::{self, installed_database};
use punchlist_bridge::install::{Error, Options, known};
use punchlist_bridge::lead::{self, Lead};
use punchlist_engine::Which;
use punchlist_formats::hook::Agent;
use punchlist_model::Actor;
use punchlist_model::store::turns::Conversation;
use punchlist_tui::session::{About, Shown};

use super::{Output, front_end, leader_options as options, reply_with, runtime, world};
use crate::agent::{self, Goal};
use crate::app::App;
use crate::clock::{self, Clock};
use crate::fail::Fail;
use crate::identity;
use crate::print::Reply;

/// The variable that names the plan to hooks and server.
const PLAN: &str = "PUNCHLIST_PLAN";

/// What the user chose for the session.
pub(crate) struct Chosen<'a> {
    /// The name of the plan to work on, instead of one for the task.
    pub(crate) plan: Option<&'a str>,
    /// The model, as the program names it.
    pub(crate) model: Option<&'a str>,
    /// Further arguments of the program.
    pub(crate) arguments: &'a [String],
    /// The budget, instead of the configured one.
    pub(crate) budget: Option<Budget>,
    /// What must be true in the end.
    pub(crate) goal: Option<&'a str>,
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
    run(app, agent, (task, &options::prompt(task, chosen.goal)), None, chosen, config)
}

/// Goes on with a stored session that an agent leads. Without a text, a turn that was cut off goes on.
pub(crate) fn go_on(
    app: &App,
    found: Conversation,
    led_by: &LedBy,
    (text, is_cut_off): (Option<&str>, bool),
    chosen: &Chosen<'_>,
    config: &AgentConfig,
) -> Result<Reply, Fail> {
    let text = options::next_request(&found, led_by, text, is_cut_off)?;
    run(app, led_by.agent, (text, &lead::prompt(text)), Some(found), chosen, config)
}

/// Runs the agent's program on the user's request, with this prompt.
fn run(
    app: &App,
    agent: Agent,
    (task, prompt): (&str, &str),
    continues: Option<Conversation>,
    chosen: &Chosen<'_>,
    config: &AgentConfig,
) -> Result<Reply, Fail> {
    if prompt.len() > lead::MOST_BYTES {
        return Err(Fail::usage("the task is too long for an argument of a program")
            .hint("put it into a file of the project, and name the file in the task."));
    }
    let budget = budget(chosen.budget, config)?;
    let program = program(agent)?;
    let entries = entries(app, agent)?;
    if !entries.is_empty() {
        options::refuse_taken(agent, chosen.arguments)?;
    }
    let directory = world::top(app)?;
    let shown = shown(agent, chosen.output, &directory, task);
    let leader = Leader {
        program: LeadingProgram {
            agent,
            command_line: command_line(agent, &program, chosen, entries, &budget.run)?,
            model: chosen.model.map(str::to_owned),
            environment: environment(chosen.plan),
            processes: world::processes()?,
        },
        place: LeaderPlace {
            engine: world::engine(app, config)?,
            around: Arc::new(Clock),
            time_zone: clock::time_zone(),
            project: app.project()?.name.clone(),
            directory,
            process: identity::process(),
            person: Actor::person(identity::name(app.globals.name.as_deref())?),
        },
        plan: chosen.plan.map(|it| Which::Named(it.to_owned())),
        goal: chosen.goal.map(str::to_owned),
        continues,
        budget,
        wait_for_quota: config.agent.wait_for_quota.unwrap_or(true),
    };
    let led = runtime()?.block_on(async {
        let about = About::Led { agent: agent.as_str().to_owned(), session: None };
        let mut front = front_end(app, shown, about)?;
        let led = leader.lead(task, prompt, &mut front).await;
        leader.program.processes.close().await;
        led
    })?;
    Ok(reply(agent, &led, chosen.output))
}

/// What one run may use, and all of a day. What is configured for the day holds unless another is given.
fn budget(given: Option<Budget>, config: &AgentConfig) -> Result<Budget, Fail> {
    let configured = config.agent.budget().map_err(Fail::usage)?;
    Ok(match given {
        Some(Budget { run, day }) if day == Allowance::default() => {
            Budget { run, day: configured.day }
        }
        Some(given) => given,
        None => configured,
    })
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
    let places = |goal| Ok::<_, Fail>(Options { version, ..agent::options(app, agent, goal)? });
    // The project's options name the database that this call uses.
    let places = [places(Goal::Project)?, places(Goal::User)?];
    let (title, name) = (agent.title(), agent.as_str());
    match places.iter().find_map(installed_database) {
        Some(theirs) if theirs == places[0].database => Ok(Vec::new()),
        Some(theirs) => {
            let theirs = theirs.display();
            let what = format!("Punchlist is installed for {title} with another database: {theirs}");
            Err(Fail::usage(what).hint(format!("use that one with `--db {theirs}`.")))
        }
        None => one_run::arguments(&places[0])?.ok_or_else(|| {
            Fail::usage(format!("{title} takes hooks only from its settings files")).hint(format!(
                "run `punchlist install {name}` first; `punchlist uninstall {name}` restores the files."
            ))
        }),
    }
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
    arguments.extend(options::budget_arguments(agent, allowance));
    arguments.extend_from_slice(chosen.arguments);
    Ok(Arc::new(move |session, prompt| {
        lead::command(&Lead {
            agent,
            program: &program,
            model: model.as_deref(),
            session,
            prompt,
            arguments: &arguments,
            is_talked_to: false,
        })
    }))
}

/// The environment of the program. It signs in with the user's variables, so all are passed on.
fn environment(plan: Option<&str>) -> Vec<(OsString, OsString)> {
    let variables = env::vars_os().filter(|(name, _)| name != PLAN);
    variables.chain(plan.map(|it| (PLAN.into(), it.into()))).collect()
}

fn shown(agent: Agent, output: Output, directory: &Path, task: &str) -> Shown {
    match output {
        Output::Lines => Shown::Lines(options::plan_tools(agent)),
        Output::Quiet => Shown::Nothing,
        Output::Json => {
            let events = JsonEvents::led_by(agent, &directory.display().to_string(), task);
            Shown::Events(events.with_plan_tools(options::plan_tools(agent)))
        }
    }
}

fn reply(agent: Agent, led: &Led, output: Output) -> Reply {
    let resume = led.session.as_ref().map(|it| lead::resume(agent, it));
    let mut reply = reply_with(&led.ended, output, resume.as_deref().unwrap_or_default());
    if let Ending::Failed(why) = &led.ended.ending {
        let remedy = lead::remedy(agent, &format!("{why}\n{}", led.said));
        reply.notes.extend(remedy.map(|it| format!("hint: {it}")));
    }
    reply
}

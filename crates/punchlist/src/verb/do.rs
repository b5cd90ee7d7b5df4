//! `punchlist do`.

use std::path::PathBuf;

use punchlist_agent::models;
use punchlist_agent::session::{Budget, Planned, Session, newest_planned};
use punchlist_agent::turn::Strategy;

use super::{Group, Verb};
use crate::agent;
use crate::app::App;
use crate::block_on;
use crate::fail::Fail;
use crate::input;
use crate::print::{self, Reply};
use crate::session::{self, Output, leader};

/// Do a task with a model, with the plan in charge
///
/// The model plans, works with tools, and answers. It cannot end while items of its plan are open.
/// Every call that your policy does not allow is asked about at the terminal, or refused if nobody
/// is there. Everything is stored as it happens: `punchlist resume` continues after a crash.
///
/// Each task has a plan of its own; `--plan NAME` works on an existing one.
///
/// If the project has instructions for agents (`AGENTS.md`), you are asked once whether models may
/// follow them.
///
/// The model comes from `--model`, PUNCHLIST_MODEL or `model` in `[agent]` of your configuration.
///
/// With `--agent`, an agent that you have leads instead: its program runs without a terminal, with your
/// settings and account, and gets the plan tools and the hooks for this run. It may do without asking
/// what your settings of it allow; arguments after `--` are passed on to it.
#[derive(clap::Args)]
pub(crate) struct Do {
    /// The task; `-` reads it from stdin. With `--continue` it may be left out
    #[arg(value_name = "TASK", required_unless_present = "go_on")]
    task: Option<String>,
    /// The agent that leads: claude, codex or gemini
    #[arg(long, value_name = "NAME", conflicts_with_all = [
        "strategy", "dialect", "max_calls", "plan_only", "go_on", "output_schema", "wait", "detach",
        "no_instructions",
    ])]
    agent: Option<String>,
    /// The model, as provider/name; `scripted:FILE` plays a scenario. With `--agent`, the name that
    /// the agent's program knows
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Who leads: `supervisor` lets the model lead, `steps` plans and works off item by item
    #[arg(long, value_name = "NAME", value_parser = strategy)]
    strategy: Option<Strategy>,
    /// The tools by which the model sees the plan: turn, manager, todowrite, tasks, update_plan or
    /// write_todos
    #[arg(long, value_name = "NAME")]
    dialect: Option<String>,
    /// The first limit of model calls; with `steps`, the limit of a task without a plan
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_calls: Option<u32>,
    /// Make a plan, show it, and stop; `do --continue` works on it later
    #[arg(long)]
    plan_only: bool,
    /// Go on with the plan that `--plan-only` made last in this project
    #[arg(long = "continue", conflicts_with = "plan_only")]
    go_on: bool,
    /// What must be true in the end: the goal of the plan
    #[arg(long, value_name = "TEXT")]
    goal: Option<String>,
    /// A JSON Schema that the answer must fit
    #[arg(long, value_name = "FILE")]
    output_schema: Option<PathBuf>,
    /// What may be used: tokens=500k,minutes=30,cost=2.50, and day.tokens, day.minutes, day.cost
    #[arg(long, value_name = "LIMITS")]
    budget: Option<Budget>,
    /// Keep questions open until they are answered by `punchlist answer` elsewhere
    #[arg(long)]
    wait: bool,
    /// Go on in the background; `resume` shows the session, and questions wait for `answer`
    #[arg(long, conflicts_with = "quiet")]
    detach: bool,
    /// Leave out the project's instructions for agents (`AGENTS.md`)
    #[arg(long)]
    no_instructions: bool,
    /// Print only the answer
    #[arg(long, short)]
    quiet: bool,
    /// With `--agent`: further arguments of the agent's program
    #[arg(last = true, value_name = "ARGUMENT", requires = "agent")]
    arguments: Vec<String>,
}

pub(super) fn strategy(text: &str) -> Result<Strategy, String> {
    match text {
        "supervisor" => Ok(Strategy::Supervisor),
        "steps" => Ok(Strategy::Steps),
        _ => Err("it is `supervisor` or `steps`".to_owned()),
    }
}

impl Verb for Do {
    const NAME: &'static str = "do";
    const GROUP: Group = Group::Plan;
    const EXAMPLES: &'static str = "\
Examples:
  punchlist do \"Fix the failing test\" --model anthropic/claude-sonnet-4-5
  punchlist do --model ollama/qwen3 --strategy steps \"Write a changelog\"
  punchlist do --model scripted:examples/scripted.json \"Write a release note\"
  git log -5 | punchlist do - --quiet
  punchlist do --detach \"Write the missing tests\"
  punchlist do --agent claude \"Fix the failing test\" -- --permission-mode acceptEdits

Exit codes: 0 answered and nothing is open, 6 failed, not validated or not as
the output schema wants it, 7 items are open, 130 interrupted.";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let config = session::config(app)?;
        let output = Output::chosen(app, self.quiet);
        if let Some(name) = &self.agent {
            let agent = agent::named(name)?;
            let plan = session::named_plan(app)?;
            let chosen = leader::Chosen {
                plan: plan.as_deref(),
                model: self.model.as_deref(),
                arguments: &self.arguments,
                budget: self.budget,
                goal: self.goal.as_deref().map(str::trim).filter(|it| !it.is_empty()),
                output,
            };
            return leader::lead(app, agent, &self.task(None)?, &chosen, &config);
        }
        let plan = session::existing_plan(app)?;
        let planned = if self.go_on { Some(planned(app, plan.as_deref())?) } else { None };
        let before = planned.as_ref().map(|it| it.model.as_str());
        let model = session::model_or(self.model.as_deref(), &config, before)?;
        if let Some(budget) = &self.budget {
            models::refuse_without_price(budget, &model, &config)?;
        }
        let provider = session::provider(&model, &config, 0)?;
        let task = self.task(planned.as_ref())?;
        let mut settings = session::settings(app, &config, &model)?;
        let turn = &mut settings.turn;
        turn.strategy = self.strategy.unwrap_or(turn.strategy);
        turn.calls.first = self.max_calls.unwrap_or(turn.calls.first);
        turn.steps.direct = self.max_calls.unwrap_or(turn.steps.direct);
        turn.is_plan_only = self.plan_only;
        settings.schema = self.schema()?;
        settings.turn.has_schema = settings.schema.is_some();
        settings.dialect = self.dialect.clone().or(settings.dialect);
        settings.plan = planned.map(|it| it.plan.to_string()).or(plan);
        settings.goal = self.goal.clone().filter(|it| !it.trim().is_empty());
        settings.budget = self.budget.unwrap_or(settings.budget);
        if let Err(why) = models::refuse_without_price(&settings.budget, &model, &config) {
            // The configured budget is for all models, and some of them may cost nothing.
            print::notes(&[why.message], app.globals.json);
        }
        settings.dialect().map_err(|why| Fail::usage(why).hint("`punchlist tools` lists them."))?;
        let instructions =
            if self.no_instructions { Vec::new() } else { session::instructions(app, output)? };
        let runtime = session::runtime()?;
        let mut world = session::world(app, &config, &model, provider, self.wait || self.detach)?;
        world.model.facts.instructions = instructions;
        if self.detach {
            let options: &[&str] = if self.no_instructions { &["--no-instructions"] } else { &[] };
            return session::detach(app, world, settings, &task, options);
        }
        session::head(app, &model, output)?;
        runtime.block_on(async {
            let mut session = Session::create(world, settings, &task).await?;
            let mut front = session::terminal(app, &session, output)?;
            let ended = session::and_queue(&mut session, &task, &mut front).await;
            drop(front);
            let reply = ended.map(|ended| session::reply(&session, &ended, output));
            session.close().await?;
            reply
        })
    }
}

/// What is added to the request of a plan that `--continue` works on without a new task.
const GO_ON: &str = "The plan for this is made. Go on with it.";

/// The plan that `--plan-only` made last and that has open items; the given one, if one is given.
fn planned(app: &App, plan: Option<&str>) -> Result<Planned, Fail> {
    let only = plan.and_then(|it| it.parse().ok());
    let store = app.store()?;
    let found = block_on(newest_planned(&*store, &app.project()?.name, only))?;
    found.ok_or_else(|| {
        Fail::not_found("no plan with open items waits here that `do --plan-only` made").hint(
            "make one with `punchlist do --plan-only TASK`, or work on another plan with \
             `punchlist do --plan NAME TASK`.",
        )
    })
}

impl Do {
    /// What the model is to do. With `--continue`, the request for which the plan was made comes first.
    fn task(&self, planned: Option<&Planned>) -> Result<String, Fail> {
        let task = match self.task.as_deref() {
            Some("-") => input::stdin()?,
            Some(task) => task.to_owned(),
            None => GO_ON.to_owned(),
        };
        if task.trim().is_empty() {
            return Err(Fail::usage("the task is empty").hint("say what is to be done."));
        }
        Ok(match planned {
            Some(planned) => format!("{}\n\n{task}", planned.request).trim_start().to_owned(),
            None => task,
        })
    }

    /// The schema of the answer, checked.
    fn schema(&self) -> Result<Option<serde_json::Value>, Fail> {
        let Some(path) = &self.output_schema else { return Ok(None) };
        let name = path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|why| crate::fail::unreadable(&name, &why))?;
        let bad = |why: String| {
            Fail::usage(format!("{name} is not a JSON Schema: {why}"))
                .hint("give a file with a JSON Schema, such as {\"type\": \"object\"}.")
        };
        let schema = serde_json::from_str(&text).map_err(|why| bad(why.to_string()))?;
        punchlist_sched::tool::misfit(&schema, &serde_json::Value::Null).map_err(bad)?;
        Ok(Some(schema))
    }
}

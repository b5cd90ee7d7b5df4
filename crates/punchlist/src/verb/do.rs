//! `punchlist do`.

use std::path::PathBuf;

use punchlist_agent::session::{Budget, Session, SessionSettings};
use punchlist_agent::turn::Strategy;
use punchlist_model::store::turns::ConversationFilter;

use super::{Group, Verb};
use crate::agent;
use crate::app::App;
use crate::block_on;
use crate::fail::Fail;
use crate::input;
use crate::print::Reply;
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
    /// The task; `-` reads it from stdin
    #[arg(value_name = "TASK", required = true)]
    task: String,
    /// The agent that leads: claude, codex or gemini
    #[arg(long, value_name = "NAME", conflicts_with_all = [
        "strategy", "dialect", "max_calls", "plan_only", "go_on", "output_schema", "wait", "detach", "goal",
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
    /// The first limit of model calls
    #[arg(long, value_name = "N")]
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
    /// What may be used: tokens=500k,minutes=30,cost=2.50, and day.tokens, day.cost
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

Exit codes: 0 answered and nothing is open, 6 failed or not validated, 7 items
are open, 130 interrupted.";

    fn run(self, app: &App) -> Result<Reply, Fail> {
        let config = session::config(app)?;
        let output = match (app.globals.json, self.quiet) {
            (true, _) => Output::Json,
            (false, true) => Output::Quiet,
            (false, false) => Output::Lines,
        };
        if let Some(name) = &self.agent {
            let agent = agent::named(name)?;
            let chosen = leader::Chosen {
                model: self.model.as_deref(),
                arguments: &self.arguments,
                budget: self.budget,
                output,
            };
            return leader::lead(app, agent, &self.task()?, &chosen, &config);
        }
        let model = session::model(self.model.as_deref(), &config)?;
        let provider = session::provider(&model, &config, 0)?;
        let task = self.task()?;
        let mut turn = config.agent.turn();
        turn.strategy = self.strategy.unwrap_or(turn.strategy);
        turn.calls.first = self.max_calls.unwrap_or(turn.calls.first);
        turn.is_plan_only = self.plan_only;
        turn.is_attended = session::is_person_there(app);
        let schema = self.schema()?;
        turn.has_schema = schema.is_some();
        let configured = config.agent.budget().map_err(Fail::usage)?;
        let settings = SessionSettings {
            model: model.to_string(),
            turn,
            dialect: self.dialect.clone().or_else(|| config.agent.dialect.clone()),
            plan: self.plan(app)?,
            goal: self.goal.clone().filter(|it| !it.trim().is_empty()),
            schema,
            budget: self.budget.unwrap_or(configured),
            wait_for_quota: config.agent.wait_for_quota.unwrap_or(true),
        };
        settings.dialect().map_err(|why| Fail::usage(why).hint("`punchlist tools` lists them."))?;
        let instructions =
            if self.no_instructions { Vec::new() } else { session::instructions(app, output)? };
        let runtime = session::runtime()?;
        let mut world = session::world(app, &config, &model, provider, self.wait || self.detach)?;
        world.facts.instructions = instructions;
        if self.detach {
            let options: &[&str] = if self.no_instructions { &["--no-instructions"] } else { &[] };
            return session::detach(app, world, settings, &task, options);
        }
        session::head(app, &model, output)?;
        runtime.block_on(async {
            let mut session = Session::create(world, settings, &task).await?;
            let mut front = session::terminal(app, &session, output, &task)?;
            let ended = session.request(&task, &mut front).await;
            drop(front);
            let reply = ended.map(|ended| session::reply(&session, &ended, output));
            session.close().await?;
            reply
        })
    }
}

impl Do {
    fn task(&self) -> Result<String, Fail> {
        let task = if self.task == "-" { input::stdin()? } else { self.task.clone() };
        if task.trim().is_empty() {
            return Err(Fail::usage("the task is empty").hint("say what is to be done."));
        }
        Ok(task)
    }

    /// The plan to work on, if it is not a new one.
    fn plan(&self, app: &App) -> Result<Option<String>, Fail> {
        if !self.go_on {
            return Ok(app.globals.plan.clone());
        }
        let store = app.store()?;
        let filter = ConversationFilter {
            project: Some(app.project()?.name.clone()),
            ..ConversationFilter::default()
        };
        for conversation in block_on(store.conversations(filter))? {
            let last = block_on(store.turns(conversation.id))?.pop();
            if let Some(last) = last.filter(|it| it.ending.as_deref() == Some("planned")) {
                return Ok(last.plan.map(|it| it.to_string()));
            }
        }
        Err(Fail::not_found("no plan waits here that `do --plan-only` made")
            .hint("make one with `punchlist do --plan-only TASK`, or name a plan with `--plan`."))
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

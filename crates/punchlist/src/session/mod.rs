//! Collects what a session of our own agent needs from this process: the model with its key, the tools,
//! the policy. `punchlist_agent::session` runs the session, and `punchlist_tui::session` shows it.

mod background;
pub(crate) mod instructions;
pub(crate) mod leader;
mod servers;
mod workers;
mod world;

use std::env;
use std::sync::Arc;

use punchlist_agent::config::AgentConfig;
use punchlist_agent::provider::{
    Failure, KeyLookup, ModelName, Provider, Scripted, Surroundings, connect,
};
use punchlist_agent::session::{Ended, JsonEvents, Session, SessionSettings};
use punchlist_agent::turn::Ending;
use punchlist_bridge::key_command;
use punchlist_formats::dialect::Surface;
use punchlist_formats::text::one_line;
use punchlist_model::ConversationId;
use punchlist_sched::process::sandbox;
use punchlist_tui::session::{Shown, Terminal};

use crate::app::App;
use crate::clock;
use crate::fail::{Code, Fail};
use crate::places;
use crate::print::{self, Reply};

pub(crate) use background::{attach, detach};
pub(crate) use instructions::instructions;
pub(crate) use world::{is_person_there, world};

/// How a session is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Output {
    /// Everything, in lines.
    Lines,
    /// Only the answer.
    Quiet,
    /// Unified events.
    Json,
}

/// What the user configured for the agent.
pub(crate) fn config(app: &App) -> Result<AgentConfig, Fail> {
    AgentConfig::read(&app.settings()?.others).map_err(|why| {
        Fail::usage(why).hint("fix that table of your config.toml; docs/agent.md lists the keys.")
    })
}

/// The model that a call names: `--model`, else the environment, else the settings.
pub(crate) fn model(given: Option<&str>, config: &AgentConfig) -> Result<ModelName, Fail> {
    let variable = env::var("PUNCHLIST_MODEL").ok().filter(|it| !it.is_empty());
    let named = given.map(str::to_owned).or(variable).or_else(|| config.agent.model.clone());
    let named = named.ok_or_else(|| no_model(&Failure::NothingConfigured))?;
    named.parse().map_err(|why| {
        Fail::usage(format!("{why}")).hint("write it as provider/name, such as ollama/qwen3.")
    })
}

/// Connects to a model. `answers` is how many answers a scripted one has given already.
pub(crate) fn provider(
    model: &ModelName,
    config: &AgentConfig,
    answers: usize,
) -> Result<Arc<dyn Provider>, Fail> {
    if model.is_scripted() {
        let scripted = Scripted::open(model.clone()).map_err(|why| no_model(&why))?;
        return Ok(Arc::new(scripted.skipping(answers)));
    }
    let variable = |name: &str| env::var(name).ok();
    let lookup = KeyLookup { variable: &variable, command: &key_command::output };
    let providers = config.providers(&variable).map_err(|why| no_model(&why))?;
    let surroundings =
        Surroundings { clock: Arc::new(clock::now), jitter: Arc::new(clock::jitter) };
    let options = config.client_options(&model.provider);
    let provider = connect(model, &providers, &lookup, options, surroundings);
    Ok(Arc::from(provider.map_err(|why| no_model(&why))?))
}

pub(crate) fn no_model(why: &Failure) -> Fail {
    let message = why.message();
    let (first, rest) = message.split_once('\n').unwrap_or((&message, ""));
    Fail::new(Code::Usage, first).details(rest.lines().map(str::to_owned).collect())
}

/// The runtime of a session.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Fail> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|why| Fail::ours(format!("the session cannot start: {why}")))
}

/// The front end of a session at this terminal.
pub(crate) fn terminal(
    app: &App,
    session: &Session,
    output: Output,
    request: &str,
) -> Result<Terminal, Fail> {
    front_end(app, session.id(), session.settings(), output, request)
}

/// The front end at this terminal of a session that may run elsewhere.
fn front_end(
    app: &App,
    id: ConversationId,
    settings: &SessionSettings,
    output: Output,
    request: &str,
) -> Result<Terminal, Fail> {
    let shown = match output {
        Output::Lines => {
            let dialect = settings.dialect().map_err(Fail::usage)?;
            let tools = dialect.tools(Surface::Full);
            Shown::Lines(tools.iter().map(|it| it.name.to_owned()).collect())
        }
        Output::Quiet => Shown::Nothing,
        Output::Json => {
            let mut events = JsonEvents::new(id);
            let directory = world::top(app)?.display().to_string();
            let lines = events.started(&settings.model, &directory, request, clock::now());
            print::live_json(lines)?;
            Shown::Events(events)
        }
    };
    front_end_showing(app, shown)
}

fn front_end_showing(app: &App, shown: Shown) -> Result<Terminal, Fail> {
    let rules_file = places::config()?.display().to_string();
    let project = app.project()?.name.clone();
    Terminal::new(app.terminal(), shown, rules_file, project, clock::now)
}

/// Says what a session is run with, before it begins.
pub(crate) fn head(app: &App, model: &ModelName, output: Output) -> Result<(), Fail> {
    if output != Output::Lines {
        return Ok(());
    }
    let sandbox = app.settings()?.sandbox.in_force(sandbox::support());
    let mut lines = vec![sandbox.to_string()];
    if model.is_scripted() {
        lines.push(format!("{model}: the answers come from a file, not from a model"));
    }
    print::say(&lines);
    Ok(())
}

/// The reply after a turn of a session of our own.
pub(crate) fn reply(session: &Session, ended: &Ended, output: Output) -> Reply {
    let reply = if ended.ending == Ending::Asked { " \"your reply\"" } else { "" };
    reply_with(ended, output, &format!("punchlist resume {}{reply}", session.id().short()))
}

/// The reply after a turn. `resume` is the command that goes on with the session.
fn reply_with(ended: &Ended, output: Output, resume: &str) -> Reply {
    if output == Output::Lines {
        print::say(&[summary(ended, resume)]);
    }
    Reply { exit: ended.exit(), changed: true, ..quiet_answer(ended, output) }
}

/// The answer, if nothing else was printed.
fn quiet_answer(ended: &Ended, output: Output) -> Reply {
    let mut reply = Reply::default();
    if output == Output::Quiet && !ended.answer.is_empty() {
        reply.out = format!("{}\n", punchlist_formats::text::many_lines(&ended.answer));
    }
    reply
}

/// One line: how the turn ended, what it used, how the session is continued.
fn summary(ended: &Ended, resume: &str) -> String {
    let used = ended.used;
    let mut parts = vec![one_line(&ended.ending.words()).into_owned()];
    match used.calls {
        // An agent's program does not count them.
        0 => {}
        1 => parts.push("1 model call".to_owned()),
        calls => parts.push(format!("{calls} model calls")),
    }
    let tokens = used.input.saturating_add(used.output);
    if tokens > 0 {
        parts.push(format!("{tokens} tokens"));
    }
    if used.cost_micros > 0 {
        parts.push(format!("cost {}", punchlist_agent::session::money(used.cost_micros)));
    }
    if !resume.is_empty() {
        parts.push(resume.to_owned());
    }
    parts.join(" · ")
}

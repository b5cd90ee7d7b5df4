//! Collects what a session of our own agent needs from this process: the model with its key, the tools,
//! the policy. `punchlist_agent::session` runs the session, and `punchlist_tui::session` shows it.

mod background;
pub(crate) mod instructions;
pub(crate) mod leader;
pub(crate) mod servers;
pub(crate) mod workers;
mod world;

use std::env;
use std::sync::Arc;

use punchlist_agent::config::AgentConfig;
use punchlist_agent::leader::options as leader_options;
use punchlist_agent::models;
use punchlist_agent::provider::{KeyLookup, ModelName, Provider, Scripted, Surroundings, connect};
use punchlist_agent::session::{
    Ended, FrontEnd, JsonEvents, Session, SessionSettings, stored, stored_settings,
};
use punchlist_bridge::key_command;
use punchlist_engine::plan_service::choice;
use punchlist_formats::dialect::Surface;
use punchlist_model::ConversationId;
use punchlist_model::session::Store;
use punchlist_model::store::Filter;
use punchlist_model::store::turns::Conversation;
use punchlist_sched::process::sandbox;
use punchlist_tui::session::{About, Shown, Terminal};

use crate::app::App;
use crate::block_on;
use crate::clock;
use crate::fail::{Code, Fail};
use crate::notify;
use crate::places;
use crate::plan_choice;
use crate::print::{self, Reply};

pub(crate) use background::{attach, detach, waker};
pub(crate) use instructions::instructions;
pub(crate) use world::{engine, is_person_there, processes, top, without_servers, world};

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

impl Output {
    /// How the options of a call want a session to be shown.
    pub(crate) fn chosen(app: &App, is_quiet: bool) -> Self {
        match (app.globals.json, is_quiet) {
            (true, _) => Self::Json,
            (false, true) => Self::Quiet,
            (false, false) => Self::Lines,
        }
    }
}

/// What a stored session goes on with.
pub(crate) struct Continued {
    pub(crate) settings: SessionSettings,
    pub(crate) config: AgentConfig,
    pub(crate) model: ModelName,
    pub(crate) provider: Arc<dyn Provider>,
}

/// What a stored session goes on with: its own model, unless another is given.
pub(crate) fn continued(
    app: &App,
    store: &dyn Store,
    found: &Conversation,
    given: Option<&str>,
) -> Result<Continued, Fail> {
    let mut settings = stored_settings(found)?;
    if let Some(model) = given {
        model.clone_into(&mut settings.model);
    }
    let config = config(app)?;
    let model = model(Some(&settings.model), &config)?;
    let answers = block_on(stored::answers_given(store, found))?;
    let provider = provider(&model, &config, answers)?;
    Ok(Continued { settings, config, model, provider })
}

/// What the user configured for the agent.
pub(crate) fn config(app: &App) -> Result<AgentConfig, Fail> {
    AgentConfig::read(&app.settings()?.others).map_err(|why| {
        Fail::usage(why).hint("fix that table of your config.toml; docs/agent.md lists the keys.")
    })
}

/// The model that a call names: `--model`, else the environment, else the settings.
pub(crate) fn model(given: Option<&str>, config: &AgentConfig) -> Result<ModelName, Fail> {
    model_or(given, config, None)
}

/// Like [`model`], with a model for the case that none is named.
pub(crate) fn model_or(
    given: Option<&str>,
    config: &AgentConfig,
    other: Option<&str>,
) -> Result<ModelName, Fail> {
    let variable = env::var("PUNCHLIST_MODEL").ok().filter(|it| !it.is_empty());
    let named = given.map(str::to_owned).or(variable).or_else(|| config.agent.model.clone());
    let mut model = models::named(named.or_else(|| other.map(str::to_owned)))?;
    // The session may go on in another directory.
    if model.is_scripted()
        && let Ok(path) = std::path::absolute(&model.name)
        && let Some(path) = path.to_str()
    {
        path.clone_into(&mut model.name);
    }
    Ok(model)
}

/// The id of the plan that `--plan` names. It must exist: a session with a new plan needs no name.
pub(crate) fn existing_plan(app: &App) -> Result<Option<String>, Fail> {
    let Some(name) = app.globals.plan.as_deref() else { return Ok(None) };
    let store = app.store()?;
    match plan_choice::find(app, &*store, name) {
        Ok(id) => Ok(Some(id.to_string())),
        Err(fail) if fail.code == Code::NotFound => {
            Err(fail.hint(block_on(choice::hint_for_task(&*store, &app.project()?.name, name))?))
        }
        Err(fail) => Err(fail),
    }
}

/// The name of the plan that `--plan` names, for the program of an agent: its tools and hooks know plans
/// by their names.
pub(crate) fn named_plan(app: &App) -> Result<Option<String>, Fail> {
    let Some(id) = existing_plan(app)? else { return Ok(None) };
    let filter = Filter { id: Some(id), ..Filter::default() };
    let found = block_on(app.store()?.plans(filter))?;
    let name = found.into_iter().find_map(|it| it.name);
    name.map(Some).ok_or_else(|| {
        Fail::usage("this plan has no name, and an agent's program is given a plan by its name")
            .hint("leave out `--agent`, or name a plan that has a name.")
    })
}

/// The settings of a new session, as configured.
pub(crate) fn settings(
    app: &App,
    config: &AgentConfig,
    model: &ModelName,
) -> Result<SessionSettings, Fail> {
    let mut turn = config.agent.turn();
    turn.is_attended = is_person_there(app);
    Ok(SessionSettings {
        model: model.to_string(),
        turn,
        dialect: config.agent.dialect.clone(),
        plan: app.globals.plan.clone(),
        goal: None,
        schema: None,
        budget: config.agent.budget().map_err(Fail::usage)?,
        wait_for_quota: config.agent.wait_for_quota.unwrap_or(true),
    })
}

/// Connects to a model. `answers` is how many answers a scripted one has given already.
pub(crate) fn provider(
    model: &ModelName,
    config: &AgentConfig,
    answers: usize,
) -> Result<Arc<dyn Provider>, Fail> {
    if model.is_scripted() {
        let scripted = Scripted::open(model.clone()).map_err(|why| models::unusable(&why))?;
        return Ok(Arc::new(scripted.skipping(answers)));
    }
    let surroundings =
        Surroundings { clock: Arc::new(clock::now), jitter: Arc::new(clock::jitter) };
    let options = config.client_options(&model.provider);
    let provider = with_keys(|lookup| {
        let providers = config.providers(lookup.variable)?;
        connect(model, &providers, lookup, options, surroundings)
    });
    Ok(Arc::from(provider.map_err(|why| models::unusable(&why))?))
}

/// Calls a function that finds keys in the environment and by the user's commands.
pub(crate) fn with_keys<T>(call: impl FnOnce(&KeyLookup<'_>) -> T) -> T {
    let variable = |name: &str| env::var(name).ok();
    call(&KeyLookup { variable: &variable, command: &key_command::output })
}

/// The runtime of a session.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Fail> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|why| Fail::ours(format!("the session cannot start: {why}")))
}

/// The front end of a session at this terminal.
pub(crate) fn terminal(app: &App, session: &Session, output: Output) -> Result<Terminal, Fail> {
    session_front_end(app, session.id(), session.settings(), output)
}

/// The front end at this terminal of a session that may run elsewhere.
fn session_front_end(
    app: &App,
    id: ConversationId,
    settings: &SessionSettings,
    output: Output,
) -> Result<Terminal, Fail> {
    let tools = settings.dialect().map_err(Fail::usage)?.tools(Surface::Full);
    let plan_tools = tools.iter().map(|it| it.name.to_owned()).collect();
    let shown = match output {
        Output::Lines => Shown::Lines(plan_tools),
        Output::Quiet => Shown::Nothing,
        Output::Json => {
            let mut events = JsonEvents::new(id).with_plan_tools(plan_tools);
            let directory = world::top(app)?.display().to_string();
            let lines = events.started(&settings.model, &directory, clock::now());
            print::live_json(lines)?;
            Shown::Events(events)
        }
    };
    front_end(app, shown, About::Own(id))
}

fn front_end(app: &App, shown: Shown, about: About) -> Result<Terminal, Fail> {
    let rules_file = places::config()?.display().to_string();
    let project = app.project()?.name.clone();
    let terminal = Terminal::new(app.terminal(), shown, rules_file, project, clock::now)?;
    Ok(terminal.with_notices(notify::notify(app)?, about))
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
    reply_with(ended, output, &ended.next_command(session.id()))
}

/// The reply after a turn. `resume` is the command that goes on with the session.
fn reply_with(ended: &Ended, output: Output, resume: &str) -> Reply {
    if output == Output::Lines {
        print::say(&[ended.summary(resume)]);
    }
    Reply { exit: ended.exit(), changed: true, ..quiet_answer(ended, output) }
}

/// The answer, if nothing else was printed, and why the exit code is not 0.
fn quiet_answer(ended: &Ended, output: Output) -> Reply {
    let mut reply = Reply::default();
    if output != Output::Quiet {
        return reply;
    }
    if !ended.answer.is_empty() {
        reply.out = format!("{}\n", punchlist_formats::text::many_lines(&ended.answer));
    }
    if ended.exit() != 0 {
        reply.notes.push(ended.shortfall());
    }
    reply
}

/// Works on a request, and then on the messages that were queued meanwhile. Returns how the last turn
/// ended.
pub(crate) async fn and_queue(
    session: &mut Session,
    request: &str,
    front: &mut dyn FrontEnd,
) -> Result<Ended, Fail> {
    let ended = session.request(request, front).await?;
    Ok(session.work_off(front).await?.unwrap_or(ended))
}

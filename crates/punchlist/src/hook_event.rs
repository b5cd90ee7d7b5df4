//! Connects hook events of the engine with this process: its environment, its ancestors, and the
//! store for the directory that an event names.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use punchlist_bridge::doctor::PROBLEM_SEPARATOR;
use punchlist_engine::hook::spool::{Spool, Spooled};
use punchlist_engine::hook::{event, failures};
use punchlist_engine::session::is_called;
use punchlist_formats::hook::{Agent, Answer, Event, What};

pub(crate) use punchlist_engine::hook::event::{CaughtUp, Failed, HookFacts};

use crate::app::App;
use crate::args::Globals;
use crate::block_on;
use crate::clock::{self, Clock};
use crate::database::{self, StoreOptions};
use crate::{called, identity, places, plan_choice, repository};

/// The facts about this process that a hook needs.
pub(crate) fn facts(app: &App, agent: Agent, has_server: bool) -> HookFacts {
    let ancestors = identity::ancestors(|it| is_called(agent.as_str(), it));
    let found = HookFacts::find(agent, &variable, &ancestors, app.now);
    HookFacts { has_server, plan: app.globals.plan.clone().or(found.plan.clone()), ..found }
}

/// Handles an event and returns the answer for the agent. `app` must be the context for the event's
/// directory ([`at`]).
pub(crate) fn decide(
    app: &App,
    agent: Agent,
    event: &Event,
    facts: &HookFacts,
) -> Result<Answer, Failed> {
    if event.what == What::Doctor {
        // If the store cannot be opened, the doctor must see it: real events would fail unnoticed.
        let problem =
            app.store_to_read().err().map(|fail| format!("{PROBLEM_SEPARATOR}{}", fail.message));
        let version = env!("CARGO_PKG_VERSION");
        return Ok(Answer::Message(format!("punchlist {version}{}", problem.unwrap_or_default())));
    }
    let project = app.project()?;
    let settings = app.settings()?;
    let store = app.store()?;
    let plan = facts.plan.as_deref().map(plan_choice::valid_name).transpose()?.map(str::to_owned);
    let facts = HookFacts { plan, ..facts.clone() };
    let globals = app.globals.clone();
    let place = event::HookPlace {
        project: &project.name,
        settings: settings.conversation(),
        host: &identity::host(),
        around: &Clock,
        variables: &variable,
        program: &|| called::in_a_shell(&App::new(globals.clone())),
    };
    let answer = block_on(event::decide(&*store, agent, event, &facts, &place));
    if matches!(event.what, What::Begins(_)) && answer.is_ok() {
        repository::note(app.database()?, project, repository::SHORT_PATIENCE);
    }
    answer
}

/// The context for the directory that the event names.
pub(crate) fn at(app: &App, event: &Event) -> Result<App, String> {
    let mut globals = app.globals.clone();
    if let Some(db) = globals.db.take_if(|it| !database::is_address(it)) {
        globals.db = Some(std::path::absolute(db).map_err(|why| format!("--db: {why}"))?);
    }
    Ok(within(globals, event))
}

fn within(mut globals: Globals, event: &Event) -> App {
    let directory = PathBuf::from(&event.directory);
    if directory.is_absolute() && directory.is_dir() {
        globals.directory = Some(directory);
    }
    App::catching_up(globals)
}

/// The spool of a database.
pub(crate) fn spool(database: &Path) -> Spool {
    let whole = std::path::absolute(database).unwrap_or_else(|_| database.to_owned());
    let whole = fs::canonicalize(&whole).unwrap_or(whole);
    Spool::of(&whole, places::data().ok().as_deref())
}

/// Applies the spooled events of a database, until a deadline. `spool` is the database's spool.
pub(crate) fn catch_up(options: &StoreOptions, spool: &Spool, until: Option<Instant>) -> CaughtUp {
    // The answers come too late for the agent, so they are dropped.
    let apply = |agent: Agent, event: &Event, facts: &HookFacts| {
        let globals = Globals { db: Some(options.named()), ..Globals::default() };
        decide(&within(globals, event), agent, event, facts).map(drop)
    };
    event::catch_up(spool, until, apply, note)
}

fn note(kept: Option<&Spooled>, what: &str) {
    let failure = failures::Failure {
        at: clock::now(),
        agent: kept.map(|it| it.agent.clone()).unwrap_or_default(),
        event: kept.and_then(|it| it.event.clone()),
        what: format!("an event from the spool could not be applied: {what}"),
    };
    if let Ok(directory) = places::data() {
        failures::note(&directory, &failure).ok();
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

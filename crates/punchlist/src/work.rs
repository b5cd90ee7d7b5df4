//! `punchlist work`: collects what the engine needs from this process.
//!
//! `punchlist_engine::work` does the work, and `punchlist_tui::work` shows it.

use std::env;
use std::num::NonZeroU32;

use punchlist_bridge::program;
use punchlist_engine::run::Person;
use punchlist_engine::work::{Kinds, Options, Trust, work};
use punchlist_model::{Actor, ActorKind, Holder};
use punchlist_tui::work::WorkLog;

use crate::app::App;
use crate::fail::Fail;
use crate::print::Reply;
use crate::{identity, person, plan_choice, run};

/// The options of the verb.
pub(crate) struct Ask {
    pub(crate) kinds: Vec<Kinds>,
    pub(crate) jobs: Option<NonZeroU32>,
}

/// Works until somebody stops it.
pub(crate) fn run(app: &App, ask: Ask) -> Result<Reply, Fail> {
    let is_agent = person::is_agent();
    let mut surroundings = run::surroundings(app, Person { is_there: false, is_agent })?;
    let name = match &app.globals.name {
        Some(_) => identity::name(app.globals.name.as_deref())?,
        // Two workers must not have the same name.
        None => format!("{}/{}", identity::name(None)?, std::process::id()),
    };
    let caller = &mut surroundings.caller;
    caller.ctx.actor = Actor { kind: ActorKind::Engine, name: name.clone() };
    caller.ctx.holder = Holder { name, process: caller.process.clone() };
    let directory = app.directory().unwrap_or_default();
    let plan = app.globals.plan.as_deref();
    let options = Options {
        project: app.project()?.name.clone(),
        checkout: app.project()?.top(&directory),
        plan: plan.map(|it| plan_choice::find(app, &*surroundings.store, it)).transpose()?,
        kinds: ask
            .kinds
            .into_iter()
            .reduce(Kinds::and)
            .unwrap_or_else(|| Kinds::of_machine(has_program)),
        jobs: ask.jobs.unwrap_or_else(run::cores),
        trust: Trust::new(app.settings()?.work_trust.clone()),
        permissions: run::permissions(app, &directory)?,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|why| Fail::ours(format!("the worker cannot start: {why}")))?;
    let ended = runtime.block_on(async {
        let mut log = WorkLog::new(app.globals.json)?;
        work(options, surroundings, &mut log).await
    })?;
    let (done, failed, back) = (ended.done, ended.failed, ended.handed_back);
    let out = match app.globals.json {
        true => String::new(),
        false => format!("{done} done, {failed} failed, {back} handed back.\n"),
    };
    Ok(Reply { out, changed: true, ..Reply::default() })
}

fn has_program(name: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    program::find(name, env::split_paths(&path)).is_some()
}

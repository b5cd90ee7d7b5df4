//! `punchlist run`: collects what the engine needs from this process. `dry` shows a preview.
//!
//! `punchlist_engine::run` executes the run, and `punchlist_tui::run` shows it.

mod dry;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use punchlist_engine::policy::consent::Consent;
use punchlist_engine::run::{
    Caller, Options, Permissions, Person, Source, Surroundings, run as run_plan, share,
};
use punchlist_sched::process;
use punchlist_tui::app::PlanRun;
use punchlist_tui::run::Terminal;

use crate::app::App;
use crate::clock::{self, Clock};
use crate::fail::Fail;
use crate::print::{self, Reply};
use crate::{database, identity, notify, person, places, project, session};

/// The options of the verb.
pub(crate) struct Ask {
    pub(crate) file: PathBuf,
    pub(crate) dry_run: bool,
    /// Whether to show everything that steps print.
    pub(crate) verbose: bool,
    /// Whether to publish the plan for workers instead of running it.
    pub(crate) share: bool,
    /// How many items to run in parallel, if given.
    pub(crate) jobs: Option<NonZeroU32>,
    pub(crate) options: Options,
}

/// How long a process may take to end after a polite signal.
const GRACE: Duration = Duration::from_secs(2);

/// Runs a plan file.
pub(crate) fn run(app: &App, ask: &Ask) -> Result<Reply, Fail> {
    let source = Source::read(&at(app, &ask.file), &app.settings()?.limits)?;
    for warning in source.warnings() {
        print::say(&[warning]);
    }
    if ask.dry_run {
        return dry::run(app, ask, source);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|why| Fail::ours(format!("the run cannot start: {why}")))?;
    let person = who_is_there(app, &ask.options)?;
    let surroundings = surroundings(app, person)?;
    let permissions = permissions(app, source.directory())?;
    let project = project::find(source.directory())?.name;
    let rules_file = places::config()?.display().to_string();
    let mut terminal = Terminal::new(app.terminal(), ask.verbose, rules_file, project)
        .with_notices(notify::notify(app)?);
    let ended = runtime.block_on(async {
        if ask.share {
            return share(source, &ask.options, &surroundings, &mut terminal).await;
        }
        run_plan(source, &ask.options, &surroundings, &permissions, &mut terminal).await
    })?;
    terminal.end(&ended, clock::now())?;
    let exit = ended.code().map_or(0, |it| it.exit());
    let out = if app.globals.json { String::new() } else { ended.words() };
    Ok(Reply { out, notes: ended.notes, exit, changed: true, prose: false })
}

/// What a run of a plan file inside the terminal UI needs. A person is there.
pub(crate) fn inside(app: &App, file: &Path) -> Result<PlanRun, Fail> {
    // The UI completes names below the top of the project.
    let below_top = session::top(app)?.join(file);
    let path = if below_top.exists() { below_top } else { at(app, file) };
    let source = Source::read(&path, &app.settings()?.limits)?;
    let person = Person { is_there: true, is_agent: false };
    let surroundings = surroundings(app, person)?;
    let permissions = permissions(app, source.directory())?;
    // The same as the verb's, where no option is given.
    let options = Options { jobs: cores(), write_back: false, ..Options::default() };
    Ok(PlanRun { source, options, surroundings, permissions })
}

/// The number of processors.
pub(crate) fn cores() -> NonZeroU32 {
    let cores = std::thread::available_parallelism().ok();
    cores.and_then(|it| NonZeroU32::try_from(it).ok()).unwrap_or(NonZeroU32::MIN)
}

/// Resolves a path relative to the directory of the call.
fn at(app: &App, file: &Path) -> PathBuf {
    app.globals.directory.as_deref().map_or_else(|| file.to_owned(), |it| it.join(file))
}

/// Whether a person can be asked. With `--json`, nobody can.
fn who_is_there(app: &App, options: &Options) -> Result<Person, Fail> {
    let is_agent = person::is_agent();
    if is_agent && options.yes {
        return Err(Fail::refused("an agent cannot answer questions for a person").hint(
            "run it without `--yes`; steps that need a person stay open, and the person can run the file.",
        ));
    }
    let is_person = || person::at_terminal("a run asks", "run").is_ok();
    let is_there = !app.globals.json && app.screen().is_terminal && print::can_ask() && is_person();
    Ok(Person { is_there, is_agent })
}

/// The caller of the run.
fn caller(app: &App, person: Person) -> Result<Caller, Fail> {
    Ok(Caller {
        ctx: app.ctx()?,
        process: identity::process(),
        project: app.project()?.name.clone(),
        person,
        around: Arc::new(Clock),
    })
}

/// The surroundings of the run: what the engine needs to know about this process.
pub(crate) fn surroundings(app: &App, person: Person) -> Result<Surroundings, Fail> {
    let mut processes = process::Options::this_program()
        .map_err(|why| Fail::ours(format!("this program's own file is not known: {why}")))?;
    processes.grace = GRACE;
    Ok(Surroundings {
        store: database::open_on_thread(&app.database_options()?)?,
        caller: caller(app, person)?,
        data: places::data()?,
        rules_file: places::config()?,
        environment: std::env::vars_os().collect(),
        processes,
    })
}

/// The policies in the directory of the plan file and in the current project.
pub(crate) fn permissions(app: &App, directory: &Path) -> Result<Permissions, Fail> {
    Ok(Permissions {
        steps: app.policy_in(directory)?,
        checks: app.policy()?,
        is_consent_given: Consent::Checks.is_given(&places::data()?, &app.project()?.name),
    })
}

//! One call of the program: its options, and everything that a verb needs.
//!
//! Everything is loaded when it is first needed: a verb that uses no store does not search for a
//! project.

use std::cell::{Cell, OnceCell};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::FromArgMatches;
use clap::error::ErrorKind;
use punchlist_engine::policy::trusted_files::FoundDatabase;
use punchlist_engine::session;
use punchlist_formats::view;
use punchlist_model::session::{SessionStore, Store};
use punchlist_model::{Actor, Ctx, Holder, Mode, Session, Timestamp};
use punchlist_sched::policy::Policy;
use punchlist_tui::terminal::kind;

use crate::args::{self, Called, Globals};
use crate::config::{self, Settings};
use crate::current_session::CurrentSession;
use crate::database::{Options, ServerOptions, StoreOptions};
use crate::fail::Fail;
use crate::print::{self, Reply, Screen};
use crate::project::{self, Project};
use crate::verb::{self, Row};
use crate::{clock, database, hook_event, identity, patience, person, places, private, repository};

/// The error if there is no plan to work on.
pub(crate) use punchlist_engine::plan_service::choice::no_plan;

/// The context of a verb.
pub(crate) struct App {
    /// The global options.
    pub(crate) globals: Globals,
    /// The time of this call.
    pub(crate) now: Timestamp,
    project: OnceCell<Project>,
    settings: OnceCell<Settings>,
    database: OnceCell<Database>,
    current_session: OnceCell<CurrentSession>,
    /// Whether the store was opened for writing.
    wrote: Cell<bool>,
    /// Whether spooled hook events have been applied, as far as possible.
    caught_up: Cell<bool>,
}

/// The chosen database.
struct Database {
    /// The file; on a server, where this machine keeps its files about the database.
    path: PathBuf,
    /// The server, if it is on one.
    server: Option<ServerOptions>,
    /// A note about the project's own database, if it was ignored.
    ignored: Option<String>,
}

/// Runs the program.
pub(crate) fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let json = args::wants_json(&arguments);
    let code = match args::called(arguments) {
        Called::Verb(row, rest) => {
            let code = call(row, rest, json);
            // Agents interpret some exit codes of their hooks.
            if row.name == "hook" { 0 } else { code }
        }
        Called::Bare(globals, bare) => {
            run("", globals, |app| verb::bare::run(app, bare.model.as_deref()), json)
        }
        Called::Overview => print::reply(&Reply::text(args::overview()), json),
        Called::Help(row) => print::reply(&Reply::text(args::help(args::alone(row))), json),
        Called::Version => {
            print::reply(&Reply::text(concat!("punchlist ", env!("CARGO_PKG_VERSION"), "\n")), json)
        }
        Called::Unknown(word) => print::fail(&unknown(&word), json),
        Called::Bad(error) => bad_arguments(&error, json),
    };
    ExitCode::from(code)
}

fn unknown(word: &std::ffi::OsStr) -> Fail {
    let shown: String = word.to_string_lossy().chars().take(80).collect();
    let fail = Fail::usage(format!("there is no verb {shown:?}"));
    match args::nearest(word) {
        Some(name) => fail.hint(format!("did you mean `punchlist {name}`?")),
        None => fail.hint("`punchlist help` shows the verbs."),
    }
}

fn call(row: &Row, arguments: Vec<OsString>, json: bool) -> u8 {
    let mut matches = match args::alone(row).try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => return bad_arguments(&error, json),
    };
    let globals = match Globals::from_arg_matches_mut(&mut matches) {
        Ok(globals) => globals,
        Err(error) => return bad_arguments(&error, json),
    };
    run(row.name, globals, |app| (row.run)(app, &mut matches), json)
}

/// Verbs that do not offer to move the plans of a moved project: programs call them, or they are
/// about moved projects themselves.
const WITHOUT_OFFER: [&str; 11] = [
    "hook",
    "serve",
    "token",
    "mcp",
    "acp",
    "tool",
    "acp-tap",
    "guardian",
    "reference",
    "completions",
    "move-project",
];

fn run(
    name: &str,
    globals: Globals,
    verb: impl FnOnce(&App) -> Result<Reply, Fail>,
    json: bool,
) -> u8 {
    patience::set(name, json);
    let app = App::new(globals);
    let done = verb(&app);
    let mut notes = app.notes();
    let is_about_plans = app.database.get().is_some() && !WITHOUT_OFFER.contains(&name);
    notes.extend(is_about_plans.then(|| repository::offer(&app)).flatten());
    let code = match done {
        Ok(mut reply) => {
            reply.notes.splice(0..0, notes);
            print::reply(&reply, json)
        }
        Err(fail) => {
            print::notes(&notes, json);
            print::fail(&fail, json)
        }
    };
    if app.wrote.get()
        && is_about_plans
        && let (Ok(database), Ok(project)) = (app.database(), app.project())
    {
        repository::note(database, project, repository::PATIENCE);
    }
    code
}

/// Prints clap's error in the format of our own errors.
fn bad_arguments(error: &clap::Error, json: bool) -> u8 {
    let rendered = error.render().to_string();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return print::reply(&Reply::text(rendered), json);
    }
    // The message repeats the argument, which may be long.
    let text: String = rendered.chars().take(2000).collect();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    let (message, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_help = |line: &&str| line.is_empty() || line.starts_with("For more information");
    let details = rest.lines().map(str::trim).filter(|line| !is_help(line));
    let fail = Fail::usage(message)
        .details(details.map(str::to_owned).collect())
        .hint("`--help` shows examples.");
    print::fail(&fail, json)
}

impl App {
    /// A call with these global options.
    pub(crate) fn new(globals: Globals) -> Self {
        Self {
            globals,
            now: clock::now(),
            project: OnceCell::new(),
            settings: OnceCell::new(),
            database: OnceCell::new(),
            current_session: OnceCell::new(),
            wrote: Cell::new(false),
            caught_up: Cell::new(false),
        }
    }

    /// The same for a caller that applies spooled events itself.
    pub(crate) fn catching_up(globals: Globals) -> Self {
        Self { caught_up: Cell::new(true), ..Self::new(globals) }
    }

    /// Applies spooled hook events before anything is read or written. Events that cannot be
    /// applied now stay in the spool, and `doctor` shows them.
    fn catch_up(&self, options: &StoreOptions) {
        if !self.caught_up.replace(true) {
            hook_event::catch_up(options, &hook_event::spool(options.path()), None);
        }
    }

    /// The project of the current directory.
    pub(crate) fn project(&self) -> Result<&Project, Fail> {
        if let Some(project) = self.project.get() {
            return Ok(project);
        }
        let project = match &self.globals.directory {
            Some(directory) => project::find(directory)?,
            None => {
                let here = env::current_dir()
                    .map_err(|why| Fail::usage(format!("there is no current directory: {why}")))?;
                project::find(&here)?
            }
        };
        Ok(self.project.get_or_init(|| project))
    }

    /// The current directory, or the one of `-C`, if it exists.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        self.globals.directory.clone().or_else(|| env::current_dir().ok())
    }

    /// The configuration.
    pub(crate) fn settings(&self) -> Result<&Settings, Fail> {
        if let Some(settings) = self.settings.get() {
            return Ok(settings);
        }
        let settings = config::read(self.project()?, &self.globals.config)?;
        Ok(self.settings.get_or_init(|| settings))
    }

    /// The database file: from `--db` or the environment, else the project's own, else the user's.
    pub(crate) fn database(&self) -> Result<&PathBuf, Fail> {
        if let Some(database) = self.database.get() {
            return Ok(&database.path);
        }
        let named = || env::var_os("PUNCHLIST_DB").filter(|it| !it.is_empty()).map(PathBuf::from);
        let database = match self.globals.db.clone().or_else(named) {
            Some(path) if database::is_address(&path) => {
                self.on_server(path.to_string_lossy().into_owned())?
            }
            Some(path) => {
                let path = self.named(path)?;
                let whole = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
                places::trusted_files().check_named(&whole)?;
                Database { path, server: None, ignored: None }
            }
            None => self.found()?,
        };
        Ok(&self.database.get_or_init(|| database).path)
    }

    /// The database at the address of a server.
    fn on_server(&self, address: String) -> Result<Database, Fail> {
        // A bad address is an error before anything is done.
        let parsed = address.parse::<punchlist_store::postgres::Address>();
        parsed.map_err(|error| Fail::usage(error.to_string()))?;
        let server = ServerOptions::new(address, self.project()?.clone())?;
        let path = StoreOptions::Server(Box::new(server.clone())).path().to_owned();
        Ok(Database { path, server: Some(server), ignored: None })
    }

    pub(crate) fn named(&self, path: PathBuf) -> Result<PathBuf, Fail> {
        if path.as_os_str().is_empty() {
            return Err(Fail::usage("the name of the database is empty").hint("give a path."));
        }
        if path.to_str().is_some_and(|text| text.contains("://")) {
            return Err(Fail::usage(format!("{} is not a file", path.display()))
                .hint("give a path, or the address of a server: postgres://USER@HOST/DATABASE."));
        }
        // A relative path is relative to the current directory or the one of `-C`.
        Ok(match &self.globals.directory {
            Some(directory) => directory.join(path),
            None => path,
        })
    }

    fn found(&self) -> Result<Database, Fail> {
        let own = config::own_database(self.project()?);
        // A configuration that cannot be read is reported by whoever needs its other settings.
        let url = self.settings().ok().and_then(|it| it.store.url.clone());
        let users = |ignored: Option<String>| {
            let found = match url {
                Some(url) => self.on_server(url)?,
                None => Database { path: places::database()?, server: None, ignored: None },
            };
            Ok::<_, Fail>(Database { ignored, ..found })
        };
        Ok(match places::trusted_files().look(&own)? {
            FoundDatabase::Trusted => Database { path: own, server: None, ignored: None },
            FoundDatabase::Absent => users(None)?,
            FoundDatabase::Ignored(why) => users(Some(why))?,
        })
    }

    /// Notes about what was ignored.
    fn notes(&self) -> Vec<String> {
        let database = self.database.get().and_then(|it| it.ignored.clone());
        let settings = self.settings.get().into_iter().flat_map(|it| it.notes.iter().cloned());
        database.into_iter().chain(settings).collect()
    }

    /// Whether the database exists. Does not create it. A server is taken to have one.
    pub(crate) fn has_store(&self) -> Result<bool, Fail> {
        Ok(!self.database_options()?.is_absent())
    }

    /// Whether the database is on a server.
    pub(crate) fn is_on_server(&self) -> Result<bool, Fail> {
        self.database()?;
        Ok(self.database.get().is_some_and(|it| it.server.is_some()))
    }

    /// The file of the database, if it has one.
    pub(crate) fn database_file(&self) -> Option<PathBuf> {
        let path = self.database().ok()?.clone();
        (!self.is_on_server().ok()?).then_some(path)
    }

    /// The store, created if it does not exist.
    pub(crate) fn store(&self) -> Result<Arc<dyn Store>, Fail> {
        let options = self.database_options()?;
        self.catch_up(&options);
        self.wrote.set(true);
        Ok(database::open(&options)?)
    }

    /// The store for reading. Creates and writes nothing.
    pub(crate) fn store_to_read(&self) -> Result<Option<Arc<dyn Store>>, Fail> {
        let options = self.database_options()?;
        self.catch_up(&options);
        Ok(database::open_to_read(&options)?)
    }

    /// The policy in this project.
    pub(crate) fn policy(&self) -> Result<Policy, Fail> {
        Ok(self.settings()?.rules.policy(&self.project()?.name))
    }

    /// The policy for commands in another directory. If it belongs to another project, the rules of
    /// that project apply.
    pub(crate) fn policy_in(&self, directory: &Path) -> Result<Policy, Fail> {
        Ok(self.settings()?.rules.policy(&project::find(directory)?.name))
    }

    /// The options for opening the database.
    pub(crate) fn database_options(&self) -> Result<StoreOptions, Fail> {
        // Only for our own data directory: other directories keep their permissions.
        if let Ok(data) = places::data()
            && self.database()?.starts_with(&data)
        {
            private::close(&data);
        }
        let (path, settings) = (self.database()?.clone(), self.settings()?);
        Ok(match self.database.get().and_then(|it| it.server.clone()) {
            Some(server) => StoreOptions::Server(Box::new(server.with_settings(settings))),
            None => StoreOptions::File(Options { path, durability: settings.durability }),
        })
    }

    /// The agent session that the call is made in, if any.
    pub(crate) fn current_session(
        &self,
        store: &dyn SessionStore,
    ) -> Result<&CurrentSession, Fail> {
        if let Some(session) = self.current_session.get() {
            return Ok(session);
        }
        let session = CurrentSession::look(self, store)?;
        Ok(self.current_session.get_or_init(|| session))
    }

    /// The actor: `--as`, else the current session, else `user@host`.
    pub(crate) fn actor(&self, store: &dyn SessionStore) -> Result<Actor, Fail> {
        self.actor_in(self.current_session(store)?.session.as_ref())
    }

    fn actor_in(&self, session: Option<&Session>) -> Result<Actor, Fail> {
        let given = self.globals.name.as_deref();
        let name = identity::name(given)?;
        Ok(session::actor(session, given, &name, person::called_by(), &identity::host()))
    }

    /// Adds the actor to the context of a change. Call it after [`Self::ctx`], which reports errors
    /// in the call before a store is created.
    pub(crate) fn in_session(&self, mut ctx: Ctx, store: &dyn SessionStore) -> Result<Ctx, Fail> {
        ctx.actor = self.actor(store)?;
        let known = self.current_session(store)?.session.as_ref().and_then(|it| it.process.clone());
        ctx.holder = Holder { name: ctx.actor.name.clone(), process: ctx.holder.process.or(known) };
        Ok(ctx)
    }

    /// The context of a change, without the actor of the current session.
    pub(crate) fn ctx(&self) -> Result<Ctx, Fail> {
        let actor = self.actor_in(None)?;
        Ok(Ctx {
            now: self.now,
            ids: clock::ids(self.now)?,
            holder: identity::holder(&actor.name, None)?,
            actor,
            attempt: None,
            base: None,
            mode: Mode::Enforced,
            limits: self.settings()?.limits,
            gone: Vec::new(),
            anyway: false,
        })
    }

    /// The properties of stdout.
    pub(crate) fn screen(&self) -> Screen {
        print::screen(self.globals.color)
    }

    /// The options for the front end at the terminal.
    pub(crate) fn terminal(&self) -> punchlist_tui::Options {
        let screen = self.screen();
        punchlist_tui::Options {
            json: self.globals.json,
            screen,
            draws_in_place: print::draws_in_place(),
            view: self.view(screen),
        }
    }

    /// The options for drawing views.
    pub(crate) fn view(&self, screen: Screen) -> view::Options {
        view::Options {
            width: screen.width,
            glyphs: kind::glyphs(&print::variable),
            reader: person::reader(),
            ..view::Options::plain(self.now)
        }
    }
}

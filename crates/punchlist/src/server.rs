//! `punchlist serve`: collects what the server needs from this process, and prints where it is.

use std::env;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use punchlist_engine::access::{self, Secret};
use punchlist_engine::browser_sign_in::{self, SignIn};
use punchlist_engine::doctor::Diagnosis;
use punchlist_engine::notices::Notice;
use punchlist_engine::policy::consent::Consent;
use punchlist_engine::policy::human::CalledBy;
use punchlist_engine::{Engine, Options as EngineOptions};
use punchlist_model::session::Store;
use punchlist_model::store::access::ServerRecord;
use punchlist_model::{ConversationId, Limits};
use punchlist_serve::BoxFuture;
use punchlist_serve::http::{self, Served, World, listen, origin::Origin};
use punchlist_serve::pages::Facts;
use punchlist_streams::event::KindSet;
use punchlist_tui::notify::Notify;
use punchlist_tui::watch::WakeSession;

use crate::app::App;
use crate::clock::Clock;
use crate::fail::Fail;
use crate::print::{self, Reply};
use crate::project::Project;
use crate::verb::doctor::Subject;
use crate::{config, database, identity, notify, person, places, project, session, watch};

/// The options of the verb.
pub(crate) struct Ask {
    pub(crate) listen: SocketAddr,
    pub(crate) opens: bool,
    pub(crate) behind_proxy: Option<String>,
    pub(crate) rate: u32,
}

/// How far back agents are shown.
const SINCE_MS: i64 = 24 * 60 * 60 * 1000;

const WHAT: &str = "the server is started";

/// Serves until it is interrupted.
pub(crate) fn run(app: &App, ask: Ask) -> Result<Reply, Fail> {
    let by = person::called_by();
    match by {
        CalledBy::Agent(_) | CalledBy::Step => by.at_terminal(WHAT, "serve")?,
        CalledBy::PersonElsewhere if ask.opens => {
            by.at_terminal("a browser is signed in", "serve --open")?;
        }
        CalledBy::PersonAtTerminal | CalledBy::PersonElsewhere => {}
    }
    if let Ok(directory) = open_directory() {
        browser_sign_in::remove_old_files(&directory);
    }
    let origin = Origin::of(ask.listen, ask.behind_proxy.as_deref())?;
    // Spooled events are applied, and the database is created, before the threads open it.
    drop(app.store()?);
    let store = database::open_on_thread(&app.database_options()?)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|why| Fail::ours(format!("the server cannot be started: {why}")))?;
    let served = runtime.block_on(serve(app, &ask, origin, &store, by));
    runtime.shutdown_timeout(Duration::from_secs(1));
    served.map(|()| Reply::default())
}

async fn serve(
    app: &App,
    ask: &Ask,
    mut origin: Origin,
    store: &Arc<dyn Store>,
    by: CalledBy,
) -> Result<(), Fail> {
    let (name, host) = (identity::name(app.globals.name.as_deref())?, identity::host());
    let site = access::site(&**store).await?;
    let listener = match listen::bind(ask.listen).await {
        Ok(listener) => listener,
        Err(why) if why.kind() == io::ErrorKind::AddrInUse => {
            return beside(app, ask, store, &site, &name, &host).await;
        }
        Err(why) => {
            return Err(Fail::ours(format!("cannot listen on {}: {why}", ask.listen))
                .hint("choose another address with `--listen`."));
        }
    };
    let address = listener
        .local_addr()
        .map_err(|why| Fail::ours(format!("the listening address is unknown: {why}")))?;
    origin.listens_on(address);
    let (end, ending) = listen::ending();
    let options = http::Options {
        store: Arc::clone(store),
        around: Arc::new(Clock),
        world: Arc::new(Surroundings::look(app, store)?),
        hosts: origin.hosts.clone(),
        scheme: origin.scheme,
        site: site.clone(),
        rate: ask.rate,
        watch: Some(watch::options(SINCE_MS, KindSet::NONE)),
        times: http::guard::Times::default(),
        key: crate::clock::secret()?,
        version: env!("CARGO_PKG_VERSION"),
    };
    let served = Served::start(options, ending.clone()).await?;
    // From here on a signal ends the server in order.
    let interrupted = listen::interrupted()
        .map_err(|why| Fail::ours(format!("signals cannot be received: {why}")))?;
    let record = record(&origin, address)?;
    if let Some(record) = &record {
        store.keep_server(record.clone()).await?;
    }
    let shown = show(app, ask, store, &origin.text, &site, &name, by).await;
    let result = match shown {
        Ok(()) => {
            tokio::spawn(async move {
                interrupted.await;
                end.send_replace(true);
            });
            listen::serve(
                listener,
                http::router(&served),
                served.places().clone(),
                listen::Patience::default(),
                ending,
            )
            .await
            .map_err(|why| Fail::ours(format!("the server failed: {why}")))
        }
        Err(fail) => Err(fail),
    };
    if let Some(record) = record {
        store.remove_server(record).await?;
    }
    result
}

fn record(origin: &Origin, address: SocketAddr) -> Result<Option<ServerRecord>, Fail> {
    Ok(identity::process().map(|process| ServerRecord {
        address: address.to_string(),
        origin: origin.text.clone(),
        process,
        started_at: crate::clock::now(),
    }))
}

/// Prints where the server is and, for a person at a terminal, an address that signs a browser in.
async fn show(
    app: &App,
    ask: &Ask,
    store: &Arc<dyn Store>,
    origin: &str,
    site: &str,
    name: &str,
    by: CalledBy,
) -> Result<(), Fail> {
    let address = format!("{origin}/{site}/");
    let code = match by {
        CalledBy::PersonAtTerminal => Some(access::create_code(&**store, &Clock, name).await?),
        CalledBy::PersonElsewhere | CalledBy::Agent(_) | CalledBy::Step => None,
    };
    if app.globals.json {
        let value = serde_json::json!({ "address": address });
        print::live_json((value.to_string() + "\n").into_bytes())?;
    } else {
        print::live(&format!("Punchlist is at {address}\n"))?;
    }
    if ask.behind_proxy.is_some() {
        print::say(&[format!(
            "Whoever reaches {origin} and has a token or a code can read all plans of this database, and \
             with the role admin answer questions. The proxy must speak TLS and pass on `Host`."
        )]);
    }
    match (&code, ask.opens) {
        (Some(code), true) => {
            print::say(&["Ctrl-C ends the server.".to_owned()]);
            if let Some(signing_in) = sign_in(origin, site, code)? {
                let store = Arc::clone(store);
                // It ends with the runtime at the latest, and the file with it.
                tokio::spawn(async move { signing_in.wait(&store).await });
            }
        }
        (Some(code), false) => {
            say_address(&format!("{address}login"), code);
            print::say(&["Ctrl-C ends the server.".to_owned()]);
        }
        (None, _) => print::say(&[
            "No code is printed without a terminal: run `punchlist serve --open` at one."
                .to_owned(),
        ]),
    }
    Ok(())
}

/// Another process listens at the address: if it is our server, it gets a new code.
async fn beside(
    app: &App,
    ask: &Ask,
    store: &Arc<dyn Store>,
    site: &str,
    name: &str,
    host: &str,
) -> Result<(), Fail> {
    let address = ask.listen.to_string();
    let Some(running) = access::running(&**store, &Clock, host, &address).await? else {
        return Err(Fail::refused(format!("another program listens on {address}"))
            .hint("choose another address with `--listen`."));
    };
    if !ask.opens {
        return Err(Fail::refused(format!("a server runs at {} already", running.origin))
            .hint("`punchlist serve --open` signs your browser in there."));
    }
    let code = access::create_code(&**store, &Clock, name).await?;
    // From here on a signal ends the wait, so that the file is removed.
    let interrupted = listen::interrupted()
        .map_err(|why| Fail::ours(format!("signals cannot be received: {why}")))?;
    if app.globals.json {
        let value = serde_json::json!({ "address": format!("{}/{site}/", running.origin) });
        print::live_json((value.to_string() + "\n").into_bytes())?;
    } else {
        print::live(&format!("Punchlist is at {}/{site}/\n", running.origin))?;
    }
    if let Some(signing_in) = sign_in(&running.origin, site, &code)? {
        tokio::select! {
            () = signing_in.wait(store) => {}
            () = interrupted => {}
        }
    }
    Ok(())
}

/// Opens the user's browser, signed in. Without a browser, the address with the code is printed at once.
fn sign_in(origin: &str, site: &str, code: &Secret) -> Result<Option<SigningIn>, Fail> {
    let login = format!("{origin}/{site}/login");
    let page = http::login::page_that_sends(&login, code);
    let named = env::var("BROWSER").ok().filter(|it| !it.trim().is_empty() && !it.contains(':'));
    match SignIn::open(&open_directory()?, named.as_deref(), code, &page)? {
        Ok(signing_in) => {
            print::say(&["Your browser opens, signed in.".to_owned()]);
            Ok(Some(SigningIn { signing_in, login, code: code.clone() }))
        }
        Err(why) => {
            print::say(&[format!("No browser can be opened: {why}.")]);
            say_address(&login, code);
            Ok(None)
        }
    }
}

/// A browser that is being signed in, and the address for another one.
struct SigningIn {
    signing_in: SignIn,
    login: String,
    code: Secret,
}

impl SigningIn {
    /// Waits until the code was used. If no browser uses it soon, prints the address.
    async fn wait(self, store: &Arc<dyn Store>) {
        let no_browser = || {
            print::say(&["No browser has signed in.".to_owned()]);
            say_address(&self.login, &self.code);
        };
        self.signing_in.wait(&**store, &Clock, no_browser).await;
    }
}

/// Prints an address that signs a browser in. Only for a person at a terminal.
fn say_address(login: &str, code: &Secret) {
    print::say(&[
        format!("Sign in with {login}#{}", code.expose()),
        "The address works once, for five minutes.".to_owned(),
    ]);
}

/// Where the files are that sign a browser in.
fn open_directory() -> Result<PathBuf, Fail> {
    Ok(places::data()?.join("open"))
}

/// What the server finds around itself.
struct Surroundings {
    store: Arc<dyn Store>,
    given: Vec<String>,
    data: PathBuf,
    facts: Facts,
    subject: Arc<Subject>,
    notify: Mutex<Notify>,
    /// Whether the user's command gets notices: then the hooks give theirs to it.
    hooks_tell: bool,
    wake: Mutex<WakeSession>,
}

impl Surroundings {
    fn look(app: &App, store: &Arc<dyn Store>) -> Result<Self, Fail> {
        // A configuration that cannot be read is an error now, and not at the first request.
        app.settings()?;
        let (store, given) = (Arc::clone(store), app.globals.config.clone());
        let facts = Facts {
            rules_file: places::config()?,
            outputs: places::outputs()?,
            offers: watch::offers(app),
            host: identity::host(),
        };
        let subject = Arc::new(Subject::of(app)?);
        let notify = notify::notify(app)?;
        Ok(Self {
            store,
            given,
            data: places::data()?,
            facts,
            subject,
            hooks_tell: notify.has_command(),
            notify: Mutex::new(notify),
            wake: Mutex::new(session::waker(app)),
        })
    }
}

impl Surroundings {
    /// The configuration for a project.
    fn settings(&self, name: &str) -> Result<config::Settings, Fail> {
        let here = project::find(Path::new(name)).ok().filter(|it| it.name == name);
        // The directory may be on another machine. Then nothing can run, and only the user's settings count.
        let project = here.unwrap_or_else(|| Project { root: "/".into(), name: name.to_owned() });
        config::read(&project, &self.given)
    }
}

impl World for Surroundings {
    fn tell(&self, notice: &Notice) {
        let mut notify = self.notify.lock().unwrap_or_else(PoisonError::into_inner);
        notify.give(notice, crate::clock::now());
    }

    fn hooks_tell(&self) -> bool {
        self.hooks_tell
    }

    fn wake(&self, id: ConversationId, project: &str) -> Result<(), Fail> {
        let wake = self.wake.lock().unwrap_or_else(PoisonError::into_inner);
        wake(id, project)
    }

    fn limits(&self, name: &str) -> Result<(Limits, bool), Fail> {
        let settings = self.settings(name)?;
        Ok((settings.limits, settings.open_items_chosen))
    }

    fn engine(&self, name: &str) -> Result<Engine, Fail> {
        let settings = self.settings(name)?;
        let options = EngineOptions {
            project: name.to_owned(),
            limits: settings.limits,
            policy: settings.rules.policy(name),
            is_consent_given: Consent::Checks.is_given(&self.data, name),
            environment: env::vars_os().collect(),
        };
        Ok(Engine::with(Arc::clone(&self.store), Clock, options))
    }

    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn examine(&self) -> BoxFuture<'static, Result<Diagnosis, Fail>> {
        let (subject, store) = (Arc::clone(&self.subject), Arc::clone(&self.store));
        let given = self.given.clone();
        Box::pin(async move {
            let examined = tokio::task::spawn_blocking(move || {
                let (current, now) = (|| Ok(Some(Arc::clone(&store))), crate::clock::now());
                match config::read(subject.project(), &given) {
                    Ok(settings) => subject.examine(Ok(&settings), &current, now),
                    Err(fail) => subject.examine(Err(fail), &current, now),
                }
            });
            examined.await.map_err(|why| Fail::ours(format!("the examination ended: {why}")))?
        })
    }
}

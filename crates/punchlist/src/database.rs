//! Opens the database: a file, or a server. The rest of the program only sees a [`Store`].

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punchlist_bridge::key_command;
use punchlist_engine::project::repository::{self, Git};
use punchlist_model::session::Store;
use punchlist_model::store::maintenance::ServerFacts;
use punchlist_model::store::{Durability, Error};
pub(crate) use punchlist_store::Options;
use punchlist_store::postgres::{self, Address, Granted, Located, Place, Right};
pub(crate) use punchlist_store::turns::{Counts, TurnTodo, TurnTodos};
use punchlist_store::{Sqlite, Threaded};

use crate::fail::Fail;
use crate::project::Project;
use crate::{clock, identity, places};

/// How the store is opened.
#[derive(Clone, Debug)]
pub(crate) enum StoreOptions {
    /// A file.
    File(Options),
    /// A server.
    Server(Box<ServerOptions>),
}

/// How a store on a server is opened.
#[derive(Clone, Debug)]
pub(crate) struct ServerOptions {
    /// The address, as the user wrote it.
    address: String,
    /// Where this machine keeps its files about the database.
    beside: PathBuf,
    durability: Durability,
    /// A command that prints the password.
    password_command: Option<String>,
    /// The project that the call is made in, and the name that the user gave it on the server.
    project: Project,
    name: Option<String>,
    /// The search path for git.
    search: Option<OsString>,
}

impl StoreOptions {
    /// A file, with the default durability.
    pub(crate) fn file(path: &Path) -> Self {
        Self::File(Options { path: path.to_owned(), durability: Durability::default() })
    }

    /// The file of the database; on a server, a path that does not exist. Beside it this machine keeps
    /// its own files about the database.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::File(options) => &options.path,
            Self::Server(server) => &server.beside,
        }
    }

    /// What `--db` must say for this database. Without a password.
    pub(crate) fn named(&self) -> PathBuf {
        match self {
            Self::File(options) => options.path.clone(),
            Self::Server(server) => postgres::without_password(&server.address).into(),
        }
    }

    /// Whether it is known without a look that there is no database.
    pub(crate) fn is_absent(&self) -> bool {
        match self {
            Self::File(options) => !options.path.exists(),
            Self::Server(_) => false,
        }
    }
}

impl ServerOptions {
    /// A server at an address, for a project.
    pub(crate) fn new(address: String, project: Project) -> Result<Self, Fail> {
        let shown = postgres::without_password(&address);
        // FNV-1a: short and stable across versions.
        let sum = shown.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let directory = places::data()?.join("servers").join(format!("{sum:016x}"));
        Ok(Self {
            address,
            beside: directory.join("punchlist.db"),
            durability: Durability::default(),
            password_command: None,
            project,
            name: None,
            search: env::var_os("PATH"),
        })
    }

    /// The same with the user's settings.
    pub(crate) fn with_settings(self, settings: &crate::config::Settings) -> Self {
        Self {
            durability: settings.durability,
            password_command: settings.store.password_command.clone(),
            name: settings.store.project.clone(),
            ..self
        }
    }

    fn connect(&self) -> Result<postgres::Options, Error> {
        let address: Address = self.address.parse()?;
        let password = match address.has_password() {
            true => None,
            false => self.password(&address)?,
        };
        let options = postgres::Options::new(address.with_password(password));
        Ok(postgres::Options { durability: self.durability, ..options })
    }

    /// The password: from the environment, from `.pgpass`, or from the user's command.
    fn password(&self, address: &Address) -> Result<Option<String>, Error> {
        if let Some(password) = env::var("PGPASSWORD").ok().filter(|it| !it.is_empty()) {
            return Ok(Some(password));
        }
        let file = env::var_os("PGPASSFILE").filter(|it| !it.is_empty()).map(PathBuf::from);
        let file = file.or_else(|| Some(places::home()?.join(".pgpass")));
        let text = file.and_then(|it| private_text(&it));
        if let Some(found) = text.and_then(|it| address.password_in(&it)) {
            return Ok(Some(found));
        }
        let Some(command) = &self.password_command else { return Ok(None) };
        key_command::output(command).map(Some).map_err(|why| Error::Unusable {
            what: format!("store.password_command failed: {why}"),
            source: None,
        })
    }

    fn with_place<T>(&self, open: impl FnOnce(&Place<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let git = Git { search: self.search.as_deref(), patience: repository::SHORT_PATIENCE };
        open(&Place {
            host: identity::host(),
            directory: self.project.name.clone(),
            project: self.name.clone(),
            repository: &|| git.first_commit(&self.project),
            now: clock::now(),
        })
    }

    fn open(&self) -> Result<Located, Error> {
        let options = self.connect()?;
        // The files of this machine: spooled events and the like.
        if let Some(directory) = self.beside.parent() {
            // If it cannot be made, the spool is elsewhere.
            fs::create_dir_all(directory).ok();
        }
        self.with_place(|place| Located::open(&options, place))
    }

    fn open_to_read(&self) -> Result<Option<Located>, Error> {
        let options = self.connect()?;
        self.with_place(|place| Located::open_to_read(&options, place))
    }
}

/// The text of a file that only its owner may read, as for other programs that read `.pgpass`.
fn private_text(path: &Path) -> Option<String> {
    let meta = fs::metadata(path).ok()?;
    let is_private = meta.is_file() && meta.mode() & 0o077 == 0;
    is_private.then(|| fs::read_to_string(path).ok()).flatten()
}

/// Opens the store, and creates it if it does not exist.
pub(crate) fn open(options: &StoreOptions) -> Result<Arc<dyn Store>, Error> {
    Ok(match options {
        StoreOptions::File(options) => Arc::new(Sqlite::open(options)?),
        StoreOptions::Server(server) => Arc::new(server.open()?),
    })
}

/// Opens the store for reading; `None` if it does not exist. Creates and writes nothing.
pub(crate) fn open_to_read(options: &StoreOptions) -> Result<Option<Arc<dyn Store>>, Error> {
    Ok(match options {
        StoreOptions::File(options) => {
            Sqlite::open_to_read(options)?.map(|store| Arc::new(store) as Arc<dyn Store>)
        }
        StoreOptions::Server(server) => {
            server.open_to_read()?.map(|store| Arc::new(store) as Arc<dyn Store>)
        }
    })
}

/// Gives a role of a server a right.
pub(crate) fn grant(options: &StoreOptions, role: &str, right: Right) -> Result<(), Fail> {
    match options {
        StoreOptions::File(_) => Err(Fail::usage("a database file has no roles, only an owner")
            .hint("name a server, as in `--db postgres://owner@db.example/plans`.")),
        StoreOptions::Server(server) => match postgres::grant(&server.connect()?, role, right)? {
            Granted::Yes => Ok(()),
            Granted::NoRole => {
                Err(Fail::not_found(format!("{} has no role {role:?}", options.named().display()))
                    .hint("create it first, as in `CREATE ROLE builder LOGIN PASSWORD '…'`."))
            }
        },
    }
}

/// Opens the store for async callers. Creates it if it does not exist.
pub(crate) fn open_on_thread(options: &StoreOptions) -> Result<Arc<dyn Store>, Error> {
    Ok(match options {
        StoreOptions::File(options) => Arc::new(Threaded::open(options)?),
        StoreOptions::Server(server) => Arc::new(server.open()?),
    })
}

/// What `doctor` says about a server; `None` for a file.
pub(crate) fn server_facts(options: &StoreOptions) -> Result<Option<ServerFacts>, Error> {
    match options {
        StoreOptions::File(_) => Ok(None),
        StoreOptions::Server(server) => {
            let options = server.connect()?;
            postgres::Postgres::examine(&options, clock::now).map(Some)
        }
    }
}

/// Whether a text names a server and not a file.
pub(crate) fn is_address(text: &Path) -> bool {
    text.to_str().is_some_and(Address::is_address)
}

/// A store for servers: opened on first use, then kept open.
pub(crate) struct StayingStore {
    options: StoreOptions,
    opened: Mutex<Option<Opened>>,
}

/// A store that stays open.
enum Opened {
    File(Arc<Sqlite>),
    Server(Arc<Located>),
}

impl Opened {
    fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::File(store) => Arc::<Sqlite>::clone(store),
            Self::Server(store) => Arc::<Located>::clone(store),
        }
    }
}

impl StayingStore {
    /// A store that is not open yet.
    pub(crate) fn new(options: StoreOptions) -> Self {
        Self { options, opened: Mutex::default() }
    }

    /// The options for opening it.
    pub(crate) fn options(&self) -> &StoreOptions {
        &self.options
    }

    /// The store, created if it does not exist. `is_opened` runs if this call opens it.
    pub(crate) fn store(&self, is_opened: impl FnOnce()) -> Result<Arc<dyn Store>, Error> {
        self.open(self.lock(), is_opened)
    }

    /// The same; `None` if the database does not exist.
    pub(crate) fn store_if_there(
        &self,
        is_opened: impl FnOnce(),
    ) -> Result<Option<Arc<dyn Store>>, Error> {
        let opened = self.lock();
        if opened.is_none() && self.options.is_absent() {
            return Ok(None);
        }
        // Open for writing: a server will write sooner or later.
        self.open(opened, is_opened).map(Some)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Opened>> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        // A store that was read-only may be writable by now.
        drop(opened.take_if(|it| matches!(it, Opened::File(store) if store.is_read_only())));
        opened
    }

    fn open(
        &self,
        mut opened: MutexGuard<'_, Option<Opened>>,
        is_opened: impl FnOnce(),
    ) -> Result<Arc<dyn Store>, Error> {
        if let Some(opened) = &*opened {
            return Ok(opened.store());
        }
        let new = match &self.options {
            StoreOptions::File(options) => {
                let store = Arc::new(Sqlite::open(options)?);
                store.stay();
                Opened::File(store)
            }
            StoreOptions::Server(server) => Opened::Server(Arc::new(server.open()?)),
        };
        is_opened();
        Ok(opened.insert(new).store())
    }
}

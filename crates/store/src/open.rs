//! Opens a database: creates it, refuses files of other programs, and reads on read-only media.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use punchlist_model::store::{Durability, Error};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use crate::bell::{Bell, LockError};
use crate::disk::Wal;
use crate::error::{explain, unusable};
use crate::group::Group;
use crate::identity::Identity;
use crate::migrate::{self, State};
use crate::waiting::waiting;

/// SQLite's own busy timeout. Punchlist's writers wait for the write lock first, so only other
/// programs and recovery after a crash make SQLite wait.
pub(crate) fn busy_timeout() -> Duration {
    waiting().give_up_after
}

/// The length of the WAL at which a write copies it into the database: about two hundred pages.
///
/// The first process to open a database reads the whole WAL, at about 1,500 instructions per page,
/// and every verb is a first process. Copying the WAL costs two syncs. A change is about eight
/// pages.
pub(crate) const WAL_BYTES: u64 = 200 * 4120;

/// SQLite's page cache in a connection that stays open. A negative number means kilobytes.
const CACHE: i32 = -1000;

/// The size of the statement cache: larger than the number of statements.
const STATEMENTS: usize = 128;

/// Where a database is and how it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The database file.
    pub path: PathBuf,
    /// What an acknowledged change survives.
    pub durability: Durability,
}

impl Options {
    /// A database in this file, in which every acknowledged change survives a power loss.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), durability: Durability::default() }
    }
}
/// An open database.
pub(crate) struct Database {
    pub(crate) conn: Connection,
    pub(crate) access: Access,
    /// The file, with symbolic links resolved, so that all processes use the same bell.
    pub(crate) path: PathBuf,
    /// The open files. `None` for a private copy, or for a file that cannot change.
    pub(crate) identity: Option<Identity>,
    /// Whether it stays open ([`crate::Sqlite::stay`]).
    pub(crate) stays: bool,
    /// Whether the old files were closed and the new ones could not be opened.
    pub(crate) is_lost: bool,
    /// The writes that will be confirmed together, while they run ([`crate::group`]).
    pub(crate) group: Option<Group>,
}

/// Whether the database can be written.
pub(crate) enum Access {
    /// Read and write.
    Write {
        bell: Bell,
        /// The WAL to sync after a change; `None` if nobody syncs it, or SQLite does.
        wal: Option<Wal>,
        /// Whether to keep the WAL short for the next process.
        keep_wal_short: bool,
    },
    /// Read-only, and why.
    Read {
        why: String,
        /// A private copy that is read instead of the database. Its drop removes it.
        #[expect(dead_code, reason = "its drop removes the copy")]
        copy: Option<Copy>,
    },
}

/// Opens a database to read and write; creates or migrates it if necessary. A database on read-only
/// media is opened read-only.
pub(crate) fn to_write(options: &Options) -> Result<Database, Error> {
    // The file may be replaced while it is being opened; then try again.
    for _ in 0..3 {
        let path = match fs::canonicalize(&options.path) {
            Ok(path) => path,
            Err(error) if error.kind() == ErrorKind::NotFound => create(&options.path)?,
            Err(error) => return Err(cannot_open(&options.path, error)),
        };
        let before = Identity::of(&options.path, &path);
        let database = to_write_at(options, path)?;
        if database.identity.as_ref().is_none_or(|it| it.has_same_database(&before)) {
            return Ok(database);
        }
    }
    let what = format!("{} keeps being replaced", options.path.display());
    Err(Error::Unusable { what, source: None })
}

fn to_write_at(options: &Options, path: PathBuf) -> Result<Database, Error> {
    check_file(&path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let (mut conn, facts) = match Connection::open_with_flags(&path, flags).and_then(read_facts) {
        Ok(opened) => opened,
        Err(error) if is_read_only(&error) => return read_only(path),
        Err(error) => return Err(explain(&path, error)),
    };
    let state = migrate::state_of(facts, &path)?;
    // SQLite opens a read-only file without an error.
    if conn.is_readonly("main").map_err(|error| explain(&path, error))? {
        return only_to_read(conn, state, path, None);
    }
    let mut bell = Bell::of(&path);
    if state != State::Current {
        let files = bell.files().map_err(|error| not_written(&path, error))?;
        let lock = files.write_lock(&path).map_err(|error| lock_failed(&path, error))?;
        migrate::migrate(&mut conn, &path)?;
        drop(lock);
    }
    let wal = wait_for_disk(&conn, &path, options.durability);
    let wal = wal.map_err(|error| explain(&path, error))?;
    let identity = Some(Identity::of(&options.path, &path));
    let access = Access::Write { bell, wal, keep_wal_short: true };
    Ok(Database::new(conn, access, path, identity))
}

impl Database {
    fn new(conn: Connection, access: Access, path: PathBuf, identity: Option<Identity>) -> Self {
        Self { conn, access, path, identity, stays: false, is_lost: false, group: None }
    }
}

/// Decides who waits for the disk after a change. SQLite does by default, and all other writers
/// then wait behind it.
fn wait_for_disk(
    conn: &Connection,
    path: &Path,
    durability: Durability,
) -> rusqlite::Result<Option<Wal>> {
    let wal = match durability {
        Durability::Full => Wal::of(path),
        Durability::Normal => None,
    };
    if wal.is_some() || durability == Durability::Normal {
        conn.pragma_update(None, "synchronous", "NORMAL")?;
    }
    Ok(wal)
}

/// Checks that the path is a plain file: SQLite's error for a directory is hard to understand, and
/// opening a pipe would block.
fn check_file(path: &Path) -> Result<(), Error> {
    match fs::metadata(path) {
        Ok(it) if !it.is_file() => {
            let what = format!("{} is not a file", path.display());
            Err(Error::Unusable { what, source: None })
        }
        // A missing file is created later. Other errors are reported when the file is opened.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Opens a database read-only. `None` if there is none, or if it is empty.
pub(crate) fn to_read(options: &Options) -> Result<Option<Database>, Error> {
    let path = match fs::canonicalize(&options.path) {
        Ok(path) => path,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot_open(&options.path, error)),
    };
    check_file(&path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let (conn, facts) = match Connection::open_with_flags(&path, flags).and_then(read_facts) {
        Ok(opened) => opened,
        Err(error) if is_read_only(&error) || has_no_room(&error) => {
            return read_only(path).map(Some);
        }
        Err(error) => return Err(explain(&path, error)),
    };
    match migrate::state_of(facts, &path)? {
        State::Current => {
            let why = format!("{} was opened read-only", path.display());
            let identity = Some(Identity::of(&options.path, &path));
            let access = Access::Read { why, copy: None };
            Ok(Some(Database::new(conn, access, path, identity)))
        }
        State::Empty => Ok(None),
        State::Old(version) => Err(migrate::needs_write(&path, version)),
    }
}

/// Opens another connection to a database that is already open.
pub(crate) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    configure(&conn)?;
    Ok(conn)
}

/// Opens another connection, read-only, to a database that this process has open to write.
pub(crate) fn connect_to_read(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    configure(&conn)?;
    limit_cache(&conn);
    Ok(conn)
}

/// Limits the page cache of a connection that stays open.
pub(crate) fn limit_cache(conn: &Connection) {
    // If this fails, the cache is larger, which does no harm.
    drop(conn.pragma_update(None, "cache_size", CACHE));
}

/// Reads the first page. SQLite notices only then that it cannot create its files beside the
/// database.
fn read_facts(conn: Connection) -> rusqlite::Result<(Connection, migrate::Facts)> {
    configure(&conn)?;
    let facts = migrate::facts(&conn)?;
    Ok((conn, facts))
}

/// Settings that need no statement. `synchronous` is `FULL` by default, and the journal mode is
/// stored in the file.
fn configure(conn: &Connection) -> rusqlite::Result<()> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    // Without this, SQLite prepares a statement again whenever the value of a parameter might
    // change its query plan. A value of 0 or 1, such as the key of a database's first plan, is
    // enough.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // A checkpoint when the last process closes the database would double the cost of every verb.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    conn.busy_timeout(busy_timeout())?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(())
}

fn is_read_only(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen))
}

/// Whether SQLite had no space for its index of the WAL, which even a reader needs. A writer would
/// need it too, so nothing changes while a copy is read instead.
fn has_no_room(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    matches!(code, Some(ffi::SQLITE_IOERR_SHMSIZE | ffi::SQLITE_IOERR_SHMMAP))
}

/// Creates an empty file that only this user can read, and its directory likewise if necessary.
fn create(path: &Path) -> Result<PathBuf, Error> {
    let refused = |error| not_written(path, error);
    if let Some(parent) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(refused)?;
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(refused(error)),
    }
    fs::canonicalize(path).map_err(|error| cannot_open(path, error))
}

/// Opens a database on read-only media.
fn read_only(path: PathBuf) -> Result<Database, Error> {
    let has_wal = fs::metadata(wal_of(&path)).is_ok_and(|it| it.len() > 0);
    let copy = if has_wal { Some(Copy::of(&path)?) } else { None };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let conn = match &copy {
        // The WAL must be read too, and for that SQLite needs a writable directory.
        Some(copy) => Connection::open(copy.database()),
        None => Connection::open_with_flags(immutable(&path), flags),
    };
    let conn = conn.map_err(|error| cannot_open(&path, error))?;
    configure(&conn).map_err(|error| explain(&path, error))?;
    let state = migrate::read_state(&conn, &path)?;
    only_to_read(conn, state, path, copy)
}

fn only_to_read(
    conn: Connection,
    state: State,
    path: PathBuf,
    copy: Option<Copy>,
) -> Result<Database, Error> {
    let why = format!("{} or its directory is read-only", path.display());
    match state {
        State::Current => Ok(Database::new(conn, Access::Read { why, copy }, path, None)),
        State::Empty => Err(Error::ReadOnly(why)),
        State::Old(version) => Err(migrate::needs_write(&path, version)),
    }
}

/// The URI under which SQLite treats a file as immutable.
fn immutable(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                uri.push(char::from(*byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    uri
}

pub(crate) fn wal_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// A private copy of a database and its WAL. Its drop removes it.
pub(crate) struct Copy {
    directory: PathBuf,
}

impl Copy {
    fn of(path: &Path) -> Result<Self, Error> {
        let words = || format!("cannot copy {} to read it", path.display());
        let failed = |error| unusable(words(), error);
        let copy = Self { directory: private_directory().map_err(failed)? };
        // Other processes may still write the files. The copy is valid if nothing changed
        // meanwhile.
        for _ in 0..10 {
            let before = [stamp(path), stamp(&wal_of(path))];
            fs::copy(path, copy.database()).map_err(failed)?;
            fs::copy(wal_of(path), wal_of(&copy.database())).map_err(failed)?;
            if before == [stamp(path), stamp(&wal_of(path))] {
                return Ok(copy);
            }
        }
        Err(Error::Unusable { what: format!("{}: it keeps changing", words()), source: None })
    }

    fn database(&self) -> PathBuf {
        self.directory.join("copy.db")
    }
}

/// Length and time of a file, which change when the file does.
fn stamp(path: &Path) -> Option<(u64, SystemTime)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}

impl Drop for Copy {
    fn drop(&mut self) {
        // If this fails, the system cleans up its temporary files later.
        drop(fs::remove_dir_all(&self.directory));
    }
}

/// Creates a new directory that only this user can use. The name need not be secret; if it is
/// taken, another is tried.
fn private_directory() -> std::io::Result<PathBuf> {
    let parent = std::env::temp_dir();
    let mut n = 0_u32;
    loop {
        let name = format!("punchlist-{}-{n}", std::process::id());
        let directory = parent.join(name);
        match DirBuilder::new().mode(0o700).create(&directory) {
            Ok(()) => return Ok(directory),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && n < 10_000 => n += 1,
            Err(error) => return Err(error),
        }
    }
}

fn cannot_open(path: &Path, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    unusable(format!("{} cannot be opened", path.display()), error)
}

/// The store's error for a write lock that was not acquired.
pub(crate) fn lock_failed(path: &Path, why: LockError) -> Error {
    match why {
        LockError::Failed(error) => not_written(path, error),
        LockError::Held(who) => Error::Busy(format!("{who}; timed out, nothing was changed")),
    }
}

/// The store's error for a file that could not be created or written.
pub(crate) fn not_written(path: &Path, error: std::io::Error) -> Error {
    let kind = error.kind();
    if matches!(kind, ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied) {
        return Error::ReadOnly(format!("{}: {error}", path.display()));
    }
    unusable(format!("{} cannot be written", path.display()), error)
}

//! Opening a database: creating it, refusing what is not ours, and reading where nothing can be
//! written.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use punchlist_model::store::Error;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use crate::bell::{Bell, NoTurn};
use crate::disk::Log;
use crate::error::{explain, unusable};
use crate::identity::Identity;
use crate::migrate::{self, State};
use crate::waiting::waiting;

/// How long SQLite itself waits for others, once the bell has given the turn: only foreign programs
/// and recovery after a crash can make it wait at all.
pub(crate) fn patience() -> Duration {
    waiting().give_up_after
}

/// How long the log may get before the write that fills it empties it into the database: about two
/// hundred pages.
///
/// The first process to open a database reads its log through, at some 1,500 instructions a page,
/// and every verb is a first process; emptying it costs two waits for the disk. A change is about
/// eight pages.
pub(crate) const LOG_BYTES: u64 = 200 * 4120;

/// What a connection that stays open keeps of the file: kilobytes, which SQLite wants to be told below 0.
const CACHE: i32 = -1000;

/// How many statements are kept prepared: more than there are.
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

/// What an acknowledged change survives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Durability {
    /// `kill -9` and power loss.
    #[default]
    Full,
    /// `kill -9`. After a power loss the last changes may be missing; the database stays whole.
    Normal,
}

/// An open database.
pub(crate) struct Database {
    pub(crate) conn: Connection,
    pub(crate) access: Access,
    /// The file, with links resolved, so that all processes meet at one bell.
    pub(crate) path: PathBuf,
    /// The files that are open; nothing where a copy is read, or what can never change.
    pub(crate) identity: Option<Identity>,
    /// It is there for longer ([`crate::Sqlite::stay`]).
    pub(crate) stays: bool,
    /// The old files were let go of and no new ones could be opened: nothing is here.
    pub(crate) is_lost: bool,
}

/// What may be done with it.
pub(crate) enum Access {
    /// Read and write.
    Write {
        bell: Bell,
        /// The log to wait for after a change; nothing where nobody waits, or SQLite itself does.
        log: Option<Log>,
        /// Whether to keep the log short for those who come next.
        tidy: bool,
    },
    /// Read only, and why.
    Read {
        why: String,
        /// A private copy that is read instead of the database, removed when done.
        #[expect(dead_code, reason = "its drop removes the copy")]
        copy: Option<Copy>,
    },
}

/// Opens to read and write; creates and migrates. Where nothing can be written, an existing
/// database is opened to read.
pub(crate) fn to_write(options: &Options) -> Result<Database, Error> {
    // Somebody may replace the file while it is opened. A file that is replaced again and again is
    // noticed before the first change.
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
    let what = format!("{} is replaced again and again", options.path.display());
    Err(Error::Unusable { what, source: None })
}

fn to_write_at(options: &Options, path: PathBuf) -> Result<Database, Error> {
    check_file(&path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let (mut conn, facts) = match Connection::open_with_flags(&path, flags).and_then(look) {
        Ok(opened) => opened,
        Err(error) if is_read_only(&error) => return read_only(path),
        Err(error) => return Err(explain(&path, error)),
    };
    let state = migrate::judge(facts, &path)?;
    // SQLite opens what cannot be written without a word.
    if conn.is_readonly("main").map_err(|error| explain(&path, error))? {
        return only_to_read(conn, state, path, None);
    }
    let mut bell = Bell::of(&path);
    if state != State::Current {
        let files = bell.files().map_err(|error| not_written(&path, error))?;
        let turn = files.turn(&path).map_err(|error| no_turn(&path, error))?;
        migrate::migrate(&mut conn, &path)?;
        drop(turn);
    }
    let log = wait_for_disk(&conn, &path, options.durability);
    let log = log.map_err(|error| explain(&path, error))?;
    let identity = Some(Identity::of(&options.path, &path));
    let access = Access::Write { bell, log, tidy: true };
    Ok(Database::new(conn, access, path, identity))
}

impl Database {
    fn new(conn: Connection, access: Access, path: PathBuf, identity: Option<Identity>) -> Self {
        Self { conn, access, path, identity, stays: false, is_lost: false }
    }
}

/// Settles who waits for the disk after a change: SQLite unless told otherwise, with everybody else
/// waiting behind it.
fn wait_for_disk(
    conn: &Connection,
    path: &Path,
    durability: Durability,
) -> rusqlite::Result<Option<Log>> {
    let log = match durability {
        Durability::Full => Log::of(path),
        Durability::Normal => None,
    };
    if log.is_some() || durability == Durability::Normal {
        conn.pragma_update(None, "synchronous", "NORMAL")?;
    }
    Ok(log)
}

/// A directory gives a riddle of an error, and a pipe would be waited for until somebody writes.
fn check_file(path: &Path) -> Result<(), Error> {
    match fs::metadata(path) {
        Ok(it) if !it.is_file() => {
            let what = format!("{} is not a file", path.display());
            Err(Error::Unusable { what, source: None })
        }
        // What is not there yet is made, and what cannot be looked at is told when it is opened.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Opens to read. `None` if there is no database, or nothing in it.
pub(crate) fn to_read(options: &Options) -> Result<Option<Database>, Error> {
    let path = match fs::canonicalize(&options.path) {
        Ok(path) => path,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot_open(&options.path, error)),
    };
    check_file(&path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let (conn, facts) = match Connection::open_with_flags(&path, flags).and_then(look) {
        Ok(opened) => opened,
        Err(error) if is_read_only(&error) || has_no_room(&error) => {
            return read_only(path).map(Some);
        }
        Err(error) => return Err(explain(&path, error)),
    };
    match migrate::judge(facts, &path)? {
        State::Current => {
            let why = format!("{} was opened to read only", path.display());
            let identity = Some(Identity::of(&options.path, &path));
            let access = Access::Read { why, copy: None };
            Ok(Some(Database::new(conn, access, path, identity)))
        }
        State::Empty => Ok(None),
        State::Old(version) => Err(migrate::needs_write(&path, version)),
    }
}

/// Opens another connection to a database that is known to be ours.
pub(crate) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    configure(&conn)?;
    Ok(conn)
}

/// Opens another connection, which only reads, to a database that this process has open to write.
pub(crate) fn connect_to_read(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    configure(&conn)?;
    keep_little(&conn);
    Ok(conn)
}

/// Limits what a connection that stays open keeps of the file in memory.
pub(crate) fn keep_little(conn: &Connection) {
    // Where that cannot be said, it keeps more.
    drop(conn.pragma_update(None, "cache_size", CACHE));
}

/// Reads the first page, which is when SQLite notices that it cannot have its own files beside it.
fn look(conn: Connection) -> rusqlite::Result<(Connection, migrate::Facts)> {
    configure(&conn)?;
    let facts = migrate::facts(&conn)?;
    Ok((conn, facts))
}

/// Settings that cost no statement. `synchronous` is `FULL` until told otherwise, and the journal
/// mode is the file's own.
fn configure(conn: &Connection) -> rusqlite::Result<()> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    // Otherwise SQLite parses a statement anew whenever the value of a parameter might alter its
    // plan, for which it is enough that it was 0 or 1: the key of a database's first plan.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // A checkpoint when the last process leaves would double the cost of every verb.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    conn.busy_timeout(patience())?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(())
}

fn is_read_only(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen))
}

/// Whether SQLite found no room for its index of the log, which even a reader needs. Whoever writes
/// would need it too, so nothing changes while a copy is read instead.
fn has_no_room(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    matches!(code, Some(ffi::SQLITE_IOERR_SHMSIZE | ffi::SQLITE_IOERR_SHMMAP))
}

/// Makes an empty file that only this user can read, in a directory likewise where there is none.
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

/// Opens a database that stands where nothing can be written.
fn read_only(path: PathBuf) -> Result<Database, Error> {
    let has_log = fs::metadata(log_of(&path)).is_ok_and(|it| it.len() > 0);
    let copy = if has_log { Some(Copy::of(&path)?) } else { None };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let conn = match &copy {
        // The log must be read too, and for that SQLite needs a place to write.
        Some(copy) => Connection::open(copy.database()),
        None => Connection::open_with_flags(immutable(&path), flags),
    };
    let conn = conn.map_err(|error| cannot_open(&path, error))?;
    configure(&conn).map_err(|error| explain(&path, error))?;
    let state = migrate::look(&conn, &path)?;
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

/// The address under which SQLite reads a file that it takes to never change.
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

pub(crate) fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// A copy of a database and its log in a directory of our own, removed when dropped.
pub(crate) struct Copy {
    directory: PathBuf,
}

impl Copy {
    fn of(path: &Path) -> Result<Self, Error> {
        let words = || format!("no copy of {} can be made to read it", path.display());
        let failed = |error| unusable(words(), error);
        let copy = Self { directory: private_directory().map_err(failed)? };
        // Read-only for us need not be so for others: a copy counts if nothing changed meanwhile.
        for _ in 0..10 {
            let before = [stamp(path), stamp(&log_of(path))];
            fs::copy(path, copy.database()).map_err(failed)?;
            fs::copy(log_of(path), log_of(&copy.database())).map_err(failed)?;
            if before == [stamp(path), stamp(&log_of(path))] {
                return Ok(copy);
            }
        }
        Err(Error::Unusable { what: format!("{}: it keeps changing", words()), source: None })
    }

    fn database(&self) -> PathBuf {
        self.directory.join("copy.db")
    }
}

/// What changes when a file does.
fn stamp(path: &Path) -> Option<(u64, SystemTime)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}

impl Drop for Copy {
    fn drop(&mut self) {
        // What cannot be removed now, the system's own cleaning of temporary files will.
        drop(fs::remove_dir_all(&self.directory));
    }
}

/// A new directory for this user alone. Whoever has made one of that name first is passed over:
/// the name need not be secret, only the directory new.
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

/// Why it is not this process's turn to write.
pub(crate) fn no_turn(path: &Path, why: NoTurn) -> Error {
    match why {
        NoTurn::Failed(error) => not_written(path, error),
        NoTurn::Held(who) => Error::Busy(format!("{who} and does not let go; nothing was changed")),
    }
}

/// What a failure to make a file beside or for the database means.
pub(crate) fn not_written(path: &Path, error: std::io::Error) -> Error {
    let kind = error.kind();
    if matches!(kind, ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied) {
        return Error::ReadOnly(format!("{}: {error}", path.display()));
    }
    unusable(format!("{} cannot be written", path.display()), error)
}

//! The store on SQLite, in the caller's thread.
//!
//! Each future does its work at the first poll and is then ready, so a verb needs no runtime. A
//! caller that must not block uses [`crate::Threaded`].

use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_core::future::BoxFuture;
use punchlist_model::needs::Needs;
use punchlist_model::session::{Kept, Session, SessionFilter, SessionKey, SessionStore};
use punchlist_model::store::{
    Applied, Attachment, AttachmentKey, Change, Cursor, Entry, Error, Filter, Following, FoundItem,
    ItemSearch, NewPlan, PlanStore, ProjectSums, Scope, Since, Summary,
};
use punchlist_model::{Ctx, ItemRef, MadeFor, Plan, PlanId, Process, Revision, Slice, Timestamp};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::bell::LockError;
use crate::error::explain;
use crate::follow::{Follow, Start};
use crate::group::Group;
use crate::identity::{Fate, Identity};
use crate::load::{self, Failure};
use crate::open::{self, Access, Database, Options, WAL_BYTES, lock_failed, not_written, wal_of};
use crate::reads::Reads;
use crate::{attachments, changes, journal, migrate, plans, save, scrub, sessions};

/// A store in a SQLite database.
pub struct Sqlite {
    /// The writing connection. It may be waiting for another process.
    database: Mutex<Database>,
    /// The second connection, for reads, if there is one. Lock order: `database` first.
    reads: Mutex<Option<Reads>>,
    options: Options,
}

impl Sqlite {
    /// Opens a database to read and write; creates it if there is none, and migrates its schema.
    ///
    /// A database that cannot be written is opened read-only; writes then fail with
    /// [`Error::ReadOnly`].
    pub fn open(options: &Options) -> Result<Self, Error> {
        open::to_write(options).map(|database| Self::new(database, options))
    }

    /// Opens a database read-only; `None` if there is none. Never creates, migrates or changes one.
    pub fn open_to_read(options: &Options) -> Result<Option<Self>, Error> {
        Ok(open::to_read(options)?.map(|database| Self::new(database, options)))
    }

    fn new(database: Database, options: &Options) -> Self {
        let (database, reads) = (Mutex::new(database), Mutex::new(None));
        Self { database, reads, options: options.clone() }
    }

    pub(crate) fn database(&self) -> MutexGuard<'_, Database> {
        // A panic rolls the transaction back, so the state behind a poisoned lock is valid.
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn reads(&self) -> MutexGuard<'_, Option<Reads>> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The database at the path. If it has been replaced or removed, it is opened again and this
    /// call fails, because the caller relied on the old one. The next call uses the new one.
    pub(crate) fn current(&self) -> Result<MutexGuard<'_, Database>, Error> {
        let mut database = self.database();
        if !database.is_current() {
            // Locked until the database is open again, so that no read connects to the old files
            // meanwhile.
            let mut reads = self.reads();
            *reads = None;
            let opened = database.reopen_if_replaced(&self.options);
            *reads = Reads::of(&database);
            opened?;
        }
        Ok(database)
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        if let Some(reads) = &mut *self.reads()
            && let Some((conn, path)) = reads.connection()?
        {
            return in_transaction(conn, path, work);
        }
        let database = self.current()?;
        in_transaction(&database.conn, &database.path, work)
    }

    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        self.current()?.write(work, None)
    }

    /// Prepares the store to stay open for long. While a process has the database open, no other
    /// has to read the whole WAL, so SQLite's own limit of the WAL is enough. The page cache
    /// becomes smaller than SQLite's default, since there may be many such processes. Reads get a
    /// connection of their own.
    pub fn stay(&self) {
        let mut database = self.database();
        database.stay();
        *self.reads() = Reads::of(&database);
    }

    /// Truncates the WAL when a store that stayed open is closed.
    pub(crate) fn leave(&self) {
        let database = self.database();
        if let Access::Write { .. } = database.access {
            scrub::truncate_wal(&database.conn);
        }
    }

    /// Where a follower begins.
    pub(crate) fn start(&self, after: &Cursor) -> Result<Start, Error> {
        let seq = match after {
            Cursor::Now => self.read(|conn| Ok(journal::end(conn)?))?,
            Cursor::Start | Cursor::After(_) => seq_after(after),
        };
        Ok(Start { seq, options: self.options.clone() })
    }
}

/// The `seq` of a cursor; of [`Cursor::Now`], which only a query can tell, the beginning.
fn seq_after(cursor: &Cursor) -> i64 {
    match cursor {
        // An unknown cursor means the beginning, so that nothing is missed.
        Cursor::After(text) => text.parse().unwrap_or(0),
        Cursor::Start | Cursor::Now => 0,
    }
}

/// Reads in one transaction, so that all statements see the same state.
fn in_transaction<T>(
    conn: &Connection,
    path: &Path,
    work: impl FnOnce(&Connection) -> Result<T, Failure>,
) -> Result<T, Error> {
    let broken = |error| explain(path, error);
    let tx = conn.unchecked_transaction().map_err(broken)?;
    let value = work(&tx).map_err(|failure| failure.explain(path))?;
    tx.commit().map_err(broken)?;
    Ok(value)
}

/// Checks that the schema is not newer than ours: a newer version may have migrated the database
/// while this store was open.
fn is_known_schema(conn: &Connection) -> Result<(), Failure> {
    let mut select = conn.prepare_cached("PRAGMA user_version")?;
    let found: u32 = select.query_row([], |row| row.get(0))?;
    let known = migrate::LATEST;
    if found > known { Err(Error::NewerSchema { found, known }.into()) } else { Ok(()) }
}

fn has_directory(path: &Path) -> bool {
    path.parent().is_none_or(|it| it.as_os_str().is_empty() || it.is_dir())
}

fn gone(path: &Path) -> Error {
    let what = format!("{} was moved or deleted; nothing was changed", path.display());
    Error::Unusable { what, source: None }
}

/// Runs after a change, still under the write lock.
pub(crate) type Afterwards = fn(&Path) -> Result<(), Error>;

impl Database {
    fn stay(&mut self) {
        self.stays = true;
        if let Access::Write { keep_wal_short, .. } = &mut self.access {
            *keep_wal_short = false;
        }
        open::limit_cache(&self.conn);
    }

    /// What has happened to the files since they were opened.
    pub(crate) fn fate(&self) -> Fate {
        self.identity.as_ref().map_or(Fate::Same, Identity::fate)
    }

    /// Whether it is open and its files are those at its path.
    fn is_current(&self) -> bool {
        !self.is_lost && self.fate() == Fate::Same
    }

    /// Opens the database again if its files are no longer those at its path.
    fn reopen_if_replaced(&mut self, options: &Options) -> Result<(), Error> {
        if self.is_lost {
            // The caller has already got the error.
            return self.reopen(options);
        }
        let fate = self.fate();
        let Some(words) = fate.words(&options.path) else { return Ok(()) };
        let is_saved = fate == Fate::WalRemoved && self.save_wal();
        self.reopen(options)?;
        if is_saved {
            return Ok(());
        }
        let what = format!("{words}; nothing was changed, and the new file is open now");
        Err(Error::Unusable { what, source: None })
    }

    /// Copies a removed WAL into the database while this connection still has it open. Returns
    /// whether nothing is lost.
    fn save_wal(&mut self) -> bool {
        let Access::Write { bell, .. } = &mut self.access else { return true };
        // The lock keeps other processes from writing meanwhile.
        let Ok(lock) =
            bell.files().map_err(LockError::from).and_then(|it| it.write_lock(&self.path))
        else {
            return false;
        };
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        let busy = self.conn.query_row(checkpoint, [], |row| row.get::<_, bool>(0));
        drop(lock);
        busy.is_ok_and(|busy| !busy)
    }

    fn reopen(&mut self, options: &Options) -> Result<(), Error> {
        // SQLite shares state about a file between the connections of a process, so the old
        // connection must be closed first. An empty database takes its place until the new one is
        // open.
        let none = Connection::open_in_memory().map_err(|error| explain(&self.path, error))?;
        self.conn = none;
        self.is_lost = true;
        let opened = match &self.access {
            // The directory is gone too. Nobody would find a database that is created in a new one.
            Access::Write { .. } if !has_directory(&options.path) => Err(gone(&options.path)),
            Access::Write { .. } => open::to_write(options),
            Access::Read { .. } => {
                open::to_read(options).and_then(|it| it.ok_or_else(|| gone(&options.path)))
            }
        };
        let (stays, group) = (self.stays, self.group.take());
        let opened = opened.inspect_err(|_| self.group = group.map(Group::lost))?;
        *self = opened;
        self.group = group.map(Group::lost);
        if stays {
            self.stay();
        }
        Ok(())
    }

    /// Runs a transaction under the write lock, then `afterwards`, still under the lock. Returns
    /// once the change is as durable as the options demand.
    pub(crate) fn write<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> Result<T, Failure>,
        afterwards: Option<Afterwards>,
    ) -> Result<T, Error> {
        let (bell, wal, keep_wal_short) = match &mut self.access {
            Access::Write { bell, wal, keep_wal_short } => (bell, wal, *keep_wal_short),
            Access::Read { why, .. } => return Err(Error::ReadOnly(why.clone())),
        };
        let path = &self.path;
        let unwritable = |error| not_written(path, error);
        let bell = bell.files().map_err(unwritable)?;
        let mut lock = Some(bell.write_lock(path).map_err(|error| lock_failed(path, error))?);
        let broken = |error| explain(path, error);
        let stays = self.stays;
        let fate = || self.identity.as_ref().map_or(Fate::Same, Identity::fate).words(path);
        let tx = Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate);
        let tx = tx.map_err(broken)?;
        // Waiting for the lock may have taken long.
        if let Some(words) = fate() {
            let what = format!("{words}; nothing was changed");
            return Err(Error::Unusable { what, source: None });
        }
        if stays {
            is_known_schema(&tx).map_err(|failure| failure.explain(path))?;
        }
        let before = tx.total_changes();
        let value = work(&tx).map_err(|failure| failure.explain(path))?;
        let wrote = tx.total_changes() != before;
        tx.commit().map_err(broken)?;
        let length = || match &*wal {
            Some(wal) => wal.len(),
            None => fs::metadata(wal_of(path)).map(|it| it.len()),
        };
        if let Some(group) = self.group.as_mut().filter(|_| afterwards.is_none()) {
            group.add(wrote);
            return Ok(value);
        }
        let full = wrote && keep_wal_short && length().is_ok_and(|bytes| bytes > WAL_BYTES);
        if !full && afterwards.is_none() {
            // Others may write while this process waits for the disk.
            lock = None;
        }
        // Even if nothing was written: the result may depend on what another process has just
        // written.
        if let Some(wal) = wal
            && let Err(error) = wal.wait()
        {
            // If the lock cannot be had, continue without it: that is only less fair to others.
            lock = lock.or_else(|| bell.write_lock(path).ok());
            wal.recover(&self.conn, path, error)?;
        }
        if let Some(words) = fate() {
            let what = format!("{words} while this was written, so the change may be lost");
            return Err(Error::Unconfirmed { what, source: None });
        }
        if wrote {
            bell.ring();
        }
        if let Some(afterwards) = afterwards {
            afterwards(path)?;
        }
        if full {
            scrub::truncate_wal(&self.conn);
        }
        drop(lock);
        Ok(value)
    }
}

impl PlanStore for Sqlite {
    fn create(&self, new: NewPlan) -> BoxFuture<'_, Result<Plan, Error>> {
        Box::pin(async move { self.write(|conn| changes::create(conn, new)) })
    }

    fn change(&self, plan: PlanId, change: Change) -> BoxFuture<'_, Result<Applied, Error>> {
        Box::pin(async move { self.write(|conn| changes::change(conn, plan, change)) })
    }

    fn undo(
        &self,
        plan: PlanId,
        ctx: Ctx,
        expect: Option<Revision>,
    ) -> BoxFuture<'_, Result<Applied, Error>> {
        Box::pin(async move { self.write(|conn| changes::undo(conn, plan, ctx, expect)) })
    }

    fn forget(
        &self,
        plan: PlanId,
        item: Option<ItemRef>,
        ctx: Ctx,
    ) -> BoxFuture<'_, Result<Applied, Error>> {
        Box::pin(async move {
            let work = |conn: &Connection| changes::forget(conn, plan, item.as_ref(), ctx);
            self.current()?.write(work, Some(scrub::purge))
        })
    }

    fn whole(&self, plan: PlanId) -> BoxFuture<'_, Result<Plan, Error>> {
        Box::pin(async move {
            self.read(|conn| {
                let (key, plan) = load::header(conn, plan)?;
                Ok(load::whole(conn, key, plan)?)
            })
        })
    }

    fn read(&self, plan: PlanId, needs: Needs) -> BoxFuture<'_, Result<Slice, Error>> {
        Box::pin(async move {
            self.read(|conn| load::slice(conn, plan, &needs).map(|loaded| loaded.plan))
        })
    }

    fn plans(&self, filter: Filter) -> BoxFuture<'_, Result<Vec<Summary>, Error>> {
        Box::pin(async move { self.read(|conn| plans::list(conn, &filter)) })
    }

    fn projects(&self, project: Option<String>) -> BoxFuture<'_, Result<Vec<ProjectSums>, Error>> {
        Box::pin(async move { self.read(|conn| plans::projects(conn, project.as_deref())) })
    }

    fn search(&self, search: ItemSearch) -> BoxFuture<'_, Result<Vec<FoundItem>, Error>> {
        Box::pin(async move { self.read(|conn| plans::search(conn, &search)) })
    }

    fn plan_for(&self, what: MadeFor) -> BoxFuture<'_, Result<Option<PlanId>, Error>> {
        Box::pin(async move { self.read(|conn| Ok(save::plan_for(conn, &what)?)) })
    }

    fn set_made_for(
        &self,
        plan: PlanId,
        what: Option<MadeFor>,
    ) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move { self.write(|conn| changes::set_made_for(conn, plan, what.as_ref())) })
    }

    fn attach(
        &self,
        key: AttachmentKey,
        plan: PlanId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Attachment, Error>> {
        Box::pin(async move { self.write(|conn| attachments::attach(conn, key, plan, now)) })
    }

    fn attachment(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<Attachment>, Error>> {
        Box::pin(async move { self.read(|conn| attachments::get(conn, &key)) })
    }

    fn attached(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<PlanId>, Error>> {
        Box::pin(async move { self.read(|conn| attachments::plan(conn, &key)) })
    }

    fn whole_attached(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<Plan>, Error>> {
        Box::pin(async move {
            self.read(|conn| match attachments::header(conn, &key)? {
                Some((key, plan)) => Ok(Some(load::whole(conn, key, plan)?)),
                None => Ok(None),
            })
        })
    }

    fn shown(&self, key: AttachmentKey, revision: Revision) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            // A caller without news must not wait for writers.
            let attachment = self.read(|conn| attachments::get(conn, &key))?;
            if attachment.is_none_or(|it| it.shown >= revision) {
                return Ok(());
            }
            self.write(|conn| attachments::shown(conn, &key, revision))
        })
    }

    fn journal(
        &self,
        plan: PlanId,
        after: Revision,
        most: u32,
    ) -> BoxFuture<'_, Result<Vec<Entry>, Error>> {
        Box::pin(async move {
            self.read(|conn| {
                let (key, _) = load::header(conn, plan)?;
                Ok(journal::after(conn, key, plan, after, most)?)
            })
        })
    }

    fn journal_since(&self, after: Cursor, most: u32) -> BoxFuture<'_, Result<Since, Error>> {
        Box::pin(async move {
            self.read(|conn| {
                let after = match after {
                    Cursor::Now => journal::end(conn)?,
                    Cursor::Start | Cursor::After(_) => seq_after(&after),
                };
                let found = journal::following(conn, after, &Scope::All, most)?;
                let end = journal::cursor(found.last().map_or(after, |it| it.0));
                let entries = found.into_iter().map(|(seq, it)| (journal::cursor(seq), it));
                Ok(Since { entries: entries.collect(), end })
            })
        })
    }

    fn follow(&self, after: Cursor, scope: Scope) -> BoxFuture<'_, Result<Following, Error>> {
        Box::pin(async move {
            let follow = Follow::begin(&self.start(&after)?, scope)?;
            Ok(Box::pin(follow) as Following)
        })
    }

    fn import(&self, plan: Plan, journal: Vec<Entry>) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move { self.write(|conn| changes::import(conn, &plan, &journal)) })
    }
}

impl SessionStore for Sqlite {
    fn session(&self, key: SessionKey) -> BoxFuture<'_, Result<Option<Session>, Error>> {
        Box::pin(async move { self.read(|conn| sessions::get(conn, &key)) })
    }

    fn sessions(&self, filter: SessionFilter) -> BoxFuture<'_, Result<Vec<Session>, Error>> {
        Box::pin(async move { self.read(|conn| sessions::list(conn, &filter)) })
    }

    fn keep(&self, session: Session) -> BoxFuture<'_, Result<Kept, Error>> {
        Box::pin(async move { self.write(|conn| sessions::keep(conn, session)) })
    }

    fn seen_beside(
        &self,
        key: SessionKey,
        process: Process,
    ) -> BoxFuture<'_, Result<Option<Timestamp>, Error>> {
        Box::pin(async move { self.read(|conn| Ok(sessions::seen_beside(conn, &key, &process)?)) })
    }

    fn change_and_keep(
        &self,
        plan: PlanId,
        change: Change,
        session: Session,
    ) -> BoxFuture<'_, Result<(Applied, Kept), Error>> {
        Box::pin(async move {
            self.write(|conn| {
                let applied = changes::change(conn, plan, change)?;
                Ok((applied, sessions::keep(conn, session)?))
            })
        })
    }
}

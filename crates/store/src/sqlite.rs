//! The store on SQLite, in the caller's thread.
//!
//! Each future does its work when it is first polled and is then ready, so a verb needs no runtime.
//! Whoever must not be blocked uses [`crate::Threaded`].

use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_core::future::BoxFuture;
use punchlist_model::needs::Needs;
use punchlist_model::session::{Kept, Session, SessionFilter, SessionKey, SessionStore};
use punchlist_model::store::{
    Applied, Attachment, AttachmentKey, Change, Cursor, Entry, Error, Filter, Following, NewPlan,
    PlanStore, Scope, Summary,
};
use punchlist_model::{Ctx, ItemRef, MadeFor, Plan, PlanId, Process, Revision, Slice, Timestamp};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::bell::NoTurn;
use crate::error::explain;
use crate::follow::{Follow, Start};
use crate::identity::{Fate, Identity};
use crate::load::{self, Failure};
use crate::open::{self, Access, Database, LOG_BYTES, Options, log_of, no_turn, not_written};
use crate::reads::Reads;
use crate::{attachments, changes, journal, migrate, plans, save, scrub, sessions};

/// Plans in a SQLite database.
pub struct Sqlite {
    /// The connection that writes. It may be waiting for another process.
    database: Mutex<Database>,
    /// The connection that reads, if it is not the one that writes. Whoever locks both locks `database`
    /// first.
    reads: Mutex<Option<Reads>>,
    options: Options,
}

impl Sqlite {
    /// Opens a database to read and write: makes it if there is none, brings its schema up to date.
    ///
    /// One that can only be read is opened so; writes then fail with [`Error::ReadOnly`].
    pub fn open(options: &Options) -> Result<Self, Error> {
        open::to_write(options).map(|database| Self::new(database, options))
    }

    /// Opens a database to read: `None` if there is none. Never makes, migrates or changes one.
    pub fn open_to_read(options: &Options) -> Result<Option<Self>, Error> {
        Ok(open::to_read(options)?.map(|database| Self::new(database, options)))
    }

    fn new(database: Database, options: &Options) -> Self {
        let (database, reads) = (Mutex::new(database), Mutex::new(None));
        Self { database, reads, options: options.clone() }
    }

    pub(crate) fn database(&self) -> MutexGuard<'_, Database> {
        // A panic in mid-transaction has rolled it back, so a poisoned lock is as good.
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn reads(&self) -> MutexGuard<'_, Option<Reads>> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The database that stands at the path now, for whoever reads or writes. If it is another one
    /// than before, or the old one is gone, it is opened anew and this call fails: what it rests on
    /// is no longer so. The next call works with the new one.
    pub(crate) fn current(&self) -> Result<MutexGuard<'_, Database>, Error> {
        let mut database = self.database();
        if !database.is_current() {
            // Held until the database is open again: no read connects to the old files meanwhile.
            let mut reads = self.reads();
            *reads = None;
            let opened = database.look_after(&self.options);
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

    /// Settles in for a long stay: while a process has the database open, nobody has to read its
    /// log through, and SQLite's own limit does. It is one of many, so it keeps less of the file in
    /// memory than SQLite would; the system has the rest. From now on reads have a connection of their own.
    pub fn stay(&self) {
        let mut database = self.database();
        database.stay();
        *self.reads() = Reads::of(&database);
    }

    /// Empties the log after a long stay.
    pub(crate) fn leave(&self) {
        let database = self.database();
        if let Access::Write { .. } = database.access {
            scrub::empty_log(&database.conn);
        }
    }

    /// Where a follower begins, as of now.
    pub(crate) fn start(&self, after: &Cursor) -> Result<Start, Error> {
        let seq = match after {
            Cursor::Start => 0,
            Cursor::Now => self.read(|conn| Ok(journal::end(conn)?))?,
            // A cursor that is not ours: from the beginning, so that nothing is missed.
            Cursor::After(text) => text.parse().unwrap_or(0),
        };
        Ok(Start { seq, options: self.options.clone() })
    }
}

/// Reads in one transaction, so that several statements see one state.
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

/// Whether the schema is still ours to write: a newer program may have migrated the database under a store
/// that stays.
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

/// What is done after a change, in the same turn.
pub(crate) type Afterwards = fn(&Path) -> Result<(), Error>;

impl Database {
    fn stay(&mut self) {
        self.stays = true;
        if let Access::Write { tidy, .. } = &mut self.access {
            *tidy = false;
        }
        open::keep_little(&self.conn);
    }

    /// What has become of the files since they were opened.
    pub(crate) fn fate(&self) -> Fate {
        self.identity.as_ref().map_or(Fate::Same, Identity::fate)
    }

    /// Whether it is open, and its files are those at its path.
    fn is_current(&self) -> bool {
        !self.is_lost && self.fate() == Fate::Same
    }

    /// Opens the database anew if its files are no longer those at its path.
    fn look_after(&mut self, options: &Options) -> Result<(), Error> {
        if self.is_lost {
            // That was told already.
            return self.open_again(options);
        }
        let fate = self.fate();
        let Some(words) = fate.words(&options.path) else { return Ok(()) };
        let is_saved = fate == Fate::LogRemoved && self.save_log();
        self.open_again(options)?;
        if is_saved {
            return Ok(());
        }
        let what = format!("{words}; nothing was changed, and the one that is there is open now");
        Err(Error::Unusable { what, source: None })
    }

    /// Copies what is in a WAL that was removed into the database, while this connection still has it;
    /// whether nothing is lost.
    fn save_log(&mut self) -> bool {
        let Access::Write { bell, .. } = &mut self.access else { return true };
        // No other process of ours writes meanwhile.
        let Ok(turn) = bell.files().map_err(NoTurn::from).and_then(|it| it.turn(&self.path)) else {
            return false;
        };
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        let busy = self.conn.query_row(checkpoint, [], |row| row.get::<_, bool>(0));
        drop(turn);
        busy.is_ok_and(|busy| !busy)
    }

    fn open_again(&mut self, options: &Options) -> Result<(), Error> {
        // SQLite shares what it has of a file between connections of one process, so the old one goes
        // first; until the new one is open, there is an empty one in its place.
        let none = Connection::open_in_memory().map_err(|error| explain(&self.path, error))?;
        self.conn = none;
        self.is_lost = true;
        let opened = match &self.access {
            // Its directory went with it: a new one in its place would be found by nobody.
            Access::Write { .. } if !has_directory(&options.path) => Err(gone(&options.path)),
            Access::Write { .. } => open::to_write(options),
            Access::Read { .. } => {
                open::to_read(options).and_then(|it| it.ok_or_else(|| gone(&options.path)))
            }
        };
        let stays = self.stays;
        *self = opened?;
        if stays {
            self.stay();
        }
        Ok(())
    }

    /// Runs a transaction in turn with other writers, then `afterwards`, still in that turn. What it
    /// comes to is given back once it is as durable as was asked for.
    pub(crate) fn write<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> Result<T, Failure>,
        afterwards: Option<Afterwards>,
    ) -> Result<T, Error> {
        let (bell, log, tidy) = match &mut self.access {
            Access::Write { bell, log, tidy } => (bell, log, *tidy),
            Access::Read { why, .. } => return Err(Error::ReadOnly(why.clone())),
        };
        let path = &self.path;
        let stuck = |error| not_written(path, error);
        let bell = bell.files().map_err(stuck)?;
        let mut turn = Some(bell.turn(path).map_err(|error| no_turn(path, error))?);
        let broken = |error| explain(path, error);
        let stays = self.stays;
        let fate = || self.identity.as_ref().map_or(Fate::Same, Identity::fate).words(path);
        let tx = Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate);
        let tx = tx.map_err(broken)?;
        // The wait for the turn may have been long.
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
        let length = || match &*log {
            Some(log) => log.len(),
            None => fs::metadata(log_of(path)).map(|it| it.len()),
        };
        let full = wrote && tidy && length().is_ok_and(|bytes| bytes > LOG_BYTES);
        if !full && afterwards.is_none() {
            // Others may write while this one waits for the disk.
            turn = None;
        }
        // Even if nothing was written: the answer may rest on what another wrote just now.
        if let Some(log) = log
            && let Err(error) = log.wait()
        {
            // Without a turn it is less fair to others, and nothing else.
            turn = turn.or_else(|| bell.turn(path).ok());
            log.make_good(&self.conn, path, error)?;
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
            scrub::empty_log(&self.conn);
        }
        drop(turn);
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
            // A reader that has nothing new must not wait for writers.
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

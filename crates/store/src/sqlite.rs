//! The store on SQLite, in the caller's thread.
//!
//! Each future does its work when it is first polled and is then ready, so a verb needs no runtime.
//! Whoever must not be blocked uses [`crate::Threaded`].

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::future::BoxFuture;
use punchlist_model::needs::Needs;
use punchlist_model::session::{Kept, Session as Agent, SessionFilter, SessionKey, SessionStore};
use punchlist_model::store::{
    Applied, Attachment, AttachmentKey, Change, Cursor, Entry, Error, Filter, Following, NewPlan,
    PlanStore, Scope, Summary,
};
use punchlist_model::{Ctx, ItemRef, Plan, PlanId, Process, Revision, Timestamp};
use rusqlite::Connection;

use crate::bell::NoTurn;
use crate::error::explain;
use crate::follow::{Follow, Start};
use crate::identity::{Fate, Identity};
use crate::load::{self, Failure};
use crate::open::{self, Access, Database, LOG_BYTES, Options, log_of, no_turn, not_written};
use crate::recent::Recent;
use crate::session::{Connected, Session};
use crate::transaction::Transaction;
use crate::{ahead, attachments, changes, journal, migrate, plans, scrub, sessions};

/// What a store that stays keeps of the file: kilobytes, which SQLite wants to be told below 0.
const CACHE: i32 = -1000;

/// How many calls go by without relying on memory, once it has failed.
const WARY: u8 = 16;

/// Plans in a SQLite database.
pub struct Sqlite {
    database: Arc<Mutex<Database>>,
    options: Options,
    /// Whether who is who is answered from memory.
    recalls: bool,
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
        let database = Arc::new(Mutex::new(database));
        Self { database, options: options.clone(), recalls: false }
    }

    /// The same store, for one who is going to change a plan: it answers who is attached and which
    /// sessions there are from memory, without a look at the file. Whether that was right is found
    /// out by the change, in its own transaction; if it was not, nothing is changed. Where there is
    /// nothing to recall, the answer is [`Error::Outdated`] at once.
    #[must_use]
    pub fn recalling(&self) -> Self {
        let database = Arc::clone(&self.database);
        Self { database, options: self.options.clone(), recalls: true }
    }

    pub(crate) fn database(&self) -> MutexGuard<'_, Database> {
        // A panic in mid-transaction has rolled it back, so a poisoned lock is as good.
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The database that stands at the path now, for whoever reads or writes. If it is another one
    /// than before, or the old one is gone, it is opened anew and this call fails: what it rests on
    /// is no longer so. The next call works with the new one.
    pub(crate) fn current(&self) -> Result<MutexGuard<'_, Database>, Error> {
        let mut database = self.database();
        database.look_after(&self.options)?;
        Ok(database)
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Session<'_>) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        self.current()?.read(work)
    }

    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&Session<'_>) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        self.current()?.write(work, None)
    }

    /// Ends a process's last use of the store: what the system frees at its end anyhow is left to it,
    /// which is much cheaper than closing a database in good order.
    pub fn let_go(self) {
        // A private copy of the files would be left behind.
        let copied = matches!(self.database().access, Access::Read { copy: Some(_), .. });
        if !copied {
            std::mem::forget(self);
        }
    }

    /// Settles in for a long stay: while a process has the database open, nobody has to read its
    /// log through, and SQLite's own limit does. It is one of many, so it keeps less of the file in
    /// memory than SQLite would; the system has the rest.
    pub fn stay(&self) {
        self.database().stay();
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

/// Whether the schema is still ours to write: a newer program may have migrated the database under a store
/// that stays.
fn is_known_schema(conn: &Session<'_>) -> Result<(), Failure> {
    let mut select = conn.statement("PRAGMA user_version")?;
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
        // What it is asked once, it will be asked again.
        self.conn.session(|session| session.stay());
        // Where that cannot be said, it keeps more.
        drop(self.conn.pragma_update(None, "cache_size", CACHE));
    }

    /// What has become of the files since they were opened.
    pub(crate) fn fate(&self) -> Fate {
        self.identity.as_ref().map_or(Fate::Same, Identity::fate)
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
        self.conn = Connected::new(none);
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

    fn read<T>(
        &mut self,
        work: impl FnOnce(&Session<'_>) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        // One transaction, so that several statements see one state.
        self.conn.session(|session| {
            session.called();
            let broken = |error| explain(&self.path, error);
            let tx = Transaction::read(session).map_err(broken)?;
            let value = work(&tx).map_err(|failure| failure.explain(&self.path))?;
            tx.commit().map_err(broken)?;
            Ok(value)
        })
    }

    /// The next ready item, if there is one: what is asked for most often.
    fn next(&mut self, plan: PlanId) -> Result<Option<Plan>, Error> {
        let found = self.conn.session(|session| {
            session.called();
            ahead::next(session, plan, &mut self.known)
        });
        found.map_err(|error| explain(&self.path, error))
    }

    /// Looks something up by one statement, which needs no transaction.
    fn look<T>(
        &mut self,
        work: impl FnOnce(&Session<'_>, &mut Recent) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        let found = self.conn.session(|session| {
            session.called();
            work(session, &mut self.recent)
        });
        found.map_err(|failure| failure.explain(&self.path))
    }

    /// An answer from memory.
    fn recall<T>(&mut self, of: impl FnOnce(&Recent) -> Option<T>) -> Result<T, Error> {
        if self.wary > 0 {
            self.wary -= 1;
            return Err(Error::Outdated);
        }
        let answer = of(&self.recent).ok_or(Error::Outdated)?;
        // All that one change relies on was so at one moment.
        let version = self.recent.version();
        if self.recalled.replace(version).is_some_and(|before| before != version) {
            self.recalled = None;
            return Err(Error::Outdated);
        }
        Ok(answer)
    }

    /// The sessions that fit.
    fn sessions(&mut self, filter: SessionFilter) -> Result<Vec<Agent>, Error> {
        let keeps = self.look(|conn, recent| Ok(recent.refresh(conn)?))?;
        if let Some(sessions) = self.recent.sessions(&filter) {
            return Ok(sessions.clone());
        }
        let sessions = self.read(|conn| sessions::list(conn, &filter))?;
        if keeps {
            self.recent.keep_sessions(filter, sessions.clone());
        }
        Ok(sessions)
    }

    fn session(&mut self, key: SessionKey) -> Result<Option<Agent>, Error> {
        self.look(|conn, recent| {
            let keeps = recent.refresh(conn)?;
            if let Some(session) = recent.session(&key) {
                return Ok(session.clone());
            }
            let session = sessions::get(conn, &key)?;
            if keeps {
                recent.keep_session(key, session.clone());
            }
            Ok(session)
        })
    }

    fn attachment(&mut self, key: &AttachmentKey) -> Result<Option<Attachment>, Error> {
        self.look(|conn, recent| {
            let keeps = recent.refresh(conn)?;
            if let Some(attachment) = recent.attachment(key) {
                return Ok(Some(attachment.clone()));
            }
            let attachment = attachments::get(conn, key)?;
            if keeps {
                recent.keep_attachment(attachment.clone());
            }
            Ok(attachment)
        })
    }

    fn whole(&mut self, plan: PlanId) -> Result<Plan, Error> {
        let keeps = self.look(|conn, recent| Ok(recent.refresh(conn)?))?;
        if let Some(plan) = self.recent.plan(plan) {
            return Ok(plan.clone());
        }
        let loaded = self.read(|conn| load::slice(conn, plan, &Needs::whole()))?;
        if keeps {
            self.recent.keep_plan(&loaded.plan);
        }
        Ok(loaded.plan)
    }

    fn change(&mut self, plan: PlanId, change: Change, recalls: bool) -> Result<Applied, Error> {
        if recalls && self.recalled.take() != Some(self.recent.version()) {
            return Err(Error::Outdated);
        }
        let changed = self.changed(plan, change, recalls, |_| Ok(()));
        if let Err(Error::Outdated) = changed {
            self.wary = WARY;
        }
        changed
    }

    /// Changes a plan and does other work, in one transaction. The work must not touch plans or
    /// attachments, and whoever writes sessions forgets them afterwards.
    pub(crate) fn change_and(
        &mut self,
        plan: PlanId,
        change: Change,
        work: impl FnOnce(&Session<'_>) -> Result<(), Failure>,
    ) -> Result<Applied, Error> {
        self.changed(plan, change, false, work)
    }

    fn changed(
        &mut self,
        plan: PlanId,
        change: Change,
        recalls: bool,
        work: impl FnOnce(&Session<'_>) -> Result<(), Failure>,
    ) -> Result<Applied, Error> {
        // What is remembered is put back only if it is known what became of it.
        let mut recent = std::mem::take(&mut self.recent);
        let attachment = recent.take_attachment();
        let is_own = attachment.as_ref().map(|it| &it.key) == change.seen_by.as_ref();
        let both = |conn: &Session<'_>| {
            let changed = changes::change(conn, plan, change, &mut recent, recalls)?;
            work(conn).map(|()| changed)
        };
        let changed = self.write(both, None)?;
        let changes::Changed { key, applied, seen_by, is_shown, last } = changed;
        let attachment = attachment.map(|mut it| {
            if is_own && is_shown {
                it.shown = it.shown.max(applied.revision());
            }
            it
        });
        recent.keep_attachment(attachment);
        recent.follow(key, seen_by, last, &applied);
        self.recent = recent;
        if let Some(known) = &mut self.known {
            known.changed(&applied);
        }
        Ok(applied)
    }

    /// Runs a transaction in turn with other writers, then `afterwards`, still in that turn. What it
    /// comes to is given back once it is as durable as was asked for.
    pub(crate) fn write<T>(
        &mut self,
        work: impl FnOnce(&Session<'_>) -> Result<T, Failure>,
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
        let (value, wrote) = self.conn.session(|session| -> Result<_, Error> {
            session.called();
            let tx = Transaction::write(session).map_err(broken)?;
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
            Ok((value, wrote))
        })?;
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
        Box::pin(async move { self.current()?.change(plan, change, self.recalls) })
    }

    fn undo(
        &self,
        plan: PlanId,
        ctx: Ctx,
        expect: Option<Revision>,
    ) -> BoxFuture<'_, Result<Applied, Error>> {
        Box::pin(async move {
            let mut database = self.current()?;
            database.recent.forget_plan();
            database.write(|conn| changes::undo(conn, plan, ctx, expect), None)
        })
    }

    fn forget(
        &self,
        plan: PlanId,
        item: Option<ItemRef>,
        ctx: Ctx,
    ) -> BoxFuture<'_, Result<Applied, Error>> {
        Box::pin(async move {
            let work = |conn: &Session<'_>| changes::forget(conn, plan, item.as_ref(), ctx);
            let mut database = self.current()?;
            // Nothing of what is to be forgotten is remembered either.
            database.recent = Recent::default();
            database.known = None;
            database.write(work, Some(scrub::purge))
        })
    }

    fn read(&self, plan: PlanId, needs: Needs) -> BoxFuture<'_, Result<Plan, Error>> {
        Box::pin(async move {
            if needs.whole {
                return self.current()?.whole(plan);
            }
            if load::is_next_only(&needs)
                && let Some(found) = self.current()?.next(plan)?
            {
                return Ok(found);
            }
            self.read(|conn| load::slice(conn, plan, &needs).map(|loaded| loaded.plan))
        })
    }

    fn plans(&self, filter: Filter) -> BoxFuture<'_, Result<Vec<Summary>, Error>> {
        Box::pin(async move { self.read(|conn| plans::list(conn, &filter)) })
    }

    fn attach(
        &self,
        key: AttachmentKey,
        plan: PlanId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Attachment, Error>> {
        Box::pin(async move {
            let mut database = self.current()?;
            drop(database.recent.take_attachment());
            // What the plan's row says of who has seen it may change too.
            database.recent.forget_plan();
            database.write(|conn| attachments::attach(conn, key, plan, now), None)
        })
    }

    fn attachment(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<Attachment>, Error>> {
        Box::pin(async move {
            let mut database = self.current()?;
            if self.recalls {
                let found = database
                    .recall(|it| it.attachment(&key).map(|it| (it.plan, it.shown, it.at)))?;
                let (plan, shown, at) = found;
                return Ok(Some(Attachment { key, plan, shown, at }));
            }
            database.attachment(&key)
        })
    }

    fn attached(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<PlanId>, Error>> {
        Box::pin(async move {
            let mut database = self.current()?;
            if self.recalls {
                return database.recall(|it| it.attachment(&key).map(|it| it.plan)).map(Some);
            }
            database.look(|conn, _| attachments::plan(conn, &key))
        })
    }

    fn read_attached(
        &self,
        key: AttachmentKey,
        needs: Needs,
    ) -> BoxFuture<'_, Result<Option<Plan>, Error>> {
        Box::pin(async move {
            self.read(|conn| match attachments::header(conn, &key)? {
                Some((key, plan)) => Ok(Some(load::fill(conn, key, plan, &needs)?.plan)),
                None => Ok(None),
            })
        })
    }

    fn shown(&self, key: AttachmentKey, revision: Revision) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let mut database = self.current()?;
            // A reader that has nothing new must not wait for writers.
            if database.attachment(&key)?.is_none_or(|it| it.shown >= revision) {
                return Ok(());
            }
            drop(database.recent.take_attachment());
            database.write(|conn| attachments::shown(conn, &key, revision), None)
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
            let follow = Follow::begin(self.start(&after)?, scope)?;
            Ok(Box::pin(follow) as Following)
        })
    }

    fn import(&self, plan: Plan, journal: Vec<Entry>) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move { self.write(|conn| changes::import(conn, &plan, &journal)) })
    }
}

impl SessionStore for Sqlite {
    fn session(&self, key: SessionKey) -> BoxFuture<'_, Result<Option<Agent>, Error>> {
        Box::pin(async move {
            let mut database = self.current()?;
            if self.recalls {
                return database.recall(|it| it.session(&key).cloned());
            }
            database.session(key)
        })
    }

    fn sessions(&self, filter: SessionFilter) -> BoxFuture<'_, Result<Vec<Agent>, Error>> {
        Box::pin(async move {
            let mut database = self.current()?;
            if self.recalls {
                return database.recall(|it| it.sessions(&filter).cloned());
            }
            database.sessions(filter)
        })
    }

    fn keep(&self, session: Agent) -> BoxFuture<'_, Result<Kept, Error>> {
        Box::pin(async move {
            let mut database = self.current()?;
            database.recent.forget_sessions();
            database.write(|conn| sessions::keep(conn, session), None)
        })
    }

    fn moment(&self) -> Option<u64> {
        let mut database = self.database();
        // What became of the files is told by the next call that can.
        if !self.recalls || database.wary > 0 || database.fate() != Fate::Same {
            return None;
        }
        database.recall(Recent::moment).ok()
    }

    fn seen_beside(
        &self,
        key: SessionKey,
        process: Process,
    ) -> BoxFuture<'_, Result<Option<Timestamp>, Error>> {
        Box::pin(async move {
            let mut database = self.current()?;
            database.look(|conn, _| Ok(sessions::seen_beside(conn, &key, &process)?))
        })
    }

    fn change_and_keep(
        &self,
        plan: PlanId,
        change: Change,
        session: Agent,
    ) -> BoxFuture<'_, Result<(Applied, Kept), Error>> {
        Box::pin(async move {
            let mut database = self.current()?;
            let mut kept = Kept::Stale(None);
            let applied = database.change_and(plan, change, |conn| {
                kept = sessions::keep(conn, session)?;
                Ok(())
            })?;
            database.recent.forget_sessions();
            Ok((applied, kept))
        })
    }
}
